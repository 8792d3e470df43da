"""`audit` of servers that no template made, and of our own from outside: it finds what was planted, and never calls a tool."""

import json
import logging
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import foreign_server
import forked
import pytest
from calling import call
from foreign_server import DIRECTORIES, GOOD, PLANTED, RAW
from listening import free_port, running

from copier_fastmcp.auditing.servers import fetch_tools
from copier_fastmcp.errors import UnableError

SERVER = str(Path(foreign_server.__file__))
Findings = list[tuple[str, str]]
Check = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a server writes the requests it gets."""
    return tmp_path / "log with a space"


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Run `audit` where no project is."""
    return lambda *words, **settings: call(tmp_path, "audit", *words, **settings)


def command(which: str, log: Path, *words: str) -> str:
    """The command line that starts a foreign server."""
    return shlex.join(forked.python([SERVER, which, str(log), *words]))


def findings(done: "subprocess.CompletedProcess[str]") -> Findings:
    """The findings of `--json`."""
    return [(finding["rule"], finding["tool"]) for finding in json.loads(done.stdout)]


def list_planted(rows: list[tuple[str, dict[str, Any]]]) -> Findings:
    """What has to be found; tools of one name are one finding."""
    return list(dict.fromkeys((rule, tool["name"]) for rule, tool in rows))


def requests(log: Path) -> set[str]:
    return set(log.read_text(encoding="utf-8").splitlines())


@contextmanager
def serve_http(which: str, log: Path) -> Iterator[str]:
    """A foreign server at an address of its own."""
    with free_port() as port:
        words = [SERVER, which, str(log), "--http", str(port)]
        with running(forked.python(words), port):
            yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize(
    ("era", "words"),
    [("2026-07-28", ()), ("2025-11-25", ("--handshake",))],
    ids=["modern", "handshake"],
)
def test_over_stdio_in_both_eras(
    era: str, words: tuple[str, ...], log: Path, check: Check
) -> None:
    good = check("--server", command("good", log, *words), "--json")
    assert (good.returncode, good.stdout, good.stderr) == (0, "[]\n", "")
    bad = check("--server", command("bad", log, *words), "--json")
    assert (bad.returncode, sorted(findings(bad))) == (1, sorted(list_planted(PLANTED)))
    assert requests(log) == {f"{era} tools/list"}


def test_over_http(log: Path, check: Check) -> None:
    with serve_http("good", log) as url:
        good = check("--url", url, "--json")
    with serve_http("bad", log) as url:
        bad = check("--url", url, "--json")
    assert (good.returncode, good.stdout, good.stderr) == (0, "[]\n", "")
    assert (bad.returncode, sorted(findings(bad))) == (1, sorted(list_planted(PLANTED)))
    assert requests(log) == {"2026-07-28 tools/list"}


def test_it_reads_the_wire_and_not_a_model_of_it(log: Path, check: Check) -> None:
    done = check("--server", command("raw", log), "--json")
    assert (done.returncode, findings(done)) == (1, list_planted(RAW))
    assert "raw tools/list" in requests(log)
    assert "raw tools/call" not in requests(log)


def test_for_people(log: Path, check: Check) -> None:
    good = check("--server", command("good", log))
    question, counted = good.stdout.splitlines()
    assert (good.returncode, counted) == (0, "10 tools checked, 0 findings, 1 question")
    assert question.startswith("? delete_queue_report: readOnlyHint: ")
    bad = check("--server", command("bad", log))
    last = bad.stdout.splitlines()[-1]
    rows = len(PLANTED) - 1  # two tools of one name are one row
    assert last.startswith(f"{len(PLANTED)} tools checked, {rows} findings (2 errors, ")
    assert "delete_user" in bad.stdout


