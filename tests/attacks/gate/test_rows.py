"""The gate under attack and fault: each row changes nothing, or applies exactly what was agreed, once."""

from typing import Any

import anyio
import pytest
from attacks.gate.answers import ANSWERS, YES
from attacks.gate.attacked import ASK, DONE, STEP, TWO_STEP, serving
from attacks.raw import ELICITS, LEGACY, MODERN, Message, Raw, connect, outcome, user

from copier_fastmcp_engine.confirmation import pending
from copier_fastmcp_engine.guard import guard_of

# A call: `who: times* tool names`, then `confirm`, `bare` (never with it), `late` (its time is over), `other` (connection), or how it
# answers the first question by hand: <sealed, <no-state, <made-up, <altered, <elsewhere. STEP is what a client
# gets that cannot be asked; what is done in brackets is done only where such a client gets two steps.
TABLE = """
both | confirm-answers-for-nobody | form | decline | wipe a confirm = declined | -
both | first-call                 | form | decline | wipe a bare = FIRST | -
both | confirm-true-first         | none | -      | wipe a confirm = error; wipe a confirm = error | -
both | preview-twice              | none | -      | wipe a = STEP; wipe a = STEP | -
both | preview-applied            | none | -      | wipe a = STEP; wipe a confirm = APPLIED; wipe a confirm = error; wipe a confirm = error | (a)
both | preview-armed-by-preview   | none | -      | wipe a = STEP; wipe a confirm = APPLIED; wipe a = STEP; wipe a confirm = APPLIED | (a a)
both | preview-of-other-arguments | none | -      | wipe a = STEP; wipe b confirm = error; wipe b confirm = error | -
both | preview-of-other-tool      | none | -      | both a = STEP; wipe a confirm = error; wipe a confirm = error | -
both | preview-of-other-user      | none | -      | ann: wipe a = STEP; bob: wipe a confirm = error | -
old  | preview-of-other-session   | none | -      | wipe a = STEP; wipe a confirm other = error | -
both | preview-expired            | none | -      | wipe a = STEP; wipe a confirm late = error | -
both | preview-two-at-once        | none | -      | wipe a = STEP; 2* wipe a confirm = APPLIED error | (a)
both | preview-ten-at-once       | none | -      | wipe a = STEP; 10* wipe a confirm = APPLIED error; 2* wipe a confirm = error | (a)
both | preview-flood              | none | -      | wipe a = STEP; 40* wipe # = STEP; wipe a confirm = error | -
both | url-only                   | url  | accept | wipe a = STEP; wipe a = STEP | -
both | nobody-asked-invalid-field | form | accept | batch = error | -
both | nobody-asked-invalid-model | form | accept | batch a a = error | -
both | nobody-asked-preview-says  | form | accept | wipe gone = error | -
both | request-model              | form | accept | batch a b = applied | a b
both | body-asks                  | form | accept | outer = None | body
both | body-cannot-ask            | none | -      | outer = error | -
both | body-one-yes               | form | accept accept decline | both a = applied | a0
both | body-no-stays-no           | form | accept decline accept | both a = applied | a1
both | body-in-steps              | none | -      | both a = STEP; both a confirm = STEP; both a confirm = STEP; both a confirm = APPLIED | (a0 a1)
both | nested                     | form | accept | outer a = None | a
both | nested-declined            | form | decline | outer a = None | -
both | nested-cannot-ask          | none | -      | outer a = error | -
old  | nested-same-twice          | form | accept | outer a a = None | a a
new  | nested-same-twice          | form | accept | outer a a = error | a
old  | not-asked-again            | form | method-not-found accept | wipe a bare = MUTE; wipe b bare = STEP | -
old  | asked-again-before-a-step  | form | client-error decline | wipe a bare = MUTE; wipe a confirm = declined; wipe a confirm = declined | -
old  | preview-ends-with-the-form | form | decline client-error | wipe a bare = FIRST; wipe a confirm = FORM; wipe a confirm = error | -
old  | no-form-and-then-a-step    | form | client-error | wipe a bare = MUTE; wipe a confirm = APPLIED; wipe a confirm = error | (a)
new  | answer-without-state       | form | -      | wipe a = asked; wipe a <no-state = asked | -
new  | state-made-up              | form | -      | wipe a = asked; wipe a <made-up = error | -
new  | state-altered              | form | -      | wipe a = asked; wipe a <altered = error | -
new  | state-of-other-arguments   | form | -      | wipe a = asked; wipe b <sealed = error | -
new  | state-of-other-tool        | form | -      | wipe a = asked; both a <sealed = error | -
new  | state-of-other-user        | form | -      | ann: wipe a = asked; bob: wipe a <sealed = error; wipe a <sealed = error | -
new  | state-of-stopped-server    | form | -      | wipe a = asked; wipe a other <sealed = error | -
new  | state-replayed             | form | -      | wipe a = asked; wipe a <sealed = applied; wipe a <sealed = asked | a
new  | state-two-at-once          | form | -      | wipe a = asked; 2* wipe a <sealed = applied asked | a
new  | state-expired              | form | -      | wipe a = asked; wipe a <sealed late = error | -
new  | state-without-answer       | form | -      | wipe a = asked; wipe a <elsewhere = cancelled | -
"""
CAN: dict[str, Message] = {
    "form": ELICITS,
    "url": {"elicitation": {"url": {}}},
    "none": {},
}
ROWS = [
    pytest.param(era, *cells[2:], id=f"{cells[1]}-{era}")
    for cells in (
        [c.strip() for c in line.split("|")] for line in TABLE.strip().splitlines()
    )
    for era in {"both": [LEGACY, MODERN], "old": [LEGACY], "new": [MODERN]}[cells[0]]
]


