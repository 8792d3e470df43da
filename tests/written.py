"""Rendered tool files, parsed without the macros and compared with the answers."""

import ast
import re
from functools import cache
from typing import Any

from strategies_values import Answers
from tables import behavior, policy_of

Spec = dict[str, Any]
# The keys of a parameter that are not compared word by word.
CHECKED_APART = {"name", "type", "choices", "required", "default", "in"}


@cache
def parse_file(source: str) -> ast.Module:
    """The syntax tree of a Python file; most files are the same in every project."""
    return ast.parse(source)


def list_tools(answers: Answers) -> list[Spec]:
    """The tools of an answer set as mappings, read without the macros."""
    tools = answers.get("tools", [])
    items = re.split("[,\n]", tools) if isinstance(tools, str) else tools
    specs = []
    for item in items:
        if isinstance(item, dict):
            specs.append(item)
        elif item.strip():
            name, _, behavior = item.strip().partition("=")
            spec = {"name": name}
            if behavior:
                spec["behavior"] = behavior
            specs.append(spec)
    return specs


def value(node: ast.expr) -> Any:
    """A literal, or what a date, UUID or URL is made from."""
    if isinstance(node, ast.Call):
        return value(node.args[0])
    if isinstance(node, ast.List):
        return [value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {value(key): value(item) for key, item in pairs if key}
    return ast.literal_eval(node)


def keyword_values(call: ast.Call) -> Spec:
    """The keyword arguments of a call as values."""
    return {str(keyword.arg): value(keyword.value) for keyword in call.keywords}


def written(source: str) -> Spec:
    """Parse the declaration of a tool file: decorator, keywords and parameters by wire name."""
    tree = parse_file(source)
    functions = []
    models = []
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef):
            functions.append(node)
        elif isinstance(node, ast.ClassDef) and node.name.endswith("Request"):
            models.append(node)
    (function,) = functions
    *decorators, call = function.decorator_list
    decorator_names = list(map(ast.unparse, decorators))
    assert decorator_names in ([], ["requires_consent"])
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    keywords = keyword_values(call)
    arguments = function.args
    required = [None] * (len(arguments.args) - len(arguments.defaults))
    defaults = [*required, *arguments.defaults, *arguments.kw_defaults]
    pairs: list[tuple[str, ast.expr | None, ast.expr | None]] = []
    parameters = arguments.args + arguments.kwonlyargs
    for parameter, default in zip(parameters, defaults, strict=True):
        pairs.append((parameter.arg, parameter.annotation, default))
    if models and [parameter.arg for parameter in parameters] == ["request"]:
        pairs = []
        for field in models[0].body:
            if isinstance(field, ast.AnnAssign):
                pairs.append((ast.unparse(field.target), field.annotation, field.value))
    params = {}
    for name, annotation, default in pairs:
        assert isinstance(annotation, ast.Subscript)
        assert isinstance(annotation.slice, ast.Tuple)
        kind, field_call = annotation.slice.elts
        assert isinstance(field_call, ast.Call)
        words = keyword_values(field_call)
        words["type"] = ast.unparse(kind)
        if default is not None:
            words["default"] = value(default)
        params[str(words.pop("alias", name))] = words
    return keywords | {
        "name": function.name,
        "behavior": call.func.id,
        "description": keywords.get("description") or ast.get_docstring(function),
        "params": params,
    }


def expected_open_world(tool: Spec, answers: Answers) -> bool:
    """What a tool says of an open world: a local store has none, where all hints are explicit."""
    is_explicit = policy_of(answers)["hints"] == "explicit"
    is_local = answers.get("backend") == "sqlite" and is_explicit
    exceptions = [exception["hint"] for exception in tool.get("exceptions", [])]
    default = not is_local or "open_world" in exceptions
    return bool(tool.get("open_world", default))


def check_tool_file(source: str, tool: Spec, answers: Answers) -> None:
    """Every text, default and constraint an author gave is in the file, unchanged."""
    actual = written(source)
    assert (actual["name"], actual["behavior"]) == (tool["name"], behavior(tool))
    for key in {"title", "description", "why", "scopes", "icon", "confirm"} & set(tool):
        assert actual.get(key, []) == tool[key], key
    assert actual.get("exceptions", []) == tool.get("exceptions", [])
    assert actual.get("open_world", True) == expected_open_world(tool, answers)
    if "params" not in tool:
        return
    assert list(actual["params"]) == [param["name"] for param in tool["params"]]
    for param in tool["params"]:
        words = actual["params"][param["name"]]
        for key in param.keys() - CHECKED_APART:
            word = words[key.replace("items", "length")]
            assert word == param[key], (param["name"], key)
        if param.get("in") == "nulls":
            listed = ", ".join(map(repr, param["choices"]))
            assert words["type"] == f"tuple[Literal[{listed}], ...]"
            assert list(words["default"]) == []
            continue
        if "choices" in param:
            literal = ast.parse(words["type"].removesuffix(" | None"), mode="eval").body
            assert isinstance(literal, ast.Subscript)
            choices = literal.slice
            if not isinstance(choices, ast.Constant):
                choices = ast.List(getattr(choices, "elts", [choices]))
            assert value(choices) in (param["choices"], *param["choices"])
        has_null_default = "default" in param and param["default"] is None
        optional = has_null_default or param.get("required") is False
        assert words["type"].endswith(" | None") == optional
        assert ("default" in words) == (optional or "default" in param)
        written_default = normalize_default(words.get("default"))
        assert written_default == normalize_default(param.get("default"))


def normalize_default(default: Any) -> Any:
    """A default with UTC written one way."""
    if isinstance(default, list):
        return [normalize_default(item) for item in default]
    return re.sub("Z$", "+00:00", default) if isinstance(default, str) else default
