"""Where the tools keep their records: yours to replace with the client of your own API.

A tool calls `backend()` and knows nothing of SQLite. To serve something else, write a class with the methods of
`Backend` and return it from `connect`; what neither your tools nor `arrange` in tests/tools call, take out of `Backend`,
but `snapshot`. Tests connect with `database=":memory:"`: answer a class there that reaches no real system.
"""

import asyncio
import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fastmcp.exceptions import ToolError
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

from .settings import Settings

T = TypeVar("T")
Fields = Mapping[str, Any]


class Record(BaseModel):
    """One record: its ID, a hash of its content that changes whenever it does, and its fields."""

    model_config = ConfigDict(extra="allow")

    id: str
    etag: str


class Page(BaseModel):
    """One page of a search, how many there are in all, and where the next page begins."""

    items: list[Record]
    total: int
    next_cursor: str | None = None


class Backend(Protocol):
    """What the generated tools call. A `kind` is a kind of record ("note"); errors are ToolErrors."""

    async def search(
        self,
        kind: str,
        query: str = "",
        where: Fields = {},
        *,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page:
        """Find records that hold the query's text and have the fields in `where` (None matches any)."""

    async def get(self, kind: str, id: object) -> Record:
        """One record. Raises ToolError when there is none."""

    async def create(self, kind: str, fields: Fields, *, id: object = None) -> Record:
        """Add a record, under the given ID or a new one. Raises ToolError when the ID is taken."""

    async def ensure(self, kind: str, fields: Fields, *, id: object = None) -> Record:
        """The record with this ID, or with all these fields; created when there is none."""

    async def append(self, kind: str, id: object, fields: Fields) -> Record:
        """Add to the end of texts and lists of a record. Raises ToolError when there is none."""

    async def update(
        self, kind: str, id: object, fields: Fields, *, etag: str | None = None
    ) -> Record:
        """Change the fields that are not None. Raises ToolError when `etag` is stale."""

    async def put(
        self, kind: str, id: object, fields: Fields, *, must_exist: bool = False
    ) -> Record:
        """Set fields, creating the record unless it must exist. The same call again changes nothing."""

    async def delete(self, kind: str, id: object) -> bool:
        """Remove a record, or every record of the kind when `id` is None. False: nothing was there."""

    async def act(self, action: str, arguments: Fields, *, once: bool = False) -> Record:
        """Record that an action was done; `once` records the same arguments only the first time."""

    async def snapshot(self) -> dict[str, dict[str, Any]]:
        """All data, {"kind/id": fields}: what the behavior probes compare."""


class SqliteBackend:
    """The embedded default: one SQLite file in WAL mode; every write is one transaction."""

    def __init__(self, path: str) -> None:
        if path != ":memory:":
            Path(path).expanduser().parent.mkdir(parents=True, exist_ok=True)
            path = str(Path(path).expanduser())
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
        self.close = weakref.finalize(self, self._db.close)
        self._db.executescript(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE IF NOT EXISTS records (kind TEXT, id TEXT, data TEXT, PRIMARY KEY (kind, id));
            CREATE TABLE IF NOT EXISTS counters (kind TEXT PRIMARY KEY, last INTEGER);
            """
        )

    async def search(
        self,
        kind: str,
        query: str = "",
        where: Fields = {},
        *,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page:
        clauses, values = ["kind = ?"], [kind]
        if query:
            clauses.append(
                "EXISTS (SELECT 1 FROM json_tree(data) WHERE instr(lower(atom), lower(?)))"
            )
            values.append(query)
        for name, value in where.items():
            if value is not None and name == "id":
                clauses.append("id IN (SELECT CAST(value AS TEXT) FROM json_each(?))")
                values.append(_json(value if isinstance(value, list) else [value]))
            elif value is not None:
                clauses.append("json_extract(data, ?) = json_extract(?, '$')")
                values.extend((f'$."{name}"', _json(value)))
        if cursor is not None and not (cursor.isdecimal() and len(cursor) < 19):
            raise ToolError(
                f"cursor {cursor!r} is not one of ours; leave it out for the first page"
            )

        def work(db: sqlite3.Connection) -> Page:
            matching = " AND ".join(clauses)
            total = db.execute(f"SELECT count(*) FROM records WHERE {matching}", values).fetchone()[
                0
            ]
            rows = db.execute(
                f"SELECT rowid, kind, id, data FROM records WHERE {matching} AND rowid > ? "
                "ORDER BY rowid LIMIT ?",
                (*values, int(cursor or 0), limit + 1),
            ).fetchall()
            more = str(rows[limit - 1][0]) if len(rows) > limit > 0 else None
            return Page(
                items=[_record(*row[1:]) for row in rows[:limit]], total=total, next_cursor=more
            )

        return await self._run(work)

    async def get(self, kind: str, id: object) -> Record:
        return await self._run(lambda db: _must(_find(db, kind, id), kind, id))

    async def create(self, kind: str, fields: Fields, *, id: object = None) -> Record:
        def work(db: sqlite3.Connection) -> Record:
            if id is not None and _find(db, kind, id):
                raise ToolError(f"{kind} {id} exists already; take another ID, or change that one")
            return _save(db, kind, _new_id(db, kind) if id is None else id, fields)

        return await self._run(work, write=True)

    async def ensure(self, kind: str, fields: Fields, *, id: object = None) -> Record:
        def work(db: sqlite3.Connection) -> Record:
            if id is not None:
                return _find(db, kind, id) or _save(db, kind, id, fields)
            row = db.execute(
                "SELECT kind, id, data FROM records WHERE kind = ? AND data = ?",
                (kind, _json(fields)),
            ).fetchone()
            return _record(*row) if row else _save(db, kind, _new_id(db, kind), fields)

        return await self._run(work, write=True)

    async def append(self, kind: str, id: object, fields: Fields) -> Record:
        def work(db: sqlite3.Connection) -> Record:
            data = _data(_must(_find(db, kind, id), kind, id))
            for name, value in to_jsonable_python(fields).items():
                old = data.get(name)
                if old is None or (isinstance(old, str) and isinstance(value, str)):
                    data[name] = (old or "") + value if isinstance(value, str) else value
                else:
                    before = old if isinstance(old, list) else [old]
                    data[name] = before + (value if isinstance(value, list) else [value])
            return _save(db, kind, id, data)

        return await self._run(work, write=True)

    async def update(
        self, kind: str, id: object, fields: Fields, *, etag: str | None = None
    ) -> Record:
        def work(db: sqlite3.Connection) -> Record:
            record = _must(_find(db, kind, id), kind, id)
            if etag is not None and etag != record.etag:
                raise ToolError(
                    f"{kind} {id} was changed since: its version is {record.etag}, not {etag}; "
                    "read it again and decide anew"
                )
            changed = {name: value for name, value in fields.items() if value is not None}
            return _save(db, kind, id, _data(record) | changed)

        return await self._run(work, write=True)

    async def put(
        self, kind: str, id: object, fields: Fields, *, must_exist: bool = False
    ) -> Record:
        def work(db: sqlite3.Connection) -> Record:
            record = _find(db, kind, id)
            if must_exist:
                record = _must(record, kind, id)
            return _save(db, kind, id, (_data(record) if record else {}) | dict(fields))

        return await self._run(work, write=True)

    async def delete(self, kind: str, id: object) -> bool:
        def work(db: sqlite3.Connection) -> bool:
            if id is None:
                return db.execute("DELETE FROM records WHERE kind = ?", (kind,)).rowcount > 0
            key = (kind, _key(id))
            return db.execute("DELETE FROM records WHERE kind = ? AND id = ?", key).rowcount > 0

        return await self._run(work, write=True)

    async def act(self, action: str, arguments: Fields, *, once: bool = False) -> Record:
        return await (self.ensure if once else self.create)(action, arguments)

    async def snapshot(self) -> dict[str, dict[str, Any]]:
        def work(db: sqlite3.Connection) -> dict[str, dict[str, Any]]:
            rows = db.execute("SELECT kind, id, data FROM records")
            return {f"{kind}/{id}": json.loads(data) for kind, id, data in rows}

        return await self._run(work)

    async def _run(self, work: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T:
        def locked() -> T:
            with self._lock:
                if not write:
                    return work(self._db)
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    result = work(self._db)
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
                return result

        return await asyncio.to_thread(locked)


def _json(value: object) -> str:
    return json.dumps(to_jsonable_python(value), sort_keys=True)


def _key(id: object) -> str:
    return str(to_jsonable_python(id))


def _record(kind: str, id: str, data: str) -> Record:
    etag = hashlib.sha256(f"{kind}\0{id}\0{data}".encode()).hexdigest()[:16]
    return Record.model_validate(json.loads(data) | {"id": id, "etag": etag})


def _data(record: Record) -> dict[str, Any]:
    return dict(record.model_extra or {})


def _find(db: sqlite3.Connection, kind: str, id: object) -> Record | None:
    row = db.execute(
        "SELECT kind, id, data FROM records WHERE kind = ? AND id = ?", (kind, _key(id))
    ).fetchone()
    return _record(*row) if row else None


def _must(record: Record | None, kind: str, id: object) -> Record:
    if record is None:
        raise ToolError(f"{kind} {id} does not exist; list or search to see what does")
    return record


def _save(db: sqlite3.Connection, kind: str, id: object, fields: Fields) -> Record:
    row = (kind, _key(id), _json(fields))
    db.execute(
        "INSERT INTO records VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET data = excluded.data", row
    )
    return _record(*row)


def _new_id(db: sqlite3.Connection, kind: str) -> int:
    while True:
        (last,) = db.execute(
            "INSERT INTO counters VALUES (?, 1) ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last",
            (kind,),
        ).fetchone()
        if not _find(db, kind, last):
            return int(last)


_running: Backend | None = None


def connect(settings: Settings) -> Backend:
    """Open the backend; `create_server` calls this once, and `backend()` answers it from then on."""
    global _running
    _running = SqliteBackend(settings.database)
    return _running


def backend() -> Backend:
    """The running backend."""
    if _running is None:
        raise RuntimeError("no backend is open; create_server() opens it")
    return _running
