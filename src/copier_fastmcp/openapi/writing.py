"""What a POST, PUT, PATCH or DELETE does, by its path, its words, its answers and its body."""

from dataclasses import dataclass

from .derived import Derived
from .evidence import (
    MANY,
    NOT_200,
    Signals,
    body_field_names,
    describe_version,
    find_choice_field,
    find_post_evidence,
    has_location,
    is_collection,
)
from .operations import Operation, words
from .verbs import (
    ACTION,
    ADDING,
    ASSOCIATION,
    COPIES,
    DELETE,
    ENSURE,
    PUT,
    READ,
    READ_BY_POST,
    SMALL,
    SPOKEN_READS,
    STARTED,
    STEPS,
    TOGGLE,
    UPDATE,
    UPSERT,
    base,
)

GET_OR_CREATE = ({"get", "or", "create"}, {"find", "or", "create"})
CALLED_BACK = ("create", "add", "register", "post")
CREATES = frozenset({"create", "insert"})
GRAPH = {"graphql", "rpc", "jsonrpc"}
# Of the words that read, those that are seldom nouns and say nothing else.
CLEAR = READ - {
    "check",
    "has",
    "is",
    "head",
    "filter",
    "preview",
    "view",
    "count",
    "download",
}
# Fields of a body that change again with each call.
COUNTING = frozenset({"increment", "decrement", "append", "insert"})


def of(operation: Operation) -> Derived:
    """The behavior of an operation whose method may write."""
    by_method = {"POST": _post, "PUT": _put, "PATCH": _patch, "DELETE": _delete}
    if operation.chosen[0]:
        return _chosen(operation)
    if operation.method not in by_method:
        return Derived(
            "action", "asked", f"the method {operation.method} is not known", asked=True
        )
    return by_method[operation.method](operation)


def _chosen(operation: Operation) -> Derived:
    """What one value of a choice does, by its own words."""
    field, value = operation.chosen
    verb, reason = base(words(value)[0]), f"its body says {field}: {value}"
    if verb in DELETE:
        return Derived("delete", "signal", reason)
    if verb in PUT and verb not in TOGGLE:
        return Derived("put", "signal", reason)
    if verb in ("create", "add"):
        return Derived("create" if verb == "create" else "append", "signal", reason)
    if verb in ACTION:
        return Derived("action", "signal", reason)
    return Derived(
        "action", "asked", f"{reason}, and nothing says what that does", asked=True
    )


def _several(operation: Operation) -> Derived | None:
    """Calls that do one thing or another: RPC, a choice of actions, batches."""
    names = set(body_field_names(operation))
    if GRAPH & set(words(operation.tail)) or {"jsonrpc", "method"} <= names:
        return Derived("action", "two signals", "one address for calls of every kind")
    if name := find_choice_field(operation):
        return Derived("action", "signal", f"its body chooses what is done by {name!r}")
    spoken = set(map(base, words(operation.text("summary"))))
    if names == {"actions"} or {"create", "delete"} <= spoken:
        return Derived(
            "action", "signal", "it creates, changes and deletes in one call"
        )
    return None


@dataclass(frozen=True)
class _Post:
    """A POST with its verbs, and what speaks for and against a read."""

    operation: Operation
    signals: Signals
    read_evidence: list[str]
    write_evidence: list[str]

    @property
    def last_words(self) -> list[str]:
        """The last word of its path, in a list; empty without one."""
        return words(self.operation.tail)[-1:]


def _post(operation: Operation) -> Derived:
    signals = Signals(operation)
    if several := _several(operation):
        return several
    post = _Post(operation, signals, *find_post_evidence(operation, signals))
    for rule in POST_RULES:
        if derived := rule(post):
            return derived
    return _created(operation, signals)


def _read_by_two(post: _Post) -> Derived | None:
    if len(post.read_evidence) < 2 or post.write_evidence:
        return None
    reason = f"{' and '.join(post.read_evidence[:2])}; it answers 200"
    return Derived("read", "two signals", reason)


