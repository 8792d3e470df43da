"""Whatever a file says, it is on the wire as written or refused with its place."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, seed
from hypothesis import strategies as st
from strategies import drawn
from support import draws
from texts import Texts, module, served, texts, write

SEED = 20261123
NAMES = ["get_meter", "create_meter", "list_resources"]


URIS = ["lab://meters", "lab://help"]


PATTERNS = ["lab://meters/{meter_id}"]


ODD = ["zzz", "no", "", "a\nb", "desc"]


GOOD = [
    "A text",
    "Ein Text für Menschen",
    "a: b # c",
    "- x",
    "'\"",
    "yes",
    "1.5",
    " x ",
    "é{}%s",
]


def draw_mostly(
    usual: st.SearchStrategy[Any], rare: st.SearchStrategy[Any]
) -> st.SearchStrategy[Any]:
    """One in twelve is rare."""
    return st.integers(0, 11).flatmap(lambda n: usual if n else rare)


def table(names: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Some names, mostly known ones."""
    return st.dictionaries(
        draw_mostly(st.sampled_from(names), st.sampled_from(ODD)),
        values,
        min_size=1,
        max_size=3,
    )


bad = (
    st.text(max_size=20)
    | st.none()
    | st.booleans()
    | st.integers(0, 3)
    | st.just(["x"])
)


line = draw_mostly(st.sampled_from(GOOD), bad)


value = draw_mostly(st.sampled_from(["", "Two\nlines", *GOOD]), bad)


images = st.lists(
    draw_mostly(st.just("https://example.com/a.png"), st.just("javascript:x")),
    max_size=2,
)


argument = st.fixed_dictionaries({}, optional={"description": value})


tool = st.fixed_dictionaries(
    {},
    optional={
        "title": line,
        "description": value,
        "arguments": table(["meter_id", "unit", "title"], argument),
        "icons": images,
        "enabled": st.booleans(),
    },
)


resource = st.fixed_dictionaries(
    {},
    optional={"name": line, "description": value, "use_when": value, "example": value},
)


files = st.fixed_dictionaries(
    {"strict": draw_mostly(st.just(False), st.just(True)), "tools": table(NAMES, tool)},
    optional={
        "version": draw_mostly(st.just(1), st.just(2)),
        "resources": table(URIS, resource),
        "resource_templates": table(PATTERNS, resource),
    },
)


def compute_expected(code: Texts, config: dict[str, Any]) -> Texts:
    """What the wire must show, worked out here in the plainest way."""
    for name, override in (config.get("tools") or {}).items():
        if name not in code["tools"]:
            continue
        if override.get("enabled") is False:
            del code["tools"][name]
            if name == "list_resources":
                code.pop("listed")
            continue
        override_tool(code["tools"][name], override)
    for section in ("resources", "resource_templates"):
        for uri, override in config.get(section, {}).items():
            item = code[section].get(uri)
            if item is None:
                continue
            override_resource(item, override)
            if "listed" in code:
                override_listed(code["listed"][section], uri, item)
    return code


def override_tool(tool: dict[str, Any], override: dict[str, Any]) -> None:
    """Replace the texts of a tool; an empty text is none."""
    if "title" in override:
        tool["title"] = tool["annotated"] = override["title"]
    if "description" in override:
        tool["description"] = override["description"] or None
    if "icons" in override:
        tool["icons"] = override["icons"] or None
    for argument, words in override.get("arguments", {}).items():
        if argument in tool["arguments"] and "description" in words:
            tool["arguments"][argument] = words["description"] or None


def override_resource(item: dict[str, Any], override: dict[str, Any]) -> None:
    """Replace the name and the description of a resource; advice follows the description."""
    advice = []
    if override.get("use_when"):
        advice.append(f"When to use: {override['use_when']}")
    if override.get("example"):
        advice.append(f"Example: {override['example']}")
    text = override.get("description", item["description"])
    if advice:
        text += "\n\n" if text else ""
        text += "\n".join(advice)
    item["name"] = override.get("name", item["name"])
    item["description"] = text or None


def override_listed(rows: list[dict[str, Any]], uri: str, item: dict[str, Any]) -> None:
    """Replace the texts of a resource in the result of the listing tool."""
    for row in rows:
        if row["uri"] == uri:
            row |= item


def parse(path: Path) -> object:
    """What the file at a path says."""
    reader = module("engine.metadata.overrides")
    return reader.parse(path, reader.read_text(path))


def attempt(work: Callable[[], Any]) -> tuple[Any, str]:
    """What came of it, or None and the refusal."""
    try:
        return work(), ""
    except module("engine.errors").StartError as error:
        return None, str(error)


@seed(SEED)
@drawn(draws(150))
@given(
    config=files,
    flow=st.sampled_from([True, False, None]),
    width=st.sampled_from([5, 100]),
)
def test_any_file_is_refused_with_its_place_or_on_the_wire_as_written(
    lab: Path, home: Path, config: dict[str, Any], flow: bool | None, width: int
) -> None:
    text = yaml.safe_dump(
        config, default_flow_style=flow, width=width, allow_unicode=True
    )
    path = write(home / "any.yaml", text)
    mcp, line = attempt(lambda: served(path))
    if mcp is None:
        assert "\n" not in line
        assert line.startswith(str(path))
        names = [
            *config,
            *itertools.chain(*(v for v in config.values() if isinstance(v, dict))),
        ]
        assert any(
            (name.partition("\n")[0] or "''") in line for name in names
        ) or re.match(r":\d+", line.removeprefix(str(path))), line
        return
    assert texts(mcp) == compute_expected(texts(served(None)), config)


@seed(SEED)
@drawn(draws(200))
@given(
    data=st.binary(max_size=60)
    | st.text("tols: -[]{}#&*!|>'\"\n%@`\\,?0ytrue", max_size=60)
)
def test_any_bytes_are_refused_or_served(
    lab: Path, home: Path, data: bytes | str
) -> None:
    path = write(home / "any.yaml", data)
    config, line = attempt(lambda: parse(path))
    assert config is not None or line.startswith(str(path))
    assert "\n" not in line
