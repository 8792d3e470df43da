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
        (document, operation): set(said.split("|"))
        for document, operation, said in rows
    }


def drawn(folder: Path) -> Iterator[tuple[str, Operation]]:
    """The operations that were labelled: two thirds of each document's share are no GET."""
    for name, source in SOURCES.items():
        listed = sorted(
            operations(read(folder / source["file"])), key=lambda one: one.name
        )
        chance = random.Random(f"labels-1-{name}")
        reads = [one for one in listed if one.method == "GET"]
        writes = [one for one in listed if one.method != "GET"]
        count = min(len(writes), source["drawn"] - source["drawn"] // 3)
        found = chance.sample(writes, count)
        found += chance.sample(reads, min(len(reads), source["drawn"] - count))
        for one in sorted(found, key=lambda one: one.name):
            yield name, one


def fact(name: str, one: Operation) -> dict[str, Any]:
    """Of an operation, what its behavior is derived from, and nothing else."""
    kind, schema = one.json_body
    properties = schema.get("properties")
    below = one.path.rstrip("/") + "/{"
    kept: dict[str, Any] = {
        "document": name,
        "operation": one.name,
        "id": one.operation_id,
    }
    kept["tags"], kept["summary"] = one.tags, one.text("summary")
    kept["answers"] = one.statuses
    if not one.text("summary"):
        kept["description"] = " ".join(one.text("description").split()[:6])
    if one.contents:
        kept["body"] = {
            "kinds": [*one.contents],
            "fields": [*properties] if isinstance(properties, dict) else [],
            "choices": {
                field: found
                for field, of in (
                    properties if isinstance(properties, dict) else {}
                ).items()
                if (found := one.document.followed(of).get("enum"))
            },
            "required": schema.get("required") or [],
            "json": kind if is_json(kind) else "",
        }
    if one.raw.get("callbacks"):
        kept["callbacks"] = True
    if scopes := [way for way in one.scopes if way]:
        kept["scopes"] = scopes
    paths = one.document.root.get("paths") or {}
    if any(path.startswith(below) and "/" not in path[len(below) :] for path in paths):
        kept["items_below"] = True
    partner = one.siblings.get("put")
    if isinstance(partner, dict):
        kept["put"] = "body" if partner.get("requestBody") else "no body"
    if needed := [
        p["name"]
        for p in one.parameters
        if p.get("in") == "query" and p.get("required")
    ]:
        kept["query"] = needed
    return kept


def operation(kept: dict[str, Any]) -> Operation:
    """An operation that is made of such facts."""
    method, path = kept["operation"].split(" ", 1)
    raw: dict[str, Any] = {"operationId": kept["id"], "tags": kept["tags"]}
    raw |= {"summary": kept["summary"], "description": kept.get("description", "")}
    raw["responses"] = {code: {"description": ""} for code in kept["answers"]}
    if body := kept.get("body"):
        fields = {
            field: {"enum": body["choices"].get(field)} for field in body["fields"]
        }
        schema = {"type": "object", "properties": fields, "required": body["required"]}
        content = {kind: {"schema": schema} for kind in body["kinds"]}
        raw["requestBody"] = {"content": content}
    if kept.get("callbacks"):
        raw["callbacks"] = {"called": {}}
    if "scopes" in kept:
        raw["security"] = [{"oauth": way} for way in kept["scopes"]]
    raw["parameters"] = [
        {"in": "query", "name": name, "required": True}
        for name in kept.get("query", ())
    ]
    item: dict[str, Any] = {}
    if "put" in kept:
        item["put"] = {"requestBody": {"content": {}}} if kept["put"] == "body" else {}
    item[method.lower()] = raw
    paths: dict[str, Any] = {path: item}
    if kept.get("items_below"):
        paths[path.rstrip("/") + "/{below}"] = {}
    found = operations(Document(Path("facts"), {"openapi": "3.1.0", "paths": paths}))
    return next(one for one in found if one.name == kept["operation"])


def facts(names: str = "facts.jsonl") -> list[dict[str, Any]]:
    """What was recorded."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(HERE.glob(names))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def derived(names: str = "facts.jsonl") -> dict[tuple[str, str], Derived]:
    """What an import says now of each recorded operation."""
    return {
        (kept["document"], kept["operation"]): derive(operation(kept))
        for kept in facts(names)
    }


def score_blind(folder: Path, name: str = "blind.tsv") -> list[str]:
    """How the import does on labels whose documents are not here, and each operation that is not right."""
    said = labels(name)
    found: dict[tuple[str, str], Derived] = {}
    for file in sorted(folder.iterdir()):
        for one in operations(read(file)):
            if (file.stem, one.name) in said:
                found[file.stem, one.name] = derive(one)
    counts = Counter[str]()
    lines = []
    for at, behaviors in said.items():
        outcome = "missing"
        if at in found:
            right = found[at].behavior in behaviors
            outcome = "asked" if found[at].asked else "right" if right else "wrong"
            if found[at].behavior == "read" and "read" not in behaviors:
                counts["false reads"] += 1
        counts[outcome] += 1
        if outcome != "right":
            lines.append(
                f"{outcome}: {' '.join(at)}: {found.get(at)}, {'|'.join(sorted(behaviors))}"
            )
    families = {(at[0], one.family or at[1]) for at, one in found.items() if one.asked}
    shown = ", ".join(
        f"{counts[key]} {key}" for key in ("right", "asked", "wrong", "missing")
    )
    return [
        f"{shown}, {counts['false reads']} false reads, {len(families)} questions",
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
    more = derived("unseen-*.jsonl")
    for name in ("labels.tsv", "second.tsv", "unseen.tsv"):
        said = labels(name)
        found = more if name == "unseen.tsv" else derived()
        asked = [at for at in said if found[at].asked]
        right = [
            at for at in said if not found[at].asked and found[at].behavior in said[at]
        ]
        reads = [
            at for at in said if found[at].behavior == "read" and "read" not in said[at]
        ]
        share = (len(right) + len(asked)) / len(said)
        wrong = len(said) - len(right) - len(asked)
        lines.append(
            f"| {name} | {len(said)} | {len(right)} | {len(asked)} | {wrong} | {share:.1%} | {len(reads)} |"
        )
    found, first, second = derived(), labels("labels.tsv"), labels("second.tsv")
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
    for at, one in sorted(found.items()):
        if one.asked or one.behavior not in first[at] & second[at]:
            shown = " / ".join(sorted(first[at] | second[at]))
            derived_as = f"{one.behavior}, asked" if one.asked else one.behavior
            lines.append(
                f"| {at[0]} | `{at[1]}` | {shown} | {derived_as} | {one.reason} |"
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
        made = [one for one in rows if one.tool]
        counts = Counter(one.derived.behavior for one in made)
        asked = sum(one.derived.asked for one in made)
        cells: list[object] = [
            source["title"],
            document.version,
            len(listed),
            len(made),
        ]
        cells += [
            *(counts[one] for one in behaviors),
            asked,
            len(rows) - len(made),
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
