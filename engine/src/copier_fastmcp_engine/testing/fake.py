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
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import httpx2

from .backend import Backend

if TYPE_CHECKING:
    from .project import ProjectUnderTest

SEPARATOR = re.compile("/|:[^/:]*$")  # of a path, as in notes/1:archive
SAFE = ("GET", "HEAD", "OPTIONS", "QUERY")
IDEMPOTENT = (*SAFE, "PUT", "DELETE")
EFFECTS = {
    "POST": "makes",
    "PUT": "replaces",
    "PATCH": "merges",
    "DELETE": "removes",
}
TEXTS = ("query", "q", "search", "text", "term")
SIZES = ("limit", "per_page", "page_size", "max_results")
CONFLICT = 409
# Headers, and a field of the query, by which a request has another method than it seems
OVERRIDES = ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override")
OVERRIDE_FIELD = "_method"
# Last parts of a path that are verbs of a write, even behind GET
WRITE_VERBS = re.compile(
    "(bulk-|force-)?(activate|approve|cancel|clear|deactivate|delete|destroy|disable|enable|erase|logout|mark-?read|purge|reject"
    "|remove|reset|restart|revoke|shutdown|trigger|unsubscribe)"
)
VERSIONS = ("etag", "version", "if_match", "revision")
Record = dict[str, Any]
Refusal = tuple[int, str]  # the status and the message that refuse a write
Effect = str | Callable[["Fake", httpx2.Request], httpx2.Response]


# The variables by which this process already refuses to reach a host
_guarded: set[str] = set()


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
    if isinstance(address, bytes):
        return address.decode()
    return str(address or "")


class Sent(NamedTuple):
    """A request that a tool sent, what it does, whether it does more when it is sent again, and its status.

    `disguise` is what a safe method hides, empty where it hides nothing.
    """

    method: str
    path: str
    effect: Effect
    accumulates: bool
    status: int
    disguise: str = ""


