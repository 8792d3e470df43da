"""A Swagger 2.0 document as OpenAPI 3: bodies, forms, responses, servers and security schemes in their places.

Schemas stay under `definitions`, where their references point.
"""

from collections.abc import Iterator, Mapping
from typing import Any

METHODS = ("get", "head", "options", "put", "post", "patch", "delete")
JSON = ["application/json"]
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
# What a parameter says of its own type in Swagger 2, and its schema in OpenAPI 3.
SCHEMA_KEYS = (
    *("type", "format", "items", "enum", "default", "pattern", "minimum", "maximum"),
    *(
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ),
)
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
    made = dict(root)
    del made["swagger"]
    made["openapi"] = "3.0.3"
    made["servers"] = _servers(root)
    made["paths"] = {
        path: _path_item(root, item)
        for path, item in _mapping(root.get("paths")).items()
    }
    schemes = {}
    for name, scheme in _mapping(root.get("securityDefinitions")).items():
        schemes[name] = _security_scheme(_mapping(scheme))
    made["components"] = {"securitySchemes": schemes}
    return made


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> list[str]:
    return (
        [text for text in value if isinstance(text, str)]
        if isinstance(value, list)
        else []
    )


def _servers(root: Mapping[str, Any]) -> list[dict[str, str]]:
    base = str(root.get("basePath") or "").rstrip("/")
    host = root.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base}] if base else []
    schemes = _texts(root.get("schemes")) or ["https"]
    ordered = sorted(schemes, key=lambda scheme: scheme != "https")
    return [
        {"url": f"{scheme}://{host}{base}"} for scheme in ordered if "http" in scheme
    ]


def _path_item(root: Mapping[str, Any], item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    made = dict(item)
    shared = list(_resolved(root, item.get("parameters")))
    # Bodies and forms of a path belong to each of its operations.
    made["parameters"] = [_parameter(one) for one in shared if _in_request(one)]
    bodies = [one for one in shared if not _in_request(one)]
    for method in METHODS:
        if isinstance(item.get(method), Mapping):
            made[method] = _operation(root, item[method], bodies)
    return made


def _in_request(parameter: Mapping[str, Any]) -> bool:
    return parameter.get("in") not in ("body", "formData")


def _resolved(root: Mapping[str, Any], listed: object) -> Iterator[dict[str, Any]]:
    """Each object of a list, with references within the document followed."""
    for value in listed if isinstance(listed, list) else ():
        found = value
        for _ in range(MOST_HOPS):
            reference = _mapping(found).get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            found = root
            for part in reference[2:].split("/"):
                found = _mapping(found).get(part.replace("~1", "/").replace("~0", "~"))
        if isinstance(found, Mapping):
            yield dict(found)


def _operation(
    root: Mapping[str, Any], given: Mapping[str, Any], shared: list[dict[str, Any]]
) -> dict[str, Any]:
    made = {
        key: value
        for key, value in given.items()
        if key not in ("consumes", "produces")
    }
    consumes = _texts(given.get("consumes", root.get("consumes")))
    produces = _texts(given.get("produces", root.get("produces"))) or JSON
    parameters = list(_resolved(root, given.get("parameters")))
    made["parameters"] = [_parameter(one) for one in parameters if _in_request(one)]
    others = [one for one in parameters if not _in_request(one)] or shared
    if body := _request_body(others, consumes):
        made["requestBody"] = body
    responses = {}
    for code, response in _mapping(given.get("responses")).items():
        found = next(_resolved(root, [response]), {})
        responses[code] = _response(found, produces)
    made["responses"] = responses
    return made


def _parameter(given: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter of the path, the query or a header, with its schema."""
    if "$ref" in given:
        return dict(given)
    made = {key: value for key, value in given.items() if key not in SCHEMA_KEYS}
    made["schema"] = _schema(given)
    if given.get("type") == "array" and given.get("in") == "query":
        made.update(STYLES.get(str(given.get("collectionFormat", "csv")), {}))
    return made


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    schema = {key: given[key] for key in SCHEMA_KEYS if key in given}
    if schema.get("type") == "file":
        schema.update(type="string", format="binary")
    return schema


def _request_body(given: list[dict[str, Any]], consumes: list[str]) -> dict[str, Any]:
    """The body of an operation, from its `body` parameter or from its form; empty without one."""
    for one in given:
        if one.get("in") == "body":
            content = {
                kind: {"schema": one.get("schema") or {}} for kind in consumes or JSON
            }
            return {"required": one.get("required") is True, "content": content}
    if not given:
        return {}
    properties = {}
    for one in given:
        properties[str(one.get("name"))] = {
            **_schema(one),
            "description": str(one.get("description") or ""),
        }
    required = [str(one.get("name")) for one in given if one.get("required") is True]
    schema = {"type": "object", "properties": properties, "required": required}
    files = any(one.get("type") == "file" for one in given)
    kind = (
        MULTIPART if files or (MULTIPART in consumes and FORM not in consumes) else FORM
    )
    return {"required": bool(required), "content": {kind: {"schema": schema}}}


def _response(given: Mapping[str, Any], produces: list[str]) -> dict[str, Any]:
    made = {
        key: value for key, value in given.items() if key not in ("schema", "examples")
    }
    schema = given.get("schema")
    if isinstance(schema, Mapping):
        if schema.get("type") == "file":
            schema = {"type": "string", "format": "binary"}
        made["content"] = {kind: {"schema": schema} for kind in produces}
    return made


def _security_scheme(given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if given.get("type") != "oauth2":
        return dict(given)
    flow = str(given.get("flow"))
    kept = ("authorizationUrl", "tokenUrl", "scopes")
    about = {key: given[key] for key in kept if key in given}
    return {"type": "oauth2", "flows": {FLOWS.get(flow, flow): about}}
