"""What a browser sees of a confirmation: the page that asks, and what became of it.

GET changes nothing; POST counts with the cookie of the browser that saw the page, from our own
origin. All texts of others are escaped, and nothing is loaded from anywhere.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

PATH = "/confirm"
FIELD = "field-"  # how the names of a form's fields begin
LONGEST = 10_000  # bytes of a form that is sent
STYLE = (
    "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem}"
    "dt{font-weight:bold;margin-top:.7rem}dd{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;overflow-wrap:anywhere;white-space:pre-wrap}"
    "button{font:inherit;padding:.7rem 1.4rem;margin:1.5rem 1rem 0 0;min-width:8rem}"
    ":root{color-scheme:light dark}"
)
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    # so that browsers send the origin of the form; with no-referrer it would be null
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
OVER = "This page was already used or has expired. Return to the application."
TITLES = {"approve": "Approved", "decline": "Declined"}
DONE = "You may close this window and return to the application."


class Shown(NamedTuple):
    """The content of a page."""

    server: str
    tool: str
    question: str
    arguments: Sequence[tuple[str, str]]
    details: Sequence[tuple[str, str]]
    base: str  # where it is served, exactly
    schema: Mapping[str, Any] | None = None  # of the form to fill in, if there is one


class Pages(Protocol):
    """The store of pages."""

    async def find_shown(self, link: str) -> Shown | None:
        """Return the content of a link's page, while it is open."""

    async def decide(
        self, link: str, approved: bool, values: dict[str, Any] | None = None
    ) -> bool:
        """Take the answer of a link, once, with the values of its form; whether it still counted."""


def routes(pages: Pages) -> list[Route]:
    """The one address, for the page and for its answer."""

    async def ask(request: Request) -> Response:
        link = request.query_params.get("link", "")
        page = await pages.find_shown(link)
        if page is None or not _is_own_host(request, page.base):
            return _render_page("No Longer Open", f"<p>{OVER}</p>", 410)
        browser = secrets.token_urlsafe(32)
        response = _render_page(
            page.question, _render_form(page, link, _proof(browser, link))
        )
        response.set_cookie(
            _cookie(link),
            browser,
            path=PATH,
            secure=page.base.startswith("https://"),
            httponly=True,
            samesite="strict",
        )
        return response

    async def answer(request: Request) -> Response:
        form = await _read_form(request)
        link, word = form.get("link", ""), form.get("answer", "")
        page = await pages.find_shown(link)
        if page is None or not _is_own_host(request, page.base):
            return _render_page("No Longer Open", f"<p>{OVER}</p>", 410)
        browser = request.cookies.get(_cookie(link), "")
        sent_proof = form.get("proof", "").encode()
        proof = secrets.compare_digest(_proof(browser, link).encode(), sent_proof)
        origin = request.headers.get("origin") == _origin(page.base)
        if not (browser and proof and origin and word in TITLES):
            text = "<p>The answer did not come from this page. Open its link again.</p>"
            return _render_page("Not Accepted", text, 403)
        values: dict[str, Any] | None = None
        if page.schema is not None and word == "approve":
            try:
                values = read_values(page.schema, form)
            except ValueError as error:
                text = f"<p>{escape(str(error))}. Go back and fill it in.</p>"
                return _render_page("Not Accepted", text, 400)
        if not await pages.decide(link, word == "approve", values):
            return _render_page("No Longer Open", f"<p>{OVER}</p>", 410)
        title = TITLES[word] if values is None else "Answered"
        return _render_page(title, f"<p>{DONE}</p>")

    return [Route(PATH, ask, methods=["GET"]), Route(PATH, answer, methods=["POST"])]


def _is_own_host(request: Request, base: str) -> bool:
    """Tell whether a browser used the listener's own host name, not another name of this machine."""
    parts = urlsplit(base)
    return parts.hostname != "127.0.0.1" or request.headers.get("host") == parts.netloc


def _origin(base: str) -> str:
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"


