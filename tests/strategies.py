"""Hypothesis strategies for whole answer sets: everything the tool language allows, as hostile as it allows it."""

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from strategies_values import (
    MODULES,
    PARAM_NAMES,
    PLACEHOLDER,
    RESULT_NAMES,
    TAKEN,
    Answers,
    camel,
    params,
    python_name,
    result_name,
    results,
    texts,
    tool_names,
    words,
)
from support import macro
from tables import (
    BEHAVIOR_OF,
    BEHAVIORS,
    PROFILES,
    TABLES,
    VERSIONS,
    behavior,
    needs_a_reason,
    policy_of,
)


@st.composite
def tools(draw: DrawFn, name: str, confirm: str) -> Any:
    """One tool under a given name: a name when that says enough, else a mapping."""
    maybe, now_and_then = st.booleans, st.integers(0, 3).map(lambda n: n == 0)
    tool: Answers = {"name": name}
    verb = name.split("_")[0]
    if verb not in BEHAVIOR_OF or draw(now_and_then):
        tool["behavior"] = draw(st.sampled_from(sorted(BEHAVIORS)))
        if draw(st.integers(0, 2)) == 0:
            return f"{name}={tool['behavior']}"
    elif draw(now_and_then):
        return name
    if draw(maybe()):
        tool["title"] = draw(texts(100).filter(lambda title: title != name))
    if draw(maybe()):
        tool["description"] = draw(texts(2000, lines=True))
    if draw(now_and_then):
        tool["module"] = draw(MODULES)
    if draw(now_and_then):
        tool["record"] = draw(
            st.sampled_from(["note", "order", "r" * 40, "x1", "status"])
        )
    if draw(st.integers(0, 3)):
        names = draw(st.lists(PARAM_NAMES, max_size=6, unique_by=python_name))
        tool["params"] = [draw(params(name)) for name in names]
    if draw(maybe()):
        names = draw(
            st.lists(RESULT_NAMES, min_size=1, max_size=5, unique_by=result_name)
        )
        tool["returns"] = {name: draw(results()) for name in names}
    if behavior(tool) == "action":
        of_actions = dict.fromkeys(("destructive", "idempotent"), maybe())
        tool |= draw(st.fixed_dictionaries({}, optional=of_actions))
    flags = dict.fromkeys(("request_model", "open_world"), maybe())
    tool |= draw(st.fixed_dictionaries({}, optional=flags))
    if draw(maybe()):
        tool["scopes"] = draw(
            st.lists(st.text("abc:!#[]^~", min_size=1, max_size=9), max_size=3)
        )
    unexplained = tool.get("behavior") == "update" and not (
        {param["name"] for param in tool.get("params", [{"name": "etag"}])} & VERSIONS
    )
    if unexplained or draw(maybe()):
        tool["why"] = draw(texts(500))
    if draw(now_and_then):
        tool["icon"] = draw(
            st.sampled_from(
                ["https://example.com/a.png?\"'\\{}", "data:image/png;base64,AA=="]
            )
        )
    if draw(now_and_then):
        tool["formerly"] = [f"was_{name[:50]}", f"then_{name[:50]}"][
            : draw(st.integers(0, 2))
        ]
        tool["deprecated"] = draw(texts(300))
    if draw(st.integers(0, 2)) == 0:
        hints = {
            "read_only": False,
            "destructive": False,
            "idempotent": draw(maybe()),
            "open_world": draw(maybe()),
        }
        picked = draw(st.lists(st.sampled_from(sorted(hints)), max_size=3, unique=True))
        tool["exceptions"] = [
            {"hint": h, "value": hints[h], "why": draw(texts(200))} for h in picked
        ]
    confirmation = draw(st.sampled_from([None, None, True, False, "question"]))
    if confirmation == "question":
        confirmation = draw(
            texts(200).filter(lambda text: not PLACEHOLDER.search(text))
        )
        placeholders = [f"{{{param['name']}}}" for param in tool.get("params", [])]
        confirmation += draw(st.sampled_from([*placeholders, ""]))
    if confirmation is not None:
        tool["confirm"] = confirmation
    if confirmation is False and needs_a_reason(tool, confirm):
        exception = {"hint": "confirm", "value": False, "why": draw(texts(200))}
        tool["exceptions"] = [*tool.get("exceptions", []), exception]
    if "params" in tool and draw(st.integers(0, 5)) == 0:
        tool["params"].append({"name": "confirm", "type": "bool", "default": False})
    return tool


