"""A form on a page: what it shows, and what becomes of it when it is sent or left."""

import re
from typing import Any, Literal

import httpx2
import pytest
from fastmcp import Context
from pydantic import BaseModel, Field
from starlette.applications import Starlette

from copier_fastmcp_engine.confirmation.questions import ask
from copier_fastmcp_engine.declarations import action
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.pages.routes import Shown, read_values, routes
from engine.tests.engine_support.paging import (
    PAGE_SETTINGS,
    answer_page,
    find_link,
    text_of,
)
from engine.tests.engine_support.raw import Message, Raw, connect
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("here")]


class Parcel(BaseModel):
    """What is sent."""

    street: str = Field(title="Street <1>")
    floors: int = 3
    weight: float
    note: str = ""
    express: bool = True
    fragile: bool = False
    insured: bool
    country: Literal["DE", "FR"] = "FR"


@action(title="Send a parcel", destructive=False)
async def send_parcel(ctx: Context) -> str:
    """Send it."""
    parcel = await ask(ctx, "Where to?", Parcel)
    DONE.append(parcel.model_dump_json())
    return "sent"


async def send(raw: Raw) -> Message:
    """Return the response to a call."""
    return await raw.receive(
        await raw.send("tools/call", name="send_parcel", arguments={})
    )


@pytest.fixture
def server() -> Any:
    """A server that asks for a parcel on a page."""
    return make_target_server(600, send_parcel, settings=PAGE_SETTINGS)


def find_inputs(page: str) -> dict[str, str]:
    """Return the element of each field by its name."""
    elements = re.findall(r'(<(?:input|select)[^>]* name="field-(\w+)"[^>]*>)', page)
    return {name: element for element, name in elements}


async def test_a_page_shows_each_field_as_its_type(
    server: Any, browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(server, era, can={}) as raw:
        page = (await browser.get(find_link(await send(raw)))).text
    assert find_inputs(page) == {
        "street": '<input type="text" name="field-street" required>',
        "floors": '<input type="number" step="1" name="field-floors" value="3">',
        "weight": '<input type="number" step="any" name="field-weight" required>',
        "note": '<input type="text" name="field-note" value="">',
        "express": '<input type="checkbox" name="field-express" checked>',
        "fragile": '<input type="checkbox" name="field-fragile">',
        # Required, but not to be ticked
        "insured": '<input type="checkbox" name="field-insured">',
        "country": '<select name="field-country">',
    }
    assert "<option>DE</option><option selected>FR</option>" in page
    assert "Street &lt;1&gt;" in page
    assert ">Send</button>" in page
    assert ">Cancel</button>" in page


async def test_a_form_that_is_sent_fills_in_the_model(
    server: Any, browser: httpx2.AsyncClient, era: str
) -> None:
    fields = {
        "field-street": "Main",
        "field-weight": "1.5",
        "field-fragile": "on",
        "field-country": "DE",
    }
    async with connect(server, era, can={}) as raw:
        link = find_link(await send(raw))
        wrong = fields | {"field-floors": "many"}
        assert await answer_page(browser, link, **wrong) == 400
        assert await answer_page(browser, link, **fields) == 200
        assert text_of(await send(raw)) == "sent"
        # What was filled in answers one call
        assert find_link(await send(raw)) != link
    parcel = Parcel(
        street="Main",
        weight=1.5,
        express=False,
        fragile=True,
        insured=False,
        country="DE",
    )
    assert [parcel.model_dump_json()] == DONE


async def test_a_form_that_is_left_sends_nothing(
    server: Any, browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(server, era, can={}) as raw:
        link = find_link(await send(raw))
        assert await answer_page(browser, link, "decline") == 200
        message = await send(raw)
    assert message["result"]["isError"]
    assert "Where to?" in text_of(message)
    assert DONE == []


async def test_fields_are_read_in_their_types() -> None:
    schema = Parcel.model_json_schema()
    sent = {"field-street": "a", "field-floors": "4", "field-weight": "1.5"}
    assert read_values(schema, sent | {"field-express": "on"}) == {
        "street": "a",
        "floors": 4,
        "weight": 1.5,
        "express": True,
        "fragile": False,
        "insured": False,
    }


@pytest.mark.parametrize(
    ("sent", "line"),
    [
        ({"field-street": ""}, "^Street <1> is empty$"),
        ({"field-weight": ""}, "^Weight is empty$"),
        ({"field-weight": "heavy"}, "^heavy is not a number$"),
        ({"field-floors": "1.5"}, "^1.5 is not a number$"),
        ({"field-country": "US"}, "^US is not one of DE, FR$"),
    ],
)
async def test_a_field_that_does_not_fit_is_refused(
    sent: dict[str, str], line: str
) -> None:
    fields = {"field-street": "a", "field-floors": "4", "field-weight": "1.5"}
    with pytest.raises(ValueError, match=line):
        read_values(Parcel.model_json_schema(), fields | sent)


class OnePage:
    """Pages of which one is open, whatever the link.

    Args:
        schema: The schema of its form, if it has one.
        is_overtaken: Whether another answer overtakes each answer.
    """

    def __init__(
        self, schema: Message | None = None, *, is_overtaken: bool = False
    ) -> None:
        """Keep what the page is."""
        self.schema = schema
        self.is_overtaken = is_overtaken

    async def find_shown(self, link: str) -> Shown:
        """Return the page."""
        base = "http://127.0.0.1:1"
        return Shown("notes", "send", "Where to?", [], [], base, self.schema)

    async def decide(
        self, link: str, approved: bool, values: dict[str, Any] | None = None
    ) -> bool:
        """Take the answer."""
        return not self.is_overtaken


def open_browser(pages: OnePage) -> httpx2.AsyncClient:
    """Return a browser that reaches these pages."""
    transport = httpx2.ASGITransport(Starlette(routes=routes(pages)))
    return httpx2.AsyncClient(transport=transport)


async def test_a_field_without_a_title_is_shown_by_its_name() -> None:
    schema = {"properties": {"street": {"type": "string"}}, "required": ["street"]}
    async with open_browser(OnePage(schema)) as browser:
        page = await browser.get("http://127.0.0.1:1/confirm?link=a")
    assert "<label>street<br>" in page.text
    with pytest.raises(ValueError, match=r"^street is empty$"):
        read_values(schema, {})


@pytest.mark.parametrize(("is_overtaken", "status"), [(False, 200), (True, 410)])
async def test_an_answer_that_another_one_overtakes_is_told_so(
    is_overtaken: bool, status: int
) -> None:
    async with open_browser(OnePage(is_overtaken=is_overtaken)) as browser:
        link = "http://127.0.0.1:1/confirm?link=a"
        assert await answer_page(browser, link) == status


async def test_a_form_is_not_answered_without_its_values(
    server: Any, browser: httpx2.AsyncClient, era: str
) -> None:
    pages = guard_of(server).gate.pages
    async with connect(server, era, can={}) as raw:
        link = find_link(await send(raw)).partition("link=")[2]
        assert not await pages.decide(link, approved=True)
        assert "Open http" in text_of(await send(raw))
    assert DONE == []
