"""The command line as such: help, mistakes, and errors that are one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from calling import call, environment
from copier.errors import UserMessageError

from copier_fastmcp import cli
from copier_fastmcp.wrapping import wrap_lines


def test_help_names_every_verb_and_every_verb_helps(tmp_path: Path) -> None:
    page = call(tmp_path, "--help")
    assert (page.returncode, page.stderr) == (0, "")
    assert call(tmp_path).stdout == page.stdout
    assert len(cli.VERBS) >= 7
    for verb, text in cli.VERBS.items():
        assert f"  {verb}" in page.stdout
        assert text in page.stdout
        result = call(tmp_path, verb, "--help", COLUMNS="200")
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.startswith(f"Usage: copier-fastmcp {verb}")
        assert "--json: " in result.stdout
        assert "Exit codes: 0 done or clean" in result.stdout
        assert "--no-" not in result.stdout
        rows = []
        for line in result.stdout.splitlines():
            if line.startswith("  "):
                rows.append(line)
        assert [row for row in rows if ": " not in row] == [], (
            "each word says what it does"
        )


def test_help_imports_nothing_that_takes_time() -> None:
    code = (
        "import sys; from copier_fastmcp.cli import main; main(['--help']); "
        "print({'cyclopts', 'copier', 'fastmcp', 'yaml', 'rich'} & sys.modules.keys(), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "set()\n"


def test_help_is_there_at_once() -> None:
    """In what it imports and runs, which is the same on a busy machine; benchmarks/serve.py has the time."""
    code = (
        "import sys; before = len(sys.modules); lines = 0\n"
        "def trace(frame, event, _):\n"
        "    global lines\n"
        "    lines += event == 'line'\n"
        "    return trace\n"
        "from copier_fastmcp.cli import main\n"
        "sys.settrace(trace); main(['--help']); sys.settrace(None)\n"
        "print(len(sys.modules) - before, lines, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    modules, lines = map(int, done.stderr.split())
    assert modules < 60, done.stderr
    assert lines < 5_000, done.stderr


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_overview_wraps_between_words(width: int) -> None:
    indent = 12
    overview = cli.format_overview()
    lines = wrap_lines(overview, width, indent).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(lines).split() == overview.split()
    assert any(line.startswith("  new       Create a server") for line in lines)
    for line in lines:
        if line.startswith("  "):
            assert line[: indent - 1].strip() in {*cli.VERBS, ""}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["juggle"], "'juggle' is not a verb; the verbs are new, import, "),
        (
            ["dirft"],
            "'dirft' is not a verb; did you mean drift? The verbs are new, import, ",
        ),
        (["explain"], "`copier-fastmcp explain --help` shows its options"),
        (["drift", "--strct"], "Unknown option: --strct"),
        (["audit", "--seconds", "soon"], "--seconds"),
        (["export", "somewhere"], "openai"),
        (["add", "x", "--behavior", "give"], "give"),
    ],
)
def test_what_is_not_understood_is_one_line(
    words: list[str], message: str, tmp_path: Path
) -> None:
    done = call(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (
        done.stderr
    )
    assert done.stderr.startswith("copier-fastmcp: ")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a value\nof two lines"), "a value of two lines"),
        (ValueError(), "ValueError"),
        (
            PermissionError(13, "Permission denied", "x"),
            "[Errno 13] Permission denied: 'x'",
        ),
        (UserMessageError("Copier's own \x1b[31mwords"), "Copier's own \\x1b[31mwords"),
        (subprocess.CalledProcessError(3, ["git"], "", "hint\nfatal: no"), "fatal: no"),
        (KeyError("ours"), "KeyError: 'ours'; --debug prints a traceback"),
    ],
)
def test_an_error_is_one_line_and_debug_shows_the_chain(
    error: Exception,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def explain(rule: str) -> None:
        try:
            raise error
        except Exception as cause:
            raise cause from RuntimeError(f"the reason of {rule}")

    monkeypatch.setattr("copier_fastmcp.explain.explain", explain)
    assert cli.main(["explain", "x"]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert line in err
    assert cli.main(["--debug", "explain", "x"]) == 2
    err = capfd.readouterr().err
    assert "RuntimeError: the reason of x" in err
    assert "Traceback (most recent call last)" in err
    assert line in err.splitlines()[-1]


def test_debug_behind_two_dashes_is_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--", "--debug"]) == 1
    assert "'--debug' is not a rule" in capfd.readouterr().err


def test_who_reads_only_the_beginning_sees_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -P -m copier_fastmcp explain name-valid --json | head -c 1",
        shell=True,
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("{", "")
