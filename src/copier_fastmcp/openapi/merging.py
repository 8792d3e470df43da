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
from .matching import Endpoint, parse_endpoint
from .naming import LONGEST, camel

MISSING = object()
KINDS = ("tag", "path", "method", "operation")
FOLLOWED = (
    "description",
    "api",
    "api_auth",
)  # answers that a later document may change


@dataclass
class Before:
    """What the last import wrote: tools by operation, what was chosen and how it was asked for."""

    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    behaviors: dict[str, str] = field(default_factory=dict)
    selection: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)  # all but the tools
    operation_ids: dict[str, str] = field(
        default_factory=dict
    )  # of all operations; empty without

    def endpoints(self) -> list[Endpoint]:
        """The operations of its document, of which an import of an earlier release knows the tools alone."""
        keys = dict.fromkeys([*self.operation_ids, *self.tools])
        return [parse_endpoint(key, self.operation_ids.get(key, "")) for key in keys]

    def moved(self, matches: Mapping[str, str]) -> "Before":
        """The same import under the keys that its operations have now."""
        return replace(
            self,
            tools={matches.get(key, key): tool for key, tool in self.tools.items()},
            behaviors={
                matches.get(key, key): said for key, said in self.behaviors.items()
            },
            operation_ids={
                matches.get(key, key): said for key, said in self.operation_ids.items()
            },
        )


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
        RefusedError: The file beside it is damaged.
    """
    path = sidecar(out)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Before()
    except (OSError, ValueError) as error:
        raise _damaged(path) from error
    return parse_record(text, path)


def parse_record(text: str, path: Path) -> Before:
    """Parse the record that an import wrote.

    Args:
        text: The record.
        path: The file that an error names.

    Raises:
        RefusedError: It is damaged.
    """
    try:
        found = json.loads(text)
        tools = {
            str(key): {**value, "name": str(value["name"])}
            for key, value in found["tools"].items()
        }
        behaviors = {
            str(key): str(value) for key, value in found.get("behaviors", {}).items()
        }
        if unknown := {*behaviors.values()} - {*load_tables()["behaviors"]}:
            raise ValueError(f"{min(unknown)} is not a behavior")
        kept = found.get("selection", {})
        selection = {
            key: [str(one) for one in kept[key]] for key in KINDS if key in kept
        }
        ids = {
            str(key): str(value) for key, value in found.get("operations", {}).items()
        }
        return Before(tools, behaviors, selection, dict(found.get("answers", {})), ids)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> RefusedError:
    return RefusedError(
        f"{path} is damaged; restore it from git, or delete it and import anew"
    )


def remembered(before: Before) -> str:
    """The text of that file."""
    kept = {
        "about": "What copier-fastmcp import wrote last; commit it. Your edits stand in the answers file.",
        "selection": before.selection,
        "behaviors": before.behaviors,
        "answers": before.answers,
        "operations": before.operation_ids,
        "tools": before.tools,
    }
    return json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=False) + "\n"


def load_answers(out: Path) -> dict[str, Any]:
    """The answers that are there; empty without any.

    Raises:
        RefusedError: They are not a mapping.
    """
    try:
        found = yaml.safe_load(out.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, ValueError, OSError) as error:
        raise RefusedError(
            f"{out} is not YAML; fix it, or import to another file"
        ) from error
    if not isinstance(found, dict) or not isinstance(found.get("tools") or [], list):
        raise RefusedError(
            f"{out} holds no answers (a mapping with a list `tools`); import to another file"
        )
    return found


def merge_answers(
    mine: Mapping[str, Any], before: Before, now: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Merge the answers besides the tools three ways; the names of a server never follow its document.

    Returns:
        The answers with the author's tools, and a line for each that both changed.
    """
    followed = {key: now[key] for key in FOLLOWED if key in now}
    base = {key: before.answers[key] for key in FOLLOWED if key in before.answers}
    if not base:  # an import of an earlier release remembers tools alone
        base = {key: value for key, value in followed.items() if key in mine}
    own = {key: mine[key] for key in FOLLOWED if key in mine}
    made, ours = _three(base, own, followed)
    kept = [f"your {key} stays, the document changed it" for key in ours]
    rest = {
        key: value
        for key, value in now.items()
        if key not in mine and key not in FOLLOWED
    }
    return {**mine, **rest, **made}, kept


