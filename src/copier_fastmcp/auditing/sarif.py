"""Findings in SARIF, for code scanning."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from copier_fastmcp_engine.testing.lock import FILE

from .findings import AuditFinding
from .vocabulary import load_rules

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class Place:
    """The file of a tool, and a pattern of the line where the tool is written."""

    path: Path
    pattern: str


def build_sarif(
    findings: Sequence[AuditFinding], files: Mapping[str, Path]
) -> dict[str, Any]:
    """Findings in SARIF 2.1.0.

    GitHub refuses a report if one finding has no file, so each finding has one: the file with the tools of
    its server, else a name for the server.

    Args:
        findings: The findings.
        files: The file of each server; if empty, the findings concern this project.
    """
    rules = []
    for rule, row in load_rules().items():
        rules.append({"id": rule, "shortDescription": {"text": row["text"]}})
    driver = {"name": "copier-fastmcp audit", "rules": rules}
    results = [_build_result(finding, files) for finding in findings]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _build_result(finding: AuditFinding, files: Mapping[str, Path]) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": f"{finding.tool}: {finding.message}; {finding.fix}"},
        "locations": [_build_location(finding, files)],
        "partialFingerprints": {"finding/v1": " ".join(map(str, finding.key()))},
    }


def _build_location(finding: AuditFinding, files: Mapping[str, Path]) -> dict[str, Any]:
    place = _find_place(finding, files)
    text = _read_text(place.path)
    match = re.search(place.pattern, text, re.MULTILINE)
    line = text.count("\n", 0, match.start()) + 1 if match else 1
    path = place.path
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    name = finding.tool
    if finding.server:
        name = f"{finding.server}/{name}"
    function = {
        "name": finding.tool,
        "fullyQualifiedName": name,
        "kind": "function",
    }
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(path.as_posix())},
            "region": {"startLine": line},
        },
        "logicalLocations": [function],
    }


def _find_place(finding: AuditFinding, files: Mapping[str, Path]) -> Place:
    quoted = re.escape(json.dumps(finding.tool, ensure_ascii=False))
    if files:
        return Place(files[finding.server], rf"\"name\":\s*{quoted}")
    if finding.tool.isidentifier():
        for path in Path().glob(f"src/*/tools/**/{finding.tool}.py"):
            return Place(path, rf"^(async )?def {finding.tool}\b")
    return Place(Path(FILE), f"^    {quoted}:")


@cache
def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