@dataclass(frozen=True)
class Rule:
    """What a probe says of one operation.

    Attributes:
        method: The method of the operation.
        pattern: The paths of the operation.
        fields: The fields of the rule: `does`, `adds`, `lists` and `names`.
    """

    method: str
    pattern: re.Pattern[str]
    fields: Mapping[str, Any]

    @classmethod
    def parse(cls, operation: str, fields: Mapping[str, Any]) -> "Rule":
        """Return the rule of an operation, as in `POST /notes/{note_id}/archive`."""
        method, _, template = operation.partition(" ")
        parts = re.split(r"\{[^{}]*\}", template.strip("/"))
        literals = map(re.escape, parts)
        pattern = re.compile("[^/]*".join(literals))
        return cls(method, pattern, fields)

    def matches(self, method: str, path: str) -> bool:
        """Tell whether a request is one of the operation."""
        return self.method == method and bool(self.pattern.fullmatch(path))


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
        self.rules: list[Rule] = []
        self.sent: list[Sent] = []

    def learn(self, tool: str) -> None:
        """Load the rules of tests/tools, first those of a tool, and forget the requests that arranged a test."""
        self.sent.clear()
        file_name = f"test_{tool}.py"
        paths = sorted(
            self.probes.glob("test_*.py"),
            key=lambda path: (path.name != file_name, path.name),
        )
        for path in paths:
            module = importlib.import_module(f"{self.probe_package}.{path.stem}")
            rules = getattr(module, "fake", {})
            for operation, rule in rules.items():
                self.rules.append(Rule.parse(operation, rule))

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Respond to a request, and record its effect."""
        path = request.url.raw_path.decode().partition("?")[0].strip("/")
        path = path.removeprefix(self.base).strip("/")
        rule = self._find_rule(request.method, path)
        effect: Effect = rule.get("does", EFFECTS.get(request.method, "finds"))
        places = _list_places(path, rule.get("names", ()), parse_arguments(request))
        answer = self.apply_effect(effect, places, request, rule)
        accumulates = False
        if request.method not in SAFE and answer.status_code < 500:
            once = copy.deepcopy(self.records)
            self.apply_effect(effect, places, request, rule)
            accumulates, self.records = self.records != once, once
        status = answer.status_code
        disguise = "" if rule else find_disguise(path, request)
        if path in self.records:
            disguise = find_override(request)
        self.sent.append(
            Sent(request.method, f"/{path}", effect, accumulates, status, disguise)
        )
        if rule.get("lists") and answer.is_success:
            return httpx2.Response(answer.status_code, json=[answer.json()])
        return answer

    def _find_rule(self, method: str, path: str) -> Mapping[str, Any]:
        """Return the rule of an operation; empty where there is none."""
        for rule in self.rules:
            if rule.matches(method, path):
                return rule.fields
        return {}

    def apply_effect(
        self,
        effect: Effect,
        places: list[str],
        request: httpx2.Request,
        rule: Mapping[str, Any],
    ) -> httpx2.Response:
        """Apply an operation to each record that it names; return the response of the last."""
        response = httpx2.Response(200, json=rule.get("adds", {}))
        for place in places:
            response = self.answer(effect, place, request, rule)
        return response

    def answer(
        self,
        effect: Effect,
        path: str,
        request: httpx2.Request,
        rule: Mapping[str, Any],
    ) -> httpx2.Response:
        """Apply an operation to the record at a path, and respond."""
        if not isinstance(effect, str):
            return effect(self, request)
        adds = rule.get("adds", {})
        if effect in ("finds", "reads"):
            return self.find_records(effect, path, request, adds)
        old = self.records.get(path)
        place = path if old is not None else self._find_parent(path, rule)
        if refusal := self._find_refusal(effect, path, place, request):
            return build_failure(*refusal)
        if effect == "removes":
            exact = old is not None or place is None or request.method == "DELETE"
            return self._remove(path, path if exact else str(place), adds)
        if effect == "sets" and place is not None:
            change = self._build_change(path, place, request)
            record = self.records[place] | change
            return self.keep_record(place, record, adds)
        return self._write(effect, path, request, adds)

    def _find_parent(self, path: str, rule: Mapping[str, Any]) -> str | None:
        """Return the longest path of a record that a path begins with."""
        if "names" in rule:
            return None
        for parent in list_parents(path):
            if parent in self.records:
                return parent
        return None

    def _find_refusal(
        self,
        effect: str,
        path: str,
        place: str | None,
        request: httpx2.Request,
    ) -> Refusal | None:
        """Return why a write is refused, or None."""
        old = self.records.get(path)
        missing = 404, f"there is no {path}"
        is_nameless = old is None and request.url.path.endswith("/")
        if effect == "removes" and is_nameless:  # the name of a record is empty
            return 404, f"there is no {path}/"
        if effect == "makes" and request.method == "PUT" and old is not None:
            return 409, f"{path} is there already"
        if effect in ("merges", "removes", "sets") and place is None:
            has_children = any(p.startswith(f"{path}/") for p in self.records)
            if effect != "removes" or not has_children:
                return missing
        if effect == "merges" and old is None:
            return missing
        if old is not None and request.headers.get("If-None-Match") == "*":
            return 412, f"{path} is there already"
        parent = self.records.get(place or "")
        return find_conflict(old or parent, request)

    def _build_change(self, path: str, place: str, request: httpx2.Request) -> Record:
        """Return the field that an operation on the record at `place`, or below it, sets."""
        body = body_of(request)
        if path == place and request.method != "DELETE":
            return body or {"set": True}
        field = path.removeprefix(place).strip("/") or "set"
        if request.method == "DELETE":
            return {field: False}
        return {field: body or True}

    def _write(
        self,
        effect: str,
        path: str,
        request: httpx2.Request,
        adds: Record,
    ) -> httpx2.Response:
        """Write a record at a path, or a new one below it; an operation that ensures a record may find it."""
        body = body_of(request)
        if effect in ("merges", "replaces"):
            old = self.records.get(path, {}) if effect == "merges" else {}
            return self.keep_record(path, old | body, adds)
        if effect == "ensures":
            same = path if path in self.records else self._find_same(path, body)
            if same is not None:
                return self.keep_record(same, None, adds)
        if request.method == "PUT" or (effect == "ensures" and not body):
            return self.keep_record(path, body, adds)
        key = body.get("id") or self._next_number(path)
        place = f"{path}/{key}"
        if place in self.records:
            return build_failure(409, f"{place} is there already")
        record = {"id": key} | body
        return self.keep_record(place, record, adds, is_new=True)

    def _remove(self, path: str, top: str, adds: Record) -> httpx2.Response:
        """Remove the record at `top` and those below it."""
        removed = []
        for place in self.records:
            if place == top or place.startswith(f"{top}/"):
                removed.append(place)
        if not removed:
            return build_failure(404, f"there is no {path}")
        for place in removed:
            del self.records[place]
        return httpx2.Response(200, json=adds)

    def _find_same(self, path: str, body: Record) -> str | None:
        """Return the path of a record below a path that has all fields of a body."""
        for place in self.list_children(path):
            if body and self.records[place].items() >= body.items():
                return place
        return None

    def _next_number(self, path: str) -> int:
        """Return the first number above those of the records below a path."""
        numbers = [0]
        for place in self.list_children(path):
            name = place.rpartition("/")[2]
            if name.isdecimal():
                numbers.append(int(name))
        return 1 + max(numbers)

    def find_records(
        self,
        effect: str,
        path: str,
        request: httpx2.Request,
        adds: Record,
    ) -> httpx2.Response:
        """Return a record, or a page of those below a path."""
        is_get = request.method == "GET"
        is_lookup = request.method in ("GET", "HEAD")
        places = [path]
        if effect == "reads" or not is_lookup:
            places += list_parents(path)
        if effect == "reads" or (path in self.records and is_lookup):
            present = [place for place in places if place in self.records]
            if not present and is_lookup:
                return build_failure(404, f"there is no {path}")
            record = self.records[present[0]] if present else {}
            return build_response(200, record, adds)
        for place in places:
            if children := self.list_children(place):
                return self._build_page(children, request)
        if is_get and request.url.query and not self._has_siblings(path):
            return httpx2.Response(200, json=[])
        return build_failure(404, f"there is no {path}")

    def _has_siblings(self, path: str) -> bool:
        """Tell whether a path is that of a record, since others are next to it."""
        parent, _, _ = path.rpartition("/")
        return bool(self.list_children(parent))

    def _build_page(
        self, places: list[str], request: httpx2.Request
    ) -> httpx2.Response:
        """Return the page that a request asks for of the records at some paths."""
        arguments = parse_arguments(request)
        records = []
        for place in places:
            if matches_record(arguments, self.records[place]):
                records.append(self.records[place])
        size = max(1, parse_page_size(arguments, len(records)))
        number = str(arguments.get("page") or arguments.get("cursor") or 1)
        page = int(number) if number.isdecimal() else 1
        start = (page - 1) * size
        end = page * size
        answer = httpx2.Response(200, json=records[start:end])
        if records[end:]:
            next_page = request.url.copy_set_param("page", page + 1)
            answer.headers["Link"] = f'<{next_page}>; rel="next"'
        return answer

    def list_children(self, path: str) -> list[str]:
        """Return the paths directly below a path."""
        return [p for p in self.records if p.rpartition("/")[0] == path]

    def keep_record(
        self,
        path: str,
        record: Record | None,
        adds: Record,
        *,
        is_new: bool = False,
    ) -> httpx2.Response:
        """Store a record, and respond with it."""
        if record is not None:
            self._store_record(path, record)
        status = 201 if is_new else 200
        answer = build_response(status, self.records[path], adds)
        if is_new:
            answer.headers["Location"] = f"/{path}"
        return answer

    def _store_record(self, path: str, record: Record) -> None:
        """Store a record under its path, with its ID, and with its next version where it has one."""
        name = unquote(path.rpartition("/")[2])
        identity = {"id": int(name) if name.isdecimal() else name}
        old = self.records.get(path, {})
        new = identity | record
        if without_versions(new) != without_versions(old):
            for version in VERSIONS:
                if version in old:
                    new[version] = bump(old[version])
        self.records[path] = new


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
    content = request.content
    # Each request has another boundary
    _, _, boundary = media_type.partition("boundary=")
    if boundary:
        content = content.replace(boundary.encode(), b"")
    return {"body": content.decode("latin-1")}


def find_override(request: httpx2.Request) -> str:
    """Return the method that a request of a safe method demands in another place, or nothing."""
    demanded = [request.headers.get(name, "") for name in OVERRIDES]
    demanded.append(request.url.params.get(OVERRIDE_FIELD, ""))
    for method in demanded:
        if method and method.upper() not in SAFE:
            return f"as {method.upper()}"
    return ""


def find_disguise(path: str, request: httpx2.Request) -> str:
    """Return how a request of a safe method writes, or nothing."""
    verb = path.rpartition("/")[2].lower().replace("_", "-")
    if request.method in SAFE and WRITE_VERBS.fullmatch(verb):
        return "whose path ends in a verb of a write"
    return find_override(request)


def without_versions(record: Record) -> Record:
    """Return a record without the fields that name its version."""
    return {name: value for name, value in record.items() if name not in VERSIONS}


def parse_arguments(request: httpx2.Request) -> Record:
    """Return the fields of a request's query and body."""
    return {**request.url.params, **body_of(request)}


