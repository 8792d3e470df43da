"""Hypothesis strategies for whole answer sets: everything the tool language allows, as hostile as it allows it."""

from dataclasses import dataclass, field
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

NOW_AND_THEN = st.integers(0, 3).map(lambda n: n == 0)
FLAT_TYPES = {"str", "int", "float", "bool", "date", "datetime", "uuid", "url", "email"}


@st.composite
def tools(draw: DrawFn, name: str, confirm: str) -> Any:
    """One tool under a given name: a name when that says enough, else a mapping."""
    # The order of the draws decides which answers a seed draws.
    tool: Answers = {"name": name}
    verb = name.split("_")[0]
    if verb not in BEHAVIOR_OF or draw(NOW_AND_THEN):
        tool["behavior"] = draw(st.sampled_from(sorted(BEHAVIORS)))
        if draw(st.integers(0, 2)) == 0:
            return f"{name}={tool['behavior']}"
    elif draw(NOW_AND_THEN):
        return name
    draw_texts(draw, tool)
    draw_fields(draw, tool)
    draw_flags(draw, tool)
    if needs_a_why(tool) or draw(st.booleans()):
        tool["why"] = draw(texts(500))
    draw_icon(draw, tool)
    draw_aliases(draw, tool)
    if draw(st.integers(0, 2)) == 0:
        tool["exceptions"] = draw_exceptions(draw)
    draw_gate(draw, tool, confirm)
    if "params" in tool and draw(st.integers(0, 5)) == 0:
        tool["params"].append({"name": "confirm", "type": "bool", "default": False})
    return tool


def draw_texts(draw: DrawFn, tool: Answers) -> None:
    """Draw the title and description of a tool, its module and its record."""
    name = tool["name"]
    if draw(st.booleans()):
        tool["title"] = draw(texts(100).filter(lambda title: title != name))
    if draw(st.booleans()):
        tool["description"] = draw(texts(2000, lines=True))
    if draw(NOW_AND_THEN):
        tool["module"] = draw(MODULES)
    if draw(NOW_AND_THEN):
        records = ["note", "order", "r" * 40, "x1", "status"]
        tool["record"] = draw(st.sampled_from(records))


def draw_fields(draw: DrawFn, tool: Answers) -> None:
    """Draw the parameters and the result of a tool."""
    if draw(st.integers(0, 3)):
        names = draw(st.lists(PARAM_NAMES, max_size=6, unique_by=python_name))
        tool["params"] = [draw(params(name)) for name in names]
    if draw(st.booleans()):
        names = draw(
            st.lists(RESULT_NAMES, min_size=1, max_size=5, unique_by=result_name)
        )
        tool["returns"] = {name: draw(results()) for name in names}


def draw_flags(draw: DrawFn, tool: Answers) -> None:
    """Draw the flags of a tool and its scopes."""
    if behavior(tool) == "action":
        of_actions = dict.fromkeys(("destructive", "idempotent"), st.booleans())
        tool |= draw(st.fixed_dictionaries({}, optional=of_actions))
    flags = dict.fromkeys(("request_model", "open_world"), st.booleans())
    tool |= draw(st.fixed_dictionaries({}, optional=flags))
    if draw(st.booleans()):
        scopes = st.text("abc:!#[]^~", min_size=1, max_size=9)
        tool["scopes"] = draw(st.lists(scopes, max_size=3))


def needs_a_why(tool: Answers) -> bool:
    """Whether a tool is an update without a version, which has to say why."""
    if tool.get("behavior") != "update":
        return False
    names = {param["name"] for param in tool.get("params", [{"name": "etag"}])}
    return not names & VERSIONS


def draw_icon(draw: DrawFn, tool: Answers) -> None:
    """Draw the icon of a tool."""
    if draw(NOW_AND_THEN):
        icons = ["https://example.com/a.png?\"'\\{}", "data:image/png;base64,AA=="]
        tool["icon"] = draw(st.sampled_from(icons))


def draw_aliases(draw: DrawFn, tool: Answers) -> None:
    """Draw the former names of a tool, with a deprecation."""
    if draw(NOW_AND_THEN):
        stem = tool["name"][:50]
        count = draw(st.integers(0, 2))
        tool["formerly"] = [f"was_{stem}", f"then_{stem}"][:count]
        tool["deprecated"] = draw(texts(300))


