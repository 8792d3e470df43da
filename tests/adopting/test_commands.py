"""Programs that tools run: what a helper runs is what its caller has written out."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose

READ = (
    '@mcp.tool\ndef get_note(it: str) -> str:\n    """Get a note."""\n    return {}\n'
)
# A helper that runs a command, and the call of a tool that only reads.
READING = {
    "a list": (
        "def _start(words):\n    return subprocess.run(words, capture_output=True).stdout",
        '_start(["git", "log", it])',
    ),
    "arguments": (
        'def _git(*words):\n    return subprocess.check_output(["git", "-C", ROOT, *words])',
        '_git("log", it)',
    ),
    "a sum": (
        'def _kubectl(words):\n    return subprocess.run(["kubectl"] + words).stdout',
        '_kubectl(["get", it])',
    ),
    "a name": (
        'def _start(words):\n    command = ["docker", *words]\n    return subprocess.run(command).stdout',
        '_start(["logs", it])',
    ),
    "a text": (
        "def _start(command):\n    return subprocess.getoutput(command)",
        '_start("uname -a")',
    ),
    "two helpers": (
        "def _start(words):\n    return subprocess.run(words).stdout\n\n\n"
        'def _git(words):\n    subprocess.run(["git", "--version"])\n    return _start(["git", *words])',
        '_git(["status"])',
    ),
    "the clipboard": (
        "def _start(words):\n    return subprocess.run(words).stdout",
        '_start(["xclip", "-selection", "clipboard", "-o"])',
    ),
}
WRITING = {
    "a list": ('"log"', '"gc"'),
    "arguments": ('"log"', '"push"'),
    "a sum": ('"get"', '"delete"'),
    "a name": ('"logs"', '"rm"'),
    "a text": ('"uname -a"', '"uname -a; reboot"'),
    "two helpers": ('["status"]', '["gc"]'),
    "the clipboard": (', "-o"', ""),
}


def propose_running(folder: Path, helper: str, call: str) -> tuple[str, bool]:
    """The behavior that is proposed for a tool that calls a helper, and whether it is a question."""
    proposal = propose(folder, READ.format(call), f"ROOT = '/srv'\n\n\n{helper}\n\n")
    return proposal.behavior, bool(proposal.asked)


@pytest.mark.parametrize("name", READING)
def test_a_command_that_a_helper_is_passed_is_known_to_read(
    name: str, tmp_path: Path
) -> None:
    assert propose_running(tmp_path, *READING[name]) == ("read", False)


@pytest.mark.parametrize("name", WRITING)
def test_another_command_of_the_same_helper_is_no_silent_read(
    name: str, tmp_path: Path
) -> None:
    helper, call = READING[name]
    assert WRITING[name][0] in call
    changed = call.replace(*WRITING[name])
    assert propose_running(tmp_path, helper, changed)[1]


def test_a_command_that_a_tool_is_passed_is_no_silent_read(tmp_path: Path) -> None:
    helper = READING["a list"][0]
    assert propose_running(tmp_path, helper, "_start([it, 'log'])")[1]
