"""The committed documents match `scripts/render-docs`, and the reference matches the validators."""

import asyncio
import importlib
import re
import shutil
from pathlib import Path

import pytest
import yaml
from documents import extract_words, guide_to_an_api, pictures, readme, tool_language
from fastmcp import Client, FastMCP
from support import ROOT, macro

RENEW = "run `uv run scripts/render-docs`"
TYPES = {
    "int": 1,
    "float": 1.5,
    "str": "s",
    "bool": True,
    "list[str]": ["s"],
    "dict": {},
}
GOES = {"int": "int, float", "float": "int, float", "str": "str", "list[str]": "lists"}
LIMITS = {
    **dict.fromkeys(["ge", "le", "gt", "lt"], 1),
    **dict.fromkeys(["min_length", "max_length", "min_items", "max_items"], 1),
    "pattern": "^a$",
}


def test_the_reference_is_fresh() -> None:
    committed = (ROOT / "docs/tool-language.md").read_text(encoding="utf-8")
    assert committed == tool_language(), RENEW


def test_the_guide_to_an_api_has_the_figures_that_were_measured() -> None:
    assert (ROOT / "docs/api.md").read_text(encoding="utf-8") == guide_to_an_api(), (
        RENEW
    )


def test_the_readme_shows_a_whole_tool_file(project: Path) -> None:
    committed = (ROOT / "README.md").read_text(encoding="utf-8")
    assert committed == readme(project), RENEW
    whole = (project / "src/notes_mcp/tools/delete_note.py").read_text(encoding="utf-8")
    assert f"```python\n{whole}```" in committed


def test_the_demo_goes_on_where_other_tools_are_gated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A changed table may gate `create_note`; its note is in an envelope then."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    demo = importlib.import_module("demo_client")
    server, note = FastMCP("notes"), {"id": 1, "etag": "a"}
    for name, answer in (
        ("plain", note),
        ("gated", {"confirmed": True, "outcome": "applied", "result": note}),
    ):
        server.tool(lambda answer=answer: answer, name=name, output_schema=None)

    async def called() -> list[dict[str, object]]:
        async with Client(server) as client:
            records = []
            for name in ("plain", "gated"):
                records.append(await demo.call(client, name))
            return records

    assert asyncio.run(called()) == [note, note]


def test_the_pictures_are_fresh(template: Path, project: Path, tmp_path: Path) -> None:
    pytest.importorskip("pexpect")
    mine = tmp_path / "notes"
    shutil.copytree(
        project, mine, ignore=shutil.ignore_patterns(".*cache", "__pycache__")
    )
    drawings = pictures(template, mine)
    assert len(drawings) == 5
    texts = []
    for name in ("README.md", "docs/command.md"):
        texts.append((ROOT / name).read_text("utf-8"))
    pages = "".join(texts)
    for name, svg in drawings.items():
        committed = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert extract_words(committed) == extract_words(svg), (
            f"{name} is stale; {RENEW}"
        )
        assert f"{name})" in pages
        assert "http" not in committed.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("limit", LIMITS)
def test_a_constraint_goes_with_the_types_that_the_reference_names(limit: str) -> None:
    line = next(
        line
        for line in tool_language().splitlines()
        if line.startswith(f"| `{limit}` |")
    )
    documented_types = line.split("|")[-2].strip()
    for kind, sample in TYPES.items():
        param = {
            "name": "x",
            "type": kind,
            "description": str(sample),
            limit: LIMITS[limit],
        }
        message = macro(
            "validate",
            "tool_errors",
            [{"name": "get_note", "params": [param]}],
            "deletes",
        )
        refused = f"param x: {limit} " in message and " requires " in message
        assert refused != (GOES.get(kind) == documented_types), (limit, kind, message)


def test_the_readmes_example_is_accepted() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    tools = yaml.safe_load(example)["tools"]
    assert macro("validate", "tool_errors", tools, "deletes") == ""
    assert (
        macro("validate", "tool_errors", [*tools, "frobnicate_note"], "deletes") != ""
    )


def test_the_readmes_table_is_the_languages() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    reference = tool_language()
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (yes|no) \|", text, re.MULTILINE)
    assert len(rows) == 8
    for behavior, verbs, read_only in rows:
        words = verbs.split(" (")[0].strip()
        assert re.search(
            rf"^\| `{behavior}` \| [^|]+ \| {words} \| {read_only} \|",
            reference,
            re.MULTILINE,
        )


def luminance(color: str) -> float:
    """The relative luminance of a color, as WCAG defines it."""
    total = 0.0
    for at, weight in ((0, 0.2126), (2, 0.7152), (4, 0.0722)):
        value = int(color[at : at + 2], 16) / 255
        linear = value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        total += weight * linear
    return total


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.svg")), ids=str)
def test_every_picture_has_a_light_and_a_dark_form(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    dark, _, light = svg.partition("@media (prefers-color-scheme: light) {")
    colors = dict(re.findall(r"(\.terminal-r\d+) { fill: #(\w{6})", light))
    assert colors.keys() == set(re.findall(r"(\.terminal-r\d+) {", dark))
    for color in colors.values():
        assert 1.05 / (luminance(color) + 0.05) >= 4.5, color