def forged(state: str, how: str) -> Message:
    """A yes to a question, sent with its sealed state, with none, or with one that is not ours."""
    altered = state[:-9] + ("B" if state[-9] == "A" else "A") + state[-8:]
    sealed = {"no-state": None, "made-up": "asked-0", "altered": altered}.get(
        how, state
    )
    key = "else" if how == "elsewhere" else "confirmation"
    return {"requestState": sealed, "inputResponses": {key: YES}}


async def make(call: str, raws: list[Raw], ask: Message) -> set[str]:
    """Make a call of the table, or several at once; what they come to."""
    who, _, call = call.rpartition(": ")
    times, _, call = call.rpartition("* ")
    tool, *words = call.split()
    state = [word for word in words if word[0] == "<"]
    names = [
        word
        for word in words
        if word not in ("confirm", "bare", "late", "other", *state)
    ]
    more = {"name": f"zz_{tool}"} | (
        forged(raws[0].states[0], state[0][1:]) if state else {}
    )
    await anyio.sleep(0.3 if "late" in words else 0)
    sent, raw = [], raws["other" in words]
    for number in range(int(times or 1)):
        arguments: Message = (
            {"names": names} if tool in ("batch", "outer") else {"name": names[0]}
        )
        if names == ["#"]:
            arguments = {"name": str(number)}
        bare = tool == "outer" or "bare" in words
        arguments |= {"confirm": True} if "confirm" in words else {} if bare else ask
        with user(who):
            sent.append(await raw.send("tools/call", arguments=arguments, **more))
    return {outcome(await raw.receive(number)) for number in sent}


@pytest.mark.anyio
@pytest.mark.parametrize(("era", "can", "says", "calls", "done"), ROWS)
async def test_row(
    era: str,
    can: str,
    says: str,
    calls: str,
    done: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = request.node.name
    if ASK and "before-a-step" in row:
        pytest.skip("nobody is asked by a first call")
    monkeypatch.setattr(pending, "MAX_ENTRIES", 20)
    server = serving(0.2 if "expired" in row else 600)
    store: Any = guard_of(server).gate.store
    get = store.get

    async def slow(*asked: Any, **more: Any) -> Any:
        entry = await get(*asked, **more)
        if "at-once" in row:  # as over a network: both have read before one deletes
            await anyio.sleep(0.02)
        return entry

    monkeypatch.setattr(store, "get", slow)
    answers = [ANSWERS[name][0] for name in says.split() if name != "-"]
    second = serving() if "stopped" in row else server
    async with (
        connect(server, era, *answers, can=CAN[can]) as raw,
        connect(second, era, can=CAN[can]) as other,
    ):
        for call in calls.split("; "):
            call, _, expected = call.partition(" = ")
            outcomes = await make(call, [raw, other], ASK if can == "form" else {})
            words = {"STEP": STEP, "APPLIED": "applied" if TWO_STEP else "error"}
            words["FIRST"] = "preview" if ASK else "declined"
            words["FORM"] = "declined" if ASK else "error"
            words["MUTE"] = "preview" if ASK else STEP
            assert outcomes == {words.get(word, word) for word in expected.split()}
        assert not (raw.questions and "nobody-asked" in row)
    assert len(await store.keys(collection=pending.COLLECTION)) <= pending.MAX_ENTRIES
    assert (done.strip("-()").split() if TWO_STEP or done[0] != "(" else []) == DONE


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.skipif(not TWO_STEP, reason="there are no two steps")
async def test_what_confirm_says_when_nothing_is_pending(era: str) -> None:
    server, said = serving(), []
    async with connect(server, era, can={}) as raw:
        for arguments in (
            {"name": "a", "confirm": True},
            {"name": "a"},
            {"name": "a", "confirm": True},
            {"name": "a", "confirm": True},
            {"name": "fails"},
            {"name": "fails", "confirm": True},
            {"name": "fails", "confirm": True},
        ):
            call: Message = {"name": "zz_wipe", "arguments": arguments}
            message = await raw.receive(await raw.send("tools/call", **call))
            said.append(message["result"]["content"][0]["text"])
    assert said[0].startswith("nothing is pending for zz_wipe with these arguments: ")
    assert (
        said[3]
        == "zz_wipe was applied before with these arguments, and is not applied twice"
    )
    assert said[6] == said[0]
    assert DONE == ["a"]