def test_for_code_scanning(log: Path, check: Check) -> None:
    done = check("--server", command("bad", log), "--sarif")
    sarif = json.loads(done.stdout)
    assert (done.returncode, sarif["version"]) == (1, "2.1.0")
    assert sarif["$schema"].endswith("sarif-2.1.0.json")
    (run,) = sarif["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    rule_ids = set()
    for rule in driver["rules"]:
        if rule["shortDescription"]["text"]:
            rule_ids.add(rule["id"])
    assert len(rule_ids) == len(driver["rules"])
    for result in run["results"]:
        assert result["ruleId"] in rule_ids
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        for place in result["locations"]:
            assert place["logicalLocations"][0]["name"] in result["message"]["text"]
            # GitHub refuses a report with a finding that has no file.
            physical = {
                "artifactLocation": {"uri": "mcp-server"},
                "region": {"startLine": 1},
            }
            assert place["physicalLocation"] == physical
    assert len(run["results"]) == len(PLANTED) - 1


@pytest.mark.parametrize("directory", ["anthropic", "openai"])
def test_a_directory_asks_its_own_rules(
    directory: str, check: Check, started: Path
) -> None:
    everybody = {
        "annotations-present", "verb-writes", "read-only-excludes-destructive", "title-written",
        "description-present", "text-clean", "name-valid", "one-action", "name-unique",
        "overwrite-is-destructive", "text-commands",
    }  # fmt: skip
    directory_rules = {
        "anthropic": {"title-not-name", "applicable-hint", "free-path-named"},
        "openai": {
            *("parameters-described", "directory-hints", "verb-reads", "output-schema"),
            *("additive-is-not-destructive", "sensitive-input"),
        },
    }[directory]
    tools = json.dumps([tool for _, tool in (*PLANTED, *DIRECTORIES)])
    done = check("--file", "-", "--json", "--directory", directory, stdin=tools)
    assert done.returncode == 1
    assert {rule for rule, _ in findings(done)} == everybody | directory_rules
    run = shlex.join(forked.python(["-m", "notes_mcp", "run"]))
    environ = {"PYTHONPATH": str(started / "src"), "NOTES_MCP_METADATA": "none"}
    words = ("--directory", directory)
    served = check("--server", run, *words, **environ, NOTES_MCP_DATABASE=":memory:")
    assert (served.returncode, served.stdout) == (0, "2 tools checked, 0 findings\n")
    pinned = call(started, "audit", *words)
    assert (pinned.returncode, pinned.stdout) == (0, "2 tools checked, 0 findings\n")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--server", "mute"), "no answer in 2 seconds"),
        (("--server", "deaf"), "no answer in 2 seconds"),
        (
            ("--server", "no-such-command-here"),
            "No such file or directory: 'no-such-command-here'",
        ),
        (("--server", "crash"), "NameError: name 'oops' is not defined"),
        (("--server", "'unclosed"), "No closing quotation"),
        (("--server", ""), "could not check an empty command: "),
        (("--url", "http://127.0.0.1:9/mcp"), "connect"),
        (("--url", "nonsense"), "nonsense"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_checked_is_one_line(
    words: tuple[str, str], reason: str, log: Path, check: Check
) -> None:
    commands = {
        "mute": command("mute", log),
        "deaf": shlex.join([sys.executable, "-c", "import time; time.sleep(900)"]),
        "crash": shlex.join([sys.executable, "-c", "oops"]),
    }
    started = time.monotonic()
    seconds = "2" if reason.startswith("no answer") else "60"
    done = check(words[0], commands.get(words[1], words[1]), "--seconds", seconds)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (
        done.stderr
    )
    assert done.stderr.startswith("copier-fastmcp: could not check ")
    assert reason in done.stderr
    assert time.monotonic() - started < 300, "it does not wait for a deaf server to end"


def test_who_imports_it_keeps_their_log() -> None:
    with pytest.raises(UnableError):
        fetch_tools("no-such-command-here", None, {}, 60)
    assert logging.root.manager.disable == logging.NOTSET


def test_an_address_that_never_answers(check: Check) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        done = check(
            "--url", f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", "--seconds", "2"
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "no answer in 2 seconds" in done.stderr


@pytest.mark.parametrize(
    "shape",
    [
        lambda tools: tools,
        lambda tools: {"tools": tools},
        lambda tools: {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}},
    ],
    ids=["list", "result", "envelope"],
)
def test_of_a_file(
    shape: Callable[[object], object], tmp_path: Path, check: Check
) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(shape(GOOD)), encoding="utf-8")
    good = check("--file", str(path), "--json")
    assert (good.returncode, good.stdout) == (0, "[]\n")
    bad = check(
        "--file", "-", "--json", stdin=json.dumps(shape([tool for _, tool in PLANTED]))
    )
    assert (bad.returncode, sorted(findings(bad))) == (1, sorted(list_planted(PLANTED)))


@pytest.mark.parametrize("text", ["", "{", "1", '{"tools": 1}', '["get_note"]', "\x80"])
def test_a_file_without_tools_is_one_line(
    text: str, tmp_path: Path, check: Check
) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(text.encode("latin-1"))
    for file in (path, tmp_path / "none.json"):
        done = check("--file", str(file))
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"copier-fastmcp: could not check {file}: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--server", "x", "--url", "y"],
            "--server and --url name two servers; say one",
        ),
        (["--url", "y", "--file", "z"], "--url and --file name two servers; say one"),
        (
            ["--file", "z", "--json", "--sarif"],
            "--json and --sarif are two forms; say one",
        ),
    ],
)
def test_two_at_once_are_refused(words: list[str], message: str, check: Check) -> None:
    done = check(*words)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        f"copier-fastmcp: {message}\n",
    )


def test_where_there_is_nothing_to_check(tmp_path: Path, check: Check) -> None:
    done = check()
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert (
        f"annotations.lock.json is not in {tmp_path}; name a server with --server"
        in done.stderr
    )