def _many(post: _Post) -> Derived | None:
    signals = post.signals
    if not MANY & signals.all_words or signals.verb == "create":
        return None
    if post.read_evidence:
        return _doubtful_read(post)
    if signals.mentions(DELETE) or DELETE & signals.all_words:
        return Derived("delete", "signal", "it removes many at once", confirm=True)
    return Derived("action", "signal", "it works on many at once")


def _upsert_or_ensure(post: _Post) -> Derived | None:
    operation, all_words = post.operation, post.signals.all_words
    named = {*operation.id_words}
    if UPSERT & all_words:
        return Derived("put", "signal", "it says 'upsert'")
    if ENSURE & all_words or any(phrase <= named for phrase in GET_OR_CREATE):
        return Derived("ensure", "signal", "it creates what is not there")
    if operation.parameter("header", "If-None-Match").get("required") is True:
        return Derived("ensure", "signal", "If-None-Match creates it once")
    return None


def _surely_created(post: _Post) -> Derived | None:
    operation, signals = post.operation, post.signals
    is_created = (
        signals.verb == signals.spoken == "create" and "201" in operation.success
    )
    if is_created and not STARTED & {*post.last_words}:
        return _created(operation, signals)
    return None


def _by_verb(post: _Post) -> Derived | None:
    """What deletes, toggles, or does something else."""
    signals = post.signals
    if mentioned := signals.mentions(DELETE):
        return Derived("delete", _kind(mentioned), " and ".join(mentioned))
    if TOGGLE & {signals.verb, *signals.tail[:1]}:
        return Derived("action", "signal", "each call changes it again")
    mentioned = signals.mentions(ACTION)
    is_rival = (
        signals.verb == "create"
        and not (STARTED & set(signals.tail))
        and len(mentioned) == 1
    )
    if mentioned and not (is_rival and signals.spoken == "create"):
        return Derived("action", _kind(mentioned), " and ".join(mentioned))
    return None


def _completed_step(post: _Post) -> Derived | None:
    summary = {*post.operation.split_sentence("summary"), *post.operation.id_words}
    if post.signals.mentions(frozenset({"complete"})) and summary & STEPS:
        reason = "it completes a step of something that goes on"
        return Derived("action", "two signals", reason)
    return None


def _started(post: _Post) -> Derived | None:
    """What goes on after the response."""
    operation, signals = post.operation, post.signals
    if "202" in operation.success and "201" not in operation.success:
        reason = "it answers 202: what it starts goes on later"
        return Derived("action", "signal", reason)
    if operation.raw.get("callbacks") and signals.verb not in CALLED_BACK:
        reason = "it has callbacks: what it starts goes on later"
        return Derived("action", "signal", reason)
    named = {*words(operation.path), *operation.split_sentence("summary")}
    if signals.mentions(frozenset({"restore"})) and COPIES & named:
        reason = "it restores from a copy, again with each call"
        return Derived("action", "two signals", reason)
    is_carried_out = STARTED & {*post.last_words} and not operation.ends_in_parameter
    if is_carried_out and signals.verb in ("create", "", "post"):
        reason = f"what it creates in {operation.tail!r} is then carried out"
        return Derived("action", "signal", reason)
    return None


def _updated(post: _Post) -> Derived | None:
    mentioned = post.signals.mentions(frozenset(UPDATE))
    if len(mentioned) > 1:
        return _changed(post.operation, " and ".join(mentioned))
    return None


def _perhaps_read(post: _Post) -> Derived | None:
    return _doubtful_read(post) if post.read_evidence else None


def _put_by_verb(post: _Post) -> Derived | None:
    signals = post.signals
    mentioned = signals.mentions(PUT)
    is_in_path = bool(signals.tail[:1]) and signals.tail[0] in PUT
    is_create = "create" in (signals.verb, signals.spoken)
    if mentioned and (
        post.operation.ends_in_parameter
        or len(mentioned) > 1
        or (is_in_path and not is_create)
    ):
        return _changed(post.operation, " and ".join(mentioned))
    return None


def _doubtful_read(post: _Post) -> Derived:
    """A question: one signal says that it reads, and something else does not."""
    family = _family_of(post.signals, post.write_evidence)
    doubts = post.write_evidence or ["nothing else does"]
    return _doubted("POST", post.read_evidence[0], doubts, family)


