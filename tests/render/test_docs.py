"""Documents have no dead links, empty sections or leftovers, and name only existing files, commands and options."""

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
EXCLUDED = {
    ".venv",
    ".cache",
    ".pytest_cache",
    ".git",
    "template",
    "rendered",
    "node_modules",
    "MOVED.md",  # it names files of earlier versions
}
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


def list_documents(folder: Path) -> list[Path]:
    """List every Markdown file of a project, and llms.txt."""
    paths = []
    for path in sorted([*folder.rglob("*.md"), *folder.glob("llms.txt")]):
        if not EXCLUDED.intersection(path.relative_to(folder).parts):
            paths.append(path)
    return paths


def find_dead_links(path: Path, prose: str) -> list[str]:
    """Return what is wrong with the links of a document to files and headings."""
    problems = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        place, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        page = path.parent / place if place else path
        if not page.exists():
            problems.append(f"dead link {target}")
        elif anchor and anchor not in find_anchors(page):
            problems.append(f"dead anchor {target}")
    return problems


def find_empty_sections(prose: str) -> list[str]:
    """Return the headings that have no text below them."""
    problems = []
    headings = [*re.finditer("^(#+) (.+)$", prose, re.MULTILINE)]
    for heading, following in zip_longest(headings, headings[1:]):
        end = following.start() if following else None
        has_text = bool(prose[heading.end() : end].strip())
        has_subsection = following is not None and len(following[1]) > len(heading[1])
        if not has_text and not has_subsection:
            problems.append(f"empty section {heading[2]}")
    return problems


def find_faults(path: Path, written_by_author: str = "") -> list[str]:
    """Return what is wrong with one document; text of its author may look like a leftover."""
    text = path.read_text(encoding="utf-8")
    prose = FENCE.sub("(code)", text)
    problems = find_dead_links(path, prose) + find_empty_sections(prose)
    for leftover in re.findall(LEFTOVERS, prose):
        if leftover not in written_by_author:
            problems.append(f"leftover {leftover}")
    for reference in re.findall(UNREADABLE, text):
        problems.append(f"nobody can open {reference}")
    return problems


def find_anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub builds them."""
    prose = FENCE.sub("", path.read_text("utf-8"))
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    anchors = set()
    for heading in headings:
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        anchors.add(words.replace(" ", "-"))
    return anchors


def extract_shell_lines(text: str) -> Iterator[str]:
    """Extract the lines of a document's shell blocks and its inline code."""
    for language, block in FENCE.findall(text):
        if language in SHELL:
            for line in block.splitlines():
                yield re.sub("(^| )#.*", "", line)
    for inline in re.findall(r"`([^`]+)`", FENCE.sub("", text)):
        yield " ".join(inline.split())


def find_calls(paths: Iterable[Path], program: str) -> list[Call]:
    """Find the calls of a program in documents, except in superseded decisions."""
    name = rf"(?<![\w/.-]){re.escape(program)}"
    commands = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if "**Superseded**" in text:
            continue
        for line in extract_shell_lines(text):
            for words in re.findall(rf"{name}(?=((?: +[^\s#|&;]+)*))", line):
                if re.match(r" +(--\w|[a-z])", words):
                    commands.append(words.split())
    return commands


def find_unsupported_parts(words: Call, help_of: Help) -> list[str]:
    """Return the parts of one call that a program does not support, according to its help pages."""
    path: tuple[str, ...] = ()
    page = help_of(path)
    while re.search("^Usage: .*(COMMAND|VERB)", page) and not has_no_command(
        words, path
    ):
        path = (*path, words[len(path)])
        if not re.search(rf"^[^\w\n]*{re.escape(path[-1])} +\S", page, re.MULTILINE):
            return [" ".join(path)]
        page = help_of(path)
    documented = set()
    for word in f"{page} {help_of(())}".split():
        documented.add(word.strip(",.:;()`"))
    problems = []
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("--") and option not in documented:
            problems.append(" ".join([*path, option]))
    return problems


def has_no_command(words: Call, path: tuple[str, ...]) -> bool:
    """Whether a call has no further command after a path of commands."""
    return len(path) == len(words) or words[len(path)].startswith("--")


def find_unknown_parts(commands: Iterable[Call], help_of: Help) -> list[str]:
    """Return the parts of many calls that a program does not support."""
    problems = set[str]()
    for words in commands:
        problems.update(find_unsupported_parts(words, help_of))
    return sorted(problems)


def find_missing_files(paths: Iterable[Path], *roots: Path) -> list[str]:
    """Find the files that documents name and that none of the folders contains."""
    pattern = rf"(?<![\w./<>{{}}@:-])((?:{TOP}|\.github)/[^\s`,;:()\"']*)"
    names = set[str]()
    for path in paths:
        for line in extract_shell_lines(path.read_text(encoding="utf-8")):
            for name in re.findall(pattern, line):
                if not re.search(r"[<*{]|\.\.", name):
                    names.add(name.rstrip("./"))
    absent = []
    for name in sorted(names - NOT_RENDERED):
        if not any((root / name).exists() for root in roots):
            absent.append(name)
    return absent


