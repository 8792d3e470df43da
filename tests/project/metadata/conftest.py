"""What the tests of metadata share: an empty home folder, a server with a file, and the command line."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from texts import Cli, Done, Texts, module, served, texts, write


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home folder of its own, so that no test reads the developer's file, and a store in memory."""
    for name, value in {
        "HOME": str(tmp_path),
        "LAB_TEXTS_DATABASE": ":memory:",
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def mine(home: Path) -> Path:
    """Where the user's own file is, or would be."""
    return home / ".lab-texts/metadata.yaml"


@pytest.fixture
def over(lab: Path, home: Path) -> Callable[[str], Texts]:
    """What a client reads when the user's file holds a text."""
    return lambda text: texts(served(write(home / "texts.yaml", text)))


@pytest.fixture
def refusal(lab: Path, home: Path) -> Callable[[str | bytes], str]:
    """The one line with which the server refuses to start, without the name of the file."""

    def work(text: str | bytes) -> str:
        path = write(home / "texts.yaml", text)
        with pytest.raises(module("engine.errors").StartError) as caught:
            served(path)
        line = str(caught.value)
        assert line.startswith(str(path))
        assert "\n" not in line
        return line.removeprefix(str(path))

    return work


@pytest.fixture
def cli(
    lab: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Cli:
    """The commands of `metadata`, without the second that a process of its own takes to start."""

    def work(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["lab-texts", "metadata", *words])
        code: object = None
        try:
            module("cli").main()
        except SystemExit as ended:
            code = ended.code
        printed = capsys.readouterr()
        complaint = f"{code}\n" if isinstance(code, str) else ""
        return Done(1 if complaint else code or 0, printed.out, printed.err + complaint)

    return work
