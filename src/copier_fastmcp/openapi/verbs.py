"""The meaning of words in operations: the first word of an operationId or summary, the last of a path.

There are four vocabularies of verbs, since the same verb means different things in different places. `tables.json` has
the verbs of the tool language, whose meaning a release never changes. This module reads the names of an API, where the
method of HTTP is known too: a PUT named `link` differs from a POST. `auditing/audit.json` reads the names and the
sentences of any server, by the kind of act and with a certainty. `analysis/effects.json` reads the methods of client
libraries, where `hget` and `ack` are verbs. `tests/openapi/test_vocabularies.py` keeps their common verbs in agreement.
"""

from copier_fastmcp_engine.testing.rules import list_verb_forms


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, as a set."""
    return frozenset(text.split())


READ = word_set(
    "get list search query find filter lookup fetch read show count check describe validate "
    "preview estimate diff compare retrieve view browse explain inspect suggest autocomplete "
    "introspect download head peek exists has is describes summarize aggregate paginate"
)
# Of these a POST is believed, when a second signal agrees.
READ_BY_POST = word_set(
    "search query find filter list lookup count validate check preview estimate diff get batchget "
    "fetch retrieve compare explain suggest autocomplete aggregate paginate"
)
# At the end of a path, `read` is as often what is marked as read.
SPOKEN_READS = READ_BY_POST | {"read"}
CREATE = word_set(
    "create add new insert register make post submit open fork clone copy duplicate reply"
)
ENSURE = word_set("ensure")
UPSERT = word_set("upsert")
PUT = word_set(
    "archive unarchive enable disable assign unassign lock unlock star unstar pin unpin mute unmute "
    "follow unfollow block unblock close reopen activate deactivate suspend unsuspend pause resume "
    "hide unhide mark approve unapprove accept decline reject deny dismiss resolve unresolve restore "
    "subscribe unsubscribe watch unwatch like unlike unpublish attach detach link unlink upvote "
    "promote demote complete snooze flag unflag tag untag favorite unfavorite bookmark minimize "
    "unminimize set replace update edit modify patch rename move change put write overwrite unset "
    "save configure unarchived map unmap acknowledge resize"
)
UPDATE = word_set(
    "update edit modify patch change set replace put write rename save configure"
)
DELETE = word_set(
    "delete remove destroy cancel revoke purge reset clear drop erase wipe uninstall expire "
    "terminate invalidate flush prune discard trash forget kill unregister deregister del abort"
)
ACTION = word_set(
    "send run start stop publish pay execute trigger retry rerun sync synchronize refresh import "
    "generate deploy merge transfer dispatch convert invite confirm capture refund charge notify "
    "invoke launch restart reboot redeliver process rebuild migrate rotate regenerate resend "
    "replay rollback revert undo toggle increment decrement apply broadcast login logout signin "
    "signout authorize authenticate ping test build reindex perform wake request rerequest do "
    "materialize simulate poll pull push exec enqueue submit ack pop dequeue consume claim join leave "
    "exchange initialize initiate init begin establish bootstrap provision shutdown finalize renew compact "
    "heartbeat impersonate"
)
TOGGLE = word_set("toggle increment decrement append")
# A membership, and what its end is called; taking it back loses nothing but the association.
ASSOCIATION = word_set(
    "star unstar follow unfollow watch unwatch like unlike tag untag assign unassign pin unpin "
    "mute unmute block unblock subscribe unsubscribe link unlink lock unlock favorite unfavorite "
    "bookmark detach unset upvote unmap disable"
)
# Of these a PUT without a body only adds.
ADDING = word_set(
    "star follow watch like pin subscribe favorite bookmark upvote add join attach link tag"
)
# Nothing safe begins with one of these, whatever the method says.
DOING = (DELETE | ACTION | PUT | CREATE) - word_set(
    "ping test post open set put patch new mark tag flag star like watch lock link map block copy "
    "request import process build reply do build change fork merge diff scan complete move"
)
# Things that are started, sent or paid by being created.
# A restore from one of these replaces what is there; a restore of a note brings it back.
COPIES = word_set("backup backups dump dumps snapshot snapshots")
STARTED = word_set(
    "run runs execution executions job jobs dispatch dispatches invocation invocations payment "
    "payments charge charges payout payouts refund refunds deployment deployments build builds "
    "transfer transfers backfill backfills"
)
# Imperatives that are as often nouns: they count where their object follows.
DOUBLE = word_set(
    "set put patch post open mark tag flag star like watch lock link map block copy import "
    "process build reply change fork merge scan complete move test pin submit share report rate vote "
    "play grant schedule record track log sign book order buy sell withdraw deposit call dial reserve "
    "allocate release reload kick ban mount install upgrade upload redeem provision indicate"
)
MOVING = word_set("set copy move")
OBJECTS = word_set("a an the all your this these that it them one new as")
# What can be done in addition to reading: "Returns a message and deletes it".
BESIDE = DELETE | word_set("create send acknowledge save consume dequeue archive")
# Nouns, too, unless they have an object
BESIDE_IT = word_set("mark store update move copy lock set")
# Behind one of these somebody else acts: "the users who can create and delete notes".
OTHERS = word_set(
    "that which who whom whose to can could may for if whether how when where"
)
SMALL = word_set("a an the of in on for to from by with and or at as into")
# What a tool file itself uses; the template refuses these as names of tools.
RESERVED = word_set(
    "action annotated any api append backend bool create ctx delete dict dt ensure field float given int "
    "len list parsed put quoted read resource str update uuid4"
)
# What "Get a ..." makes anew where a POST says it: a presigned link, a ticket, a one-time code.
MADE_ON_REQUEST = word_set(
    "token tokens upload uploads presigned presign signed link links ticket tickets credential credentials "
    "secret session sessions otp invite invitation checkout magic"
)
# What completing something is, where it is no state that is set: a login, an upload, a payment.
STEPS = word_set(
    "flow flows login registration signup checkout authentication authorization upload payment setup challenge "
    "verification recovery handshake"
)
ALL_VERBS = READ | READ_BY_POST | CREATE | ENSURE | UPSERT | PUT | DELETE | ACTION


def base(word: str) -> str:
    """A verb without the ending of the third person: `Deletes`, `searches`, `copies`."""
    word = word.lower()
    for form in list_verb_forms(word):
        if form in ALL_VERBS:
            return form
    return word
