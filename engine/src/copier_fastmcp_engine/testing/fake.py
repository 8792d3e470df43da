"""A fake of the API, in memory: the hints are proven on it, and no test reaches the real one.

A record stands under its path: GET finds it, or lists what stands below; POST makes one, PUT replaces, PATCH merges and
DELETE removes it. Where your API does something else, the file of a tool in tests/tools says so:

    fake = {"POST /notes/{note_id}/archive": {"does": "sets"}}

`does` is one of reads, finds, makes, replaces, merges, removes, sets (a field of the record that the path begins with) and
ensures (makes it once), or a function of this fake and the request that returns an httpx2.Response. `adds` holds fields
that the API adds to its answer, `lists` says that it answers with a list, and `names` has the fields of the query or the
body that name the record, where the path does not.
"""

import copy
import importlib
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import httpx2

from .backend import Backend

if TYPE_CHECKING:
    from .project import ProjectUnderTest

SAFE = ("GET", "HEAD", "OPTIONS", "QUERY")
IDEMPOTENT = (*SAFE, "PUT", "DELETE")
EFFECTS = {"POST": "makes", "PUT": "replaces", "PATCH": "merges", "DELETE": "removes"}
TEXTS = ("query", "q", "search", "text", "term")
SIZES = ("limit", "per_page", "page_size", "max_results")
VERSIONS = ("etag", "version", "if_match", "revision")
Record = dict[str, Any]
Effect = str | Callable[["Fake", httpx2.Request], httpx2.Response]


_guarded: set[str] = (
    set()
)  # the variables by which this process already refuses to reach a host


def stay_here(variable: str) -> None:
    """Refuse to reach another machine from now on; the RuntimeError says how to allow it.

    Args:
        variable: The environment variable that names the hosts, with commas between, which the tests may reach.
    """
    if variable in _guarded:
        return
    _guarded.add(variable)

    def refuse(event: str, args: tuple[Any, ...]) -> None:
        if event not in ("socket.connect", "socket.getaddrinfo"):
            return
        host = _host_of(event, args)
        allowed = ["", "localhost", "0.0.0.0", "::", "::1"]
        allowed += os.environ.get(variable, "").split(",")
        if host not in allowed and not host.startswith("127."):
            raise RuntimeError(
                f"a test reaches for {host}; it may not, unless {variable} names it"
            )

    sys.addaudithook(refuse)


def _host_of(event: str, args: tuple[Any, ...]) -> str:
    """Return the host that an audited event is about; nothing for a socket that has none."""
    address = args[0] if event == "socket.getaddrinfo" else args[1]
    if isinstance(address, tuple):
        address = address[0]
    elif event == "socket.connect":
        address = ""
    return address.decode() if isinstance(address, bytes) else str(address or "")


class Sent(NamedTuple):
    """A request that a tool sent, what it does, and whether it does more when it is sent again."""

    method: str
    path: str
    effect: Effect
    accumulates: bool


