"""`audit`: what is wrong with the hints of a server's tools, as anybody can see it from outside."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .errors import RefusedError, UnableError
from .lock import FILE
from .locked import as_served, locked
from .rules import Finding, Tool, examine
from .tables import tables


def _recorded(path: Path) -> list[dict[str, Any]]:
    """The tools in a file: a list, or an answer to tools/list, with or without its envelope.

    Raises:
        ValueError: It holds no tools.
    """
    kept = json.loads(sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8"))
    for key in ("result", "tools"):
        kept = kept[key] if isinstance(kept, dict) and key in kept else kept
    if not isinstance(kept, list) or not all(isinstance(tool, dict) for tool in kept):
        raise ValueError("it is neither a list of tools nor an answer to tools/list")
    return kept


def _over_the_wire(server: str | None, url: str | None, seconds: float) -> list[dict[str, Any]]:
    """Another server's tools.

    Raises:
        UnableError: It did not answer; what it last wrote to stderr is in the message.
    """
    from .wire import served

    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            return asyncio.run(served(server, url, seconds, log))
        except (Exception, asyncio.CancelledError) as error:
            log.seek(0)
            late = f"no answer in {seconds:g} seconds" if isinstance(error, TimeoutError) else ""
            reasons = [late or str(error) or type(error).__name__, *log.read().splitlines()[-1:]]
            why = f"could not check {url or server or 'an empty command'}: {' | '.join(reasons)}"
            raise UnableError(why) from error


def _files(names: Sequence[str]) -> dict[str, str]:
    """Of the tools of this project, the file of each that has one of its own name."""
    return {
        name: path.as_posix() for name in names for path in Path().glob(f"src/*/tools/**/{name}.py")
    }


def _sarif(findings: Sequence[Finding], files: Mapping[str, str]) -> dict[str, Any]:
    """Findings in SARIF 2.1.0, for code scanning."""
    texts = tables()["rules"].items()
    rules = [{"id": rule, "shortDescription": {"text": row["text"]}} for rule, row in texts]
    results = []
    for one in findings:
        place: dict[str, Any] = {"logicalLocations": [{"name": one.tool, "kind": "function"}]}
        if one.tool in files:
            place["physicalLocation"] = {"artifactLocation": {"uri": files[one.tool]}}
        message = {"text": f"{one.tool}: {one.message}; {one.mend}"}
        result = {"ruleId": one.rule, "level": "error", "message": message, "locations": [place]}
        results.append(result)
    driver = {"name": "annotation-policy", "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _show(findings: Sequence[Finding], checked: int) -> None:
    """Print findings for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if findings:
        table = Table("Tool", "Rule", "What is wrong", "Mend", show_lines=True)
        for one in findings:
            table.add_row(*map(Text, [one.tool, one.rule, one.message, one.mend]))
        Console().print(table)
    print(f"{checked} tools checked, {len(findings)} findings")


def audit(
    *,
    server: str | None = None,
    url: str | None = None,
    file: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    directory: Literal["anthropic", "openai"] | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
    sarif_output: Annotated[bool, Parameter("--sarif")] = False,
    seconds: float = 30,
) -> int:
    """Check the hints, names and texts of a server's tools from outside; no tool is called.

    Without --server, --url and --file it reads annotations.lock.json of the project that you are
    in. What a project's own tests prove by running its tools is more than this can see.

    Args:
        server: The command that starts a server over stdio.
        url: The address of a server.
        file: A file with an answer to tools/list, or a list of tools; - is stdin.
        directory: The rules of a directory, instead of those for any server.
        json_output: Print JSON.
        sarif_output: Print SARIF, for code scanning.
        seconds: How long a server may take.

    Returns:
        0 without findings, 1 with.

    Raises:
        RefusedError: Two servers are named, or two forms.
        UnableError: The tools cannot be read.
    """
    ways = {"--server": server, "--url": url, "--file": file}
    named = [name for name, value in ways.items() if value is not None]
    if len(named) > 1:
        raise RefusedError(f"{' and '.join(named)} name two servers; say one")
    if json_output and sarif_output:
        raise RefusedError("--json and --sarif are two forms; say one")
    files: dict[str, str] = {}
    if file is not None:
        try:
            tools = _recorded(file)
        except (OSError, ValueError) as error:
            raise UnableError(f"could not check {file}: {error}") from error
    elif named:
        tools = _over_the_wire(server, url, seconds)
    else:
        tools = _pinned()
        files = _files([tool["name"] for tool in tools])
    findings = examine([Tool(tool) for tool in tools], tables(), directory or "foreign")
    if json_output:
        print(json.dumps([asdict(one) for one in findings], indent=2, ensure_ascii=False))
    elif sarif_output:
        print(json.dumps(_sarif(findings, files), indent=2))
    else:
        _show(findings, len(tools))
    return 1 if findings else 0


def _pinned() -> list[dict[str, Any]]:
    """The tools of the project in the current folder.

    Raises:
        UnableError: There is no lock, and so nothing to check.
    """
    if not Path(FILE).exists():
        ways = "--server COMMAND, --url ADDRESS or --file FILE"
        raise UnableError(f"{FILE} is not in {Path.cwd()}; name a server with {ways}")
    try:
        return [as_served(name, pinned) for name, pinned in locked().items()]
    except (LookupError, TypeError, AttributeError) as error:
        raise UnableError(f"{FILE}: {error} is not as pinning writes it; pin anew") from error
