"""Every command that the README and the guides print runs in a test: here as printed, or in the test that is named."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from render.test_docs import FENCE
from support import ROOT, Renders

SECONDS = 900
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "UPGRADING.md",
    "docs/api.md",
    "docs/authors.md",
    "docs/command.md",
    "docs/operators.md",
    "docs/policy-owners.md",
    "docs/tools-guide.md",
    "docs/your-server.md",
)
# Pages and parts of pages whose commands run in a test of their own.
WALKED = {
    "CONTRIBUTING.md": "tests/render/test_contributing.py",
    "docs/api.md": "tests/openapi/test_guide.py",
    "docs/operators.md": "tests/project/test_operators_page.py",
    "docs/your-server.md": "tests/adopting/test_guide.py",
}
# Verbs whose examples run, option by option, in the tests of the verb.
VERBS = {
    "add": "tests/command/test_add.py",
    "adopt": "tests/adopting",
    "annotate": "tests/adopting",
    "audit": "tests/command",
    "drift": "tests/command/test_drift.py",
    "explain": "tests/command",
    "export": "tests/command/test_export.py",
    "fleet": "tests/command",
    "import": "tests/command",
    "new": "tests/command",
    "remove": "tests/command/test_remove.py",
    "rename": "tests/command",
    "restore": "tests/command/test_restore.py",
    "sync": "tests/command/test_sync.py",
    "update": "tests/command",
}
# Commands that run nowhere as printed, with the reason.
NOT_RUN = {
    "npx @modelcontextprotocol/inspector": "opens a browser; tests/project/test_peers.py runs its command line",
    "uv run orders-mcp connect claude-code": "changes the settings of a client; the engine's tests use its files",
    "uv run orders-mcp run --http": "serves until it is stopped; tests/project/test_authors_path.py does it",
    "export ORDERS_MCP_ISSUER": "tests/project/test_authors_path.py sets them",
    "export ORDERS_MCP_PUBLIC_URL": "tests/project/test_authors_path.py sets them",
    "git remote add upstream": "tests/update/test_fork.py merges a release",
    "git fetch upstream": "tests/update/test_fork.py merges a release",
    "git merge v2.0.0": "tests/update/test_fork.py merges a release",
    "git tag v2.0.0+house.1": "pushes to a host",
    "uv run scripts/render-docs": "tests/render/test_documents.py compares what it writes",
    "uv tool install": "tests/command/test_installed.py installs the command",
    'uvx --from "$T" copier-fastmcp --help': "tests/command/test_command.py prints it",
    "copier-fastmcp --version": "tests/command/test_installed.py runs it",
}
# The project that the README creates, line by line; `copier copy` asks in a terminal, where Enter accepts a default.
FIRST_HOUR = (
    "uvx --from 'copier>=9.18,!=9.19.0' copier copy",
    "cd my-notes && git init -q",
    "uv sync",
    "uv run tests/policy/pin.py",
    'git add -A && git commit -qm "Start"',
    "uv run notes-mcp tools list",
    "uv run notes-mcp run",
    "uv run pytest",
    "scripts/check",
)
# The same commands, under other names, in other pages.
SAME = (
    "T=/path/to/copier-fastmcp",
    "cd my-orders && git init -q",
    "uv sync && uv run tests/policy/pin.py",
    "git status",
    "uvx --from 'copier>=9.18,!=9.19.0' copier update",
    'uvx --from "$T" copier-fastmcp',
    "copier-fastmcp fleet",
)


def command_lines(text: str) -> list[str]:
    """Return the commands of a document's shell blocks, without comments; a continued line is one command."""
    lines = []
    for language, block in FENCE.findall(text):
        if language != "sh":
            continue
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"(^|\s+)# .*", "", line).strip()
            if command:
                lines.append(command)
    return lines


def read_tests(place: str) -> str:
    """Return the text of a test file, or of all test files of a folder."""
    path = ROOT / place
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    texts = []
    for file in files:
        texts.append(file.read_text(encoding="utf-8"))
    return "\n".join(texts)


def find_unproven_options(command: str) -> list[str]:
    """Return the options of a verb's example that no test of the verb uses."""
    words = command.partition("copier-fastmcp ")[2].split()
    place = VERBS.get(words[0] if words else "")
    if place is None:
        return [command]
    tests = read_tests(place)
    options = [word for word in words if word.startswith("--")]
    unproven = []
    for option in options:
        if option not in tests:
            unproven.append(option)
    return unproven


def is_named(command: str, beginnings: tuple[str, ...]) -> bool:
    """Tell whether a command begins like one of several."""
    return command.startswith(beginnings)


