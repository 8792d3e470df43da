"""How densely the code is written: a report, never a gate.

Tokens for each line of code, without comments and docstrings; comprehensions for 1,000 lines; and the share of variables and
parameters whose name is a pronoun or a participle, which names nothing. httpx, structlog and Copier have 6 tokens, 2 to 6
comprehensions and at most 1 %.
usage: python -m benchmarks.density
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import figures

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("engine/src", "src", "tests", "benchmarks", "examples/rendered/notes")
# fmt: off
PRONOUNS = frozenset((
    "it", "its", "each", "one", "of", "said", "says", "known", "told", "found", "given", "there",
    "wrong", "why", "way", "more", "kept", "made", "own", "theirs", "ours", "who", "now", "was", "some",
    "few", "rest", "here", "beside", "below", "behind", "again", "wanted", "meant", "seen", "shown",
    "asked", "left", "gone", "loses", "takes", "serves", "does", "reads", "writes", "others", "other",
    "these", "amiss",
))
# fmt: on
LAYOUT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
HEAD = ("", "lines", "of code", "tokens a line", "comprehensions", "pronouns")


@dataclass
class Density:
    """What was counted in the files of a folder."""

    lines: int = 0
    code_lines: int = 0
    tokens: int = 0
    comprehensions: int = 0
    names: Counter[str] = field(default_factory=Counter)

    def add(self, source: str) -> None:
        """Count a file; SyntaxError where it is not Python."""
        tree = ast.parse(source)
        docstrings = set(docstring_lines(tree))
        used: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in LAYOUT or token.start[0] in docstrings:
                continue
            self.tokens += 1
            used.update(range(token.start[0], token.end[0] + 1))
        self.lines += source.count("\n")
        self.code_lines += len(used)
        for node in ast.walk(tree):
            if isinstance(node, COMPREHENSIONS):
                self.comprehensions += 1
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.names[node.id] += 1
            elif isinstance(node, ast.arg):
                self.names[node.arg] += 1

    def row(self, folder: str) -> list[str]:
        """Return a row of the table."""
        pronouns = 0
        for name, count in self.names.items():
            if name.strip("_") in PRONOUNS:
                pronouns += count
        share = 100 * pronouns / max(1, self.names.total())
        return [
            folder,
            f"{self.lines:,}",
            f"{self.code_lines:,}",
            f"{self.tokens / max(1, self.code_lines):.1f}",
            f"{1000 * self.comprehensions / max(1, self.lines):.0f}",
            f"{share:.1f} %",
        ]


def docstring_lines(tree: ast.AST) -> Iterator[int]:
    """Find the lines of every docstring."""
    for node in ast.walk(tree):
        if not isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def count_files(paths: Iterable[Path]) -> Density:
    """Count what is in Python files; others are left out."""
    density = Density()
    for path in paths:
        try:
            density.add(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
    return density


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """Yield a table with a row for each folder; it takes one turn only."""
    rows = [list(HEAD)]
    for folder in FOLDERS:
        density = count_files(sorted((ROOT / folder).rglob("*.py")))
        rows.append(density.row(folder))
    yield figures.Table(rows)


if __name__ == "__main__":
    figures.run(run_benchmark, turns=1)
