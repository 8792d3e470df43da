"""Programs that fork from a process with FastMCP and Copier imported, so that none imports them again.

A client starts a small program that passes its standard streams to that process, which forks and runs the server. With
the variables of `fork_variables`, every Python program is passed on the same way: `tests/site/sitecustomize.py` reads `FORKS`.
"""

import atexit
import marshal
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import compiled
import warm

# What Copier and the programs of makers import; not our own modules, of which a template brings its release's.
MAKERS = ("copier._cli", "jinja2_ansible_filters", "questionary", "tomlkit")
RELAY = ["-IS", str(Path(__file__).parent / "site/relay.py")]


@contextmanager
def forking(serve: Callable[[list[str]], object]) -> Iterator[list[str]]:
    """Yield the command line of a stdio server that runs in a new process each time.

    Args:
        serve: The server, run in the folder and with the variables of the program; it gets further words.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        listener.bind(address := str(Path(folder, "s")))
        listener.listen()
        watched, held = os.pipe()  # closed with this process, however it ends
        if not (child := os.fork()):
            os.close(held)
            _wait(listener, watched, serve)
        os.close(watched)
        try:
            yield [sys.executable, *RELAY, address]
        finally:
            os.close(held)
            os.waitpid(child, 0)


def _wait(
    listener: socket.socket, watched: int, serve: Callable[[list[str]], object]
) -> None:
    """Fork for each program that connects, until the tests are over."""
    while watched not in select.select([listener.fileno(), watched], [], [])[0]:
        connection, _ = listener.accept()
        _reap()
        if not os.fork():
            if child := os.fork():
                _tell(connection, child)
            atexit._clear()  # what the tests clean up at their end, such as the folder of the socket
            words = _become(connection)
            try:
                serve(words)
            finally:
                warm.end_process(1)
        connection.close()
    _reap()
    os._exit(0)


def _reap() -> None:
    """Collect the programs that have ended, so that their CPU time counts as this process's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _tell(connection: socket.socket, child: int) -> None:
    """Wait for a program and send its exit code."""
    _, status = os.waitpid(child, 0)
    with suppress(OSError):  # who started it may be gone
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive the words, folder and variables of a program, and its streams."""
    message, streams, *_ = socket.recv_fds(connection, 65_536, 3)
    while True:
        try:
            order: dict[str, Any] = marshal.loads(message)
        except EOFError:  # not all of it is here
            more = connection.recv(65_536)
            if not more:
                os._exit(1)  # who started it is gone
            message += more
        else:
            return order, streams


def _become(connection: socket.socket) -> list[str]:
    """Adopt the streams, folder and variables of a program, end with it, and return its command line."""
    order, streams = _receive(connection)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    if plumbum := sys.modules.get("plumbum"):
        plumbum.local.env.__init__()  # else Copier hands on the variables from when it was imported

    def watch() -> None:
        connection.recv(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    words: list[str] = order["words"]
    return words


_servers: list[subprocess.Popen[bytes]] = []


@cache
def _start_server() -> tuple[str, object]:
    """Start the process that forks Python programs and return its address; it ends with this one, and its folder goes."""
    folder = tempfile.TemporaryDirectory(prefix="forks")
    address = str(Path(folder.name, "s"))
    process = subprocess.Popen(
        [sys.executable, __file__, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=warm.environment(),
    )
    assert process.stdout
    process.stdout.readline()
    _servers.append(process)
    return address, (folder, process)


def stop() -> None:
    """End the processes that fork, and wait for them: their CPU time counts as this process's."""
    for process in _servers:
        assert process.stdin
        process.stdin.close()
    for process in _servers:
        process.wait()


def fork_variables() -> dict[str, str]:
    """Return the variables with which a program and those that it starts fork, where the system can."""
    return {"FORKS": _start_server()[0]} if hasattr(os, "fork") else {}


def run(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], seconds: int
) -> subprocess.CompletedProcess[str] | None:
    """Run a Python program in a fork, without input; several threads may.

    Args:
        words: What follows `python` in its command line.
        folder: Where it runs.
        environ: Its variables.
        seconds: How long it may take.

    Returns:
        Its output and exit code, or None where it has to start by itself.

    Raises:
        subprocess.TimeoutExpired: It took longer, and was ended.
    """
    if not warm.can_fork(words, environ):
        return None
    order = {"words": [*words], "folder": str(folder), "environ": {**environ}}
    with (
        tempfile.TemporaryDirectory() as directory,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        out, err = Path(directory, "out"), Path(directory, "err")
        connection.connect(_start_server()[0])
        connection.settimeout(seconds)
        with (
            open(os.devnull) as nothing,
            out.open("w") as out_file,
            err.open("w") as err_file,
        ):
            streams = [file.fileno() for file in (nothing, out_file, err_file)]
            message = marshal.dumps(order, 4)  # a format that every Python here reads
            sent = socket.send_fds(connection, [message], streams)
            connection.sendall(message[sent:])
        try:
            code = int(connection.recv(8) or 1)
        except TimeoutError:
            raise subprocess.TimeoutExpired([*words], seconds) from None
        texts = out.read_text("utf-8"), err.read_text("utf-8")
    return subprocess.CompletedProcess([sys.executable, *words], code, *texts)


def minimal_environment() -> dict[str, str]:
    """Return the variables that a program outside the tests' environment needs to fork and to find compiled templates."""
    names = ("COMPILED_TEMPLATES", "PYTHONPATH")
    variables = {name: os.environ[name] for name in names if name in os.environ}
    return variables | fork_variables()


def python(words: Sequence[str]) -> list[str]:
    """Return the command line of a Python program, which forks where the system can."""
    relay = [*RELAY, _start_server()[0]] if hasattr(os, "fork") else []
    return [sys.executable, *relay, *words]


if __name__ == "__main__":
    sys.path.remove(
        str(Path(__file__).parent)
    )  # no program finds what is beside this file
    warm.import_shared(*MAKERS)
    compiled.ask_git_once()
    compiled.clone_once()
    compiled.parse_settings_fast()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        print("here", flush=True)
        _wait(
            listening,
            0,
            lambda words: warm.end_process(
                warm.run_program(warm.set_import_path(words))
            ),
        )
