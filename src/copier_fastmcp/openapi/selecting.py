"""Which operations become tools: by tag, path, method, name, or all.

Each choice of a subset selects by what exists at that moment: an import by the fields of operations, a running server by
toolsets and hints (the engine's `subsets`), and `try` by the names of reads. All patterns are those of `fnmatchcase`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from .operations import Operation

MANY = 40
BYTES_PER_TOKEN = 4


@dataclass
class Selection:
    """Globs; an operation is selected if one of each kind that has any matches it."""

    tag: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    method: list[str] = field(default_factory=list)
    operation: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is a glob."""
        return bool(self.tag or self.path or self.method or self.operation)

    def takes(self, operation: Operation) -> bool:
        """Whether the globs select an operation."""
        return (
            _any(self.tag, operation.tags)
            and _any(self.path, [operation.path])
            and _any(self._methods(), [operation.method])
            and _any(self.operation, [operation.operation_id, operation.name])
        )

    def _methods(self) -> list[str]:
        return list(map(str.upper, self.method))

    def kept(self) -> dict[str, Any]:
        """The globs by their kind, for the next import."""
        return {key: value for key, value in asdict(self).items() if value}

    def unused(self, operations: Iterable[Operation]) -> list[str]:
        """The globs that match nothing: most likely typing errors."""
        listed = list(operations)
        rows = (
            ("--tag", self.tag, lambda operation: operation.tags),
            ("--path", self.path, lambda operation: [operation.path]),
            ("--method", self._methods(), lambda operation: [operation.method]),
            (
                "--operation",
                self.operation,
                lambda operation: [operation.operation_id, operation.name],
            ),
        )
        unused = []
        for flag, globs, list_texts in rows:
            texts: list[str] = []
            for operation in listed:
                texts += list_texts(operation)
            for glob in globs:
                if not _any([glob], texts):
                    unused.append(f"{flag} {glob}")
        return unused


def _any(globs: Sequence[str], texts: Iterable[str]) -> bool:
    return not globs or any(_fits(text, globs) for text in texts)


def _fits(text: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def cost(tools: int, size: int) -> str:
    """What so many tools cost a model, in one line; empty where that is little."""
    if tools <= MANY:
        return ""
    return (
        f"a model reads {size:,} bytes of {tools} tools, {size // BYTES_PER_TOKEN:,} tokens in each conversation, and models "
        f"choose worse among more than {MANY}; choose with --tag, --path, --method or --operation"
    )
