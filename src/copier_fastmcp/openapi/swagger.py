"""A Swagger 2.0 document as OpenAPI 3: bodies, forms, responses, servers and security schemes in their places.

Schemas stay under `definitions`, where their references point.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .json_values import list_strings, omit_keys, pick_keys

METHODS = ("get", "head", "options", "put", "post", "patch", "delete")
JSON = ["application/json"]
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
# What a parameter says of its own type in Swagger 2, and its schema in OpenAPI 3.
SCHEMA_KEYS = (
    "type",
    "format",
    "items",
    "enum",
    "default",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)
FILE = {"type": "string", "format": "binary"}
STYLES: dict[str, dict[str, Any]] = {
    "csv": {"style": "form", "explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"style": "form", "explode": True},
}
FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}
MOST_HOPS = 10


def convert_swagger(root: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a Swagger 2.0 document to OpenAPI 3.0.

    Args:
        root: The document as data. It is not changed.

    Returns:
        The converted document. Parts that are not as Swagger has them are kept as they are.
    """
    converted = dict(root)
    del converted["swagger"]
    converted["openapi"] = "3.0.3"
    converted["servers"] = _servers(root)
    paths = {}
    for path, item in _mapping(root.get("paths")).items():
        paths[path] = _path_item(root, item)
    converted["paths"] = paths
    schemes = {}
    for name, scheme in _mapping(root.get("securityDefinitions")).items():
        schemes[name] = _security_scheme(_mapping(scheme))
    converted["components"] = {"securitySchemes": schemes}
    return converted


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _servers(root: Mapping[str, Any]) -> list[dict[str, str]]:
    base = str(root.get("basePath") or "").rstrip("/")
    host = root.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base}] if base else []
    schemes = list_strings(root.get("schemes")) or ["https"]
    ordered = sorted(schemes, key=lambda scheme: scheme != "https")
    servers = []
    for scheme in ordered:
        if "http" in scheme:
            servers.append({"url": f"{scheme}://{host}{base}"})
    return servers


def _path_item(root: Mapping[str, Any], item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    converted = dict(item)
    shared = _resolved(root, item.get("parameters"))
    # Bodies and forms of a path belong to each of its operations.
    converted["parameters"], bodies = _split_parameters(shared)
    for method in METHODS:
        if isinstance(item.get(method), Mapping):
            converted[method] = _operation(root, item[method], bodies)
    return converted


def _split_parameters(
    parameters: Iterable[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the converted parameters, and those that are a part of the body as they are."""
    converted, bodies = [], []
    for parameter in parameters:
        if parameter.get("in") in ("body", "formData"):
            bodies.append(parameter)
        else:
            converted.append(_parameter(parameter))
    return converted, bodies


def _resolved(root: Mapping[str, Any], listed: object) -> Iterator[dict[str, Any]]:
    """Each object of a list, with references within the document followed."""
    for value in listed if isinstance(listed, list) else ():
        target = value
        for _ in range(MOST_HOPS):
            reference = _mapping(target).get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            target = _find_target(root, reference)
        if isinstance(target, Mapping):
            yield dict(target)


def _find_target(root: Mapping[str, Any], reference: str) -> object:
    """Return the part of a document that a JSON pointer (RFC 6901) names; None where there is none."""
    target: object = root
    pointer = reference.removeprefix("#/")
    for part in pointer.split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        target = _mapping(target).get(key)
    return target


def _operation(
    root: Mapping[str, Any], operation: Mapping[str, Any], shared: list[dict[str, Any]]
) -> dict[str, Any]:
    converted = omit_keys(operation, ("consumes", "produces"))
    consumes = list_strings(operation.get("consumes", root.get("consumes")))
    produces = list_strings(operation.get("produces", root.get("produces")))
    parameters = _resolved(root, operation.get("parameters"))
    converted["parameters"], bodies = _split_parameters(parameters)
    if body := _request_body(bodies or shared, consumes):
        converted["requestBody"] = body
    responses = {}
    for code, response in _mapping(operation.get("responses")).items():
        resolved = next(_resolved(root, [response]), {})
        responses[code] = _response(resolved, produces or JSON)
    converted["responses"] = responses
    return converted


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter of the path, the query or a header, with its schema."""
    if "$ref" in parameter:
        return dict(parameter)
    converted = omit_keys(parameter, SCHEMA_KEYS)
    converted["schema"] = _schema(parameter)
    if parameter.get("type") == "array" and parameter.get("in") == "query":
        list_format = str(parameter.get("collectionFormat", "csv"))
        converted.update(STYLES.get(list_format, {}))
    return converted


def _schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = pick_keys(parameter, SCHEMA_KEYS)
    if schema.get("type") == "file":
        schema |= FILE
    return schema


def _request_body(
    parameters: list[dict[str, Any]], consumes: list[str]
) -> dict[str, Any]:
    """The body of an operation, from its `body` parameter or from its form; empty without one."""
    for parameter in parameters:
        if parameter.get("in") == "body":
            schema = parameter.get("schema") or {}
            return {
                "required": parameter.get("required") is True,
                "content": _content(schema, consumes or JSON),
            }
    if not parameters:
        return {}
    properties = {}
    required = []
    for parameter in parameters:
        name = str(parameter.get("name"))
        description = str(parameter.get("description") or "")
        properties[name] = {**_schema(parameter), "description": description}
        if parameter.get("required") is True:
            required.append(name)
    form = {
        "type": "object",
        "properties": properties,
        "required": required,
    }
    has_files = any(parameter.get("type") == "file" for parameter in parameters)
    takes_multipart_only = MULTIPART in consumes and FORM not in consumes
    kind = MULTIPART if has_files or takes_multipart_only else FORM
    return {
        "required": bool(required),
        "content": _content(form, [kind]),
    }


def _content(schema: object, kinds: Iterable[str]) -> dict[str, Any]:
    """The content of a body: the same schema for each media type."""
    content = {}
    for kind in kinds:
        content[kind] = {"schema": schema}
    return content


def _response(response: Mapping[str, Any], produces: list[str]) -> dict[str, Any]:
    converted = omit_keys(response, ("schema", "examples"))
    schema = response.get("schema")
    if isinstance(schema, Mapping):
        if schema.get("type") == "file":
            schema = FILE
        converted["content"] = _content(schema, produces)
    return converted


def _security_scheme(scheme: Mapping[str, Any]) -> dict[str, Any]:
    if scheme.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if scheme.get("type") != "oauth2":
        return dict(scheme)
    flow = str(scheme.get("flow"))
    keys = ("authorizationUrl", "tokenUrl", "scopes")
    about = pick_keys(scheme, keys)
    return {"type": "oauth2", "flows": {FLOWS.get(flow, flow): about}}