@cache
def read_command_help(path: tuple[str, ...]) -> str:
    """Return the output of `copier-fastmcp ... --help`."""
    words = [sys.executable, "-m", "copier_fastmcp", *path, "--help"]
    wide = os.environ | {"COLUMNS": "200"} | forked.fork_variables()
    return subprocess.run(
        words, capture_output=True, text=True, check=False, env=wide
    ).stdout


def make_server_help(project: Path) -> Help:
    """Return a reader of a generated server's help pages."""
    return cache(lambda path: server(project, *path, "--help", COLUMNS="200").stdout)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_documents_of_a_project_hold_together(example: Renders, name: str) -> None:
    project = example(name)
    paths = list_documents(project)
    assert len(paths) >= 10
    problems = {}
    for path in paths:
        lines = find_faults(path, str(answers(name)))
        if lines := [line for line in lines if line not in UNPINNED]:
            problems[str(path.relative_to(project))] = lines
    assert problems == {}


def test_the_templates_own_documents_hold_together() -> None:
    problems = {}
    for path in list_documents(ROOT):
        if lines := find_faults(path):
            problems[str(path.relative_to(ROOT))] = lines
    assert problems == {}


def test_a_reader_is_led_to_every_page() -> None:
    """Every page is linked from the README, directly or indirectly."""
    pages = {path.resolve() for path in list_documents(ROOT)}
    linked = {ROOT / "README.md"}
    queue = [*linked]
    while queue:
        page = queue.pop()
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)\s:#]+)", text):
            target = (page.parent / link).resolve()
            if target in pages and target not in linked:
                linked.add(target)
                queue.append(target)
    orphans = set()
    for path in pages - linked:
        orphans.add(path.relative_to(ROOT.resolve()).as_posix())
    # Programs show these two.
    assert orphans == {".github/pull_request_template.md", "llms.txt"}


def test_the_command_understands_what_the_documents_name(example: Renders) -> None:
    named = find_calls(
        [*list_documents(ROOT), *list_documents(example("consent"))], "copier-fastmcp"
    )
    assert find_unknown_parts(named, read_command_help) == []
    verbs = re.findall(
        r"^### (\w+)$", (ROOT / "docs/command.md").read_text("utf-8"), re.MULTILINE
    )
    listed = re.findall(r"^  (\w+)  ", read_command_help(()), re.MULTILINE)
    assert sorted(verbs) == sorted(listed), (
        "docs/command.md has a section for each verb"
    )
    examples = {words[0] for words in named}
    assert examples >= {*verbs}, "and an example"


@pytest.mark.parametrize(
    "name", nightly_but(["consent"], ["notes", "unusual", "consent"])
)
def test_a_server_understands_what_the_documents_name(
    example: Renders, name: str
) -> None:
    project = example(name)
    named = find_calls(list_documents(project), answers(name)["server_name"])
    if name == "consent":  # has every command
        for program in ("notes-mcp", "orders-mcp", "<server>"):
            named += find_calls(list_documents(ROOT), program)
    server_calls = []
    commands = set()
    for words in named:
        if words[0] not in AUTHORS_COMMANDS:
            server_calls.append(words)
            commands.add(words[0])
    assert find_unknown_parts(server_calls, make_server_help(project)) == []
    assert {"run", "tools", "metadata"} <= commands


def test_every_file_that_the_documents_name_is_there(example: Renders) -> None:
    project = example("notes")
    inside = (project, project / "src/notes_mcp")
    # The examples of this guide are files that a test writes (tests/project/test_tools_guide.py).
    guide = ROOT / "docs/tools-guide.md"
    pages = []
    for path in list_documents(ROOT):
        if path != guide:
            pages.append(path)
    assert find_missing_files(pages, ROOT, *inside) == []
    assert find_missing_files(list_documents(project), *inside) == []


def test_a_fault_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text(
        "# A\n\n[b](c.md) [d](#e)\n\n## Empty\n\n## F\n\nNone {% if x %} {{ t.a }} DESIGN 6, seed 003\n"
    )
    assert find_faults(path) == [
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
    pages = make_server_help(example("notes"))
    unknown_commands = ["lend", "run --https", "tools lend", "tools list --jsn"]
    assert (
        find_unknown_parts(find_calls([path], "notes-mcp"), pages) == unknown_commands
    )
    assert find_unknown_parts(
        find_calls([path], "copier-fastmcp"), read_command_help
    ) == [
        "dirft",
        "drift --jsn",
    ]
    assert find_missing_files([path], ROOT, example("notes")) == [
        "src/x.py",
        "tests/policy/y.py",
    ]
