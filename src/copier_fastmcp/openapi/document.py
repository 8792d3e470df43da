"""An OpenAPI document, with the local files that it refers to.

References are followed when they are met, never before: a circle costs nothing until somebody
walks it, and GitHub's document of 13 MB is read in a second. No address is ever fetched.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..errors import RefusedError
from .json_values import omit_keys
from .reading import load
from .swagger import convert_swagger

MOST_HOPS = 40
MOST_FILES = 500


class UnresolvedError(Exception):
    """A reference leads nowhere; what needs it is left out."""


@dataclass
class Document:
    """A document and what it refers to; `root` is its first file, as data.

    `merged` holds schemas that are brought together already, by identity, with what they were made of.
    """

    path: Path
    root: dict[str, Any]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    merged: dict[int, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    base: str | None = None  # where requests go, once it was looked for

    @property
    def version(self) -> str:
        return str(self.root.get("openapi", ""))

    @cached_property
    def collections(self) -> frozenset[str]:
        """The paths that have items below them, as `/notes` has `/notes/{id}`."""
        collections = []
        for path in self.root.get("paths") or {}:
            above, _, last = path.rstrip("/").rpartition("/")
            if last.startswith("{"):
                collections.append(above)
        return frozenset(collections)

    def resolve(self, value: Any) -> dict[str, Any]:
        """What a reference stands for, with what is written next to it; other values as they are.

        Raises:
            UnresolvedError: It leads nowhere, to an address, or in a circle.
        """
        siblings: dict[str, Any] = {}
        for _ in range(MOST_HOPS):
            if not isinstance(value, dict):
                raise UnresolvedError(f"{str(value)[:40]!r} is in place of an object")
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return {**value, **siblings} if siblings else value
            siblings = {**omit_keys(value, ("$ref",)), **siblings}
            value = self.at(reference)
        raise UnresolvedError("its references go in a circle")

    def at(self, reference: str) -> Any:
        """What a reference names.

        Raises:
            UnresolvedError: It names nothing in this document and the files below its folder.
        """
        name, _, pointer = reference.partition("#")
        value: Any = self._file(name) if name else self.root
        if pointer and not pointer.startswith("/"):
            raise UnresolvedError(
                f"the reference {reference[:80]} is an anchor, not a path"
            )
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise UnresolvedError(f"the reference {reference[:80]} leads nowhere")
        return value

    def _file(self, name: str) -> dict[str, Any]:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:|//", name):
            raise UnresolvedError(f"{name[:80]} is an address, and nothing is fetched")
        if name not in self.files:
            if len(self.files) >= MOST_FILES:
                raise UnresolvedError(f"it refers to over {MOST_FILES} files")
            folder = self.path.parent.resolve()
            path = (folder / name).resolve()
            if not path.is_relative_to(folder):
                raise UnresolvedError(
                    f"{name[:80]} is outside of the document's folder"
                )
            try:
                loaded = load(path)
            except RefusedError as error:
                raise UnresolvedError(
                    str(error).replace(str(folder), ".")[:160]
                ) from error
            _rebase(loaded, Path(name), set())
            self.files[name] = loaded
        return self.files[name]

    def resolve_if_possible(self, value: Any) -> dict[str, Any]:
        """As `resolve`, and empty where that leads nowhere."""
        try:
            return self.resolve(value)
        except UnresolvedError:
            return {}

    def resolve_each(self, value: Any) -> Iterator[dict[str, Any]]:
        """Each object of a list, its references followed; what leads nowhere is passed over."""
        for item in value if isinstance(value, list) else ():
            if items := self.resolve_if_possible(item):
                yield items


def _rebase(value: Any, name: Path, visited: set[int]) -> None:
    """Write the references of another file as the first one would."""
    stack = [value]
    while stack:
        item = stack.pop()
        if id(item) in visited or not isinstance(item, (dict, list)):
            continue
        visited.add(id(item))
        if isinstance(item, dict) and isinstance(item.get("$ref"), str):
            target, _, pointer = item["$ref"].partition("#")
            if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:|//", target):
                place = (name.parent / target).as_posix() if target else name.as_posix()
                item["$ref"] = f"{place}#{pointer}"
        stack.extend(item.values() if isinstance(item, dict) else item)


def read(path: Path) -> Document:
    """The OpenAPI document in a file.

    Raises:
        RefusedError: It is none of OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0, or cannot be read.
    """
    root = load(path)
    if str(root.get("swagger")).startswith("2."):
        root = convert_swagger(root)
    elif "swagger" in root:
        raise RefusedError(f"{path} is Swagger {str(root['swagger'])[:8]}; 2.0 is read")
    if "openapi" not in root:
        raise RefusedError(
            f"{path} names no version; an OpenAPI document begins with openapi: 3.1.0"
        )
    version = str(root["openapi"])
    if not re.fullmatch(r"3\.[012](\.\d+)?(-.*)?", version):
        raise RefusedError(
            f"{path} says openapi: {version[:20]}; 3.0, 3.1, 3.2 and swagger: 2.0 are read"
        )
    if not isinstance(root.get("paths") or {}, dict):
        raise RefusedError(
            f"{path} has paths that are not a mapping; write paths: {{/notes: ...}}"
        )
    return Document(path, root)