# The first that applies counts.
POST_RULES = (
    _read_by_two,
    _many,
    _upsert_or_ensure,
    _surely_created,
    _by_verb,
    _completed_step,
    _started,
    _updated,
    _perhaps_read,
    _put_by_verb,
)


def _created(operation: Operation, signals: Signals) -> Derived:
    """A POST that adds something, or the last resort: a question."""
    products = frozenset(
        {
            "create",
            "add",
            "new",
            "insert",
            "register",
            "open",
            "fork",
            "clone",
            "copy",
            "duplicate",
            "reply",
            "post",
        }
    )
    mentioned = signals.mentions(
        products if signals.verb != "post" else products - {"post"}
    )
    if "201" in operation.success:
        mentioned.append("it answers 201")
    elif has_location(operation):
        mentioned.append("it answers with Location")
    summary = operation.split_sentence("summary")
    if summary[1:3] in (["a", "new"], ["new", operation.tail]) and summary[0] in (
        "store",
        "upload",
    ):
        mentioned.append("its summary says 'a new'")
    if is_collection(operation):
        mentioned.append(f"{operation.tail!r} is a collection")
    if len(mentioned) > 1:
        behavior = (
            "append"
            if signals.verb == "add" and "201" not in operation.success
            else "create"
        )
        return Derived(behavior, "two signals", " and ".join(mentioned[:2]))
    if operation.ends_in_parameter and operation.contents and not mentioned:
        return _doubted("POST", "it may update an item", ["nothing says so"])
    return _doubted(
        "POST",
        mentioned[0] if mentioned else "it may do anything",
        ["nothing else says what it does"],
    )


def _changed(operation: Operation, reason: str) -> Derived:
    if version := describe_version(operation):
        return Derived("update", "two signals", f"{reason}; {version}")
    source = "two signals" if " and " in reason else "signal"
    return Derived("put", source, f"{reason}; no version is asked for")


def _doubted(
    method: str, evidence: str, doubts: list[str], family: str = ""
) -> Derived:
    reason = f"{method}: {evidence}, but {'; '.join(doubts)}"
    return Derived("action", "asked", reason, asked=True, family=family)


def _family_of(signals: Signals, write_evidence: list[str]) -> str:
    """The family of POSTs that read by one word alone; empty where more speaks against that."""
    if write_evidence not in ([], [NOT_200]):
        return ""
    if {*signals.tail[:1]} & READ_BY_POST:
        return f"POST .../{signals.tail[0]}"
    verbs = [verb for verb in (signals.verb, signals.spoken) if verb in SPOKEN_READS]
    return f"POST that says {verbs[0]!r}" if verbs else ""


def _kind(mentioned: list[str]) -> str:
    return "two signals" if len(mentioned) > 1 else "signal"


def _not_plain(operation: Operation, signals: Signals) -> Derived | None:
    """What a PUT or PATCH does that is not an assignment."""
    if several := _several(operation):
        return several
    if mentioned := signals.mentions(DELETE):
        return Derived("delete", _kind(mentioned), " and ".join(mentioned))
    if {signals.verb, signals.spoken} & {"append", "insert"}:
        return Derived("append", "signal", "it says 'append'")
    if _changes_again(operation, signals):
        return Derived("action", "signal", "the same call again changes it again")
    return _acts(operation, signals) or _reads(operation, signals)


def _changes_again(operation: Operation, signals: Signals) -> bool:
    """Whether the same request twice leaves another state than once."""
    verbs = {signals.verb, signals.spoken, *signals.tail[:1]}
    field_words = set()
    for name in body_field_names(operation):
        field_words |= {*words(name)}
    return bool(TOGGLE & verbs or COUNTING & field_words)


def _acts(operation: Operation, signals: Signals) -> Derived | None:
    """An action, where words say so in addition to the method."""
    mentioned = signals.mentions(ACTION)
    if len(mentioned) > 1:
        return Derived("action", "two signals", " and ".join(mentioned[:2]))
    if mentioned and not signals.mentions(UPDATE):
        return _doubted(operation.method, "it assigns by its method", mentioned)
    return None


