"""The decision records say what the code does: their tables are held against the generated policy and server."""

import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from support import Answers, Renders, rendered, server

ADRS = "docs/adr/policy/"
HEADINGS = """Context Decision Benefits Consequences Alternatives; Resolved questions; Future
    considerations; Decision timeline"""
WANTED = [*HEADINGS.split(";")[0].split()]
WANTED += [" ".join(part.split()) for part in HEADINGS.split(";")[1:]]
CUSTOM = {"profile": "custom", "hints": "narrow", "destructive": "deletes", "confirm": "writes"}
ANSWERS: dict[str, Answers] = {
    name: {"profile": name} for name in ("explicit", "end-state", "narrow", "confirm-all")
} | {"custom": CUSTOM, "consent": {"consent": "url"}}


def table(text: str, head: str) -> list[list[str]]:
    """The rows of the table whose first line begins with `head`, without their marks."""
    lines = text[text.index(f"\n| {head}") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip().strip("`") for cell in line[1:-1].split(" | ")] for line in lines[2:]]


def behaviors(files: dict[str, str]) -> types.ModuleType:
    """The generated policy/behaviors.py, which imports nothing of the project."""
    module = types.ModuleType("behaviors_of_this_answer")
    sys.modules[module.__name__] = module  # dataclasses look themselves up there
    exec(files["src/notes_mcp/policy/behaviors.py"], vars(module))
    return module


@pytest.mark.parametrize("profile", ANSWERS)
def test_the_table_of_behaviors_is_the_codes(profile: str) -> None:
    files = rendered(ANSWERS[profile])
    code = behaviors(files)
    rows = table(files[ADRS + "0001-tool-annotations.md"], "behavior")
    assert [row[0] for row in rows] == list(code.BEHAVIORS)
    for behavior, meaning, *cells in rows:
        assert meaning == code.BEHAVIORS[behavior].text
        of = code.BEHAVIORS[behavior]
        for said in (True, False):
            truth: dict[str, Any] = {"destructive": said, "idempotent": said}
            declared = code.Declaration(behavior=behavior, title="T", **truth).hints()
            for cell, (hint, wire) in zip(cells, code.WIRE_NAMES.items(), strict=True):
                free = getattr(of, hint, True) is None
                wanted = {
                    "yes": True,
                    "no": False,
                    "absent": None,
                    "as said": said if free else "not free",
                    "where true": True if said and free else None,
                }[cell]
                assert declared.get(wire) == wanted, (behavior, hint, cell)


@pytest.mark.parametrize("profile", ANSWERS)
def test_the_policy_that_is_named_is_the_codes(profile: str) -> None:
    files = rendered(ANSWERS[profile])
    code = behaviors(files)
    assert f"(`confirm: {code.CONFIRM}`)" in files[ADRS + "0003-confirmation.md"]
    overwrites = "and an overwrite" in files[ADRS + "0002-destructive-and-idempotent.md"]
    assert overwrites == (code.DESTRUCTIVE == "deletes_and_overwrites")


@pytest.mark.parametrize("name", ["notes", "unusual", "products"])
def test_the_lists_of_gated_and_ungated_tools_are_the_servers(example: Renders, name: str) -> None:
    project = example(name)
    rows = json.loads(server(project, "tools", "list", "--json").stdout)
    text = (project / ADRS / "0005-tool-interface.md").read_text(encoding="utf-8")
    parts = re.split("^These run at once|^No tool runs at once", text, flags=re.MULTILINE)
    for part, gated in zip(parts, (True, False), strict=True):
        wanted = [[row["name"], row["behavior"]] for row in rows if row["gated"] is gated]
        assert (table(part, "tool |") if wanted else []) == wanted
        assert wanted or "| tool |" not in part


@pytest.mark.parametrize("profile", ANSWERS)
def test_each_record_has_every_part_in_order(profile: str) -> None:
    files = {n: t for n, t in rendered(ANSWERS[profile]).items() if n.startswith(ADRS)}
    index = files.pop(ADRS + "README.md")
    for name, text in files.items():
        heads = re.findall("^## (.+)$", text, re.MULTILINE)
        assert [head for head in heads if head in WANTED] == WANTED, name
        number, title = Path(name).stem[:4], text.splitlines()[0].removeprefix("# ")
        assert title.startswith(f"{number} ")
        assert "\n**Status.** Accepted. Managed by the template" in text
        assert f"| [{number}]({Path(name).name}) | {title[5:]} |" in index
    assert len(re.findall(r"^\| \[\d{4}\]", index, re.MULTILINE)) == len(files)
    skeleton = index.split("```")[1]
    assert re.findall("^## (.+)$", skeleton, re.MULTILINE) == WANTED