@st.composite
def requests(draw: DrawFn, tool: Answers) -> Answers:
    """The same tool with a request that fits it, and results as its API spells them."""
    behaves = behavior(tool)
    params = [dict(param) for param in tool["params"]]
    scalar = {"str", "int", "float", "bool", "date", "datetime", "uuid", "url", "email"}
    methods = ["GET", "HEAD", "POST"] + ["PUT", "PATCH", "DELETE"] * (behaves != "read")
    method = draw(st.sampled_from(methods))
    path = draw(st.sampled_from(["/notes", "/v1/a.b/~c", "/x:y/(1)", ""]))
    query: list[str] = []
    nulls: list[str] = []
    body = False
    for param in params:
        if param["name"] == "confirm":  # the gate's, which is not sent
            continue
        kind = "str" if "choices" in param else param.get("type", "str")
        null = param.get("default", 1) is None or (
            "default" not in param and param.get("required") is False
        )
        flat = kind.removeprefix("list[").removesuffix("]") in scalar
        places = ["body"] * (method not in ("GET", "HEAD")) + ["query"] * flat
        places += ["header"] * (kind in scalar) + ["path"] * (
            kind in scalar and not null
        )
        if not places:
            return tool
        at = draw(st.sampled_from(places))
        if at == "path":
            path += f"/{{{param['name']}}}"
        elif at == "query" and draw(st.booleans()):
            query.append(f"q{len(query)}[x]={{{param['name']}}}")
        else:
            param["in"] = at
        body = body or at == "body"
        if at == "body" and null and len(param["name"]) <= 36:
            nulls.append(param["name"])
    if (
        nulls
        and "clear" not in {param["name"] for param in params}
        and draw(st.booleans())
    ):
        params.append({"name": "clear", "in": "nulls", "choices": nulls})
    if method == "PATCH" and not body:
        method = "PUT"
    path += draw(st.sampled_from(["/tail", ""])) or ("" if path else "/")
    query += draw(st.sampled_from([[], ["state=open"]]))
    binding: Answers = {
        "http": f"{method} {path}{'?' if query else ''}{'&'.join(query)}"
    }
    if "returns" in tool and method != "HEAD":
        wide = {"createdAt": "datetime", "_links": "any", "class": {"type": "str"}}
        fields = tool["returns"] | draw(st.sampled_from([{}, wide]))
        binding["returns"] = draw(
            st.sampled_from([fields, [fields], {"data": [fields]}])
        )
    if method == "HEAD":
        binding["returns"] = {"there": "bool"}
    return tool | binding | {"params": params}


URIS = st.sampled_from(
    words(
        "notes://all notes://{note_id} a+b.c://x/{y}/z{w} s://1 x://{id}/{order_id} q://a?b=c&d=%20 h://-"
    )
)


@st.composite
def resources(draw: DrawFn) -> Answers:
    """One resource or resource template."""
    resource = {
        "uri": draw(URIS),
        "name": draw(texts(100)),
        "description": draw(texts(2000, lines=True)),
    }
    kind = draw(
        st.sampled_from([None, "application/json", "text/plain", "image/svg+xml"])
    )
    return resource | ({"mime_type": kind} if kind else {})


@st.composite
def answer_sets(draw: DrawFn) -> Answers:
    """Every question answered, or left to its default."""
    answers: Answers = {"profile": draw(st.sampled_from([*PROFILES, "custom"]))}
    if answers["profile"] == "custom":
        answers["hints"] = draw(st.sampled_from([*TABLES["on_the_wire"]]))
        answers["destructive"] = draw(
            st.sampled_from(["deletes", "deletes_and_overwrites"])
        )
        answers["confirm"] = draw(st.sampled_from([*TABLES["confirm"]]))
        answers["confirm_fallback"] = draw(
            st.sampled_from(["two_step", "page", "refuse"])
        )
    names = draw(
        st.lists(
            tool_names().filter(lambda n: n not in TAKEN | {"list_resources"}),
            min_size=1,
            max_size=4,
            unique_by=camel,
        )
    )
    drawn_tools = []
    for name in names:
        drawn_tools.append(draw(tools(name, policy_of(answers)["confirm"])))
    answers["tools"] = drawn_tools
    modules = {t.get("module") for t in answers["tools"] if isinstance(t, dict)}
    answers["tools"] = [
        t
        for t in answers["tools"]
        if (t["name"] if isinstance(t, dict) else t.partition("=")[0]) not in modules
    ]
    answers["tools"] = answers["tools"] or ["ping"]
    if all(isinstance(tool, str) for tool in answers["tools"]):
        answers["tools"] = draw(st.sampled_from([", ", ",", " , "])).join(
            answers["tools"]
        )
    if draw(st.booleans()):
        answers["resources"] = draw(
            st.lists(resources(), max_size=3, unique_by=lambda r: r["uri"])
        )
    answers["backend"] = draw(st.sampled_from(["sqlite", "sqlite", "none", "http"]))
    if answers["backend"] == "http" and not isinstance(answers["tools"], str):
        answers["tools"] = [
            draw(requests(t))
            if isinstance(t, dict) and "params" in t and draw(st.booleans())
            else t
            for t in answers["tools"]
        ]
    answers["consent"] = draw(st.sampled_from([*["none"] * 6, "url"]))
    answers["license"] = draw(
        st.sampled_from(["MIT", "Apache-2.0", "BSD-3-Clause", "none"])
    )
    packages = st.sampled_from(["container", "bundle", "registry"])
    answers["packages"] = draw(st.lists(packages, unique=True))
    drawn = {
        "domain": st.from_regex("[a-z][a-z0-9_]{0,31}", fullmatch=True),
        "server_name": st.from_regex("[a-z][a-z0-9]*(-[a-z0-9]+)*", fullmatch=True)
        .map(lambda n: n[:40].rstrip("-"))
        .filter(
            lambda n: (
                macro("validate", "name_errors", "package_name", n.replace("-", "_"))
                == ""
            )
        ),
        "package_name": st.sampled_from(["p", "a1_", "a__b", "p" * 40, "notes_mcp"]),
        "description": texts(300),
        "author": st.one_of(st.just(""), texts(100)),
    }
    return answers | draw(st.fixed_dictionaries({}, optional=drawn))


def drawn(count: int) -> settings:
    """Settings under which the same sets come every time, however long they take."""
    return settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
