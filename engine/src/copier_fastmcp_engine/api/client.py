"""The HTTP client of a server in front of an API: one deadline, safe retries, limited sizes, no secrets."""

import contextlib
import random
import time
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, ClassVar, Protocol, Self

import anyio
import httpx2
from fastmcp.exceptions import ToolError
from pydantic import SecretStr

from ..policy import Policy
from .authentication import build_credentials
from .encoding import MULTIPART, encode_body, encode_headers, encode_query
from .errors import describe_refusal, describe_timeout, describe_unreachable, never_sent
from .redaction import Redactor
from .responses import ENCODINGS, ApiResponse, build_response, read_limited

Fields = Mapping[str, Any]
ATTEMPTS = 3
READING = frozenset(("GET", "HEAD", "OPTIONS", "QUERY"))
REPEATABLE = READING | {"PUT", "DELETE"}
TRY_AGAIN = frozenset((429, 502, 503, 504))
GONE = frozenset((404, 410))
FIRST_PAUSE = 0.5
REDIRECTS = 3
MOVED = frozenset((301, 302, 303, 307, 308))
# The message of an error needs no more of a body than this.
ERROR_BYTES = 64_000


class Settings(Protocol):
    """The settings that the client reads."""

    policy: ClassVar[Policy]
    api: str
    api_token: SecretStr
    api_auth: str
    api_seconds: float
    api_bytes: int
    api_files: str


