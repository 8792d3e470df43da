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


def load_labels(name: str) -> dict[tuple[str, str], set[str]]:
    """Load the accepted behaviors of each document and operation."""
    labels = {}
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        document, operation, text = line.split("\t")
        labels[document, operation] = set(text.split("|"))
    return labels


def draw_operations(folder: Path) -> Iterator[tuple[str, Operation]]:
    """Draw the labelled operations; two thirds of each document's share are not GET."""
    for name, source in SOURCES.items():
        listed = sorted(
            operations(read(folder / source["file"])), key=lambda row: row.name
        )
        chance = random.Random(f"labels-1-{name}")
        read_operations, write_operations = [], []
        for row in listed:
            if row.method == "GET":
                read_operations.append(row)
            else:
                write_operations.append(row)
        writes_drawn = min(
            len(write_operations), source["drawn"] - source["drawn"] // 3
        )
        reads_drawn = min(len(read_operations), source["drawn"] - writes_drawn)
        sample = chance.sample(write_operations, writes_drawn)
        sample += chance.sample(read_operations, reads_drawn)
        for row in sorted(sample, key=lambda row: row.name):
            yield name, row


def extract_facts(name: str, row: Operation) -> dict[str, Any]:
    """Extract the facts that the behavior of an operation is derived from."""
    record: dict[str, Any] = {
        "document": name,
        "operation": row.name,
        "id": row.operation_id,
        "tags": row.tags,
        "summary": row.text("summary"),
        "answers": row.statuses,
    }
    if not row.text("summary"):
        record["description"] = " ".join(row.text("description").split()[:6])
    if row.contents:
        record["body"] = extract_body(row)
    if row.raw.get("callbacks"):
        record["callbacks"] = True
    if scopes := [route for route in row.scopes if route]:
        record["scopes"] = scopes
    if has_items_below(row):
        record["items_below"] = True
    partner = row.siblings.get("put")
    if isinstance(partner, dict):
        record["put"] = "body" if partner.get("requestBody") else "no body"
    if required_parameters := list_required_parameters(row):
        record["query"] = required_parameters
    return record


def extract_body(row: Operation) -> dict[str, Any]:
    """Extract the kinds, fields and choices of an operation's body."""
    kind, schema = row.json_body
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        properties = {}
    choices = {}
    for field, source in properties.items():
        if enum := row.document.resolve_if_possible(source).get("enum"):
            choices[field] = enum
    return {
        "kinds": [*row.contents],
        "fields": [*properties],
        "choices": choices,
        "required": schema.get("required") or [],
        "json": kind if is_json(kind) else "",
    }


def has_items_below(row: Operation) -> bool:
    """Whether the document has a path for a single item below the path of an operation."""
    inner = row.path.rstrip("/") + "/{"
    paths = row.document.root.get("paths") or {}
    for path in paths:
        if path.startswith(inner) and "/" not in path[len(inner) :]:
            return True
    return False


def list_required_parameters(row: Operation) -> list[str]:
    """List the query parameters that an operation requires."""
    names = []
    for parameter in row.parameters:
        if parameter.get("in") == "query" and parameter.get("required"):
            names.append(parameter["name"])
    return names


def build_operation(record: dict[str, Any]) -> Operation:
    """Build an operation from recorded facts."""
    method, path = record["operation"].split(" ", 1)
    raw: dict[str, Any] = {"operationId": record["id"], "tags": record["tags"]}
    raw |= {
        "summary": record["summary"],
        "description": record.get("description", ""),
    }
    raw["responses"] = {code: {"description": ""} for code in record["answers"]}
    if body := record.get("body"):
        fields = {}
        for field in body["fields"]:
            fields[field] = {"enum": body["choices"].get(field)}
        schema = {"type": "object", "properties": fields, "required": body["required"]}
        content = {kind: {"schema": schema} for kind in body["kinds"]}
        raw["requestBody"] = {"content": content}
    if record.get("callbacks"):
        raw["callbacks"] = {"called": {}}
    if "scopes" in record:
        raw["security"] = [{"oauth": route} for route in record["scopes"]]
    raw["parameters"] = []
    for name in record.get("query", ()):
        raw["parameters"].append({"in": "query", "name": name, "required": True})
    item: dict[str, Any] = {}
    if "put" in record:
        item["put"] = (
            {"requestBody": {"content": {}}} if record["put"] == "body" else {}
        )
    item[method.lower()] = raw
    paths: dict[str, Any] = {path: item}
    if record.get("items_below"):
        paths[path.rstrip("/") + "/{below}"] = {}
    result = operations(Document(Path("facts"), {"openapi": "3.1.0", "paths": paths}))
    return next(row for row in result if row.name == record["operation"])


