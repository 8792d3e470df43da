"""Documents: no dead link, no empty section, no leftover, and no file, command or option that is not there."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path

import forked
import pytest
from support import EXAMPLES, ROOT, Renders, answers, nightly_but, server

Call = list[str]
Help = Callable[[tuple[str, ...]], str]
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SHELL = ("sh", "console", "")
LEFTOVERS = r"\{\{-? ?\w|\{%-? (?:if|for|set|import|end)|\{#-? |\bUndefined\b|\bNone\b"
# Notes of ours that nobody else can open.
UNREADABLE = r"\bDESIGN\b|\b[Ss]eeds? \d+|\bfield[- ]lessons\b"
TOP = "macros|writing|template|src|tests|docs|scripts|hooks|examples|benchmarks|config|policy"
# The table of tools is written by pinning, so no render has it; the other one is an example.
UNPINNED = ("dead link docs/tools.md", "dead link ../../tools.md")
# A command that the guide has an author write.
AUTHORS_COMMANDS = {"work"}
NOT_RENDERED = {
    ".github/workflows/house.yml",
    "config/house.toml",
    "tests/policy/test_house.py",
    "policy/gate.py",  # of releases before the engine
    "tests/policy/check.py",
    "tests/policy/engine.toml",  # of adopted servers
    "tests/tools/backend.py",
    "docs/adoption.md",
    "docs/consent.md",
    "docs/import.md",
    "docs/tools.md",
    "docs/adr/0001-its-name.md",
}


def documents(folder: Path) -> list[Path]:
    """Every Markdown file of a project, and llms.txt."""
    outside = {
        ".venv",
        ".cache",
        ".pytest_cache",
        ".git",
        "template",
        "rendered",
        "node_modules",
    }
    outside.add("MOVED.md")  # it names what was there before
    paths = sorted([*folder.rglob("*.md"), *folder.glob("llms.txt")])
    return [path for path in paths if not outside & set(path.relative_to(folder).parts)]


def faults(path: Path, written_by_author: str = "") -> list[str]:
    """What is wrong with one document; what its author wrote may look like a leftover."""
    text = path.read_text(encoding="utf-8")
    prose = FENCE.sub("(code)", text)
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        place, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        if place and not (path.parent / place).exists():
            wrong.append(f"dead link {target}")
        elif anchor and anchor not in anchors((path.parent / place) if place else path):
            wrong.append(f"dead anchor {target}")
    heads = [*re.finditer("^(#+) (.+)$", prose, re.MULTILINE)]
    for head, following in zip_longest(heads, heads[1:]):
        body = prose[head.end() : following.start() if following else None]
        if not body.strip() and (
            following is None or len(following[1]) <= len(head[1])
        ):
            wrong.append(f"empty section {head[2]}")
    left = [it for it in re.findall(LEFTOVERS, prose) if it not in written_by_author]
    wrong += [f"leftover {it}" for it in left]
    wrong += [f"nobody can open {it}" for it in re.findall(UNREADABLE, text)]
    return wrong


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    heads = re.findall(
        r"^#+ (.+)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def shell_lines(text: str) -> Iterator[str]:
    """What a document has a reader type: the lines of its shell blocks, and its inline code."""
    for language, block in FENCE.findall(text):
        if language in SHELL:
            yield from (re.sub("(^| )#.*", "", line) for line in block.splitlines())
    for inline in re.findall(r"`([^`]+)`", FENCE.sub("", text)):
        yield " ".join(inline.split())


def calls(paths: Iterable[Path], program: str) -> list[Call]:
    """The words that documents put behind a program's name; none of a superseded decision."""
    name = rf"(?<![\w/.-]){re.escape(program)}"
    texts = [path.read_text(encoding="utf-8") for path in paths]
    lines = [
        line
        for text in texts
        if "**Superseded**" not in text
        for line in shell_lines(text)
    ]
    found = [
        words
        for line in lines
        for words in re.findall(rf"{name}(?=((?: +[^\s#|&;]+)*))", line)
    ]
    return [words.split() for words in found if re.match(r" +(--\w|[a-z])", words)]


def misunderstood(words: Call, help_of: Help) -> list[str]:
    """What of one call a program does not understand, as its help pages say."""
    path: tuple[str, ...] = ()
    page = help_of(path)
    while re.search("^Usage: .*(COMMAND|VERB)", page) and not ends(words, path):
        path = (*path, words[len(path)])
        if not re.search(rf"^[^\w\n]*{re.escape(path[-1])} +\S", page, re.MULTILINE):
            return [" ".join(path)]
        page = help_of(path)
    known = {word.strip(",.:;()`") for word in f"{page} {help_of(())}".split()}
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [" ".join([*path, option]) for option in options if option not in known]


def ends(words: Call, path: tuple[str, ...]) -> bool:
    """Whether a call names no command behind a path of commands."""
    return len(path) == len(words) or words[len(path)].startswith("--")


def unknown(wanted: Iterable[Call], help_of: Help) -> list[str]:
    """What of many calls a program does not understand."""
    return sorted(
        {wrong for words in wanted for wrong in misunderstood(words, help_of)}
    )


