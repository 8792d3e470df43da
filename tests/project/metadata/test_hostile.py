"""Files that mean harm: refused in one line, in a moment, and left alone."""

import itertools
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from texts import Texts, module, served, texts, write

BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in itertools.pairwise("abcdefghi")
)


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "alias bomb": (
        BOMB,
        ":1:4: anchors, aliases, tags and deep nesting are not allowed",
    ),
    "alias": ("tools: {get_meter: &a {title: *a}}", ":1:20: anchors"),
    "merge key": ("tools: {get_meter: {<<: {title: T}}}", ":1:21: <<"),
    "deep": ("[" * 500, ":1:8: anchors, aliases, tags and deep nesting"),
    "deeper than the reader of YAML allows": ("[" * 60_000, "nesting"),
    "duplicate key": (
        "tools: {get_meter: {title: A, title: B}}",
        ":1:31: the key title appears twice",
    ),
    "duplicate tool": (
        "tools:\n  a: {}\n  a: {}\n",
        ":3:3: the key a appears twice; keep one",
    ),
    "yes": ("strict: yes", ":1:9: yes is not text to every YAML reader"),
    "no": ("tools: {get_meter: {enabled: no}}", ":1:30: no is not text"),
    "on": ("tools: {get_meter: {title: on}}", ":1:28: on is not text"),
    "off as a name": ("tools: {off: {title: T}}", ":1:9: off is not text"),
    "number": ("tools: {get_meter: {title: 0x1F}}", ":1:28: 0x1F is not text"),
    "date": (
        "tools: {get_meter: {title: 2026-01-31}}",
        ":1:28: 2026-01-31 is not text",
    ),
    "quoted boolean": (
        'strict: "true"',
        ": strict: Input should be a valid boolean (got true)",
    ),
    "version true": ("version: true", ": version true is not supported"),
    "version text": ('version: "1"', ": version 1 is not supported"),
    "tag": ("tools: !!python/object:os.system {}", ":1:8: anchors, aliases, tags"),
    "two documents": (
        "version: 1\n---\nversion: 1\n",
        ":2:1: a second document begins here; keep only one",
    ),
    "no mapping": ("- tools", ": the file: Input should be a valid dictionary"),
    "list of tools": (
        "tools: [get_meter]",
        ": tools: Input should be a valid dictionary",
    ),
    "10 MiB": (b"#" * (10 * 2**20), " is 10485760 bytes long; the limit is 65536"),
    "one byte too many": (b"#" * 65_537, " is 65537 bytes long; the limit is 65536"),
    "a mark of order inside": (
        "version: 1\n\ufeff# x\n",
        ":2: U+FEFF is a hidden character",
    ),
    "NUL": ("version: 1\n# \0\n", ":2: U+0000 is a hidden character"),
    "escaped NUL": (
        'tools: {get_meter: {title: "a\\0b"}}',
        ": tools.get_meter.title: Text should not contain",
    ),
    "invalid UTF-8": (b"version: 1\n# \xff\n", " is not UTF-8; save it as UTF-8"),
    "bidi": ("version: 1\n# \u202eevil\n", ":2: U+202E is a hidden character"),
    "escaped bidi": (
        'tools: {get_meter: {description: "\\u202Eevil"}}',
        "description: Text should not contain",
    ),
    "escape sequence": (
        'tools: {get_meter: {title: "\\e[31m"}}',
        "title: Text should not contain U+001B",
    ),
    "a blank of dots": (
        'tools: {get_meter: {title: "\\u2800"}}',
        "title: Text should not contain U+2800",
    ),
    "a selector of glyphs": (
        'tools: {get_meter: {title: "Get\\uFE0F Meter"}}',
        "title: Text should not contain U+FE0F",
    ),
    "a text in selectors": (
        'tools: {get_meter: {title: "\\u26A0\\uFE0F\\U000E0148\\U000E0149"}}',
        "title: Text should not contain U+E0148",
    ),
    "half a character": ('tools: {get_meter: {title: "\\ud800"}}', ""),
    "blanks": (
        'tools: {get_meter: {description: "  "}}',
        "description: Text should not be blank",
    ),
    "decomposed": (
        'tools: {get_meter: {title: "e\\u0301"}}',
        "title: Text should be in form NFC",
    ),
    "two lines of title": (
        'tools: {get_meter: {title: "a\\nb"}}',
        "title: Input should be one line of text",
    ),
    "long title": (
        f"tools: {{get_meter: {{title: {'a' * 101}}}}}",
        "at most 100 characters",
    ),
    "long text": (
        f"tools: {{get_meter: {{description: {'a' * 2001}}}}}",
        "at most 2000 characters",
    ),
    "script as icon": (
        'tools: {get_meter: {icons: ["javascript:x"]}}',
        "icons.0: Input should be an https:// or data:image/ address",
    ),
    "null text": ("tools:\n  get_meter:\n    title:\n", ":3:11: a value is missing"),
    "null section": ("tools:\n", ":1:7: a value is missing"),
    "list as key": ("? [a]\n: b\n", ':1:3: the key ["a"] is not text'),
    "name of nothing": ('tools: {"": {title: T}}', ": Unknown tool: ''; "),
    "field of nothing": (
        'tools: {get_meter: {"": T}}',
        ": tools.get_meter.'': Unknown field",
    ),
    "name of two lines": ('tools: {"a\\nb": {title: T}}', ": Unknown tool: a"),
}


