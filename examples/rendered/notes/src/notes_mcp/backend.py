"""Where the tools keep their records: yours to replace with the client of your own API.

To serve something else than SQLite, give `Backend` bodies of your own: the methods that your tools and `arrange` in
tests/tools call, and `snapshot`. Tests connect with `database=":memory:"`: reach no real system there.
"""

import asyncio
import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from fastmcp.exceptions import ToolError
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

from .settings import Settings

P = ParamSpec("P")
T = TypeVar("T")
Fields = Mapping[str, Any]
Work = Callable[Concatenate["Backend", P], T]
Async = Callable[Concatenate["Backend", P], Coroutine[Any, Any, T]]
SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS records (kind TEXT, id TEXT, data TEXT, PRIMARY KEY (kind, id));
CREATE TABLE IF NOT EXISTS counters (kind TEXT PRIMARY KEY, last INTEGER);
"""
HOLDS = "EXISTS (SELECT 1 FROM json_tree(data) WHERE instr(lower(atom), lower(?)))"
IS = "json_extract(data, ?) = json_extract(?, '$')"
NOT = "coalesce(json_extract(data, ?), 0) = json_extract(?, '$')"
ELEMENT = "SELECT 1 FROM json_each(data, ?) WHERE typeof(key) = 'integer'"
IN = f"EXISTS ({ELEMENT} AND value = json_extract(?, '$'))"
ELSE = "ON CONFLICT DO UPDATE SET"
SAVE = f"INSERT INTO records VALUES (?, ?, ?) {ELSE} data = excluded.data"
COUNT = f"INSERT INTO counters VALUES (?, 1) {ELSE} last = last + 1 RETURNING last"


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


def _stored(*, write: bool = False) -> Callable[[Work[P, T]], Async[P, T]]:
    """Run a method in a thread, one call at a time; a write is one transaction."""

    def wrap(work: Work[P, T]) -> Async[P, T]:
        def locked(self: "Backend", *args: P.args, **kwargs: P.kwargs) -> T:
            with self.lock, self.db:  # commits in the end, or rolls back
                if write:
                    self.db.execute("BEGIN IMMEDIATE")
                return work(self, *args, **kwargs)

        async def run(self: "Backend", /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await asyncio.to_thread(locked, self, *args, **kwargs)

        return run

    return wrap


class Backend:
    """One SQLite file in WAL mode. A `kind` is a kind of record ("note"); errors are ToolErrors."""

    def __init__(self, path: str) -> None:
        path = str(Path(path).expanduser())
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path != ":memory:":  # its owner's alone, in a shared folder too
            Path(path).touch(mode=0o600)
            Path(path).chmod(0o600)
        self.lock = threading.Lock()
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
        self.close = weakref.finalize(self, self.db.close)
        self.db.executescript(SCHEMA)

    @_stored()
    def search(
        self,
        kind: str,
        query: str = "",
        where: Fields = {},
        *,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page:
        """Find records that hold the query's text and have what `where` says (None matches any).

        A list has a value that is one of its elements, and a missing field is no (False).
        """
        if cursor is not None and not (cursor.isdecimal() and len(cursor) < 19):
            raise ToolError(f"cursor {cursor!r} is not from here; leave it out for the first page")
        clauses, values = ["kind = ?"], [kind]
        if query:
            clauses.append(HOLDS)
            values.append(query)
        for name, value in where.items():
            if value is not None and name == "id":
                clauses.append("id IN (SELECT CAST(value AS TEXT) FROM json_each(?))")
                values.append(_json(value if isinstance(value, list) else [value]))
            elif value is not None:
                clauses.append(f"({NOT if value is False else IS} OR {IN})")
                values.extend((f'$."{name}"', _json(value)) * 2)
        rows = f"FROM records WHERE {' AND '.join(clauses)}"
        (total,) = self.db.execute(f"SELECT count(*) {rows}", values).fetchone()
        page = f"SELECT rowid, kind, id, data {rows} AND rowid > ? ORDER BY rowid LIMIT ?"
        found = self.db.execute(page, (*values, int(cursor or 0), limit + 1)).fetchall()
        more = str(found[limit - 1][0]) if len(found) > limit > 0 else None
        items = [_record(*row[1:]) for row in found[:limit]]
        return Page(items=items, total=total, next_cursor=more)

    @_stored()
    def get(self, kind: str, id: object) -> Record:
        """One record. Raises ToolError when there is none."""
        return self._must(kind, id)

    @_stored(write=True)
    def create(self, kind: str, fields: Fields, *, id: object = None) -> Record:
        """Add a record, under the given ID or a new one. Raises ToolError when the ID is taken."""
        if id is not None and self._find(kind, id):
            raise ToolError(f"{kind} {id} exists already; use another ID, or change that one")
        return self._save(kind, id, fields)

    @_stored(write=True)
    def ensure(self, kind: str, fields: Fields, *, id: object = None) -> Record:
        """The record with this ID, or with all these fields; created when there is none."""
        if id is not None:
            return self._find(kind, id) or self._save(kind, id, fields)
        same = "SELECT kind, id, data FROM records WHERE kind = ? AND data = ?"
        row = self.db.execute(same, (kind, _json(fields))).fetchone()
        return _record(*row) if row else self._save(kind, None, fields)

    @_stored(write=True)
    def append(self, kind: str, id: object, fields: Fields) -> Record:
        """Add to the end of texts and lists of a record. Raises ToolError when there is none."""
        data = _data(self._must(kind, id))
        for name, value in to_jsonable_python(fields).items():
            old = data.get(name)
            if old is None or (isinstance(old, str) and isinstance(value, str)):
                data[name] = (old or "") + value if isinstance(value, str) else value
            else:
                before = old if isinstance(old, list) else [old]
                data[name] = before + (value if isinstance(value, list) else [value])
        return self._save(kind, id, data)

    @_stored(write=True)
    def update(self, kind: str, id: object, fields: Fields, *, etag: str | None = None) -> Record:
        """Change the fields that are not None. Raises ToolError when `etag` is stale."""
        record = self._must(kind, id)
        if etag is not None and etag != record.etag:
            raise ToolError(f"{kind} {id} was changed since; read it again (now {record.etag})")
        given = {name: value for name, value in fields.items() if value is not None}
        return self._save(kind, id, _data(record) | given)

    @_stored(write=True)
    def put(self, kind: str, id: object, fields: Fields, *, must_exist: bool = False) -> Record:
        """Set fields, creating the record unless it must exist. The same call again changes nothing."""
        record = self._must(kind, id) if must_exist else self._find(kind, id)
        return self._save(kind, id, _data(record) | dict(fields))

    @_stored(write=True)
    def delete(self, kind: str, id: object) -> bool:
        """Remove a record, or every record of the kind when `id` is None. False: nothing was there."""
        one, values = ("", [kind]) if id is None else (" AND id = ?", [kind, _key(id)])
        return self.db.execute(f"DELETE FROM records WHERE kind = ?{one}", values).rowcount > 0

    async def act(self, action: str, arguments: Fields, *, once: bool = False) -> Record:
        """Record that an action was done; `once` records the same arguments only the first time."""
        return await (self.ensure if once else self.create)(action, arguments)

    @_stored()
    def snapshot(self) -> dict[str, dict[str, Any]]:
        """All data, {"kind/id": fields}: what the behavior probes compare."""
        rows = self.db.execute("SELECT kind || '/' || id, data FROM records")
        return {key: json.loads(data) for key, data in rows}

    def _find(self, kind: str, id: object) -> Record | None:
        one = "SELECT kind, id, data FROM records WHERE kind = ? AND id = ?"
        row = self.db.execute(one, (kind, _key(id))).fetchone()
        return _record(*row) if row else None

    def _must(self, kind: str, id: object) -> Record:
        if record := self._find(kind, id):
            return record
        raise ToolError(f"{kind} {id} does not exist; list or search to see what does")

    def _save(self, kind: str, id: object, fields: Fields) -> Record:
        made = id is None
        while id is None or (made and self._find(kind, id)):
            (id,) = self.db.execute(COUNT, (kind,)).fetchone()
        row = (kind, _key(id), _json(fields))
        self.db.execute(SAVE, row)
        return _record(*row)


def _json(value: object) -> str:
    return json.dumps(to_jsonable_python(value), sort_keys=True)


def _key(id: object) -> str:
    return str(to_jsonable_python(id))


def _data(record: Record | None) -> dict[str, Any]:
    return dict(record.model_extra or {}) if record else {}


def _record(kind: str, id: str, data: str) -> Record:
    etag = hashlib.sha256(f"{kind}\0{id}\0{data}".encode()).hexdigest()[:16]
    return Record.model_validate(json.loads(data) | {"id": id, "etag": etag})


_running: Backend | None = None


def connect(settings: Settings) -> Backend:
    """Open the backend; `create_server` calls this once, and `backend()` returns it from then on."""
    global _running
    _running = Backend(settings.database)
    return _running


def backend() -> Backend:
    """The running backend."""
    if _running is None:
        raise RuntimeError("no backend is open; create_server() opens it")
    return _running