def merge(mine: list[Any], before: Before, now: Mapping[str, dict[str, Any]]) -> Merged:
    """Three ways: what the last import wrote, what its author made of it, what it would write now.

    A tool that its author took out stays out, one that they wrote stays as it is. So does one whose
    import is not remembered. A tool that is new gets a name that no other one has.

    Args:
        mine: The tools in the answers file.
        before: What the last import wrote.
        now: Tools by operation, as the document has them now.
    """
    found = Merged()
    by_name = {tool["name"]: key for key, tool in before.tools.items()}
    by_request = {_request(tool): key for key, tool in before.tools.items()}
    unknown = {
        _request(tool): key for key, tool in now.items() if key not in before.tools
    }
    seen = set()
    for tool in mine:
        key = by_request.get(_request(tool)) or (
            by_name.get(str(tool.get("name"))) if isinstance(tool, dict) else None
        )
        if key is None and (known := unknown.get(_request(tool))) and known not in seen:
            seen.add(known)
            found.tools.append(tool)
            if tool != now[known]:
                found.kept.append(
                    f"{known} ({get_tool_name(tool)}) stays as it is in the answers"
                )
            continue
        if key is None or key in seen:
            found.tools.append(tool)
            continue
        seen.add(key)
        base = before.tools[key]
        if key not in now:
            if tool == base:
                found.removed.append(f"{key} ({base['name']})")
            else:
                found.tools.append(tool)
                found.kept.append(
                    f"{key} is gone from the document, but {get_tool_name(tool)} has edits of yours"
                )
            continue
        made, ours = _three(base, tool, now[key])
        found.tools.append(made)
        if made != tool:
            found.changed.append(f"{key} ({get_tool_name(made)})")
        found.kept += [
            f"{get_tool_name(made)}: your {one} stays, the document changed it"
            for one in ours
        ]
    names = {camel(get_tool_name(tool)) for tool in found.tools}
    for key, tool in now.items():
        if key not in before.tools and key not in seen:
            stem, number = tool["name"][: LONGEST - 6].rstrip("_"), 2
            while camel(tool["name"]) in names:
                tool["name"], number = f"{stem}_{number}", number + 1
            names.add(camel(tool["name"]))
            found.tools.append(tool)
            found.added.append(f"{key} ({tool['name']})")
    return found


def _request(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    fixed = [
        f" {one.get('name')}={one.get('default')}"
        for one in tool.get("params") or ()
        if isinstance(one, dict) and one.get("choices") == [one.get("default")]
    ]
    request = " ".join(str(tool.get("http", "")).split(" ")[:2]).partition("?")[0]
    return request.rstrip("/") + "".join(fixed)


def _three(
    base: Mapping[str, Any], mine: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """One mapping by its keys; where both changed a key, the author's stands and is named."""
    made: dict[str, Any] = {}
    ours: list[str] = []
    for key in [*mine, *(key for key in new if key not in mine)]:
        was, own, now = (
            base.get(key, MISSING),
            mine.get(key, MISSING),
            new.get(key, MISSING),
        )
        if own == was:
            value = now
        elif key == "params" and all(isinstance(one, list) for one in (was, own, now)):
            value, inner = _three_lists(was, own, now)
            ours += inner
        elif isinstance(was, dict) and isinstance(own, dict) and isinstance(now, dict):
            value, inner = _three(was, own, now)
            ours += [f"{key}.{one}" for one in inner]
        else:
            value = own
            if now not in (was, own):
                ours.append(key)
        if value is not MISSING:
            made[key] = value
    return made, ours


def _three_lists(
    base: list[Any], mine: list[Any], new: list[Any]
) -> tuple[list[Any], list[str]]:
    def named(listed: list[Any]) -> dict[str, Any]:
        return {str(one.get("name")): one for one in listed if isinstance(one, dict)}

    made, ours = _three(named(base), named(mine), named(new))
    return [*made.values()], [f"parameter {one}" for one in ours]


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
