"""Every answer to a question: only an accepted form with the boolean true applies, and shows what it asks."""

import anyio
import pytest
from attacks.gate.answers import ANSWERS
from attacks.gate.attacked import ASK, DONE, serving
from attacks.raw import LEGACY, MODERN, Message, connect, outcome
from fastmcp import FastMCP


@pytest.mark.anyio
@pytest.mark.parametrize("mounted", [False, True], ids=["alone", "mounted"])
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("name", ANSWERS)
async def test_answer(name: str, era: str, mounted: bool) -> None:
    answer, *outcomes = ANSWERS[name]
    server = serving(0.2 if name == "time-out" else 600)
    parent = FastMCP("parent") if mounted else server
    if mounted:
        parent.mount(server)
    which = "a\x1b[2J" + "b" * 100
    async with connect(parent, era, answer) as raw:
        call: Message = {"name": "zz_wipe", "arguments": {"name": which} | ASK}
        message = await raw.receive(await raw.send("tools/call", **call))
    assert outcome(message) == outcomes[era == MODERN]
    seen = f"a\ufffd[2J{'b' * 100}"
    asked = f"{seen[:79]}… (105 characters)"
    assert raw.questions == [
        f"{server.name} asks: Wipe {asked} of us?\nname: {seen}\ndone: []\nby⏎: \ufffd\ufffd{seen}"
    ]
    assert ([which] if name == "accept" else []) == DONE


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("confirm", ["yes", "true", 1, [True]], ids=str)
async def test_confirm_is_the_boolean_or_refused(confirm: object, era: str) -> None:
    async with connect(serving(), era, can={}) as raw:
        for given in (False, confirm):
            call: Message = {
                "name": "zz_wipe",
                "arguments": {"name": "a", "confirm": given},
            }
            message = await raw.receive(await raw.send("tools/call", **call))
    assert outcome(message) == "error"
    assert DONE == []


@pytest.mark.anyio
@pytest.mark.parametrize("leaves", ["client", "server"])
async def test_one_side_leaves_while_asked(leaves: str) -> None:
    async with connect(serving(), LEGACY) as raw:
        await raw.send("tools/call", name="zz_wipe", arguments={"name": "a"} | ASK)
        await raw.next()
        assert raw.questions
        if leaves == "client":
            await raw.write.aclose()
            await anyio.sleep(0.05)
    assert DONE == []
