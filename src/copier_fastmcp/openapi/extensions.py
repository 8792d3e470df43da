"""What a document says outright of an operation's hints, in the extensions that are in use."""

from collections.abc import Mapping
from typing import Any

from ..words import singular
from .derived import SAFE, Derived
from .operations import Operation

KUBERNETES = {
    **dict.fromkeys(("get", "list", "watch", "watchlist"), "read"),
    "post": "create",
    "put": "put",
    "patch": "update",
    "delete": "delete",
    "deletecollection": "delete",
    "connect": "action",
}
REVIEWS = (
    "subjectaccessreview",
    "selfsubjectrulesreview",
    "tokenreview",
    "selfsubjectreview",
)
LOSING = ("delete", "put", "update")
HINTS = "readOnlyHint", "destructiveHint", "idempotentHint"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def hints(operation: Operation) -> tuple[str, dict[str, bool]]:
    """The extension that holds hints, and the hints; empty without one. The first in the order of trust wins."""
    extensions = operation.extensions
    for name, holder in (
        ("x-mcp.annotations", _mapping(extensions.get("x-mcp")).get("annotations")),
        ("x-mcp-annotations", extensions.get("x-mcp-annotations")),
        (
            "x-frontmcp.annotations",
            _mapping(extensions.get("x-frontmcp")).get("annotations"),
        ),
        ("x-speakeasy-mcp", extensions.get("x-speakeasy-mcp")),
    ):
        flags = {}
        for key, value in _mapping(holder).items():
            if key in HINTS and isinstance(value, bool):
                flags[key] = value
        if flags:
            return name, flags
    return "", {}


def name_of(operation: Operation) -> str:
    """The tool name that a document gives; empty without one."""
    for key in ("x-mcp", "x-frontmcp", "x-speakeasy-mcp"):
        named = _mapping(operation.extensions.get(key)).get("name")
        if isinstance(named, str) and named:
            return named[:200]
    return ""


def is_switched_off(operation: Operation) -> bool:
    """Whether the document says that this is not a tool."""
    for key in ("x-mcp", "x-speakeasy-mcp", "x-frontmcp"):
        extension = operation.extensions.get(key)
        settings = _mapping(extension)
        is_disabled = settings.get("disabled") is True
        if extension is False or is_disabled or settings.get("enabled") is False:
            return True
    return False


def declared(operation: Operation, derived: Derived) -> Derived | None:
    """The behavior that an extension names, or None; a contradiction to the method is asked."""
    name, flags = hints(operation)
    if flags:
        behavior, facts = _behavior(operation, derived, flags)
        source = f"extension {name}"
        reason = " ".join(f"{key}={str(value).lower()}" for key, value in flags.items())
        changes = operation.method not in (*SAFE, "POST") or derived.behavior in LOSING
        if behavior == "read" and changes:
            reason = f"{name} says that a {operation.method} reads"
            return Derived("action", "asked", reason, asked=True)
        if behavior == "read" and flags.get("destructiveHint") is True:
            reason = f"{name} says that it reads and that it is destructive"
            return Derived("action", "asked", reason, asked=True)
        return Derived(
            behavior,
            source,
            reason,
            confirm=derived.confirm,
            destructive=facts.get("destructive"),
            idempotent=facts.get("idempotent"),
        )
    verb = operation.extensions.get("x-kubernetes-action")
    if isinstance(verb, str) and verb.lower() in KUBERNETES:
        return _kubernetes(operation, verb.lower())
    return None


def _behavior(
    operation: Operation, derived: Derived, flags: Mapping[str, bool]
) -> tuple[str, dict[str, bool]]:
    """The behavior whose hints are those that were said; where several fit, the derived one."""
    if flags.get("readOnlyHint") is True:
        return "read", {}
    # The other two hints mean something only where a tool is not read-only.
    quiet = (
        flags.get("destructiveHint") is not True
        and flags.get("idempotentHint") is not False
    )
    if flags.get("readOnlyHint") is None and derived.behavior == "read" and quiet:
        return "read", {}
    destroys, same = (
        flags.get("destructiveHint", True),
        flags.get("idempotentHint", False),
    )
    fits = {
        (False, False): ("create", "append"),
        (False, True): ("ensure",),
        (True, True): ("put", "delete"),
        (True, False): ("update", "action"),
    }[destroys, same]
    if derived.behavior in fits:
        return derived.behavior, {}
    if (destroys, same) == (False, False):
        return ("create" if operation.method == "POST" else "append"), {}
    return "action", {"destructive": destroys, "idempotent": same}


def _kubernetes(operation: Operation, verb: str) -> Derived:
    behavior, tail = KUBERNETES[verb], operation.tail.lower()
    kind = _mapping(operation.extensions.get("x-kubernetes-group-version-kind")).get(
        "kind", ""
    )
    named = f"{tail} {str(kind).lower()}"
    reason = f"x-kubernetes-action: {verb}"
    if verb == "post" and any(review in named for review in REVIEWS):
        return Derived(
            "read",
            "extension x-kubernetes-action",
            f"{reason}; a review stores nothing",
        )
    if verb == "post" and singular(tail) in ("rollback", "binding", "eviction"):
        return Derived("action", "extension x-kubernetes-action", f"{reason} of {tail}")
    if behavior == "read" and operation.method not in SAFE:
        reason = f"{reason}, but a {operation.method} writes"
        return Derived("action", "asked", reason, asked=True)
    return Derived(
        behavior,
        "extension x-kubernetes-action",
        reason,
        confirm=verb == "deletecollection",
    )
