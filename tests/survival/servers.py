"""Thirteen servers with all profiles, backends and packages, and three releases."""

import json
import re
from pathlib import Path
from typing import Any

from lifecycle import TEMPLATE, Edit, migration, move_module, released, rename_author

TABLES = "src/copier_fastmcp/tables.json"
RULES = "engine/src/copier_fastmcp_engine/testing/rules.py"
NOTES = ["search_notes", "get_note", "create_note", "update_note", "delete_note"]
RESOURCES = [
    {"uri": "notes://all", "name": "All notes", "description": "Every note."},
    {"uri": "notes://{note_id}", "name": "One note", "description": "One note."},
]
REQUESTS = [
    {"name": "get_order", "http": "GET /orders/{order_id}"},
    {
        "name": "drop_order",
        "http": "DELETE /orders/{order_id}",
        "formerly": ["remove_order"],
    },
]
CUSTOM = {
    "profile": "custom",
    "hints": "narrow",
    "destructive": "deletes",
    "confirm": "writes",
}
SERVERS: dict[str, dict[str, Any]] = {
    "explicit": {},
    "end-state": {
        "profile": "end-state",
        "author": "Ann Example",
        "license": "BSD-3-Clause",
    },
    "narrow": {"profile": "narrow", "license": "none"},
    "confirm-all": {
        "profile": "confirm-all",
        "packages": ["container", "bundle", "registry"],
    },
    "custom": CUSTOM | {"confirm_fallback": "refuse"},
    "custom-two-step": CUSTOM | {"hints": "end-state", "packages": ["bundle"]},
    "no-backend": {"backend": "none", "author": "Bo"},
    "consent": {"consent": "url", "license": "Apache-2.0"},
    "consent-all": {
        "consent": "url",
        "profile": "confirm-all",
        "packages": ["registry"],
    },
    "resources": {"resources": RESOURCES, "author": "Cy"},
    "resource-no-backend": {
        "resources": RESOURCES[:1],
        "backend": "none",
        "profile": "narrow",
    },
    "http": {"backend": "http", "tools": REQUESTS, "domain": "orders"},
    "typed": {
        "tools": "search_orders, get_order, ship_order=action",
        "domain": "orders",
    },
}


def releases(template: Path) -> list[str]:
    """Create three releases after v1 that change hints, rules, files, questions, defaults and bounds."""
    _second(template)
    _third(template)
    _fourth(template)
    return ["v2.0.0", "v3.0.0", "v4.0.0"]


def _row(profile: str, old: str, new: str) -> Edit:
    row = f'"{profile}": {{"hints": "{profile}", "destructive": '
    return (TABLES, row + f'"{old}"', row + f'"{new}"')


def _rule(name: str, limit: int) -> list[Edit]:
    words = '"text": "Names are short.", "source": "our house", "fix": "shorten it"'
    check = f'    if len(tool.name) > {limit}:\n        yield "{name}", "the name is long"\n'
    place = "    if tool.copies > 1:\n"
    entry = f'    "{name}": {{"profiles": ["policy"], {words}}},\n'
    return [
        (TABLES, '    "name-valid": {', entry + '    "name-valid": {'),
        (RULES, place, check + place),
    ]


def _bounds(template: Path) -> Edit:
    name = "template/pyproject.toml.jinja"
    text = (template / name).read_text(encoding="utf-8")
    raised = re.sub(
        r'(?m)^(    "[^"]+>=\d+\.)(\d+)', lambda m: m[1] + str(int(m[2]) + 1), text
    )
    return (name, text, raised)


def _default(name: str, old: str, new: str) -> Edit:
    return (
        "copier.yml",
        f"before.{name} | default('{old}')",
        f"before.{name} | default('{new}')",
    )


def _question(name: str) -> Edit:
    default = f"\"{{{{ before.{name} | default('') }}}}\""
    text = f"{name}:\n  type: str\n  default: {default}\n  help: Who is asked\n\n"
    return ("copier.yml", "license:\n  <<", text + "license:\n  <<")


def _second(template: Path) -> None:
    released(
        template,
        template,
        "v2.0.0",
        _row("explicit", "deletes_and_overwrites", "deletes"),
        *_rule("name-short", 40),
        ("template/.envrc", "", "use uv\n"),
        ("template/docs/team.md.jinja", "", "# Team\n\n{{ team }}\n"),
        (TEMPLATE + "policy/errors.py", "", "\n# release 2\n"),
        ("template/README.md.jinja", "", "\nRelease 2.\n"),
        ("template/AGENTS.md.jinja", "", "\nRelease 2.\n"),
        _question("team"),
        _default("license", "MIT", "Apache-2.0"),
        _bounds(template),
    )


def _third(template: Path) -> None:
    released(
        template,
        template,
        "v2.9.0",
        _row("end-state", "deletes", "deletes_and_overwrites"),
        *_rule("name-shorter", 39),
        *move_module(template),
        (TEMPLATE + "policy/errors.py", "# release 2\n", "# release 3\n"),
        ("template/config/ruff.toml", "line-length = 100", "line-length = 101"),
        ("template/README.md.jinja", "\nRelease 2.\n", "\nRelease 3.\n"),
        _default("confirm_fallback", "two_step", "refuse"),
        _bounds(template),
    )
    rename_author(template, "v3.0.0")


def _fourth(template: Path) -> None:
    answer = json.dumps("Everybody.")
    released(
        template,
        template,
        "v4.0.0",
        _row("narrow", "deletes_and_overwrites", "deletes"),
        *_rule("name-shortest", 38),
        migration("v4.0.0", "before", "answer", "description", answer),
        migration("v4.0.0", "before", "rename", "team", "group"),
        ("copier.yml", "team:\n", "group:\n"),
        ("copier.yml", "before.team", "before.group"),
        ("template/docs/team.md.jinja", "{{ team }}", "{{ group }}"),
        ("template/README.md.jinja", "\nRelease 3.\n", "\nRelease 4.\n"),
        (TEMPLATE + "policy/gate.py.jinja", "", "\n# release 4\n"),
        ("template/CLAUDE.md", "", "\nRelease 4.\n"),
        _bounds(template),
    )
