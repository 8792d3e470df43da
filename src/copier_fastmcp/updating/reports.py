"""What became of checkouts, told to people: in a terminal, or in Markdown for a pull request."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..errors import UnableError
from ..project.ownership import OWNERS
from .checkouts import Result

WAY_ON = [
    "what somebody edited there: copier-fastmcp drift",
    "the template's text again, once an edit that is wanted is elsewhere: copier-fastmcp restore",
    "where such an edit may stand: the guide for policy owners, under When something goes wrong",
]
MARKUP = re.compile(  # where it would be read as markup; a name_of_a_tool and an -> are not
    r"[\\`*]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|\[(?=[ xX]\])|\](?=[(\[:])|^[>#]"
)


def writable(path: Path | None) -> None:
    """Make sure, before anything is updated, that a report can be written.

    Raises:
        UnableError: Its folder is not there.
    """
    if path and not path.absolute().parent.is_dir():
        raise UnableError(f"--report: {path.parent} is not a folder; make it, or name another")


def write(path: Path | None, results: list[Result]) -> None:
    """Write a report in Markdown, if one is wanted."""
    if path:
        path.write_text(markdown(results), encoding="utf-8", newline="\n")


def markdown(results: list[Result]) -> str:
    """A report on checkouts, a section each."""
    return "\n".join(line for result in results for line in _section(result)) + "\n"


def _section(result: Result) -> Iterator[str]:
    detail = ", ".join(result.detail) if result.outcome != "conflict" else "see below"
    yield f"## {Path(result.project).name}: {result.outcome}\n\n{_text(detail)}\n"
    for title, lines in _facts(result).items():
        yield f"### {title}\n"
        yield from (f"- {_text(line)}" for line in lines)
        yield ""


def as_text(result: Result) -> str:
    """The same on one checkout, for a terminal."""
    lines = [f"{result.outcome}: {', '.join(result.detail)}"]
    for title, facts in _facts(result).items():
        lines += [f"{title}:", *(f"  {fact}" for fact in facts)]
    return "\n".join(lines)


def _facts(result: Result) -> dict[str, list[str]]:
    """What there is to say of a checkout, by title; nothing where there is nothing."""
    kinds = Counter(kind for name, kind in result.files.items() if not OWNERS.fullmatch(name))
    counted = [f"{count} {kind}" for kind, count in sorted(kinds.items())]
    facts = {
        "Conflicts": result.detail if result.outcome == "conflict" else [],
        "The way on": WAY_ON if result.outcome == "conflict" else [],
        "What clients see": result.tools,
        "Tools that the answers changed and your files did not": result.behind,
        "Answers": [f"{name}: {_was(*pair)}" for name, pair in result.answers.items()],
        "Policy files that are not as this release has them": result.differs,
        "Check, before and after": result.check,
        "Policy and shared files": [", ".join(counted), *_named(result)] if counted else [],
        "Files that are yours now": [name for name in result.files if OWNERS.fullmatch(name)],
    }
    return {title: lines for title, lines in facts.items() if lines}


def _named(result: Result) -> list[str]:
    return [f"{name}: {kind}" for name, kind in result.files.items() if kind != "changed"]


def _was(before: object, after: object) -> str:
    shown = (json.dumps(one, ensure_ascii=False, default=str) for one in (before, after))
    return " -> ".join("unsaid" if one == "null" else one for one in shown)


def _text(line: str) -> str:
    """A line as Markdown shows it: nothing in it is markup."""
    return MARKUP.sub(r"\\\g<0>", line)