class ApiClient:
    """Sends requests to one API. A failure is a ToolError: one line, without secrets."""

    def __init__(self, settings: Settings) -> None:
        """Prepare a client; no connection is opened.

        Args:
            settings: The address, the token, the limits.

        Raises:
            ValueError: The token cannot be sent as the settings require.
        """
        self.settings = settings
        self.address = settings.api.rstrip("/")
        self.seconds = settings.api_seconds
        self.token = settings.api_token.get_secret_value().strip()
        self.transport: httpx2.AsyncBaseTransport | None = None  # set by tests
        self.client: httpx2.AsyncClient | None = None
        self.logger = settings.policy.logger("api")
        self._credentials = build_credentials(settings.api_auth, self.token)
        self._redactor = Redactor(self._credentials.secrets)

    # What an owner overrides.

    def headers(self) -> dict[str, str]:
        """Return headers that every request carries in addition to the token."""
        return {}

    def authentication(self) -> httpx2.Auth | None:
        """Return what adds a token to a request where the settings have none."""
        return None

    async def before(self, request: httpx2.Request) -> None:
        """Inspect or change a request before it is sent."""

    async def after(self, response: ApiResponse) -> ApiResponse:
        """Inspect or replace a successful response before a tool gets it."""
        return response

    # What tools call.

    async def __aenter__(self) -> Self:
        """Keep connections open until the server ends; without it each request opens its own."""
        self.client = self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        client, self.client = self.client, None
        if client is not None:
            await client.aclose()

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Fields | None = None,
        body: Any = None,
        headers: Fields | None = None,
        styles: Mapping[str, str] | None = None,
        repeat: bool | None = None,
        accepted: Iterable[int] = (),
    ) -> ApiResponse:
        """Send a request and return the response, within one deadline.

        Args:
            method: The method.
            path: The path behind the address, with `quoted` values.
            query: Values by name; None is left out.
            body: JSON, or what the header Content-Type says; None for none.
            headers: Values by name; None is left out.
            styles: OpenAPI's styles of names in the query.
            repeat: Whether the request may be sent again after it may have arrived; by default GET, HEAD, OPTIONS,
                QUERY, PUT and DELETE may.
            accepted: Statuses other than 2xx that are no failure.

        Raises:
            ToolError: The request cannot be sent, or failed.
        """
        request = f"{method} {path}"
        if any(part in (".", "..") for part in path.split("/")):
            raise ToolError(f"{request} leaves its place; pass plain identifiers")
        if method == "PATCH" and body == {}:
            raise ToolError("nothing to change; pass a field with a value, not null")
        sent_headers = encode_headers(headers or {})
        content_type = next(
            (v for k, v in sent_headers.items() if k.lower() == "content-type"), ""
        )
        keywords = encode_body(body, content_type, self.settings.api_files)
        if content_type.startswith(MULTIPART):  # the library adds the boundary
            sent_headers = {
                k: v for k, v in sent_headers.items() if k.lower() != "content-type"
            }
        pairs = encode_query(query or {}, styles) + list(
            self._credentials.query.items()
        )
        keywords |= {"params": pairs, "headers": sent_headers}
        repeatable = method in REPEATABLE if repeat is None else repeat
        is_read = method in READING or (method == "POST" and repeatable)
        try:
            with anyio.fail_after(self.seconds):
                response = await self._send(
                    method,
                    path,
                    keywords,
                    repeatable=repeatable,
                    is_read=is_read,
                    accepted=frozenset(accepted),
                )
        except TimeoutError:
            message = describe_timeout(request, self.seconds, is_read=is_read)
            raise ToolError(message) from None
        return await self.after(response)

    async def get(self, path: str, query: Fields | None = None, **options: Any) -> Any:
        """Return the body at a path; `options` are those of `send`, as in the methods below."""
        return (await self.send("GET", path, query=query, **options)).body

    async def post(self, path: str, body: Any = None, **options: Any) -> Any:
        """Create something, or have something done."""
        return (await self.send("POST", path, body=body, **options)).body

    async def put(self, path: str, body: Any = None, **options: Any) -> Any:
        """Replace what is at a path."""
        return (await self.send("PUT", path, body=body, **options)).body

    async def patch(self, path: str, body: Any = None, **options: Any) -> Any:
        """Change a part of what is at a path."""
        return (await self.send("PATCH", path, body=body, **options)).body

    async def exists(
        self, path: str, query: Fields | None = None, **options: Any
    ) -> bool:
        """Return whether there is something at a path."""
        response = await self.send("HEAD", path, query=query, accepted=GONE, **options)
        return response.is_success

    async def delete(
        self, path: str, query: Fields | None = None, **options: Any
    ) -> bool:
        """Remove what is at a path; False if nothing was there."""
        response = await self.send(
            "DELETE", path, query=query, accepted=GONE, **options
        )
        return response.is_success

    async def ensure(
        self,
        path: str,
        body: Any = None,
        *,
        headers: Fields | None = None,
        **options: Any,
    ) -> ApiResponse:
        """Create what is at a path, or read it where it exists."""
        once = {**(headers or {}), "If-None-Match": "*"}
        response = await self.send(
            "PUT", path, body=body, headers=once, accepted=(412,), **options
        )
        return response if response.is_success else await self.send("GET", path)

    # How requests are sent.

    def _open(self) -> httpx2.AsyncClient:
        headers = {
            "Accept": "application/json, */*;q=0.5",
            "Accept-Encoding": ENCODINGS,
            "User-Agent": self.settings.policy.server_name,
            **self._credentials.headers,
            **self.headers(),
        }
        # Cookies of one user's response must not travel with another user's request.
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        return httpx2.AsyncClient(
            timeout=self.seconds,
            headers=headers,
            cookies=no_cookies,
            transport=self.transport,
        )

    def _setting(self, name: str) -> str:
        """Return the environment variable of a setting."""
        return f"{self.settings.policy.env_prefix}{name}".upper()

    async def _send(
        self,
        method: str,
        path: str,
        keywords: dict[str, Any],
        *,
        repeatable: bool,
        is_read: bool,
        accepted: frozenset[int],
    ) -> ApiResponse:
        """Send a request, again where that is safe and the deadline allows it."""
        request = f"{method} {path}"
        deadline = time.monotonic() + self.seconds
        opened = contextlib.nullcontext(self.client) if self.client else self._open()
        async with opened as client:
            for attempt in range(1, ATTEMPTS + 1):
                pause = FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(1, 1.2)
                last = attempt == ATTEMPTS
                try:
                    answer = await self._attempt(
                        client, method, path, keywords, accepted
                    )
                except httpx2.RequestError as error:
                    can_retry = never_sent(error) or (
                        repeatable and isinstance(error, httpx2.TransportError)
                    )
                    if last or not can_retry or time.monotonic() + pause > deadline:
                        message = describe_unreachable(
                            error, request, self.address, self.seconds, is_read=is_read
                        )
                        raise ToolError(message) from None
                else:
                    if isinstance(answer, ApiResponse):
                        return answer
                    if answer.retry_after is not None:
                        pause = answer.retry_after * random.uniform(1, 1.05)
                    too_late = time.monotonic() + pause > deadline
                    if (
                        last
                        or too_late
                        or not repeatable
                        or answer.status not in TRY_AGAIN
                    ):
                        raise ToolError(answer.message)
                await self._sleep(pause)
        raise ToolError(f"{request} was not sent")

    async def _sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def _attempt(
        self,
        client: httpx2.AsyncClient,
        method: str,
        path: str,
        keywords: dict[str, Any],
        accepted: frozenset[int],
    ) -> "ApiResponse | _Refusal":
        """Send a request once, and follow a redirect of a read within the same origin."""
        url = self.address + path
        request = f"{method} {path}"
        token = self.token
        for _ in range(REDIRECTS + 1):
            built = client.build_request(method, url, **keywords)
            await self.before(built)
            options: dict[str, Any] = {} if token else {"auth": self.authentication()}
            response = await client.send(built, stream=True, **options)
            try:
                target = _redirect_target(response, method)
                if target is None:
                    return await self._receive(response, request, accepted)
                url, keywords = (
                    target,
                    {**keywords, "params": list(self._credentials.query.items())},
                )
            finally:
                await response.aclose()
        raise ToolError(f"{request}: the API redirects in a circle; tell the operator")

    async def _receive(
        self, response: httpx2.Response, request: str, accepted: frozenset[int]
    ) -> "ApiResponse | _Refusal":
        """Read a response within the limit of bytes."""
        redactor = self._redactor_for(response)
        url = redactor.text(str(response.request.url.copy_with(query=None)))
        method = request.partition(" ")[0]
        wrong_address = f"{method} {_without_braces(url)} answered " + "{answered}"
        wrong_address += f": is {self._setting('api')} right?"
        succeeded = response.is_success or response.status_code in accepted
        limit = self.settings.api_bytes if succeeded else ERROR_BYTES
        content, is_cut = await read_limited(response, limit)
        if succeeded:
            return build_response(
                response,
                content,
                request=redactor.text(request),
                redactor=redactor,
                cut=self._describe_cut(response, request) if is_cut else "",
                wrong_address=wrong_address,
                logger=self.logger,
            )
        message = describe_refusal(
            response,
            content,
            redactor.text(request),
            redactor,
            wrong_address=wrong_address,
            token_hint="" if self._sends_token(response) else self._token_hint(),
            is_cut=is_cut,
        )
        return _Refusal(response.status_code, message, _parse_retry_after(response))

    def _describe_cut(self, response: httpx2.Response, request: str) -> str:
        """Return what was cut and how to get it."""
        length = response.headers.get("Content-Length", "")
        encoded = "Content-Encoding" in response.headers
        whole = f" of {int(length):,}" if length.isdecimal() and not encoded else ""
        return (
            f"{request}: the response was cut after {self.settings.api_bytes:,}{whole} bytes; ask for less "
            f"(a smaller page, a filter), or the operator raises {self._setting('api_bytes')}"
        )

    def _token_hint(self) -> str:
        return f"no token is sent; the operator sets {self._setting('api_token')}"

    def _sends_token(self, response: httpx2.Response) -> bool:
        return bool(self.token or response.request.headers.get("Authorization"))

    def _redactor_for(self, response: httpx2.Response) -> Redactor:
        """Return what removes the secrets of one request, a user's own token among them."""
        _, _, sent = response.request.headers.get("Authorization", "").partition(" ")
        if not sent or sent in self._credentials.secrets:
            return self._redactor
        return Redactor([*self._credentials.secrets, sent])


class _Refusal:
    """A response that is a failure: its status, its message, the seconds after which the API asks to try again."""

    def __init__(self, status: int, message: str, retry_after: float | None) -> None:
        self.status, self.message, self.retry_after = status, message, retry_after


def _without_braces(text: str) -> str:
    return text.replace("{", "%7B").replace("}", "%7D")


def _redirect_target(response: httpx2.Response, method: str) -> str | None:
    """Return where a read is redirected to within the origin that has the token; None otherwise."""
    if response.status_code not in MOVED or method not in ("GET", "HEAD"):
        return None
    location = response.headers.get("Location", "")
    try:
        target = response.url.join(location)
    except (ValueError, httpx2.InvalidURL):  # not an address
        return None
    source = response.url
    is_same = (target.scheme, target.netloc) == (source.scheme, source.netloc)
    return str(target) if location and is_same and not target.userinfo else None


def _parse_retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds that a response asks to wait, given as a number or a date."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