def draw_exceptions(draw: DrawFn) -> list[Answers]:
    """Draw the hints that differ from the policy, with their reasons."""
    hints = {
        "read_only": False,
        "destructive": False,
        "idempotent": draw(st.booleans()),
        "open_world": draw(st.booleans()),
    }
    names = draw(st.lists(st.sampled_from(sorted(hints)), max_size=3, unique=True))
    exceptions = []
    for name in names:
        reason = draw(texts(200))
        exceptions.append({"hint": name, "value": hints[name], "why": reason})
    return exceptions


def draw_gate(draw: DrawFn, tool: Answers, confirm: str) -> None:
    """Draw whether a tool is confirmed, and its question or its reason."""
    confirmation = draw(st.sampled_from([None, None, True, False, "question"]))
    if confirmation == "question":
        plain_texts = texts(200).filter(lambda text: not PLACEHOLDER.search(text))
        confirmation = draw(plain_texts)
        placeholders = [f"{{{param['name']}}}" for param in tool.get("params", [])]
        confirmation += draw(st.sampled_from([*placeholders, ""]))
    if confirmation is not None:
        tool["confirm"] = confirmation
    if confirmation is False and needs_a_reason(tool, confirm):
        exception = {"hint": "confirm", "value": False, "why": draw(texts(200))}
        tool["exceptions"] = [*tool.get("exceptions", []), exception]


@dataclass
class Request:
    """The request of a tool while it is drawn."""

    method: str
    path: str
    query: list[str] = field(default_factory=list)
    nulls: list[str] = field(default_factory=list)
    body: bool = False


@st.composite
def requests(draw: DrawFn, tool: Answers) -> Answers:
    """The same tool with a request that fits it, and results as its API spells them."""
    params = [dict(param) for param in tool["params"]]
    methods = ["GET", "HEAD", "POST"]
    if behavior(tool) != "read":
        methods += ["PUT", "PATCH", "DELETE"]
    request = Request(
        method=draw(st.sampled_from(methods)),
        path=draw(st.sampled_from(["/notes", "/v1/a.b/~c", "/x:y/(1)", ""])),
    )
    for param in params:
        if param["name"] == "confirm":  # the gate's, which is not sent
            continue
        places = list_places(param, request.method)
        if not places:
            return tool
        place_param(draw, param, draw(st.sampled_from(places)), request)
    has_clear = any(param["name"] == "clear" for param in params)
    if request.nulls and not has_clear and draw(st.booleans()):
        params.append({"name": "clear", "in": "nulls", "choices": request.nulls})
    binding: Answers = {"http": draw_line(draw, request)}
    if request.method == "HEAD":
        binding["returns"] = {"there": "bool"}
    elif "returns" in tool:
        binding["returns"] = draw_returns(draw, tool["returns"])
    return tool | binding | {"params": params}


def is_nullable(param: Answers) -> bool:
    """Whether a parameter accepts null."""
    if "default" in param:
        return param["default"] is None
    return param.get("required") is False


def list_places(param: Answers, method: str) -> list[str]:
    """List the places of a request that a parameter fits."""
    kind = "str" if "choices" in param else param.get("type", "str")
    places = []
    if method not in ("GET", "HEAD"):
        places.append("body")
    if kind.removeprefix("list[").removesuffix("]") in FLAT_TYPES:
        places.append("query")
    if kind in FLAT_TYPES:
        places.append("header")
    if kind in FLAT_TYPES and not is_nullable(param):
        places.append("path")
    return places


def place_param(draw: DrawFn, param: Answers, place: str, request: Request) -> None:
    """Add a parameter to a request at a place."""
    name = param["name"]
    if place == "path":
        request.path += f"/{{{name}}}"
    elif place == "query" and draw(st.booleans()):
        request.query.append(f"q{len(request.query)}[x]={{{name}}}")
    else:
        param["in"] = place
    if place == "body":
        request.body = True
        if is_nullable(param) and len(name) <= 36:
            request.nulls.append(name)


def draw_line(draw: DrawFn, request: Request) -> str:
    """Draw the end of a request's path and query, and return the request as a line."""
    method = request.method
    if method == "PATCH" and not request.body:
        method = "PUT"
    path = request.path + draw(st.sampled_from(["/tail", ""]))
    query = request.query + draw(st.sampled_from([[], ["state=open"]]))
    line = f"{method} {path or '/'}"
    if query:
        line += "?" + "&".join(query)
    return line


def draw_returns(draw: DrawFn, declared: Answers) -> Any:
    """Draw the result of an API around the declared fields."""
    wide = {"createdAt": "datetime", "_links": "any", "class": {"type": "str"}}
    fields = declared | draw(st.sampled_from([{}, wide]))
    return draw(st.sampled_from([fields, [fields], {"data": [fields]}]))


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