@pytest.mark.parametrize(("text", "part"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused(
    refusal: Callable[[str | bytes], str], home: Path, text: str | bytes, part: str
) -> None:
    served(None)  # what the first server of a process imports does not count
    started = time.process_time()
    line = refusal(text)
    assert time.process_time() - started < 1
    assert part in line, line
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]", line)
    assert (home / "texts.yaml").read_bytes() == (
        text if isinstance(text, bytes) else text.encode()
    )


def test_thousands_of_unknown_names_are_told_in_a_moment(
    lab: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A likely name is looked up for what is refused, not for each warning."""
    path = Path("m.yaml")
    names = "".join(f"  t{n}: {{}}\n" for n in range(3_000))
    config = module("engine.metadata.overrides").parse(
        path, f"strict: false\ntools:\n{names}"
    )
    definitions: Texts = {"tools": {f"tool_{n}": {} for n in range(1_000)}}
    started = time.process_time()
    module("engine.metadata.overrides").check(
        module("policy").POLICY, path, config, definitions
    )
    assert time.process_time() - started < 1
    assert len(caplog.messages) == 3_000


def refused_path(path: Path) -> str:
    started = time.process_time()
    with pytest.raises(module("engine.errors").StartError) as caught:
        served(path)
    assert time.process_time() - started < 1
    return str(caught.value)


def test_what_is_no_regular_file_is_refused(lab: Path, home: Path) -> None:
    served(None)
    os.mkfifo(home / "pipe")
    for target in (Path("/dev/zero"), Path("/dev/null"), home, home / "pipe"):
        link = home / "link.yaml"
        link.symlink_to(target)
        assert refused_path(link) == f"{link} is not a regular file"
        link.unlink()
    (home / "loop").symlink_to(home / "loop")
    assert refused_path(home / "loop").startswith(f"{home}/loop cannot be read: ")


def test_a_link_to_a_file_is_followed_and_its_target_checked(
    lab: Path, home: Path
) -> None:
    target = write(home / "target.yaml", "tools: {get_meter: {title: Linked}}")
    link = home / "link.yaml"
    link.symlink_to(target)
    assert texts(served(link))["tools"]["get_meter"]["title"] == "Linked"
    target.chmod(0o666)
    assert "can be written by others" in refused_path(link)


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o666, 0o777])
def test_a_file_that_others_can_write_is_refused(
    lab: Path, home: Path, mode: int
) -> None:
    path = write(home / "t.yaml", "version: 1")
    path.chmod(mode)
    assert (
        refused_path(path)
        == f"{path} can be written by others; run `chmod go-w {path}`"
    )
    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o644)
    served(path)


def test_an_emoji_is_no_hidden_character(lab: Path, home: Path) -> None:
    path = write(
        home / "t.yaml",
        "tools: {get_meter: {title: '\u26a0\ufe0f Meter 1\ufe0f\u20e3'}}",
    )
    assert (
        texts(served(path))["tools"]["get_meter"]["title"]
        == "\u26a0\ufe0f Meter 1\ufe0f\u20e3"
    )


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_in_a_folder_that_all_may_write_is_refused(
    lab: Path, home: Path, linked: bool
) -> None:
    """There everybody can put another file in its place, or another folder in that of its folder."""
    path = target = write(home / "open/texts/t.yaml", "version: 1")
    if linked:
        path = home / "link.yaml"
        path.symlink_to(target)
    (home / "open").chmod(0o777)
    line = f"{path} can be replaced by others; run `chmod o-w {home / 'open'}`"
    assert refused_path(path) == line
    for mode in (0o1777, 0o755):
        (home / "open").chmod(mode)
        served(path)
