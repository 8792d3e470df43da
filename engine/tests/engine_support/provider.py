"""An OpenID provider on loopback, a person at a browser, and servers over HTTP.

The provider is oidc-provider-mock. The layer in front adds PKCE checks and revocation, and the faults that a test
asks for.
"""

import base64
import hashlib
import io
import json
import logging
import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

import flask
import httpx2
from joserfc import jwt
from joserfc.jwk import RSAKey
from listening import PATIENCE
from werkzeug.serving import make_server

from engine.tests.engine_support.http_serving import serve_http as serve_http

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it uses what Authlib deprecates
    import oidc_provider_mock

JSON_HEADERS = [("Content-Type", "application/json")]
Environ = dict[str, Any]
Answer = Callable[..., Any]
ME = "http://127.0.0.1:1/me"  # where the client application is sent back to


class Provider:
    """The provider and the requests it received; `wrong` names its current faults."""

    shared: ClassVar["Provider | None"] = None
    # A forked process has no thread that would answer; mutmut runs the tests in such processes
    shared_by: ClassVar[int] = 0

    def __init__(self) -> None:
        """Make the provider; `fresh` serves it."""
        self.app = oidc_provider_mock.app()
        with self.app.test_request_context():
            self.app.preprocess_request()
            jwk = flask.g.oidc_provider_mock_storage.jwk
        # oidc-provider-mock before 0.4 has a key of Authlib
        self.key = (
            jwk
            if isinstance(jwk, RSAKey)
            else RSAKey.import_key(jwk.as_dict(is_private=True))
        )
        # From a dict, each login would import the key anew, with a test of its primes
        export_key = jwk.as_dict

        def export(is_private: bool = False, **names: object) -> Any:
            return self.key if is_private else export_key(is_private, **names)

        jwk.as_dict = export
        self.lock = threading.Lock()
        self.issuer = ""
        self.forget()

    def hold(self) -> threading.Event:
        """Return an event; until it is set, no request for a token is answered."""
        held = threading.Event()
        self.wrong["held"] = held
        return held

    def forget(self) -> None:
        """Clear the faults and the recorded requests."""
        self.challenges: dict[str, str] = {}
        # The newest refresh token of each login; -1 where the login has ended
        self.families: dict[str, int] = {}
        self.revoked: list[str] = []
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.wrong: dict[str, Any] = {}

    @classmethod
    def fresh(cls) -> "Provider":
        """Return the provider of this process, without the state of earlier tests."""
        cls.shared = cls.shared or cls()
        if cls.shared_by != os.getpid():
            cls.shared_by = os.getpid()
            logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
            server = make_server("127.0.0.1", 0, cls.shared, threaded=True)
            cls.shared.issuer = f"http://127.0.0.1:{server.server_port}"
            thread = threading.Thread(
                target=server.serve_forever,
                args=(0.05,),
                daemon=True,
            )
            thread.start()
        cls.shared.forget()
        return cls.shared

    def __call__(self, environ: Environ, start: Answer) -> Iterable[bytes]:
        """Answer one request, with the fault that a test asks for."""
        path = environ["PATH_INFO"]
        self.asked.append(path)
        if "held" in self.wrong and path == "/oauth2/token":
            self.wrong["held"].wait(PATIENCE)
        if "down" in self.wrong and path in self.wrong["down"]:
            start("500 Down", [("Content-Type", "text/plain")])
            return [b"<script>alert(1)</script>"]
        if path == "/revoke":
            form = parse_qs(self._read_form(environ))
            self.revoked += form.get("token", [])
            start("200 OK", [])
            return [b""]
        if path == "/oauth2/token" and "refuses" in self.wrong:
            start("401 Unauthorized", JSON_HEADERS)
            error = {"error": self.wrong["refuses"]}
            return [json.dumps(error).encode()]
        if path == "/oauth2/token":
            is_valid = self._is_proven(environ) and self._is_newest(environ)
            if not is_valid:
                start("400 Bad Request", JSON_HEADERS)
                return [b'{"error": "invalid_grant"}']
        return self._pass_on(environ, start, path)

    def _pass_on(self, environ: Environ, start: Answer, path: str) -> Iterable[bytes]:
        start_arguments: list[Any] = []

        def catch(status: str, headers: list[tuple[str, str]], *_: object) -> None:
            start_arguments[:] = [status, headers]

        body = b"".join(self.app.wsgi_app(environ, catch))
        status, headers = start_arguments
        if path == "/oauth2/authorize":
            self._record_challenge(environ, headers)
            if "person" in self.wrong and b"<form" in body:
                body += self._build_login_script(self.wrong["person"])
        if path.endswith("/openid-configuration"):
            document = json.loads(body)
            document["revocation_endpoint"] = f"{self.issuer}/revoke"
            document["code_challenge_methods_supported"] = ["S256"]
            document |= self.wrong.get("discovery", {})
            body = json.dumps(document).encode()
        if path == "/oauth2/token" and status.startswith("200"):
            token = self._change_token(environ, json.loads(body))
            body = json.dumps(token).encode()
        sent_headers = []
        for name, value in headers:
            if name.lower() != "content-length":
                sent_headers.append((name, value))
        start(status, sent_headers)
        return [body]

    def _record_challenge(
        self,
        environ: Environ,
        headers: list[tuple[str, str]],
    ) -> None:
        """Record the PKCE challenge of each code that a redirect contains."""
        query = parse_qs(environ["QUERY_STRING"])
        (challenge,) = query.get("code_challenge", [""])
        location = dict(headers).get("Location", "")
        codes = parse_qs(urlsplit(location).query).get("code", [])
        for code in codes:
            self.challenges[code] = challenge

    def _build_login_script(self, person: str) -> bytes:
        """Return the script with which a person logs in without typing."""
        fill = f"document.forms[0].sub.value = {json.dumps(person)}"
        return f"<script>{fill}; document.forms[0].submit()</script>".encode()

    def _change_token(
        self,
        environ: Environ,
        response: dict[str, Any],
    ) -> dict[str, Any]:
        """Return the response to a request for a token, with the faults that a test asks for."""
        token: dict[str, Any] = response | self.wrong.get("token", {})
        family = environ.get("family") or token.get("refresh_token")
        if "rotates" in self.wrong and family:
            number = self.families.setdefault(family, 0)
            token["refresh_token"] = f"{family}~{number}"
        self._record_tokens(token)
        for name in self.wrong.get("without", []):
            token.pop(name, None)
        return token

    def _record_tokens(self, response: dict[str, Any]) -> None:
        for name in ("access_token", "refresh_token"):
            if name in response:
                self.tokens.append(response[name])

    def _read_form(self, environ: Environ) -> str:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body: bytes = environ["wsgi.input"].read(length)
        environ["wsgi.input"] = io.BytesIO(body)
        return body.decode()

    def _is_proven(self, environ: Environ) -> bool:
        form = parse_qs(self._read_form(environ))
        (code,) = form.get("code", [""])
        (verifier,) = form.get("code_verifier", [""])
        challenge = self.challenges.pop(code, "")
        digest = hashlib.sha256(verifier.encode()).digest()
        computed = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return not challenge or computed == challenge

    def _is_newest(self, environ: Environ) -> bool:
        """Whether a refresh token that rotates is the newest; an older one ends the login (RFC 9700, 4.14.2)."""
        form = parse_qs(self._read_form(environ))
        (token,) = form.get("refresh_token", [""])
        family, _, number = token.partition("~")
        if not number:
            return True
        with self.lock:
            newest = self.families.get(family) == int(number)
            self.families[family] = int(number) + 1 if newest else -1
        form["refresh_token"] = [family]
        body = urlencode(form, doseq=True).encode()
        environ["wsgi.input"] = io.BytesIO(body)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["family"] = family
        return newest

    def token_of(
        self,
        user: str,
        *scopes: str,
        audience: str = "the-client",
        typ: str = "at+jwt",
        **changes: Any,
    ) -> str:
        """Return an access token of a client application for one of its users; None omits a claim."""
        issued_at = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "sub": user,
            "aud": audience,
            "scope": " ".join(scopes),
            "client_id": "app",
            "iat": issued_at,
            "exp": issued_at + 600,
        }
        for name, value in changes.items():
            claims[name] = value
            if value is None:
                del claims[name]
        return jwt.encode({"alg": "RS256", "typ": typ}, claims, self.key)

    async def id_token_of(
        self,
        user: str,
        audience: str = "the-client",
        nonce: str = "-",
    ) -> str:
        """Return an ID token of a client application for one of its users."""
        async with httpx2.AsyncClient(base_url=self.issuer, timeout=PATIENCE) as client:
            await client.put(f"/users/{user}", json={})
            parameters = {
                "response_type": "code",
                "client_id": audience,
                "scope": "openid",
                "redirect_uri": ME,
                "nonce": nonce,
            }
            address = f"/oauth2/authorize?{urlencode(parameters)}"
            response = await client.post(address, data={"sub": user})
            callback = urlsplit(response.headers["location"])
            code = parse_qs(callback.query)["code"][0]
            form = {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": ME,
            }
            auth = (audience, "-")
            response = await client.post("/oauth2/token", data=form, auth=auth)
            return str(response.json()["id_token"])


class Browser:
    """A person's browser, which keeps cookies."""

    def __init__(self) -> None:
        """Begin without cookies."""
        self.cookies = httpx2.Cookies()
        self.seen: list[httpx2.Response] = []

    async def get(self, address: str, **form: str) -> httpx2.Response:
        """Open a page, or send a form to it."""
        async with httpx2.AsyncClient(cookies=self.cookies, timeout=PATIENCE) as client:
            method = "POST" if form else "GET"
            page = await client.request(method, address, data=form or None)
            self.cookies.update(client.cookies)
        self.seen.append(page)
        return page

    async def log_in(self, link: str, user: str) -> str:
        """Follow a link to the provider and log in; return the address of the callback."""
        page = await self.get(link)
        login = page.headers["location"]
        await self.get(login)
        response = await self.get(login, sub=user)
        return str(response.headers["location"])

    async def walk(self, link: str, user: str) -> str:
        """Log in and follow the callback; return the heading of the last page."""
        callback = await self.log_in(link, user)
        page = await self.get(callback)
        return heading(page)


def heading(page: httpx2.Response) -> str:
    """Return the heading of a page, or its text where there is none."""
    title = re.search("<h1>(.*?)</h1>", page.text)
    return title[1] if title else page.text