def _cookie(link: str) -> str:
    return f"confirm-{hashlib.sha256(link.encode()).hexdigest()[:16]}"


def _proof(browser: str, link: str) -> str:
    return hashlib.sha256(f"{browser}.{link}".encode()).hexdigest()


async def _read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a form; none where it is too long to be ours."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST:
            return {}
    fields = parse_qs(body.decode("ascii", "replace"))
    return {name: values[0] for name, values in fields.items()}


def _render_form(page: Shown, link: str, proof: str) -> str:
    """Return the body of the page with the question."""

    def rows(title: str, values: Sequence[tuple[str, str]]) -> str:
        listed = "".join(f"<dt>{escape(n)}</dt><dd>{escape(v)}</dd>" for n, v in values)
        return f"<h2>{title}</h2><dl>{listed}</dl>" if values else ""

    schema = page.schema
    decline, approve = ("Decline", "Approve") if schema is None else ("Cancel", "Send")
    hidden = {"link": link, "proof": proof}
    fields = "".join(
        f'<input type="hidden" name="{n}" value="{escape(v)}">'
        for n, v in hidden.items()
    )
    return (
        f"<p><strong>{escape(page.server)}</strong> asks before it runs "
        f"<code>{escape(page.tool)}</code>.</p>"
        + rows("With these arguments", page.arguments)
        + rows("What would happen", page.details)
        + f'<form method="post" action="{PATH}">{fields}{_render_inputs(schema or {})}'
        f'<button name="answer" value="decline" formnovalidate>{decline}</button>'
        f'<button name="answer" value="approve">{approve}</button></form>'
    )


def _render_inputs(schema: Mapping[str, Any]) -> str:
    """The fields to fill in, each with its label."""
    lines = []
    for name, field in schema.get("properties", {}).items():
        label = escape(str(field.get("title") or name))
        attributes = f'name="{FIELD}{escape(name)}"'
        if name in schema.get("required", ()) and field.get("type") != "boolean":
            attributes += " required"
        lines.append(f"<label>{label}<br>{_render_input(field, attributes)}</label>")
    return "".join(f"<p>{line}</p>" for line in lines)


def _render_input(field: Mapping[str, Any], attributes: str) -> str:
    """The element in which one field is filled in."""
    default = field.get("default")
    if "enum" in field:
        options = [
            f"<option{' selected' if choice == default else ''}>{escape(str(choice))}</option>"
            for choice in field["enum"]
        ]
        return f"<select {attributes}>{''.join(options)}</select>"
    if field.get("type") == "boolean":
        return f'<input type="checkbox" {attributes}{" checked" if default else ""}>'
    value = "" if default is None else f' value="{escape(str(default))}"'
    if field.get("type") in ("integer", "number"):
        step = "1" if field["type"] == "integer" else "any"
        return f'<input type="number" step="{step}" {attributes}{value}>'
    return f'<input type="text" {attributes}{value}>'


def read_values(schema: Mapping[str, Any], form: Mapping[str, str]) -> dict[str, Any]:
    """Return the values that a browser sent, in the types of the form; fields left empty are left out.

    Raises:
        ValueError: A field is missing, or holds what its type does not.
    """
    values: dict[str, Any] = {}
    for name, field in schema.get("properties", {}).items():
        text, kind = form.get(FIELD + name, ""), field.get("type")
        if kind == "boolean":
            values[name] = bool(text)
        elif not text:
            if name in schema.get("required", ()):
                raise ValueError(f"{field.get('title') or name} is empty")
        elif "enum" in field and text not in field["enum"]:
            raise ValueError(f"{text} is not one of {', '.join(field['enum'])}")
        elif kind in ("integer", "number"):
            try:
                values[name] = int(text) if kind == "integer" else float(text)
            except ValueError:
                raise ValueError(f"{text} is not a number") from None
        else:
            values[name] = text
    return values


def _render_page(title: str, body: str, status: int = 200) -> Response:
    """A page that a phone and a screen reader can read."""
    title = escape(title)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
    return HTMLResponse(text, status, HEADERS)