def matches_record(arguments: Record, record: Record) -> bool:
    """Tell whether a record has the values, and the words, that a request asks for."""
    whole_text = json.dumps(record).lower()
    for name, value in arguments.items():
        text = str(value)
        if name in TEXTS and text.lower() not in whole_text:
            return False
        if name in record and str(record[name]) != text:
            return False
    return True


def parse_page_size(arguments: Record, default: int) -> int:
    """Return how many records a page has; all of them where the request does not say."""
    for name in SIZES:
        if name in arguments:
            size = str(arguments[name])
            return int(size) if size.isdecimal() else default
    return default


def _list_places(path: str, names: Collection[str], arguments: Record) -> list[str]:
    """Return the paths of the records that a request names; each value of a list names one."""
    places = [path]
    for name in names:
        if name not in arguments:
            continue
        value = arguments[name]
        values = value if isinstance(value, list) else [value]
        named_places = []
        for place in places:
            for item in values:
                text = item if isinstance(item, str) else json.dumps(item)
                named_places.append(f"{place}/{quote(text, safe='')}")
        places = named_places
    return places


def list_parents(path: str) -> list[str]:
    """Return the paths that a path begins with, the longest first."""
    separators = re.finditer(SEPARATOR, path)
    ends = [match.start() for match in separators]
    return [path[:end] for end in reversed(ends)]


