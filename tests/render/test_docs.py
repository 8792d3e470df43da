"""Documents: no dead link, no empty section, no leftover of the template, no command that is not there."""

import re
from itertools import zip_longest
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT, Renders, answers

KNOWN = {
    "run": [],
    "install": ["claude", "cursor", "vscode"],
    "tools": ["list", "table", "wire", "add"],
    "policy": ["check", "lock", "explain", "export", "drift"],
    "metadata": [
        "init",
        "edit",
        "list",
        "show",
        "set",
        "unset",
        "validate",
        "export",
        "path",
        "tokens",
    ],
    "consent": ["status", "revoke"],
}
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def documents(folder: Path) -> list[Path]:
    """Every Markdown file of a project."""
    left = {".venv", ".cache", ".git", "template", "rendered", "node_modules"}
    found = sorted(folder.rglob("*.md"))
    return [path for path in found if not left & set(path.relative_to(folder).parts)]


def faults(path: Path, said: str = "") -> list[str]:
    """What is wrong with one document; what its author said may look like a leftover."""
    text = path.read_text(encoding="utf-8")
    prose = FENCE.sub("(code)", text)
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        place, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        if place and not (path.parent / place).exists():
            found.append(f"dead link {target}")
        elif anchor and anchor not in anchors((path.parent / place) if place else path):
            found.append(f"dead anchor {target}")
    heads = [*re.finditer("^(#+) (.+)$", prose, re.MULTILINE)]
    for head, following in zip_longest(heads, heads[1:]):
        body = prose[head.end() : following.start() if following else None]
        if not body.strip() and (following is None or len(following[1]) <= len(head[1])):
            found.append(f"empty section {head[2]}")
    left = r"\{\{-? ?\w|\{%-? (?:if|for|set|import|end)|\{#-? |\bUndefined\b|\bNone\b"
    found += [f"leftover {it}" for it in re.findall(left, prose) if it not in said]
    return found


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_documents_of_a_project_hold_together(example: Renders, name: str) -> None:
    project = example(name)
    paths = documents(project)
    assert len(paths) >= 10
    wrong = {
        str(p.relative_to(project)): found
        for p in paths
        if (found := faults(p, str(answers(name))))
    }
    assert wrong == {}


def test_the_templates_own_documents_hold_together() -> None:
    wrong = {str(p.relative_to(ROOT)): found for p in documents(ROOT) if (found := faults(p))}
    assert wrong == {}


@pytest.mark.parametrize("name", ["notes", "unusual"])
def test_every_command_in_a_document_is_there(example: Renders, name: str) -> None:
    project = example(name)
    about = (project / "pyproject.toml").read_text(encoding="utf-8")
    program = re.search('^name = "(.+)"$', about, re.MULTILINE)
    assert program
    said = set()
    for path in documents(project):
        text = path.read_text(encoding="utf-8")
        said |= set(re.findall(rf"[`\n ]{program[1]} ([a-z]+)(?: ([a-z]+))?", text))
    unknown = [
        " ".join(words)
        for words in said
        if words[0] in KNOWN and KNOWN[words[0]] and words[1] not in KNOWN[words[0]]
    ]
    assert unknown == []
    assert {"run", "tools", "policy"} <= {words[0] for words in said}


def test_a_fault_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("# A\n\n[b](c.md) [d](#e)\n\n## Empty\n\n## F\n\nNone {% if x %} {{ t.a }}\n")
    assert faults(path) == [
        "dead link c.md",
        "dead anchor #e",
        "empty section Empty",
        "leftover None",
        "leftover {% if",
        "leftover {{ t",
    ]