def missing(paths: Iterable[Path], *roots: Path) -> list[str]:
    """The files that documents name and that are in none of the folders."""
    found = set()
    for path in paths:
        for line in shell_lines(path.read_text(encoding="utf-8")):
            names = re.findall(
                rf"(?<![\w./<>{{}}@:-])((?:{TOP}|\.github)/[^\s`,;:()\"']*)", line
            )
            found |= {
                name.rstrip("./")
                for name in names
                if not re.search(r"[<*{]|\.\.", name)
            }
    return sorted(
        name
        for name in found - NOT_RENDERED
        if not any((root / name).exists() for root in roots)
    )


@cache
def command_help(path: tuple[str, ...]) -> str:
    """What `copier-fastmcp ... --help` prints."""
    words = [sys.executable, "-m", "copier_fastmcp", *path, "--help"]
    wide = os.environ | {"COLUMNS": "200"} | forked.handing_on()
    return subprocess.run(
        words, capture_output=True, text=True, check=False, env=wide
    ).stdout


def server_help(project: Path) -> Help:
    """What the help pages of a generated server say."""
    return cache(lambda path: server(project, *path, "--help", COLUMNS="200").stdout)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_documents_of_a_project_hold_together(example: Renders, name: str) -> None:
    project = example(name)
    paths = documents(project)
    assert len(paths) >= 10
    wrong = {
        str(path.relative_to(project)): found
        for path in paths
        if (
            found := [
                it for it in faults(path, str(answers(name))) if it not in UNPINNED
            ]
        )
    }
    assert wrong == {}


def test_the_templates_own_documents_hold_together() -> None:
    wrong = {
        str(p.relative_to(ROOT)): found for p in documents(ROOT) if (found := faults(p))
    }
    assert wrong == {}


def test_a_reader_is_led_to_every_page() -> None:
    """From the README, from page to page."""
    pages, led = {path.resolve() for path in documents(ROOT)}, {ROOT / "README.md"}
    ahead = [*led]
    while ahead:
        page = ahead.pop()
        links = re.findall(r"\]\(([^)\s:#]+)", page.read_text(encoding="utf-8"))
        found = {(page.parent / link).resolve() for link in links} & pages - led
        led |= found
        ahead += found
    alone = {path.relative_to(ROOT.resolve()).as_posix() for path in pages - led}
    assert alone == {".github/pull_request_template.md", "llms.txt"}, (
        "those that programs show"
    )


def test_the_command_understands_what_the_documents_name(example: Renders) -> None:
    named = calls([*documents(ROOT), *documents(example("consent"))], "copier-fastmcp")
    assert unknown(named, command_help) == []
    verbs = re.findall(
        r"^### (\w+)$", (ROOT / "docs/command.md").read_text("utf-8"), re.MULTILINE
    )
    listed = re.findall(r"^  (\w+)  ", command_help(()), re.MULTILINE)
    assert sorted(verbs) == sorted(listed), (
        "docs/command.md has a section for each verb"
    )
    assert {words[0] for words in named} >= {*verbs}, "and an example"


@pytest.mark.parametrize(
    "name", nightly_but(["consent"], ["notes", "unusual", "consent"])
)
def test_a_server_understands_what_the_documents_name(
    example: Renders, name: str
) -> None:
    project = example(name)
    named = calls(documents(project), answers(name)["server_name"])
    if name == "consent":  # has every command
        for program in ("notes-mcp", "orders-mcp", "<server>"):
            named += calls(documents(ROOT), program)
    named = [words for words in named if words[0] not in AUTHORS_COMMANDS]
    assert unknown(named, server_help(project)) == []
    assert {"run", "tools", "metadata"} <= {words[0] for words in named}


def test_every_file_that_the_documents_name_is_there(example: Renders) -> None:
    project = example("notes")
    inside = (project, project / "src/notes_mcp")
    assert missing(documents(ROOT), ROOT, *inside) == []
    assert missing(documents(project), *inside) == []


def test_a_fault_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text(
        "# A\n\n[b](c.md) [d](#e)\n\n## Empty\n\n## F\n\nNone {% if x %} {{ t.a }} DESIGN 6, seed 003\n"
    )
    assert faults(path) == [
        "dead link c.md",
        "dead anchor #e",
        "empty section Empty",
        "leftover None",
        "leftover {% if",
        "leftover {{ t",
        "nobody can open DESIGN",
        "nobody can open seed 003",
    ]


def test_a_wrong_command_or_file_would_be_found(
    example: Renders, tmp_path: Path
) -> None:
    path = tmp_path / "x.md"
    path.write_text(
        "Say `notes-mcp\nlend`, `notes-mcp tools list --jsn` or `notes-mcp tools lend` in `src/x.py`.\n"
        "```sh\nuv run notes-mcp run --https  # notes-mcp frob\n"
        "claude mcp add notes-mcp -- uvx notes-mcp run --http\ncopier-fastmcp dirft\n"
        "copier-fastmcp drift --jsn --debug\nless tests/policy/y.py docs/tools.md\n```\n"
    )
    pages = server_help(example("notes"))
    wrong = ["lend", "run --https", "tools lend", "tools list --jsn"]
    assert unknown(calls([path], "notes-mcp"), pages) == wrong
    assert unknown(calls([path], "copier-fastmcp"), command_help) == [
        "dirft",
        "drift --jsn",
    ]
    assert missing([path], ROOT, example("notes")) == ["src/x.py", "tests/policy/y.py"]
