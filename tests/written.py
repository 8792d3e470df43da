"""Rendered tool files, parsed without the macros and compared with the answers."""

import ast
import re
from functools import cache
from typing import Any

from strategies_values import Answers
from tables import behavior, policy_of

Spec = dict[str, Any]


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
            specs.append({"name": name} | ({"behavior": behavior} if behavior else {}))
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


def written(source: str) -> Spec:
    """Parse the declaration of a tool file: decorator, keywords and parameters by wire name."""
    tree = parse_file(source)
    (function,) = (node for node in tree.body if isinstance(node, ast.AsyncFunctionDef))
    *decorators, call = function.decorator_list
    decorator_names = [ast.unparse(decorator) for decorator in decorators]
    assert decorator_names in ([], ["requires_consent"])
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    keywords: Spec = {str(word.arg): value(word.value) for word in call.keywords}
    arguments = function.args
    required = [None] * (len(arguments.args) - len(arguments.defaults))
    defaults = [*required, *arguments.defaults, *arguments.kw_defaults]
    pairs: list[tuple[str, ast.expr | None, ast.expr | None]] = []
    for argument, default in zip(
        [*arguments.args, *arguments.kwonlyargs], defaults, strict=True
    ):
        pairs.append((argument.arg, argument.annotation, default))
    models = []
    for n in tree.body:
        if isinstance(n, ast.ClassDef) and n.name.endswith("Request"):
            models.append(n)
    if models and [name for name, _, _ in pairs] == ["request"]:
        fields = []
        for node in models[0].body:
            if isinstance(node, ast.AnnAssign):
                fields.append(node)
        pairs = [(ast.unparse(f.target), f.annotation, f.value) for f in fields]
    params = {}
    for name, annotation, default in pairs:
        assert isinstance(annotation, ast.Subscript)
        assert isinstance(annotation.slice, ast.Tuple)
        kind, field = annotation.slice.elts
        assert isinstance(field, ast.Call)
        words: Spec = {str(word.arg): value(word.value) for word in field.keywords}
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
    local = (
        answers.get("backend") == "sqlite" and policy_of(answers)["hints"] == "explicit"
    )
    exceptions = (exception["hint"] for exception in tool.get("exceptions", []))
    default = not local or "open_world" in exceptions
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
        for key in set(param) - {
            "name",
            "type",
            "choices",
            "required",
            "default",
            "in",
        }:
            assert words[key.replace("items", "length")] == param[key], (
                param["name"],
                key,
            )
        if param.get("in") == "nulls":
            listed = ", ".join(map(repr, param["choices"]))
            assert words["type"] == f"tuple[Literal[{listed}], ...]"
            assert list(words["default"]) == []
            continue
        if "choices" in param:
            literal = ast.parse(words["type"].removesuffix(" | None"), mode="eval").body
            assert isinstance(literal, ast.Subscript)
            assert value(
                literal.slice
                if isinstance(literal.slice, ast.Constant)
                else ast.List(getattr(literal.slice, "elts", [literal.slice]))
            ) in (param["choices"], *param["choices"])
        optional = ("default" in param and param["default"] is None) or param.get(
            "required"
        ) is False
        assert words["type"].endswith(" | None") == optional
        assert ("default" in words) == (optional or "default" in param)
        assert normalize_default(words.get("default")) == normalize_default(
            param.get("default")
        )


def normalize_default(default: Any) -> Any:
    """A default with UTC written one way."""
    if isinstance(default, list):
        return [normalize_default(item) for item in default]
    return re.sub("Z$", "+00:00", default) if isinstance(default, str) else default
