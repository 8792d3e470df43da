"""An OpenID provider on loopback, a person at a browser, and servers over HTTP.

The provider is oidc-provider-mock; the layer in front of it checks PKCE and revokes, which that one does not,
and goes wrong in the ways a test asks for.
"""

import base64
import contextlib
import hashlib
import io
import json
import logging
import re
import socket
import threading
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio
import httpx2
import uvicorn
from fastmcp import FastMCP
from werkzeug.serving import make_server

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses what Authlib deprecates
    import oidc_provider_mock

Environ = dict[str, Any]
Answer = Callable[..., Any]
ME = "http://127.0.0.1:1/me"  # where the client application is sent back to


class Provider:
    """The provider and what it was told; `wrong` says what it does wrong now."""

    shared: ClassVar["Provider | None"] = None

    def __init__(self) -> None:
        """Make the provider; `fresh` serves it."""
        self.app = oidc_provider_mock.app()
        self.issuer = ""
        self.forget()

    def forget(self) -> None:
        """Be honest again, and remember nothing."""
        self.challenges: dict[str, str] = {}
        self.revoked: list[str] = []
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.wrong: dict[str, Any] = {}

    @classmethod
    def fresh(cls) -> "Provider":
        """The one provider of this process, which forgot what earlier tests told it."""
        if cls.shared is None:
            logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
            cls.shared = cls()
            server = make_server("127.0.0.1", 0, cls.shared, threaded=True)
            cls.shared.issuer = f"http://127.0.0.1:{server.server_port}"
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        cls.shared.forget()
        return cls.shared

    def __call__(self, environ: Environ, start: Answer) -> Iterable[bytes]:
        """Answer one request, or get it wrong as a test asked for."""
        path = environ["PATH_INFO"]
        self.asked.append(path)
        if "slow" in self.wrong and path == "/oauth2/token":
            time.sleep(self.wrong["slow"])
        if "down" in self.wrong and path in self.wrong["down"]:
            start("500 Down", [("Content-Type", "text/plain")])
            return [b"<script>alert(1)</script>"]
        if path == "/revoke":
            self.revoked += parse_qs(self._form(environ)).get("token", [])
            start("200 OK", [])
            return [b""]
        if path == "/oauth2/token" and not self._proven(environ):
            start("400 Bad Request", [("Content-Type", "application/json")])
            return [b'{"error": "invalid_grant"}']
        return self._passed(environ, start, path)

    def _passed(self, environ: Environ, start: Answer, path: str) -> Iterable[bytes]:
        seen: list[Any] = []

        def catch(status: str, headers: list[tuple[str, str]], *_: object) -> None:
            seen[:] = [status, headers]

        body = b"".join(self.app.wsgi_app(environ, catch))
        status, headers = seen
        if path == "/oauth2/authorize" and (place := dict(headers).get("Location")):
            challenge = parse_qs(environ["QUERY_STRING"]).get("code_challenge", [""])[0]
            for code in parse_qs(urlsplit(place).query).get("code", []):
                self.challenges[code] = challenge
        if path == "/oauth2/authorize" and "person" in self.wrong and b"<form" in body:
            fill = f"document.forms[0].sub.value = {json.dumps(self.wrong['person'])}"
            body += f"<script>{fill}; document.forms[0].submit()</script>".encode()
        if path.endswith("/openid-configuration"):
            document = json.loads(body) | {"revocation_endpoint": f"{self.issuer}/revoke"}
            document["code_challenge_methods_supported"] = ["S256"]
            body = json.dumps(document | self.wrong.get("discovery", {})).encode()
        if path == "/oauth2/token" and status.startswith("200"):
            token = json.loads(body) | self.wrong.get("token", {})
            self.tokens += [token[n] for n in ("access_token", "refresh_token") if n in token]
            for name in self.wrong.get("without", []):
                token.pop(name, None)
            body = json.dumps(token).encode()
        start(status, [(n, v) for n, v in headers if n.lower() != "content-length"])
        return [body]

    def _form(self, environ: Environ) -> str:
        body: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        return body.decode()

    def _proven(self, environ: Environ) -> bool:
        form = parse_qs(self._form(environ))
        challenge = self.challenges.pop(form.get("code", [""])[0], "")
        verifier = form.get("code_verifier", [""])[0]
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        return not challenge or digest.rstrip(b"=").decode() == challenge

    async def token_of(
        self, user: str, *scopes: str, audience: str = "the-client", nonce: str = "-"
    ) -> str:
        """A token that a client application got for one of its users: a JWT of this provider."""
        async with httpx2.AsyncClient(base_url=self.issuer) as client:
            await client.put(f"/users/{user}", json={"scope": " ".join(scopes)})
            asked = {"response_type": "code", "client_id": audience, "scope": "openid"}
            query = urlencode(asked | {"redirect_uri": ME, "nonce": nonce})
            done = await client.post(f"/oauth2/authorize?{query}", data={"sub": user})
            code = parse_qs(urlsplit(done.headers["location"]).query)["code"][0]
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": ME}
            got = await client.post("/oauth2/token", data=form, auth=(audience, "-"))
            return str(got.json()["id_token"])


class Browser:
    """A person's browser, which keeps cookies."""

    def __init__(self) -> None:
        """Begin without cookies."""
        self.cookies = httpx2.Cookies()
        self.seen: list[httpx2.Response] = []

    async def get(self, address: str, **form: str) -> httpx2.Response:
        """Open a page, or send a form to it."""
        async with httpx2.AsyncClient(cookies=self.cookies) as client:
            method = "POST" if form else "GET"
            page = await client.request(method, address, data=form or None)
            self.cookies.update(client.cookies)
        self.seen.append(page)
        return page

    async def log_in(self, link: str, user: str) -> str:
        """Follow a link to the provider, log in there; answers the address it sends the browser to."""
        there = (await self.get(link)).headers["location"]
        await self.get(there)
        return str((await self.get(there, sub=user)).headers["location"])

    async def walk(self, link: str, user: str) -> str:
        """The whole way; answers the last page's heading."""
        return heading(await self.get(await self.log_in(link, user)))


def heading(page: httpx2.Response) -> str:
    """What a page says first."""
    title = re.search("<h1>(.*?)</h1>", page.text)
    return title[1] if title else page.text


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to pytest."""
        yield


@contextlib.asynccontextmanager
async def http(make: Callable[[str], FastMCP]) -> AsyncIterator[tuple[str, FastMCP]]:
    """The address of a server on a free port, made for that address."""
    bound = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{bound.getsockname()[1]}"
    server = make(base)
    app = server.http_app(host_origin_protection="auto")
    uvicorn_ = _Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(uvicorn_.serve, [bound])
        for _ in range(1000):
            if uvicorn_.started:
                break
            await anyio.sleep(0.01)
        yield base, server
        uvicorn_.should_exit = True
    bound.close()
