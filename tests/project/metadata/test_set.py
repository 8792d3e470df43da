"""`metadata set` and `unset`: one value changes, every other line stays, or nothing is written."""

import stat
from pathlib import Path

import pytest
import yaml
from texts import LAID_OUT, RESTART, Cli, comments, module, served, texts, write


def test_set_and_unset_keep_comments_and_order(cli: Cli, mine: Path) -> None:
    """Each change moves the lines that it is about, and no other."""
    write(mine, LAID_OUT)
    assert (
        cli("set", "get_meter", "title", "Read: a meter").out
        == f"{mine} is saved. {RESTART}\n"
    )
    changed = LAID_OUT.replace("title: Old ", 'title: "Read: a meter" ')
    assert mine.read_text() == changed
    cli("set", "get_meter", "arguments.unit", "A unit.")
    added = "        words.\n      arguments:\n        unit:\n          description: A unit.\n"
    changed = changed.replace("        words.\n", added)
    assert mine.read_text() == changed
    cli("set", "create_meter", "description", "D")
    changed = changed.replace(
        "{title: New one}", '{"title": "New one", "description": "D"}'
    )
    assert mine.read_text() == changed
    cli("set", "lab://help", "use_when", "Always.")
    changed = changed.replace(
        "use_when: |\n      You are new.\n", 'use_when: "Always."\n'
    )
    assert mine.read_text() == changed
    cli("set", "lab://meters/{meter_id}", "name", "One")
    changed = mine.read_text()
    assert changed.endswith(
        "resource_templates:\n  lab://meters/{meter_id}:\n    name: One\n"
    )
    assert comments(changed) == comments(LAID_OUT)
    for words in (
        ["create_meter", "title"],
        ["get_meter", "arguments.unit"],
        ["get_meter", "title"],
    ):
        assert cli("unset", *words).code == 0
    assert yaml.safe_load(mine.read_text())["tools"] == {
        "get_meter": {"description": "Folded words."},
        "create_meter": {"description": "D"},
    }
    assert comments(mine.read_text()) == [
        c for c in comments(LAID_OUT) if c != "# why old"
    ]
    cli("unset", "get_meter")
    cli("unset", "create_meter", "description")
    assert "# about another" in mine.read_text()
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600


def test_a_text_may_begin_as_an_option_does(cli: Cli, mine: Path) -> None:
    assert cli("set", "get_meter", "description", "--fast\n- or slow").code == 0
    assert (
        yaml.safe_load(mine.read_text())["tools"]["get_meter"]["description"]
        == "--fast\n- or slow"
    )
    assert "Usage: lab-texts metadata set" in cli("set", "--help").out


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only comments\n",
        "null\n",
        "{}\n",
        "version: 1",
        "---\n# begun\n",
        "tools: {}\n",
    ],
)
def test_set_works_on_any_beginning(cli: Cli, mine: Path, text: str) -> None:
    write(mine, text)
    done = cli("set", "get_meter", "title", "T")
    if done.code:
        assert done.err.startswith(f"lab-texts: {mine}:2:6: ")
        assert mine.read_text() == text == "null\n"
    else:
        assert yaml.safe_load(mine.read_text())["tools"] == {
            "get_meter": {"title": "T"}
        }
        begun = text or module("engine.metadata.commands").HEAD
        assert comments(mine.read_text()) == comments(begun)


def test_set_begins_a_file_of_its_own(cli: Cli, lab: Path, mine: Path) -> None:
    assert cli("set", "get_meter", "title", "Größe: 1").code == 0
    assert texts(served(mine))["tools"]["get_meter"]["title"] == "Größe: 1"
    assert cli("set", "get_meter", "description", "").code == 0
    assert texts(served(mine))["tools"]["get_meter"]["description"] is None
    assert cli("set", "create_meter", "enabled", "false").code == 0
    assert (
        cli("set", "get_meter", "icons", "https://a.de/1.png https://a.de/2.png").code
        == 0
    )
    tools = texts(served(mine))["tools"]
    assert tools["get_meter"]["icons"] == ["https://a.de/1.png", "https://a.de/2.png"]
    assert "create_meter" not in tools
    assert cli("set", "get_meter", "icons", "https://a.de/3.png").code == 0
    assert cli("unset", "create_meter").code == 0
    assert "create_meter" in texts(served(mine))["tools"]


def test_the_mark_that_windows_writes_is_no_text(cli: Cli, mine: Path) -> None:
    write(mine, b"\xef\xbb\xbftools:\n  get_meter:\n    title: A\n")
    assert cli("validate").out == f"{mine} is valid\n"
    cli("set", "get_meter", "title", "B")
    assert mine.read_bytes() == b'tools:\n  get_meter:\n    title: "B"\n'