class Fake:
    """The records of the API by their paths, and what its operations do with them."""

    def __init__(
        self, address: str, probes: Path, probe_package: str = "tests.tools"
    ) -> None:
        """Fake an API.

        Args:
            address: Its address.
            probes: The folder of the probes, which say what it does.
            probe_package: Their package.
        """
        self.base = urlsplit(address).path.strip("/")
        self.probes = probes
        self.probe_package = probe_package
        self.records: dict[str, Record] = {}
        self.rules: list[tuple[str, re.Pattern[str], Mapping[str, Any]]] = []
        self.sent: list[Sent] = []

    def learn(self, tool: str) -> None:
        """Take over what tests/tools says of the API, first that of a tool, and forget what arranged a test."""
        self.sent.clear()
        file_name = f"test_{tool}.py"
        paths = sorted(
            self.probes.glob("test_*.py"),
            key=lambda path: (path.name != file_name, path.name),
        )
        for path in paths:
            module = importlib.import_module(f"{self.probe_package}.{path.stem}")
            for operation, rule in getattr(module, "fake", {}).items():
                method, _, template = operation.partition(" ")
                parts = re.split(r"\{[^{}]*\}", template.strip("/"))
                pattern = re.compile("[^/]*".join(map(re.escape, parts)))
                self.rules.append((method, pattern, rule))

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request, and keep what it does."""
        path = request.url.raw_path.decode().partition("?")[0].strip("/")
        path = path.removeprefix(self.base).strip("/")
        matching = (
            r
            for m, form, r in self.rules
            if m == request.method and form.fullmatch(path)
        )
        rule = next(matching, {})
        effect: Effect = rule.get("does", EFFECTS.get(request.method, "finds"))
        places = [path]
        for name in filter(
            parse_arguments(request).__contains__, rule.get("names", ())
        ):
            value = parse_arguments(request)[name]
            all_ = value if isinstance(value, list) else [value]
            texts = [
                quote(v if isinstance(v, str) else json.dumps(v), safe="") for v in all_
            ]
            places = [f"{place}/{text}" for place in places for text in texts]
        answer = self.apply_effect(effect, places, request, rule)
        accumulates = False
        if request.method not in SAFE and answer.status_code < 500:
            once = copy.deepcopy(self.records)
            self.apply_effect(effect, places, request, rule)
            accumulates, self.records = self.records != once, once
        self.sent.append(Sent(request.method, f"/{path}", effect, accumulates))
        if rule.get("lists") and answer.is_success:
            return httpx2.Response(answer.status_code, json=[answer.json()])
        return answer

    def apply_effect(
        self,
        effect: Effect,
        places: list[str],
        request: httpx2.Request,
        rule: Mapping[str, Any],
    ) -> httpx2.Response:
        """What an operation does with each record that it names; the answer to the last."""
        responses = [self.answer(effect, place, request, rule) for place in places]
        return (
            responses[-1]
            if responses
            else httpx2.Response(200, json=rule.get("adds", {}))
        )

    def answer(
        self,
        effect: Effect,
        path: str,
        request: httpx2.Request,
        rule: Mapping[str, Any],
    ) -> httpx2.Response:
        """What an operation does with the records, and answers."""
        if not isinstance(effect, str):
            return effect(self, request)
        body = body_of(request)
        adds, old = rule.get("adds", {}), self.records.get(path)
        higher = () if "names" in rule else list_parents(path)
        above = next((p for p in higher if p in self.records), None)
        place = path if old is not None else above
        if effect in ("finds", "reads"):
            return self.find_records(effect, path, request, adds)
        if effect == "makes" and request.method == "PUT" and old is not None:
            return build_failure(409, f"{path} is there already")
        if effect in ("merges", "removes", "sets") and place is None:
            has_children = effect == "removes" and any(
                p.startswith(f"{path}/") for p in self.records
            )
            if not has_children:
                return build_failure(404, f"there is no {path}")
        if effect == "merges" and old is None:
            return build_failure(404, f"there is no {path}")
        if refusal := find_conflict(old or self.records.get(place or ""), request):
            return build_failure(*refusal)
        if effect == "removes":
            exact = old is not None or place is None or request.method == "DELETE"
            top = path if exact else str(place)
            removed = [p for p in self.records if p == top or p.startswith(f"{top}/")]
            for child in removed:
                del self.records[child]
            return (
                httpx2.Response(200, json=adds)
                if removed
                else build_failure(404, f"there is no {path}")
            )
        if effect == "sets" and place is not None:
            if old is None or request.method == "DELETE":
                field = path.removeprefix(place).strip("/") or "set"
                change: Record = {field: request.method != "DELETE" and (body or True)}
            else:
                change = body or {"set": True}
            return self.keep_record(place, self.records[place] | change, adds)
        if effect == "merges":
            return self.keep_record(path, (old or {}) | body, adds)
        if effect == "replaces":
            return self.keep_record(path, body, adds)
        same = [
            p
            for p in self.list_children(path)
            if body and self.records[p].items() >= body.items()
        ]
        if effect == "ensures" and (old is not None or same):
            return self.keep_record(path if old is not None else same[0], None, adds)
        if request.method == "PUT" or (effect == "ensures" and not body):
            return self.keep_record(path, body, adds)
        names = [p.rpartition("/")[2] for p in self.list_children(path)]
        key = body.get("id") or 1 + max(
            (int(n) for n in names if n.isdecimal()), default=0
        )
        if f"{path}/{key}" in self.records:
            return build_failure(409, f"{path}/{key} is there already")
        return self.keep_record(f"{path}/{key}", {"id": key} | body, adds, is_new=True)

    def find_records(
        self, effect: str, path: str, request: httpx2.Request, adds: Record
    ) -> httpx2.Response:
        """A record, or a page of those below a path."""
        places = (
            [path, *list_parents(path)]
            if effect == "reads" or request.method != "GET"
            else [path]
        )
        if effect == "reads" or (
            path in self.records and request.method in ("GET", "HEAD")
        ):
            record = next((self.records[p] for p in places if p in self.records), None)
            if record is None and request.method in ("GET", "HEAD"):
                return build_failure(404, f"there is no {path}")
            return build_response(200, record or {}, adds)
        listed = next(
            (children for p in places if (children := self.list_children(p))), None
        )
        if listed is None:
            return build_failure(404, f"there is no {path}")
        arguments = parse_arguments(request)
        records = [self.records[p] for p in listed]
        for name, value in arguments.items():
            if name in TEXTS:
                records = [
                    r for r in records if str(value).lower() in json.dumps(r).lower()
                ]
            records = [
                r for r in records if name not in r or str(r[name]) == str(value)
            ]
        sizes = [str(arguments[name]) for name in SIZES if name in arguments]
        size = max(1, int(sizes[0]) if sizes and sizes[0].isdecimal() else len(records))
        number = str(arguments.get("page") or arguments.get("cursor") or 1)
        page = int(number) if number.isdecimal() else 1
        answer = httpx2.Response(200, json=records[(page - 1) * size : page * size])
        if records[page * size :]:
            next_page = request.url.copy_set_param("page", page + 1)
            answer.headers["Link"] = f'<{next_page}>; rel="next"'
        return answer

    def list_children(self, path: str) -> list[str]:
        """The records that stand directly below a path."""
        return [p for p in self.records if p.rpartition("/")[0] == path]

    def keep_record(
        self, path: str, record: Record | None, adds: Record, *, is_new: bool = False
    ) -> httpx2.Response:
        """Keep a record, and answer with it."""
        if record is not None:
            name = unquote(path.rpartition("/")[2])
            identity = {"id": int(name) if name.isdecimal() else name}
            old = self.records.get(path, {})
            new = identity | record
            if without_versions(new) != without_versions(old):
                new |= {n: bump(old[n]) for n in VERSIONS if n in old}
            self.records[path] = new
        answer = build_response(201 if is_new else 200, self.records[path], adds)
        answer.headers.update({"Location": f"/{path}"} if is_new else {})
        return answer


def body_of(request: httpx2.Request) -> Record:
    """Return the fields of a body in JSON, or of a form, where each is a text; any other body is one field."""
    media_type = request.headers.get("Content-Type", "")
    if "form-urlencoded" in media_type:
        return dict(parse_qsl(request.content.decode(), keep_blank_values=True))
    if not request.content:
        return {}
    if "json" in media_type:
        value = json.loads(request.content)
        return value if isinstance(value, dict) else {"body": value}
    boundary = media_type.partition("boundary=")[
        2
    ].encode()  # another one for each request
    content = request.content.replace(boundary, b"") if boundary else request.content
    return {"body": content.decode("latin-1")}


def without_versions(record: Record) -> Record:
    """Return a record without the fields that name its version."""
    return {name: value for name, value in record.items() if name not in VERSIONS}


def parse_arguments(request: httpx2.Request) -> Record:
    """What a request says in its query and its body."""
    return {**request.url.params, **body_of(request)}


def list_parents(path: str) -> list[str]:
    """The paths that a path begins with, the longest first."""
    ends = [
        match.start() for match in re.finditer("/|:[^/:]*$", path)
    ]  # as in notes/1:archive
    return [path[:end] for end in reversed(ends)]


def etag(record: Record) -> str:
    """The version of a record, in digits, since some APIs call it a number."""
    return str(zlib.crc32(json.dumps(record, sort_keys=True).encode()))


def bump(version: Any) -> Any:
    """Return the next version of a record."""
    return version + 1 if isinstance(version, int) else f"{version}+"


def find_conflict(
    old: Record | None, request: httpx2.Request
) -> tuple[int, str] | None:
    """Why a write must not happen: its record is there, is not, or was changed since."""
    expected = request.headers.get("If-Match", "*")
    if old is not None and request.headers.get("If-None-Match") == "*":
        return 412, "it is there already"
    if expected != "*" and expected != etag(old or {}):
        return 412, "it was changed since"
    arguments, record = parse_arguments(request), old or {}
    if any(
        n in arguments and n in record and str(arguments[n]) != str(record[n])
        for n in VERSIONS
    ):
        return 409, "it was changed since"
    return None


def build_response(status: int, record: Record, adds: Record) -> httpx2.Response:
    """Return a response that shows a record."""
    return httpx2.Response(status, json=record | adds, headers={"ETag": etag(record)})


def build_failure(status: int, message: str) -> httpx2.Response:
    """Return a response that says what went wrong."""
    return httpx2.Response(status, json={"message": message})


class FakedBackend(Backend):
    """The client of an API in front of its fake."""

    def __init__(self, client: Any, fake: Fake) -> None:
        """Let the client send everything to the fake."""
        super().__init__(client)
        self.fake = fake
        client.transport = httpx2.MockTransport(fake)

    def begin(self, tool: str = "") -> None:
        """From now on the API does what tests/tools say of it; `tool` is the one that is tested."""
        self.fake.learn(tool)

    async def snapshot(self) -> dict[str, Any]:
        """Return all records by their paths."""
        return copy.deepcopy(self.fake.records)

    def find_unproven(self, *, read_only: bool, idempotent: bool) -> str:
        """Return what was sent that the truth of a tool does not allow, or nothing."""
        for method, path, effect, accumulates in self.fake.sent:
            if read_only and method not in SAFE and effect not in ("finds", "reads"):
                return f"it says read-only, but sent {method} {path}"
            if idempotent and method not in IDEMPOTENT and accumulates:
                return f"it says idempotent, but sent {method} {path}, which does more when it is sent again"
        return ""


def connect(project: "ProjectUnderTest", settings: Any = None) -> FakedBackend:
    """Put a fake without records in front of a project's tools.

    Args:
        project: The project.
        settings: Settings of its class; the pinned ones when left out.
    """
    stay_here(f"{project.policy.env_prefix}TESTS_MAY_REACH")
    settings = settings or project.settings
    backend = project.load("backend")

    class FakedApi(backend.Api):  # type: ignore[misc, name-defined]
        """The project's client, with what an arrange() needs to store a record."""

        async def put(self, path: str, body: Any = None, **options: Any) -> Any:
            """Store a record; the result has its etag, for a call that needs one."""
            response = await self.send("PUT", path, body=body, **options)
            # An older backend.py has a client of its own, which returns the response of the HTTP library.
            record = (
                response.json()
                if isinstance(response, httpx2.Response)
                else response.body
            )
            return {"etag": response.headers.get("etag", ""), **record}

    client = FakedApi(settings)
    fake = Fake(settings.api, project.probes, project.probe_package)
    faked = FakedBackend(client, fake)
    backend.connect(settings, client)
    return faked
