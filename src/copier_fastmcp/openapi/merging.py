"""An import that was made before, its author's edits since, and what the document says now."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ..errors import RefusedError
from ..tables import load_tables
from ..tools_answer import get_tool_name
from .json_values import list_objects, omit_keys, pick_keys
from .matching import Endpoint, parse_endpoint
from .naming import LONGEST, camel

MISSING = object()
KINDS = ("tag", "path", "method", "operation")
# Answers that a later document may change
FOLLOWED = (
    "description",
    "api",
    "api_auth",
)


@dataclass
class Before:
    """What the last import wrote: tools by operation, what was chosen and how it was asked for."""

    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    behaviors: dict[str, str] = field(default_factory=dict)
    selection: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)  # all but the tools
    # The operationId of each operation; empty without one
    operation_ids: dict[str, str] = field(default_factory=dict)

    def endpoints(self) -> list[Endpoint]:
        """The operations of its document, of which an import of an earlier release knows the tools alone."""
        keys = dict.fromkeys([*self.operation_ids, *self.tools])
        return [parse_endpoint(key, self.operation_ids.get(key, "")) for key in keys]

    def moved(self, matches: Mapping[str, str]) -> "Before":
        """The same import under the keys that its operations have now."""
        return replace(
            self,
            tools=_rename_keys(self.tools, matches),
            behaviors=_rename_keys(self.behaviors, matches),
            operation_ids=_rename_keys(self.operation_ids, matches),
        )


def _rename_keys(
    mapping: Mapping[str, Any], renames: Mapping[str, str]
) -> dict[str, Any]:
    return {renames.get(key, key): value for key, value in mapping.items()}


@dataclass
class Merged:
    """The tools as they come to be, and what is new in them."""

    tools: list[Any] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def sidecar(out: Path) -> Path:
    """Where an import remembers what it wrote, so that the next one knows what is yours."""
    return out.with_name(f"{out.stem}.import.json")


def load_before(out: Path) -> Before:
    """What the last import into a file wrote; empty without one.

    Raises:
        RefusedError: The file next to it is damaged.
    """
    path = sidecar(out)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Before()
    except (OSError, ValueError) as error:
        raise _damaged(path) from error
    return parse_record(text, path)


def _parse_strings(mapping: Mapping[Any, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in mapping.items()}


def parse_record(text: str, path: Path) -> Before:
    """Parse the record that an import wrote.

    Args:
        text: The record.
        path: The file that an error names.

    Raises:
        RefusedError: It is damaged.
    """
    try:
        record = json.loads(text)
        tools = {}
        for key, tool in record["tools"].items():
            tools[str(key)] = {**tool, "name": str(tool["name"])}
        behaviors = _parse_strings(record.get("behaviors", {}))
        if unknown := {*behaviors.values()} - {*load_tables()["behaviors"]}:
            raise ValueError(f"{min(unknown)} is not a behavior")
        globs = record.get("selection", {})
        selection = {}
        for kind, values in pick_keys(globs, KINDS).items():
            selection[kind] = list(map(str, values))
        ids = _parse_strings(record.get("operations", {}))
        return Before(tools, behaviors, selection, dict(record.get("answers", {})), ids)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> RefusedError:
    return RefusedError(
        f"{path} is damaged; restore it from git, or delete it and import anew"
    )


def remembered(before: Before) -> str:
    """The text of that file."""
    record = {
        "about": "What copier-fastmcp import wrote last; commit it. Your edits stand in the answers file.",
        "selection": before.selection,
        "behaviors": before.behaviors,
        "answers": before.answers,
        "operations": before.operation_ids,
        "tools": before.tools,
    }
    return json.dumps(record, indent=1, ensure_ascii=False, sort_keys=False) + "\n"


def load_answers(out: Path) -> dict[str, Any]:
    """The answers that are there; empty without any.

    Raises:
        RefusedError: They are not a mapping.
    """
    try:
        answers = yaml.safe_load(out.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, ValueError, OSError) as error:
        raise RefusedError(
            f"{out} is not YAML; fix it, or import to another file"
        ) from error
    if not isinstance(answers, dict) or not isinstance(
        answers.get("tools") or [], list
    ):
        raise RefusedError(
            f"{out} holds no answers (a mapping with a list `tools`); import to another file"
        )
    return answers


def merge_answers(
    mine: Mapping[str, Any], before: Before, later: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Merge the answers other than the tools three ways; the names of a server never follow its document.

    Returns:
        The answers with the author's tools, and a line for each that both changed.
    """
    followed = pick_keys(later, FOLLOWED)
    author = pick_keys(mine, FOLLOWED)
    base = pick_keys(before.answers, FOLLOWED)
    if not base:  # an import of an earlier release remembers tools alone
        base = pick_keys(followed, author)
    merged, conflicts = _three(base, author, followed)
    lines = [f"your {key} stays, the document changed it" for key in conflicts]
    additions = omit_keys(later, {*mine, *FOLLOWED})
    return {**mine, **additions, **merged}, lines