@pytest.mark.parametrize("page", PAGES)
def test_every_printed_command_runs_in_a_test(page: str) -> None:
    commands = command_lines((ROOT / page).read_text(encoding="utf-8"))
    assert commands
    if page in WALKED:
        assert page.rpartition("/")[2] in read_tests(WALKED[page])
        return
    exempt = (*FIRST_HOUR, *NOT_RUN)
    unproven = []
    for command in commands:
        if is_named(command, exempt):
            continue
        if "copier-fastmcp " in command and not command.startswith(
            ("T=", "uvx --from 'c")
        ):
            unproven += find_unproven_options(command)
        elif not is_named(command, SAME):
            unproven.append(command)
    assert unproven == []


def test_an_unknown_command_would_be_found() -> None:
    page = "```sh\nfrobnicate --all  # why\ncopier-fastmcp drift --sideways\n```\n"
    first, second = command_lines(page)
    assert not is_named(first, (*FIRST_HOUR, *NOT_RUN, *SAME))
    assert find_unproven_options(second) == ["--sideways"]


def run_shell(lines: list[str], folder: Path, **variables: str) -> str:
    """Run commands in one shell, as a user types them, and return the output.

    Args:
        lines: The commands.
        folder: Where the shell starts.
        variables: More environment variables.
    """
    programs = Path(sys.executable).parent
    path = f"{os.environ['PATH']}{os.pathsep}{programs}"
    process = subprocess.run(
        ["bash", "-ec", "\n".join(lines)],
        cwd=folder,
        env=os.environ | {"PATH": path, "NO_COLOR": "1", "EDITOR": "true"} | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="walks the pages in a shell")
def test_the_first_hour_with_an_idea(template: Path, tmp_path: Path) -> None:
    """The README's commands as printed, then those of the generated README and of its guide to texts."""
    readme = command_lines((ROOT / "README.md").read_text(encoding="utf-8"))
    lines = []
    for line in readme:
        if is_named(line, FIRST_HOUR):
            lines.append(line)
    assert len(lines) == len(FIRST_HOUR)
    lines[0] = lines[0].replace("copier copy", "copier copy --defaults")
    printed = run_shell(lines, tmp_path, T=str(template), HOME=str(tmp_path))
    assert "delete_note" in printed

    (tmp_path / ".cursor").mkdir()  # as on a machine with this client
    project = tmp_path / "my-notes"
    project_commands = command_lines(
        (project / "README.md").read_text(encoding="utf-8")
    )
    # What follows needs a server over HTTP (tests/project/test_http.py runs it).
    end = next(
        index for index, line in enumerate(project_commands) if line.startswith("curl")
    )
    claude = "uv run notes-mcp connect claude"
    first_commands = []
    for line in project_commands[:end]:
        if not line.startswith(claude):
            first_commands.append(line)
    assert {"uv run pytest", "uv run notes-mcp connect cursor --dry-run"} <= {
        *first_commands
    }
    run_shell(first_commands, project, HOME=str(tmp_path))
    text_commands = command_lines(
        (project / "docs/metadata.md").read_text(encoding="utf-8")
    )
    assert any("metadata set" in line for line in text_commands)
    runs = []
    for line in text_commands:
        runs.append(f"uv run {line}")
    run_shell(runs, project, HOME=str(tmp_path))

    upgrade_commands = command_lines(
        (ROOT / "UPGRADING.md").read_text(encoding="utf-8")
    )
    run_shell(upgrade_commands, project, HOME=str(tmp_path))


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="walks the pages in a shell")
def test_the_first_hour_with_an_api(template: Path, tmp_path: Path) -> None:
    """The blocks of docs/api.md up to a running server, as printed."""
    shutil.copy(ROOT / "examples/documents/parcels.yaml", tmp_path)
    lines = command_lines((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    end = lines.index("uv run parcels-mcp run") + 1
    first_hour = []
    for line in lines[1:end]:
        if "uv tool install" not in line:
            first_hour.append(line)
    printed = run_shell(first_hour, tmp_path, HOME=str(tmp_path), T=str(template))
    assert "passed" in printed


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="walks the pages in a shell")
def test_the_command_of_the_guide_to_tools(tmp_path: Path) -> None:
    guide = command_lines((ROOT / "docs/tools-guide.md").read_text(encoding="utf-8"))
    run_shell(guide, tmp_path, T=str(ROOT), HOME=str(tmp_path))
    assert (tmp_path / "orders/annotations.lock.json").is_file()


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="walks the page in a shell")
def test_the_settings_of_the_consent_guide_start_a_server(
    example: Renders, tmp_path: Path
) -> None:
    """The block of docs/consent.md up to the server over stdio."""
    project = tmp_path / "consent"
    shutil.copytree(example("consent"), project)
    lines = command_lines((project / "docs/consent.md").read_text(encoding="utf-8"))
    run_shell(lines[:4], project, HOME=str(tmp_path))