def test_what_is_set_already_is_not_written(cli: Cli, mine: Path) -> None:
    write(mine, 'tools:\n  get_meter:\n    title: "A"\n')
    before = mine.stat()
    assert cli("set", "get_meter", "title", "A") == (0, f"{mine} is unchanged\n", "")
    after = mine.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_windows_line_ends_stay(cli: Cli, mine: Path) -> None:
    write(mine, "tools:\r\n  get_meter:\r\n    title: A\r\n# end\r\n")
    cli("set", "get_meter", "description", "B")
    text = b"tools:\r\n  get_meter:\r\n    title: A\r\n    description: B\r\n# end\r\n"
    assert mine.read_bytes() == text


REFUSED = {
    "unknown name": (
        ["set", "get_metre", "title", "T"],
        "no tool or resource is named 'get_metre'; did you mean 'get_meter'?",
    ),
    "unknown field": (
        ["set", "get_meter", "title_", "T"],
        "{mine}: tools.get_meter.title_: Unknown field 'title_', did you mean 'title'?",
    ),
    "unknown argument": (
        ["set", "get_meter", "arguments.units", "T"],
        "{mine}: Tool 'get_meter' has no argument 'units'; did you mean 'unit'?",
    ),
    "hint": (
        ["set", "get_meter", "readOnlyHint", "false"],
        "{mine}: tools.get_meter.readOnlyHint: overrides change words, never hints; change the tool itself",
    ),
    "bidi": (
        ["set", "get_meter", "title", "\u202eevil"],
        "{mine}:4: U+202E is a hidden character; remove it",
    ),
    "NUL": (
        ["set", "get_meter", "title", "a\0b"],
        "{mine}: tools.get_meter.title: Text should not contain U+0000 (got a�b)",
    ),
    "half a character": (
        ["set", "get_meter", "title", "\udcff"],
        "{mine}:4: U+DCFF is a hidden character; remove it",
    ),
    "no boolean": (
        ["set", "get_meter", "enabled", "maybe"],
        "{mine}: tools.get_meter.enabled: Input should be a valid boolean (got maybe)",
    ),
    "empty title": (
        ["set", "get_meter", "title", ""],
        "{mine}: tools.get_meter.title: Input should be one line of text (got '')",
    ),
    "too long": (
        ["set", "get_meter", "description", "a" * 2001],
        f"{{mine}}: tools.get_meter.description: String should have at most 2000 characters (got {'a' * 79}… (2,001 characters))",
    ),
    "nothing to take out": (
        ["unset", "get_meter", "description"],
        "{mine} does not override get_meter.description",
    ),
    "nobody to take out": (
        ["unset", "create_meter"],
        "{mine} does not override create_meter",
    ),
}


@pytest.mark.parametrize(("words", "line"), REFUSED.values(), ids=REFUSED)
def test_a_refused_change_leaves_the_file(
    cli: Cli, mine: Path, words: list[str], line: str
) -> None:
    text = b"version: 1\ntools:\n  get_meter:\n    title: A\n"
    write(mine, text)
    done = cli(*words)
    assert (
        done.err.removeprefix("lab-texts: ") == line.replace("{mine}", str(mine)) + "\n"
    )
    assert (done.code, mine.read_bytes()) == (1, text)
    assert [path.name for path in mine.parent.iterdir()] == ["metadata.yaml"]


@pytest.mark.parametrize(
    "texts",
    [
        "{get_meter: {title: A, # why A\n    description: B}}",
        "\n  get_meter: {\n  # why\n  title: A}",
    ],
)
def test_a_comment_that_could_be_lost_is_left_to_the_editor(
    cli: Cli, mine: Path, texts: str
) -> None:
    text = f"tools: {texts}\n"
    write(mine, text)
    for change in (["set", "get_meter", "title", "B"], ["unset", "get_meter", "title"]):
        done = cli(*change)
        assert (
            done.err
            == f"{mine}: only `lab-texts metadata edit` can change such a layout\n"
        )
        assert (done.code, mine.read_text()) == (1, text)


def test_a_file_as_large_as_can_be_does_not_grow(cli: Cli, mine: Path) -> None:
    text = b"#" * 65_530 + b"\n"
    write(mine, text)
    assert cli("set", "get_meter", "title", "A").code == 1
    assert mine.read_bytes() == text


def test_a_link_stays_a_link(cli: Cli, home: Path, mine: Path) -> None:
    target = write(home / "dotfiles/texts.yaml", "version: 1\n")
    mine.parent.mkdir()
    mine.symlink_to(target)
    assert cli("set", "get_meter", "title", "A").code == 0
    assert mine.is_symlink()
    assert "title" in target.read_text()
