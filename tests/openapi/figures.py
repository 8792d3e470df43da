"""How often an import is right about what an operation does, on operations labelled by reading.

python tests/openapi/figures.py                 the figures, from facts.jsonl and the two labels
python tests/openapi/figures.py --write         report.md, after a change of rules or words
python tests/openapi/figures.py --table FOLDER  the documents in a folder: what their operations became
python tests/openapi/figures.py --record FOLDER facts.jsonl anew, from the documents in sources.json
python tests/openapi/figures.py --blind FOLDER [LABELS]  blind.tsv, or other labels, against documents in a folder

No document is here: `facts.jsonl` holds of each drawn operation what its behavior is derived from.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from copier_fastmcp.openapi.behavior import derive
from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.derived import Derived
from copier_fastmcp.openapi.document import Document, read
from copier_fastmcp.openapi.operations import Operation, is_json, operations
from copier_fastmcp.openapi.tools import Options

HERE = Path(__file__).parent
SOURCES: dict[str, dict[str, Any]] = json.loads(
    (HERE / "sources.json").read_text(encoding="utf-8")
)


def labels(name: str) -> dict[tuple[str, str], set[str]]:
    """Document and operation -> the behaviors that a reader finds right."""
    rows = [
        line.split("\t")
        for line in (HERE / name).read_text(encoding="utf-8").splitlines()
    ]
    return {
        (document, operation): set(text.split("|"))
        for document, operation, text in rows
    }


def drawn(folder: Path) -> Iterator[tuple[str, Operation]]:
    """The operations that were labelled: two thirds of each document's share are no GET."""
    for name, source in SOURCES.items():
        listed = sorted(
            operations(read(folder / source["file"])), key=lambda row: row.name
        )
        chance = random.Random(f"labels-1-{name}")
        reads_ = [row for row in listed if row.method == "GET"]
        writes = [row for row in listed if row.method != "GET"]
        count = min(len(writes), source["drawn"] - source["drawn"] // 3)
        result = chance.sample(writes, count)
        result += chance.sample(reads_, min(len(reads_), source["drawn"] - count))
        for row in sorted(result, key=lambda row: row.name):
            yield name, row


def fact(name: str, row: Operation) -> dict[str, Any]:
    """Of an operation, what its behavior is derived from, and nothing else."""
    kind, schema = row.json_body
    properties = schema.get("properties")
    inner = row.path.rstrip("/") + "/{"
    remaining: dict[str, Any] = {
        "document": name,
        "operation": row.name,
        "id": row.operation_id,
    }
    remaining["tags"], remaining["summary"] = row.tags, row.text("summary")
    remaining["answers"] = row.statuses
    if not row.text("summary"):
        remaining["description"] = " ".join(row.text("description").split()[:6])
    if row.contents:
        remaining["body"] = {
            "kinds": [*row.contents],
            "fields": [*properties] if isinstance(properties, dict) else [],
            "choices": {
                field: result
                for field, source in (
                    properties if isinstance(properties, dict) else {}
                ).items()
                if (result := row.document.followed(source).get("enum"))
            },
            "required": schema.get("required") or [],
            "json": kind if is_json(kind) else "",
        }
    if row.raw.get("callbacks"):
        remaining["callbacks"] = True
    if scopes := [route for route in row.scopes if route]:
        remaining["scopes"] = scopes
    paths = row.document.root.get("paths") or {}
    if any(path.startswith(inner) and "/" not in path[len(inner) :] for path in paths):
        remaining["items_below"] = True
    partner = row.siblings.get("put")
    if isinstance(partner, dict):
        remaining["put"] = "body" if partner.get("requestBody") else "no body"
    if needed := [
        p["name"]
        for p in row.parameters
        if p.get("in") == "query" and p.get("required")
    ]:
        remaining["query"] = needed
    return remaining


def operation(remaining: dict[str, Any]) -> Operation:
    """An operation that is made of such facts."""
    method, path = remaining["operation"].split(" ", 1)
    raw: dict[str, Any] = {"operationId": remaining["id"], "tags": remaining["tags"]}
    raw |= {
        "summary": remaining["summary"],
        "description": remaining.get("description", ""),
    }
    raw["responses"] = {code: {"description": ""} for code in remaining["answers"]}
    if body := remaining.get("body"):
        fields = {
            field: {"enum": body["choices"].get(field)} for field in body["fields"]
        }
        schema = {"type": "object", "properties": fields, "required": body["required"]}
        content = {kind: {"schema": schema} for kind in body["kinds"]}
        raw["requestBody"] = {"content": content}
    if remaining.get("callbacks"):
        raw["callbacks"] = {"called": {}}
    if "scopes" in remaining:
        raw["security"] = [{"oauth": route} for route in remaining["scopes"]]
    raw["parameters"] = [
        {"in": "query", "name": name, "required": True}
        for name in remaining.get("query", ())
    ]
    item: dict[str, Any] = {}
    if "put" in remaining:
        item["put"] = (
            {"requestBody": {"content": {}}} if remaining["put"] == "body" else {}
        )
    item[method.lower()] = raw
    paths: dict[str, Any] = {path: item}
    if remaining.get("items_below"):
        paths[path.rstrip("/") + "/{below}"] = {}
    result = operations(Document(Path("facts"), {"openapi": "3.1.0", "paths": paths}))
    return next(row for row in result if row.name == remaining["operation"])


def facts(names: str = "facts.jsonl") -> list[dict[str, Any]]:
    """What was recorded."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(HERE.glob(names))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def derived(names: str = "facts.jsonl") -> dict[tuple[str, str], Derived]:
    """What an import says now of each recorded operation."""
    return {
        (remaining["document"], remaining["operation"]): derive(operation(remaining))
        for remaining in facts(names)
    }


def score_blind(folder: Path, name: str = "blind.tsv") -> list[str]:
    """How the import does on labels whose documents are not here, and each operation that is not right."""
    text = labels(name)
    result: dict[tuple[str, str], Derived] = {}
    for file in sorted(folder.iterdir()):
        for row in operations(read(file)):
            if (file.stem, row.name) in text:
                result[file.stem, row.name] = derive(row)
    counts = Counter[str]()
    lines = []
    for at, behaviors in text.items():
        outcome = "missing"
        if at in result:
            right = result[at].behavior in behaviors
            outcome = "asked" if result[at].asked else "right" if right else "wrong"
            if result[at].behavior == "read" and "read" not in behaviors:
                counts["false reads"] += 1
        counts[outcome] += 1
        if outcome != "right":
            lines.append(
                f"{outcome}: {' '.join(at)}: {result.get(at)}, {'|'.join(sorted(behaviors))}"
            )
    families = {(at[0], row.family or at[1]) for at, row in result.items() if row.asked}
    printed = ", ".join(
        f"{counts[key]} {key}" for key in ("right", "asked", "wrong", "missing")
    )
    return [
        f"{printed}, {counts['false reads']} false reads, {len(families)} questions",
        *lines,
    ]


def report() -> str:
    """The figures in Markdown."""
    lines = [
        "# How often an import is right",
        "",
        "README.md says how the operations were drawn and labelled.",
        "",
    ]
    lines += [
        "| labels | operations | right | asked | wrong | right or asked | false reads |"
    ]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    extra = derived("unseen-*.jsonl")
    for name in ("labels.tsv", "second.tsv", "unseen.tsv"):
        text = labels(name)
        result = extra if name == "unseen.tsv" else derived()
        question = [at for at in text if result[at].asked]
        right = [
            at
            for at in text
            if not result[at].asked and result[at].behavior in text[at]
        ]
        reads_ = [
            at
            for at in text
            if result[at].behavior == "read" and "read" not in text[at]
        ]
        share = (len(right) + len(question)) / len(text)
        failures = len(text) - len(right) - len(question)
        lines.append(
            f"| {name} | {len(text)} | {len(right)} | {len(question)} | {failures} | {share:.1%} | {len(reads_)} |"
        )
    result, first, second = derived(), labels("labels.tsv"), labels("second.tsv")
    same = sum(first[at] == second[at] for at in first)
    lines += [
        "",
        f"The two readings are the same for {same} of {len(first)}; the others share a behavior.",
        "",
    ]
    lines += [
        "| document | operation | labels | derived | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for at, row in sorted(result.items()):
        if row.asked or row.behavior not in first[at] & second[at]:
            printed = " / ".join(sorted(first[at] | second[at]))
            derived_as = f"{row.behavior}, asked" if row.asked else row.behavior
            lines.append(
                f"| {at[0]} | `{at[1]}` | {printed} | {derived_as} | {row.reason} |"
            )
    return "\n".join(lines) + "\n"


def table(folder: Path) -> str:
    """What the operations of whole documents became, in Markdown."""
    behaviors = [
        "read",
        "create",
        "ensure",
        "append",
        "update",
        "put",
        "delete",
        "action",
    ]
    head = [
        "document",
        "version",
        "operations",
        "tools",
        *behaviors,
        "asked",
        "left out",
        "seconds",
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for source in SOURCES.values():
        began = time.perf_counter()
        document = read(folder / source["file"])
        listed = list(operations(document))
        rows = convert(listed, Options())
        took = time.perf_counter() - began
        built = [row for row in rows if row.tool]
        counts = Counter(row.derived.behavior for row in built)
        question = sum(row.derived.asked for row in built)
        cells: list[object] = [
            source["title"],
            document.version,
            len(listed),
            len(built),
        ]
        cells += [
            *(counts[row] for row in behaviors),
            question,
            len(rows) - len(built),
            f"{took:.1f}",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--record" in sys.argv:
        rows = [
            json.dumps(fact(*one), ensure_ascii=False)
            for one in drawn(Path(sys.argv[-1]))
        ]
        (HERE / "facts.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    elif "--blind" in sys.argv:
        print("\n".join(score_blind(Path(sys.argv[2]), *sys.argv[3:])))
    elif "--table" in sys.argv:
        print(table(Path(sys.argv[-1])))
    elif "--write" in sys.argv:
        (HERE / "report.md").write_text(report(), encoding="utf-8")
    else:
        print(report())