def load_facts(names: str = "facts.jsonl") -> list[dict[str, Any]]:
    """Load the recorded facts."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(HERE.glob(names))]
    rows = []
    for text in texts:
        for line in text.splitlines():
            rows.append(json.loads(line))
    return rows


def derive_recorded(names: str = "facts.jsonl") -> dict[tuple[str, str], Derived]:
    """Derive the behavior of each recorded operation."""
    behaviors = {}
    for record in load_facts(names):
        behaviors[(record["document"], record["operation"])] = derive(
            build_operation(record)
        )
    return behaviors


def score_blind(folder: Path, name: str = "blind.tsv") -> list[str]:
    """Score the import on blind labels, and list each operation that is not right."""
    labelled = load_labels(name)
    derivations: dict[tuple[str, str], Derived] = {}
    for file in sorted(folder.iterdir()):
        for row in operations(read(file)):
            if (file.stem, row.name) in labelled:
                derivations[file.stem, row.name] = derive(row)
    counts = Counter[str]()
    lines = []
    for at, behaviors in labelled.items():
        outcome = "missing"
        if at in derivations:
            right = derivations[at].behavior in behaviors
            outcome = (
                "asked" if derivations[at].asked else "right" if right else "wrong"
            )
            if derivations[at].behavior == "read" and "read" not in behaviors:
                counts["false reads"] += 1
        counts[outcome] += 1
        if outcome != "right":
            lines.append(
                f"{outcome}: {' '.join(at)}: {derivations.get(at)}, {'|'.join(sorted(behaviors))}"
            )
    families = set()
    for at, derivation in derivations.items():
        if derivation.asked:
            families.add((at[0], derivation.family or at[1]))
    printed = ", ".join(
        f"{counts[key]} {key}" for key in ("right", "asked", "wrong", "missing")
    )
    return [
        f"{printed}, {counts['false reads']} false reads, {len(families)} questions",
        *lines,
    ]


def format_report() -> str:
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
    extra = derive_recorded("unseen-*.jsonl")
    for name in ("labels.tsv", "second.tsv", "unseen.tsv"):
        labelled = load_labels(name)
        derivations = extra if name == "unseen.tsv" else derive_recorded()
        questions, right, false_reads = 0, 0, 0
        for at, behaviors in labelled.items():
            row = derivations[at]
            if row.asked:
                questions += 1
            elif row.behavior in behaviors:
                right += 1
            if row.behavior == "read" and "read" not in behaviors:
                false_reads += 1
        total = len(labelled)
        share = (right + questions) / total
        failures = total - right - questions
        lines.append(
            f"| {name} | {total} | {right} | {questions} | {failures} | {share:.1%} | {false_reads} |"
        )
    derivations, first, second = (
        derive_recorded(),
        load_labels("labels.tsv"),
        load_labels("second.tsv"),
    )
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
    for at, row in sorted(derivations.items()):
        if row.asked or row.behavior not in first[at] & second[at]:
            printed = " / ".join(sorted(first[at] | second[at]))
            derived_as = f"{row.behavior}, asked" if row.asked else row.behavior
            lines.append(
                f"| {at[0]} | `{at[1]}` | {printed} | {derived_as} | {row.reason} |"
            )
    return "\n".join(lines) + "\n"


def format_table(folder: Path) -> str:
    """Format a Markdown table of the conversion of whole documents."""
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
        built = []
        for row in rows:
            if row.tool:
                built.append(row)
        counts = Counter(row.derived.behavior for row in built)
        questions = sum(row.derived.asked for row in built)
        cells: list[object] = [
            source["title"],
            document.version,
            len(listed),
            len(built),
        ]
        cells += [
            *(counts[row] for row in behaviors),
            questions,
            len(rows) - len(built),
            f"{took:.1f}",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--record" in sys.argv:
        rows = []
        for row in draw_operations(Path(sys.argv[-1])):
            rows.append(json.dumps(extract_facts(*row), ensure_ascii=False))
        (HERE / "facts.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    elif "--blind" in sys.argv:
        print("\n".join(score_blind(Path(sys.argv[2]), *sys.argv[3:])))
    elif "--table" in sys.argv:
        print(format_table(Path(sys.argv[-1])))
    elif "--write" in sys.argv:
        (HERE / "report.md").write_text(format_report(), encoding="utf-8")
    else:
        print(format_report())
