"""The engine as a dependency: its requirement and its source in an author's pyproject.toml."""

import re
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..errors import RefusedError

ENGINE = "copier-fastmcp-engine"
ENGINE_PIN = "tests/policy/engine.toml"
SOURCES = ("tool", "uv", "sources")
CONFLICT = re.compile(
    r"<<<<<<< before updating\n.*?=======\n(.*?)>>>>>>> after updating\n", re.DOTALL
)


def pin_engine(text: str, needed: str) -> str:
    """Write the engine's requirement and source into a pyproject.toml, in place of the present ones.

    Args:
        text: The author's pyproject.toml.
        needed: The rendered tests/policy/engine.toml; empty where the project contains the engine.

    Returns:
        The new text. Everything else keeps its bytes.

    Raises:
        RefusedError: It lists no dependencies.
    """
    import tomlkit

    document: Any = tomlkit.parse(text)
    listed = document.get("project", {}).get("dependencies")
    if not isinstance(listed, list):
        raise RefusedError(
            "pyproject.toml lists no [project] dependencies; add them, then say --engine"
        )
    if needed:
        pin: Any = tomlkit.parse(needed)
        _require(listed, str(pin["project"]["dependencies"][0]))
        _write_source(document, pin["tool"]["uv"]["sources"][ENGINE])
    else:
        positions = _positions(listed)
        for position in reversed(positions):
            del listed[position]
        _remove_source(document)
    changed = tomlkit.dumps(document)
    if not needed:
        changed = re.sub(r"\n(\r?\n)+\Z", "\n", changed)
    if "\r\n" in text:
        changed = re.sub("\r?\n", "\r\n", changed)
    return changed


def pin_adopted_engine(project: Path) -> bool:
    """Move the engine's pin of an adopted server to what its tests/policy/engine.toml names.

    Args:
        project: The folder of the server, after an update.

    Returns:
        Whether pyproject.toml changed.

    Raises:
        RefusedError: It lists no dependencies.
    """
    pin_file = project / ENGINE_PIN
    needed = ""
    if pin_file.is_file():
        # The file is the template's, and a moved template gives both sides another address.
        merged = pin_file.read_text(encoding="utf-8")
        needed = CONFLICT.sub(r"\1", merged)
        if needed != merged:
            pin_file.write_text(needed, encoding="utf-8", newline="\n")
    path = project / "pyproject.toml"
    if not path.is_file():
        if needed:
            raise RefusedError(
                "there is no pyproject.toml; create one with [project] dependencies"
            )
        return False
    text = path.read_bytes().decode("utf-8")
    if not needed and ENGINE not in text:
        return False
    changed = pin_engine(text, needed)
    if changed == text:
        return False
    path.write_bytes(changed.encode("utf-8"))
    return True


def append_requirement(listed: Any, requirement: str) -> None:
    """Append a requirement to a list, on a line of its own where the others have one.

    Args:
        listed: An array of tomlkit.
        requirement: The requirement.
    """
    if "\n" in listed.as_string():
        listed.add_line(requirement)
    else:
        listed.append(requirement)


def parse_requirement(text: str) -> Requirement | None:
    """Parse a requirement; None where it is not one.

    Args:
        text: The requirement as its author wrote it.
    """
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _positions(listed: Any) -> list[int]:
    """Find the engine's requirements in a list."""
    positions = []
    for position, text in enumerate(listed):
        requirement = parse_requirement(str(text))
        if requirement and canonicalize_name(requirement.name) == ENGINE:
            positions.append(position)
    return positions


def _require(listed: Any, requirement: str) -> None:
    """Put the engine's requirement in the place of the present one, or at the end."""
    positions = _positions(listed)
    for position in reversed(positions[1:]):
        del listed[position]
    if not positions:
        append_requirement(listed, requirement)
    elif str(listed[positions[0]]) != requirement:
        listed[positions[0]] = requirement


def _write_source(document: Any, source: Any) -> None:
    """Write the engine's entry in [tool.uv.sources], which is created where it is missing."""
    import tomlkit

    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    uv = tool.setdefault("uv", tomlkit.table(is_super_table=True))
    sources = uv.setdefault("sources", tomlkit.table())
    if sources.get(ENGINE) != source:
        sources[ENGINE] = source


def _remove_source(document: Any) -> None:
    """Remove the engine's entry from [tool.uv.sources], and the tables that are empty then."""
    tables = [document]
    for name in SOURCES:
        table = tables[-1].get(name)
        if table is None:
            return
        tables.append(table)
    if ENGINE not in tables[-1]:
        return
    del tables[-1][ENGINE]
    for table, name in reversed(list(zip(tables, SOURCES, strict=False))):
        if len(table[name]):
            break
        del table[name]
