"""Sixty questions at once: each call gets its own answer, and nothing of it is kept."""

import asyncio
import gc
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult

from copier_fastmcp_engine.confirmation.pending import COLLECTION
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.notes.store import STORE
from engine.tests.engine_support.raw import LEGACY, MODERN
from engine.tests.engine_support.targets import SETTINGS

ROUNDS = 4
NUMBERS = range(1, 61)
# The users' answers in turn, and the outcomes of their calls.
ANSWERS: list[ElicitResult[dict[str, bool]]] = [
    ElicitResult(action="accept", content={"confirm": True}),
    ElicitResult(action="accept", content={"confirm": False}),
    ElicitResult(action="decline"),
    ElicitResult(action="cancel"),
]
OUTCOMES = ["applied", "declined", "declined", "cancelled"]


@pytest.fixture(autouse=True)
def _no_log() -> Iterator[None]:
    """Without pytest's own list of log records, which grows."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


async def answer_by_number(message: str, *_: object) -> ElicitResult[dict[str, bool]]:
    """Answer by the number in the question, some sooner than others."""
    number = int(message.split("note_id: ")[1])
    await asyncio.sleep(number % 7 / 100)
    return ANSWERS[number % 4]


async def ask_crowd(server: FastMCP[Any], era: str) -> int:
    """Ask every question at once; return how many objects Python keeps afterwards."""
    async with Client(server, mode=era, elicitation_handler=answer_by_number) as client:
        calls = [
            client.call_tool("send_note", {"note_id": number}) for number in NUMBERS
        ]
        results = await asyncio.gather(*calls)
    for number, result in zip(NUMBERS, results, strict=True):
        content = result.structured_content or {}
        assert content["outcome"] == OUTCOMES[number % 4]
    assert sorted(STORE.sent) == [number for number in NUMBERS if number % 4 == 0]
    STORE.sent.clear()
    store: Any = guard_of(server).gate.store
    assert await store.keys(collection=COLLECTION) == []
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_each_call_gets_its_own_answer(era: str) -> None:
    server = create_server(SETTINGS)
    await ask_crowd(server, era)
    # A leak grows with each crowd; what other tests left in this process, and caches, grow once.
    counts = [await ask_crowd(server, era)]
    for _ in range(ROUNDS):
        counts.append(await ask_crowd(server, era))
        if counts[-1] - counts[-2] < len(NUMBERS):
            return
    pytest.fail(f"more than one object for each question stays: {counts}")