def _reads(operation: Operation, signals: Signals) -> Derived | None:
    """A question, where a method that writes goes with words that read, or with another's request."""
    verbs = {"operationId": signals.verb, "summary": signals.spoken}
    if {*verbs.values()} == {"connect"}:
        return _doubted(
            operation.method, "it connects to something else", ["nobody knows what"]
        )
    # Words of the operationId that write, as in listDelete; the method's own name is no voice.
    writing_words = {*words(operation.operation_id)} & (
        DELETE | UPDATE | {"create", "add"}
    ) - {
        "put",
        "patch",
    }
    evidence = []
    for place, verb in verbs.items():
        if verb in CLEAR:
            evidence.append(f"its {place} says {verb!r}")
    if evidence and (not writing_words or signals.spoken in CLEAR):
        return _doubted(operation.method, " and ".join(evidence), ["its method writes"])
    return None


def _put(operation: Operation) -> Derived:
    signals = Signals(operation)
    if derived := _not_plain(operation, signals):
        return derived
    if version := describe_version(operation):
        return Derived("update", "two signals", f"PUT, and {version}")
    if not operation.contents:
        reason = "PUT without a body ends in the same state (RFC 9110 9.2.2)"
        if mentioned := signals.mentions(ADDING):
            reason = f"{reason}; {mentioned[0]}, so it only adds"
            return Derived("put", "two signals", reason, destructive=False)
        return Derived("put", "method", reason)
    created = signals.mentions(CREATES)
    if created and "201" in operation.success and not operation.ends_in_parameter:
        # Some APIs create in a collection by PUT, and each call adds one more.
        return Derived("create", "two signals", f"{created[0]} and it answers 201")
    return Derived(
        "put",
        "method",
        "PUT replaces: the same input, the same end state (RFC 9110 9.2.2)",
    )


def _patch(operation: Operation) -> Derived:
    signals = Signals(operation)
    if {"dry", "run"} <= {*words(operation.tail)} or "dryrun" in words(operation.tail):
        reason = "a PATCH that only says what would change"
        return Derived(
            "action", "asked", reason, asked=True, destructive=False, idempotent=True
        )
    if derived := _not_plain(operation, signals):
        return derived
    if any("json-patch" in kind for kind in operation.contents):
        return Derived(
            "update", "two signals", "a JSON Patch may count or append (RFC 6902)"
        )
    if version := describe_version(operation):
        return Derived("update", "two signals", f"PATCH, and {version}")
    return Derived(
        "put", "method", "PATCH sets the fields it is given; no version is asked for"
    )


def _delete(operation: Operation) -> Derived:
    signals = Signals(operation)
    if {"pop", "dequeue", "next"} & {signals.verb, *signals.tail[:1]}:
        return Derived("action", "signal", "it takes the next one each time")
    mentioned = signals.mentions(ASSOCIATION)
    partner = operation.siblings.get("put")
    if isinstance(partner, dict) and not partner.get("requestBody"):
        mentioned.append("a PUT without a body makes it")
    association = [word for word in operation.id_words if word in ASSOCIATION]
    if len(mentioned) > 1 and (association or signals.mentions(ASSOCIATION)):
        return Derived(
            "put",
            "two signals",
            f"{' and '.join(mentioned[:2])}: an association ends",
            first="unassign",
        )
    if doubt := _reads(operation, signals):
        return doubt
    whole = not operation.ends_in_parameter and not _names_one(operation)
    if (
        whole
        and is_collection(operation)
        and not isinstance(operation.siblings.get("put"), dict)
    ):
        reason = f"DELETE of the collection {operation.tail!r}"
        return Derived("delete", "method", reason, confirm=True)
    return Derived(
        "delete", "method", "DELETE again ends in the same state (RFC 9110 9.2.2)"
    )


def _names_one(operation: Operation) -> bool:
    """Whether a DELETE without an identity in its path has one in its query."""
    for parameter in operation.parameters:
        name = words(parameter.get("name"))
        if (
            parameter.get("in") == "query"
            and parameter.get("required") is True
            and name
            and name[-1] not in SMALL
        ) and name[-1] in ("id", "key", "name", "uid", "slug", "path", "uuid"):
            return True
    return False
