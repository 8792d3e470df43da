"""A page outside the conversation, for people whose client cannot ask them.

A link is random, expires and is used once; it holds for one caller and one call. Who approved
is a person where we or the client opened the page, and no more than the client where the link stood in an answer.
"""

import hashlib
import json
import logging
import os
import secrets
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_http_request
from mcp.server.request_state import InvalidRequestState, RequestStateCodec
from mcp_types import ElicitRequestURLParams, ElicitResult

from ..confirmation import elicitation
from ..confirmation.elicitation import PROCESS, caller_of, shows_links
from ..confirmation.gate import Call, applied_before
from ..confirmation.pending import PendingStore
from ..texts import cut, join_lines
from .listener import REDACTED, Listener
from .routes import PATH, Shown, routes

# So many new pages an identified caller gets within so many seconds, and so many of them open in a browser by themselves
MOST, WITHIN = 3, 60
# Seconds that a call waits for the user, and between two looks at the store
WAIT, PACE = (
    20.0,
    0.25,
)
LONGEST = 100_000  # characters of one value
DECIDE = "Nothing was changed so far. Repeat the call to get the decision."


class Pages:
    """The open pages of one server."""

    def __init__(
        self,
        gate: PendingStore,
        codec: RequestStateCodec,
        browser: Literal["auto", "never"],
        server_url: str | None,
    ) -> None:
        self._gate, self._codec, self._browser, self._url = (
            gate,
            codec,
            browser,
            server_url,
        )
        self._listener = Listener(routes(self))
        self._lock = anyio.Lock()
        self._opened: list[float] = []  # when browsers were opened

    def serve(self, mcp: FastMCP[Any]) -> None:
        """Serve the pages over the server's own HTTP."""
        logging.getLogger("uvicorn.access").addFilter(REDACTED)
        for route in routes(self):
            mcp.custom_route(route.path, methods=sorted(route.methods or ()))(
                route.endpoint
            )

    def reaches(self, ctx: Context) -> bool:
        """Tell whether the user can open a page: never one of another machine."""
        return not is_local(ctx) or not elsewhere()

    async def answer_for(self, key: str) -> dict[str, Any] | None:
        """Return the decision for a call: an approval once, a refusal until it expires."""
        entry = self._unseal(await self._gate.get(f"decision-{key}"))
        if entry is None:
            return None
        is_yes = isinstance(entry["answer"], dict) or entry["answer"] == "confirmed"
        if not is_yes and not entry["answers"]:
            return entry
        # Before the decision is gone, for calls that wait
        await self._gate.put(f"done-{key}", {"page": True})
        return self._unseal(await self._gate.take(f"decision-{key}"))

    async def ask(self, call: Call, about: Mapping[str, Any]) -> dict[str, Any] | str:
        """Open the page of a call, or find it open, and wait a while.

        Returns:
            What was decided, or where the person can still decide.

        Raises:
            ToolError: Another call with the same arguments was applied, or there were too many pages.
            Asked: The client is to show the link first.
        """
        key, first = call.key, not call.loaded
        async with self._lock:
            # In the order in which an answer passes through them: page, decision, done
            page = await self._open(key)
            if page is None and (entry := await self.answer_for(key)):
                return entry
            if page is None and first and (before := await applied_before(call)):
                raise ToolError(before)
            new = page is None
            page = page or await self._begin(call, about)
        if await self._has_refused_link(call.ctx, page):
            await self.decide(page["link"], approved=False)
        looks = 0 if new and page["by"] == "client" else round(WAIT / PACE)
        for _ in range(looks):
            if not await self._open(key):
                break
            await anyio.sleep(PACE)
        if await self._open(key):
            where = (
                "The page is open"
                if page["by"] == "person"
                else f"Open {_address(page)}"
            )
            minutes = max(1, round((page["until"] - time.time()) / 60))
            return f"{where}, to decide within {minutes} minutes. {DECIDE}"
        if entry := await self.answer_for(key):
            return entry
        if first and (before := await applied_before(call)):
            raise ToolError(before)
        return {**about, "answer": "timed_out", "by": None}

    async def find_shown(self, link: str) -> Shown | None:
        """Return the content of a link's page, while it is open."""
        row = await self._gate.get(f"link-{_hash_link(link)}")
        page = await self._open(str(row["key"])) if row else None
        if page is None or not secrets.compare_digest(str(page["link"]), link):
            return None
        arguments, details = (
            [(n, v) for n, v in page[name]] for name in ("arguments", "details")
        )
        server, tool, question, base = (
            str(page[name]) for name in ("server", "tool", "question", "base")
        )
        return Shown(
            server,
            tool,
            question,
            arguments,
            details,
            base,
            page.get("schema"),
        )

    async def decide(
        self,
        link: str,
        approved: bool,
        values: dict[str, Any] | None = None,
    ) -> bool:
        """Take the answer of a link, once; whether it still counted.

        Args:
            link: The link.
            approved: Whether the answer is yes, or the form is filled in.
            values: The values of the form, where the page has one.
        """
        page_text, row = (
            await self.find_shown(link),
            await self._gate.take(f"link-{_hash_link(link)}"),
        )
        page = await self._open(row["key"]) if page_text and row else None
        if page is None:
            return False
        answer: object = "confirmed" if approved else "declined"
        if approved and page.get("schema") is not None:
            if values is None:
                return False
            answer = values
        decision = {name: page[name] for name in ("asked", "answers", "by")}
        await self._gate.put(
            f"decision-{page['key']}", self._seal(decision | {"answer": answer})
        )
        await self._gate.take(f"page-{page['key']}")
        self._listener.close(str(page["key"]))
        return True

    async def _open(self, key: str) -> dict[str, Any] | None:
        """Return the page of a call, while it is pending."""
        page = self._unseal(await self._gate.get(f"page-{key}"))
        return page if page and page["until"] > time.time() else None

    async def _begin(self, call: Call, about: Mapping[str, Any]) -> dict[str, Any]:
        until, link, ctx = (
            time.time() + self._gate.seconds,
            secrets.token_urlsafe(32),
            call.ctx,
        )
        await self._count(caller_of(ctx))
        if is_local(ctx):
            base = await self._listener.open(until, call.key)
        else:
            base = (self._url or str(get_http_request().base_url)).rstrip("/")
        rows = {name: _format_rows(about[name]) for name in ("arguments", "details")}
        page: dict[str, Any] = {
            **about,
            **rows,
            "key": call.key,
            "link": link,
        }
        page["question"] = join_lines(str(about["question"]))
        page |= {
            "server": ctx.fastmcp.name,
            "tool": call.tool,
            "until": until,
            "base": base,
        }
        shows = await shows_links(ctx, self._gate)
        opened = (
            not shows
            and self._may_open_browser(ctx)
            and self._count_opening()
            and await _open_browser(_address(page), until)
        )
        page["by"] = "person" if shows or opened else "client"
        await self._gate.put(f"link-{_hash_link(link)}", {"key": call.key})
        await self._gate.put(f"page-{call.key}", self._seal(page))
        return page

    def _seal(self, entry: Mapping[str, Any]) -> dict[str, str]:
        """Return an entry of the store that only this server can read."""
        return {"sealed": self._codec.seal(json.dumps(entry).encode())}

    def _unseal(self, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the content of such an entry; None for that of a server that is gone."""
        if row is None:
            return None
        try:
            content: dict[str, Any] = json.loads(self._codec.unseal(row["sealed"]))
        except InvalidRequestState:
            return None
        return content

    async def _has_refused_link(self, ctx: Context, page: Mapping[str, Any]) -> bool:
        """Show the link through a client that can; tell whether the user refused to open it."""
        if not await shows_links(ctx, self._gate):
            return False
        answer = elicitation.response_to(ctx, "confirmation")
        if answer is None:
            link = ElicitRequestURLParams(
                message=f"{page['server']} asks: {page['question']}",
                url=_address(page),
                elicitation_id=None if elicitation.is_modern(ctx) else str(page["key"]),
            )
            if elicitation.is_modern(ctx):
                raise elicitation.input_required("confirmation", link, str(page["key"]))
            try:
                answer = await elicitation.elicit(
                    ctx, self._gate, link, self._gate.seconds
                )
            except TimeoutError:
                return False
        return isinstance(answer, ElicitResult) and answer.action == "decline"

    def _may_open_browser(self, ctx: Context) -> bool:
        """Tell whether a browser may be opened: only next to a person, and never a text browser."""
        has_screen = sys.platform in ("win32", "darwin") or bool(
            _list_set_variables("DISPLAY", "WAYLAND_DISPLAY")
        )
        return self._browser == "auto" and is_local(ctx) and has_screen

    def _count_opening(self) -> bool:
        """Count a page that opens by itself; False where there were too many, and the link is in the result instead."""
        now = time.time()
        self._opened = [then for then in self._opened if now - then < WITHIN]
        if len(self._opened) >= MOST:
            return False
        self._opened.append(now)
        return True

    async def _count(self, caller: str) -> None:
        """Count a new page of a caller; the process is no caller but what clients share that name themselves nowhere."""
        if caller == PROCESS:
            return
        now, name = time.time(), f"pages-{caller}"
        row = await self._gate.get(name) or {"times": []}
        times = [then for then in row["times"] if now - then < WITHIN]
        if len(times) >= MOST:
            seconds = round(WITHIN - now + times[0]) + 1
            raise ToolError(
                f"{MOST} pages a minute are the limit; try again in {seconds} seconds"
            )
        await self._gate.put(name, {"times": [*times, now]})


def is_local(ctx: Context) -> bool:
    """Tell whether the client started this server, on its own machine."""
    return ctx.transport in (None, "stdio")


def elsewhere() -> bool:
    """Tell whether no user is at this machine: over SSH, in a container, under CI."""
    return bool(
        _list_set_variables(
            "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CI", "container"
        )
        or any(Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv"))
    )


def _list_set_variables(*names: str) -> list[str]:
    return [name for name in names if os.environ.get(name)]


def _address(page: Mapping[str, Any]) -> str:
    return f"{page['base']}{PATH}?{urlencode({'link': page['link']})}"


def _hash_link(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()


def _format_rows(values: object) -> list[tuple[str, str]]:
    """Names and values as a page shows them: whole, with nothing hidden in them."""

    def text(value: object) -> str:
        is_text = isinstance(value, str)
        plain = str(value) if is_text else json.dumps(value, ensure_ascii=False)
        return join_lines(cut(plain, LONGEST, f" ({len(plain):,} characters)"))

    if values is None:
        return []
    named = values if isinstance(values, Mapping) else {"": values}
    return [(text(str(name)), text(value)) for name, value in named.items()]


async def _open_browser(address: str, until: float) -> bool:
    """Open the page through a file that only its owner reads: no list of processes shows the link."""
    descriptor, name = tempfile.mkstemp(suffix=".html", prefix="confirm-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        where = escape(address)
        file.write(
            f'<!doctype html><meta http-equiv="refresh" content="0;url={where}">'
        )
    failed: list[bool] = []
    done = threading.Event()

    def work() -> None:
        try:
            failed.append(not webbrowser.open(Path(name).as_uri()))
        except Exception:
            failed.append(True)
        done.set()

    # A thread of our own: a browser that blocks must not keep the server from ending
    threading.Thread(target=work, daemon=True).start()
    await anyio.to_thread.run_sync(done.wait, 3)
    opened = not any(failed)
    remaining = until - time.time() if opened else 0
    remover = threading.Timer(remaining, Path(name).unlink, kwargs={"missing_ok": True})
    remover.daemon = True
    remover.start()
    return opened
