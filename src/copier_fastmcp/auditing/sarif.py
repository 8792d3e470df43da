"""Findings in SARIF, as code scanning takes them."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..lock import FILE
from .judging import Judged
from .vocabulary import rules


def sarif(findings: Sequence[Judged], written: Mapping[str, Path]) -> dict[str, Any]:
    """Findings in SARIF 2.1.0.

    GitHub refuses a whole report for one finding without a file, so each has one: the file that the
    tools of its server stand in, or a name for the server where there is none.

    Args:
        findings: What was found.
        written: The file of each server; without any, the findings are on this project.
    """
    driver = {
        "name": "copier-fastmcp audit",
        "rules": [
            {"id": rule, "shortDescription": {"text": row["text"]}} for rule, row in rules().items()
        ],
    }
    results = [
        {
            "ruleId": one.rule,
            "level": one.severity,
            "message": {"text": f"{one.tool}: {one.message}; {one.mend}"},
            "locations": [_location(one, written)],
            "partialFingerprints": {"finding/v1": " ".join(map(str, one.key()))},
        }
        for one in findings
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _location(one: Judged, written: Mapping[str, Path]) -> dict[str, Any]:
    path, pattern = _place(one, written)
    name = f"{one.server}/{one.tool}" if one.server else one.tool
    at = re.search(pattern, _text(path), re.MULTILINE)
    line = _text(path).count("\n", 0, at.start()) + 1 if at else 1
    here = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(here.as_posix())},
            "region": {"startLine": line},
        },
        "logicalLocations": [{"name": one.tool, "fullyQualifiedName": name, "kind": "function"}],
    }


def _place(one: Judged, written: Mapping[str, Path]) -> tuple[Path, str]:
    """The file of a tool, and how it is written there."""
    quoted = re.escape(json.dumps(one.tool, ensure_ascii=False))
    if written:
        return written[one.server], rf"\"name\":\s*{quoted}"
    if one.tool.isidentifier():
        for path in Path().glob(f"src/*/tools/**/{one.tool}.py"):
            return path, rf"^(async )?def {one.tool}\b"
    return Path(FILE), f"^    {quoted}:"


@cache
def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
