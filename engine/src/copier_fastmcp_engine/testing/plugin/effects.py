"""What a call does outside the snapshot: connections, files opened for writing, other programs, the environment.

Python's audit events report it, also from other threads and from libraries.
"""

import contextlib
import os
import socket
import sys
import weakref
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ..proofs import is_recorded

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FILE_EVENTS = {
    "os.chmod": "changed the mode of",
    "os.chown": "changed the owner of",
    "os.link": "linked",
    "os.mkdir": "made the folder",
    "os.remove": "removed",
    "os.rename": "renamed",
    "os.rmdir": "removed",
    "os.symlink": "linked",
    "os.truncate": "cut",
    "os.utime": "changed the times of",
}
PROGRAM_EVENTS = (
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "subprocess.Popen",
)
ENVIRONMENT_EVENTS = ("os.putenv", "os.unsetenv")
RENAMED = "os.rename"
READING = ("GET", "HEAD", "OPTIONS")  # methods of HTTP
WRITTEN = "opened for writing"
WRITE_AHEAD_LOG = "-wal"  # the end of the name of the file that SQLite writes first
COMPILED = "__pycache__"  # which an import writes
INCIDENTAL = ("__del__", "get_code", "source_to_code")  # functions that Python calls
DEVICES = "/dev/"
MEMORY = "/dev/shm/"  # files, as a folder for temporary files may be
MEMORY_DATABASE = ":memory:"


@dataclass(frozen=True)
class Effect:
    """One thing that a call did.

    Attributes:
        kind: `files`, `programs`, `environment`, `network`, `globals` or `tools`; `effects` of a probe may name it.
        subject: A path, a program or a name; `effects` may name it too, also as a pattern.
        text: What happened, as a message words it.
    """

    kind: str
    subject: str
    text: str

    def is_declared(self, declared: Collection[str]) -> bool:
        """Tell whether a probe declares it."""
        return self.kind in declared or is_recorded(self.subject, declared)


@dataclass
class Watch:
    """The effects observed during a call.

    Attributes:
        connections: The addresses to which connections were opened.
        effects: Everything else.
    """

    connections: list[str] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    _existed: dict[str, bool] = field(default_factory=dict)
    _databases: dict[str, list[Any]] = field(default_factory=dict)

    def add_file(self, path: Any, verb: str) -> None:
        """Note what happens to a file, and whether it was there before."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # a descriptor, whose file was noted when it was opened
        name = os.path.abspath(os.fsdecode(path))
        if name.startswith(DEVICES) and not name.startswith(MEMORY):
            return
        if COMPILED in name or _is_incidental():
            return
        if verb == WRITTEN and os.path.isdir(name):
            return  # a temporary file without a name in that folder
        self._existed.setdefault(name, os.path.lexists(name))
        self.effects.append(Effect("files", name, f"{verb} {name}"))

    def add_database(self, path: str) -> None:
        """Note the state of a file that SQLite opens, which reports no write."""
        name = os.path.abspath(path)
        if not os.path.exists(name + WRITE_AHEAD_LOG):
            self._databases.setdefault(name, _read_database_state(name))

    def list_effects(self) -> list[Effect]:
        """Return what was seen, without the files that were made and removed within the call."""
        remaining = []
        for name, state in self._databases.items():
            if _read_database_state(name) != state:
                text = f"wrote the database {name}"
                remaining.append(Effect("files", name, text))
        for effect in self.effects:
            if effect.kind == "files":
                existed = self._existed[effect.subject]
                if not existed and not os.path.lexists(effect.subject):
                    continue
            remaining.append(effect)
        return remaining


def _read_database_state(path: str) -> list[Any]:
    """Return the size and the time of a database and of its log; nothing for what is not there."""
    state: list[Any] = []
    for name in (path, path + WRITE_AHEAD_LOG):
        with contextlib.suppress(OSError):
            status = os.stat(name)
            state.append((name, status.st_size, status.st_mtime_ns))
    return state


def _is_incidental() -> bool:
    """Tell whether Python itself does something, which may come at any time.

    It is the end of an object, as of an earlier backend, or an import that stores compiled code.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name in INCIDENTAL or code.co_filename == weakref.__file__:
            return True
        frame = frame.f_back
    return False


_watches: list[Watch] = []
_is_installed = False


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    """Note an audit event for all watches; Python calls it for every event of the process."""
    if not _watches:
        return
    handle = _HANDLERS.get(event)
    if handle is not None:
        for watch in _watches:
            handle(watch, event, arguments)