def etag(record: Record) -> str:
    """Return the version of a record, in digits, since some APIs use a number."""
    text = json.dumps(record, sort_keys=True)
    return str(zlib.crc32(text.encode()))


def bump(version: Any) -> Any:
    """Return the next version of a record."""
    return version + 1 if isinstance(version, int) else f"{version}+"


def find_conflict(old: Record | None, request: httpx2.Request) -> Refusal | None:
    """Return why a write is refused: a record is missing, or was changed since."""
    record = old or {}
    expected = request.headers.get("If-Match", "*")
    if expected != "*" and expected != etag(record):
        return 412, "it was changed since"
    arguments = parse_arguments(request)
    for name in VERSIONS:
        if name not in arguments or name not in record:
            continue
        if str(arguments[name]) != str(record[name]):
            return 409, "it was changed since"
    return None


def build_response(status: int, record: Record, adds: Record) -> httpx2.Response:
    """Return a response that shows a record."""
    headers = {"ETag": etag(record)}
    return httpx2.Response(status, json=record | adds, headers=headers)


def build_failure(status: int, message: str) -> httpx2.Response:
    """Return a response with an error message."""
    return httpx2.Response(status, json={"message": message})


class FakedBackend(Backend):
    """The client of an API in front of its fake."""

    has_own_client = True

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

    def find_unproven(
        self,
        *,
        read_only: bool,
        idempotent: bool,
        refused: bool = False,
    ) -> str:
        """Return what was sent that the truth of a tool does not allow, or nothing."""
        read_paths = set()
        for sent in self.fake.sent:
            request = f"{sent.method} {sent.path}"
            is_read = sent.method in SAFE or sent.effect in ("finds", "reads")
            if read_only and not is_read:
                return f"it says read-only, but sent {request}"
            if read_only and sent.disguise:
                return f"it says read-only, but sent {request}, {sent.disguise}"
            if sent.method in SAFE:
                read_paths.add(sent.path)
            # What makes a record that it has looked for in vain makes none when it is called again
            is_searched = sent.effect == "makes" and sent.path in read_paths
            is_repeatable = sent.method in IDEMPOTENT or is_searched
            if idempotent and sent.accumulates and not is_repeatable:
                return f"it says idempotent, but sent {request}, which does more when it is sent again"
        if not self.fake.sent:
            return ""
        last = self.fake.sent[-1]
        is_new_record = last.method not in IDEMPOTENT and last.effect == "makes"
        is_conflict = refused and last.status == CONFLICT
        if idempotent and is_conflict and is_new_record:
            return f"it says idempotent, but its repeated {last.method} {last.path} conflicts with the first one"
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
            if isinstance(response, httpx2.Response):
                record = response.json()
            else:
                record = response.body
            return {"etag": response.headers.get("etag", ""), **record}

    client = FakedApi(settings)
    fake = Fake(settings.api, project.probes, project.probe_package)
    faked = FakedBackend(client, fake)
    backend.connect(settings, client)
    return faked
