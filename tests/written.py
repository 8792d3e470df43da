"""What stands in a rendered tool file, read back without the macros, and held against what was asked."""

import ast
import re
from functools import cache
from typing import Any

from strategies_values import Answers
from tables import behavior, policy_of

Spec = dict[str, Any]


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a Python file; most files are the same in every project."""
    return ast.parse(source)


def asked_tools(answers: Answers) -> list[Spec]:
    """The tools of an answer set as mappings, read without the macros."""
    said = answers.get("tools", [])
    items = re.split("[,\n]", said) if isinstance(said, str) else said
    found = []
    for item in items:
        if isinstance(item, dict):
            found.append(item)
        elif item.strip():
            name, _, behavior = item.strip().partition("=")
            found.append({"name": name} | ({"behavior": behavior} if behavior else {}))
    return found


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
    """What a tool file declares: decorator, keywords and parameters by wire name."""
    tree = parsed(source)
    (function,) = (node for node in tree.body if isinstance(node, ast.AsyncFunctionDef))
    *more, call = function.decorator_list
    assert [ast.unparse(one) for one in more] in ([], ["requires_consent"])
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    said: Spec = {str(word.arg): value(word.value) for word in call.keywords}
    arguments = function.args
    first = [None] * (len(arguments.args) - len(arguments.defaults))
    pairs: list[tuple[str, ast.expr | None, ast.expr | None]] = [
        *(
            (a.arg, a.annotation, d)
            for a, d in zip(arguments.args, [*first, *arguments.defaults], strict=True)
        ),
        *(
            (a.arg, a.annotation, d)
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ),
    ]
    models = [
        n
        for n in tree.body
        if isinstance(n, ast.ClassDef) and n.name.endswith("Request")
    ]
    if models and [name for name, _, _ in pairs] == ["request"]:
        fields = [node for node in models[0].body if isinstance(node, ast.AnnAssign)]
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
    return said | {
        "name": function.name,
        "behavior": call.func.id,
        "description": said.get("description") or ast.get_docstring(function),
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
    found = written(source)
    assert (found["name"], found["behavior"]) == (tool["name"], behavior(tool))
    for key in {"title", "description", "why", "scopes", "icon", "confirm"} & set(tool):
        assert found.get(key, []) == tool[key], key
    assert found.get("exceptions", []) == tool.get("exceptions", [])
    assert found.get("open_world", True) == expected_open_world(tool, answers)
    if "params" not in tool:
        return
    assert list(found["params"]) == [param["name"] for param in tool["params"]]
    for param in tool["params"]:
        words = found["params"][param["name"]]
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
        assert iso(words.get("default")) == iso(param.get("default"))


def iso(default: Any) -> Any:
    """A default with UTC written one way."""
    if isinstance(default, list):
        return [iso(item) for item in default]
    return re.sub("Z$", "+00:00", default) if isinstance(default, str) else default
