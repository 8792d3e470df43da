"""A store that is away lets nothing through; one in a folder is nobody else's."""

import os
import stat
from pathlib import Path

import pytest
from fastmcp import Client

from copier_fastmcp_engine.errors import StartError
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.notes.store import STORE
from engine.tests.engine_support.raw import LEGACY, MODERN
from engine.tests.engine_support.targets import SETTINGS


@pytest.mark.anyio
@pytest.mark.parametrize("confirm", [False, True], ids=["first-call", "confirm"])
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_store_that_is_away_lets_nothing_through(
    era: str, confirm: bool
) -> None:
    server = create_server(
        SETTINGS.model_copy(update={"state": "redis://127.0.0.1:1/0"})
    )
    STORE.save(None, title="a")
    arguments = {"note_id": 1} | ({"confirm": True} if confirm else {})
    async with Client(server, mode=era) as client:
        answer = await client.call_tool("delete_note", arguments, raise_on_error=False)
    assert answer.is_error
    (said,) = (getattr(block, "text", "") for block in answer.content)
    assert said == "approvals cannot be kept at the moment; try again later", (
        "no address of ours"
    )
    assert list(STORE.notes) == [1]


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
def test_a_folder_of_questions_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        create_server(SETTINGS.model_copy(update={"state": str(tmp_path / "state")}))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="needs modes")
def test_a_folder_in_which_anybody_could_approve_stops_the_start(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    with pytest.raises(StartError, match="anybody could approve; run `chmod o-w "):
        create_server(SETTINGS.model_copy(update={"state": str(tmp_path / "state")}))