def merge(
    mine: list[Any], before: Before, later: Mapping[str, dict[str, Any]]
) -> Merged:
    """Three ways: what the last import wrote, what its author made of it, what it would write now.

    A tool that its author took out stays out, one that they wrote stays as it is. So does one whose
    import is not remembered. A tool that is new gets a name that no other one has.

    Args:
        mine: The tools in the answers file.
        before: What the last import wrote.
        later: Tools by operation, as the document has them now.
    """
    merged = Merged()
    by_name = {tool["name"]: key for key, tool in before.tools.items()}
    by_request = _index_requests(before.tools)
    unknown = _index_requests(omit_keys(later, before.tools))
    handled: set[str] = set()
    for tool in mine:
        request = _request(tool)
        key = by_request.get(_request(tool)) or (
            by_name.get(str(tool.get("name"))) if isinstance(tool, dict) else None
        )
        new_key = unknown.get(request, "") if key is None else ""
        if new_key and new_key not in handled:
            handled.add(new_key)
            merged.tools.append(tool)
            if tool != later[new_key]:
                merged.kept.append(
                    f"{new_key} ({get_tool_name(tool)}) stays as it is in the answers"
                )
        elif key is None or key in handled:
            merged.tools.append(tool)
        else:
            handled.add(key)
            _merge_tool(key, before.tools[key], tool, later.get(key), merged)
    _add_new_tools(merged, before, later, handled)
    return merged


def _merge_tool(
    key: str,
    base: dict[str, Any],
    tool: dict[str, Any],
    later: dict[str, Any] | None,
    merged: Merged,
) -> None:
    """Merge a tool that the last import wrote.

    Args:
        key: Its operation.
        base: The tool as the last import wrote it.
        tool: The tool with its author's edits.
        later: The tool as the document has it now; None where its operation is gone.
        merged: Receives the outcome.
    """
    if later is None and tool == base:
        merged.removed.append(f"{key} ({base['name']})")
        return
    if later is None:
        merged.tools.append(tool)
        merged.kept.append(
            f"{key} is gone from the document, but {get_tool_name(tool)} has edits of yours"
        )
        return
    result, conflicts = _three(base, tool, later)
    merged.tools.append(result)
    if result != tool:
        merged.changed.append(f"{key} ({get_tool_name(result)})")
    for name in conflicts:
        merged.kept.append(
            f"{get_tool_name(result)}: your {name} stays, the document changed it"
        )


def _add_new_tools(
    merged: Merged,
    before: Before,
    later: Mapping[str, dict[str, Any]],
    handled: set[str],
) -> None:
    """Add the tools of new operations, each under a name that no other one has."""
    names = {camel(get_tool_name(tool)) for tool in merged.tools}
    for key, tool in later.items():
        if key not in before.tools and key not in handled:
            stem, number = tool["name"][: LONGEST - 6].rstrip("_"), 2
            while camel(tool["name"]) in names:
                tool["name"], number = f"{stem}_{number}", number + 1
            names.add(camel(tool["name"]))
            merged.tools.append(tool)
            merged.added.append(f"{key} ({tool['name']})")


def _index_requests(tools: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Return the operations of some tools by their requests."""
    return {_request(tool): key for key, tool in tools.items()}


def _request(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    target = " ".join(str(tool.get("http", "")).split(" ")[:2]).partition("?")[0]
    request = target.rstrip("/")
    for param in tool.get("params") or ():
        if not isinstance(param, dict):
            continue
        default = param.get("default")
        if param.get("choices") == [default]:
            request += f" {param.get('name')}={default}"
    return request


def _three(
    base: Mapping[str, Any], mine: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """One mapping by its keys; where both changed a key, the author's stands and is named."""
    merged: dict[str, Any] = {}
    conflicts: list[str] = []
    for key in dict.fromkeys([*mine, *new]):
        old, author, later = (
            base.get(key, MISSING),
            mine.get(key, MISSING),
            new.get(key, MISSING),
        )
        if author == old:
            value = later
        elif key == "params" and all(
            isinstance(part, list) for part in (old, author, later)
        ):
            value, inner = _three_lists(old, author, later)
            conflicts += inner
        elif (
            isinstance(old, dict)
            and isinstance(author, dict)
            and isinstance(later, dict)
        ):
            value, inner = _three(old, author, later)
            conflicts += [f"{key}.{part}" for part in inner]
        else:
            value = author
            if later not in (old, author):
                conflicts.append(key)
        if value is not MISSING:
            merged[key] = value
    return merged, conflicts


def _three_lists(
    base: list[Any], mine: list[Any], new: list[Any]
) -> tuple[list[Any], list[str]]:
    merged, conflicts = _three(
        _index_by_name(base), _index_by_name(mine), _index_by_name(new)
    )
    return [*merged.values()], [f"parameter {entry}" for entry in conflicts]


def _index_by_name(entries: list[Any]) -> dict[str, Any]:
    return {str(entry.get("name")): entry for entry in list_objects(entries)}


def written(answers: Mapping[str, Any], source: str) -> str:
    """The text of an answers file."""
    head = f"# Imported from {source} by copier-fastmcp. Yours to edit: the next import keeps what you change.\n"
    body = yaml.dump(
        dict(answers),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=110,
        default_flow_style=None,
    )
    return head + body


class _Dumper(yaml.SafeDumper):
    """Small mappings on one line, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def diff(old: str, new: str, name: str) -> str:
    """What changes in an answers file."""
    lines = difflib.unified_diff(
        old.splitlines(),
        new.splitlines(),
        f"{name} (before)",
        f"{name} (now)",
        lineterm="",
        n=2,
    )
    return "\n".join(lines)