def _on_connection(watch: Watch, event: str, arguments: tuple[Any, ...]) -> None:
    """Note where a connection goes; sockets of this machine's own files are none."""
    if event == "socket.getaddrinfo":
        watch.connections.append(f"{arguments[0]}:{arguments[1]}")
    elif arguments[1] and arguments[0].family != getattr(socket, "AF_UNIX", None):
        address = ":".join(str(part) for part in arguments[1][:2])
        watch.connections.append(address)


def _on_open(watch: Watch, _event: str, arguments: tuple[Any, ...]) -> None:
    path, mode, flags = arguments
    is_write = any(letter in mode for letter in "wax+") if mode else flags & WRITING
    if is_write:
        watch.add_file(path, WRITTEN)


def _on_file(watch: Watch, event: str, arguments: tuple[Any, ...]) -> None:
    watch.add_file(arguments[0], FILE_EVENTS[event])
    if event == RENAMED:
        watch.add_file(arguments[1], "replaced")


def _on_database(watch: Watch, _event: str, arguments: tuple[Any, ...]) -> None:
    """Note which database SQLite opens; one in memory, or opened for reading, is none."""
    if not isinstance(arguments[0], (str, bytes, os.PathLike)):
        return
    name = os.fsdecode(arguments[0])
    address = urlsplit(name)
    if address.scheme == "file":
        modes = parse_qs(address.query).get("mode", [])
        if "ro" in modes or "memory" in modes:
            return
        name = unquote(address.path)
    if name not in ("", MEMORY_DATABASE):
        watch.add_database(name)


def _on_directory(watch: Watch, _event: str, arguments: tuple[Any, ...]) -> None:
    text = "changed the working directory"
    watch.effects.append(Effect("environment", "PWD", text))


def _on_program(watch: Watch, event: str, arguments: tuple[Any, ...]) -> None:
    program = arguments[0] if arguments else None
    if event == "subprocess.Popen" and not program:
        program = arguments[1][0]
    name = "another process"
    if isinstance(program, (str, bytes, os.PathLike)):
        name = Path(os.fsdecode(program)).name
    watch.effects.append(Effect("programs", name, f"started {name}"))


def _on_environment(watch: Watch, _event: str, arguments: tuple[Any, ...]) -> None:
    name = os.fsdecode(arguments[0])
    text = f"changed the environment variable {name}"
    watch.effects.append(Effect("environment", name, text))


def _on_request(watch: Watch, _event: str, arguments: tuple[Any, ...]) -> None:
    """Note a request of urllib that does not only read."""
    url, data, _headers, method = arguments
    if method not in READING or data is not None:
        text = f"sent {method} to {url}"
        watch.effects.append(Effect("network", str(url), text))


def _on_mail(watch: Watch, _event: str, arguments: tuple[Any, ...]) -> None:
    host = str(arguments[1])
    watch.effects.append(Effect("network", host, f"connected to send mail by {host}"))


def _on_signal(watch: Watch, _event: str, arguments: tuple[Any, ...]) -> None:
    if not arguments[1]:
        return  # it only asks whether the process runs
    text = f"sent a signal to process {arguments[0]}"
    watch.effects.append(Effect("programs", str(arguments[0]), text))


Handler = Callable[[Watch, str, tuple[Any, ...]], None]
_HANDLERS: dict[str, Handler] = {
    "open": _on_open,
    "os.chdir": _on_directory,
    "os.kill": _on_signal,
    "smtplib.connect": _on_mail,
    "urllib.Request": _on_request,
    "socket.connect": _on_connection,
    "socket.getaddrinfo": _on_connection,
    "socket.bind": _on_connection,
    "socket.sendmsg": _on_connection,
    "socket.sendto": _on_connection,
    "sqlite3.connect": _on_database,
}
_HANDLERS |= dict.fromkeys(FILE_EVENTS, _on_file)
_HANDLERS |= dict.fromkeys(PROGRAM_EVENTS, _on_program)
_HANDLERS |= dict.fromkeys(ENVIRONMENT_EVENTS, _on_environment)


@contextlib.contextmanager
def watching_effects() -> Iterator[Watch]:
    """Collect what happens in the block."""
    global _is_installed
    if not _is_installed:  # an audit hook stays for the life of the process
        sys.addaudithook(_listen)
        _is_installed = True
    watch = Watch()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)
