"""SQLite databases of a backend: what a connection holds in addition to the snapshot, and its clock."""

import contextlib
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from typing import Any

LARGEST = 4 * 2**20  # bytes of a database that is compared as a whole
# SQL functions that ask for the time, with the index of the argument that is `now` when it is left out
CLOCKS = {
    "date": 0,
    "datetime": 0,
    "julianday": 0,
    "strftime": 1,
    "time": 0,
    "unixepoch": 0,
}
# SQL keywords that ask for the time, and the functions that return the same
KEYWORDS = {
    "current_date": "date",
    "current_time": "time",
    "current_timestamp": "datetime",
}


def find_connections(*holders: object) -> dict[str, sqlite3.Connection]:
    """Return the connections that attributes of some objects, or of the objects in these, hold by name."""
    connections = {}
    for holder in holders:
        for name, value in _list_attributes(holder):
            if isinstance(value, sqlite3.Connection):
                connections[name] = value
                continue
            for inner_name, inner_value in _list_attributes(value):
                if isinstance(inner_value, sqlite3.Connection):
                    connections[f"{name}.{inner_name}"] = inner_value
    return connections


def _list_attributes(holder: object) -> list[tuple[str, Any]]:
    return [*getattr(holder, "__dict__", {}).items()]


def read_content(connection: sqlite3.Connection) -> Any:
    """Return all that a database holds, or how many rows were written where that is much; None where it is closed."""
    with contextlib.suppress(sqlite3.Error, AttributeError):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        if pages * size > LARGEST:
            return connection.total_changes
        return connection.serialize()
    return None


@contextlib.contextmanager
def sqlite_ahead(
    connections: list[sqlite3.Connection], seconds: float
) -> Iterator[None]:
    """Let the clock of some connections be ahead in the block."""
    clock = _Clock(f"+{int(seconds)} seconds")
    for connection in connections:
        clock.install(connection)
    try:
        yield
    finally:
        clock.shift = "+0 seconds"


class _Clock:
    """SQLite's functions of time, at another time."""

    def __init__(self, shift: str) -> None:
        """Take the difference, as SQLite writes it."""
        self.shift = shift
        self.reference = sqlite3.connect(":memory:", check_same_thread=False)
        # From Python 3.13 on, an open connection that is forgotten is a warning
        weakref.finalize(self, self.reference.close)

    def install(self, connection: sqlite3.Connection) -> None:
        """Replace the functions of a connection; they stay, but the difference may be none later."""
        with contextlib.suppress(sqlite3.Error):  # of another thread, closed or busy
            for name, index in CLOCKS.items():
                function = self._make(name, index)
                connection.create_function(name, -1, function, deterministic=True)
            for name, function_name in KEYWORDS.items():
                function = self._make(function_name, 0)
                connection.create_function(name, 0, function)

    def _make(self, name: str, index: int) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            values = [*arguments]
            if len(values) == index:
                values.append("now")
            if len(values) > index and str(values[index]).lower() == "now":
                values.insert(index + 1, self.shift)
            marks = ", ".join("?" * len(values))
            row = self.reference.execute(f"SELECT {name}({marks})", values).fetchone()
            return row[0]

        return function
