"""What a document says of the server as a whole: its names, its texts, its address."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .document import Document
from .inputs import LeftOutError
from .operations import Operation, operations
from .texts import clean, sentence, sentences

ANY_ADDRESS = "http://localhost:8080"  # where nothing says where the API is; a setting replaces it
KEY_PLACES = ("header", "query", "cookie")
KEY_NAME = re.compile("[A-Za-z][A-Za-z0-9._-]*")  # what the answer `api_auth` takes
BEARER = re.compile(r"(?i)\bbearer\b|\bjwt\b")
LONGEST_DESCRIPTION = 2000
DULL = {
    "api",
    "rest",
    "openapi",
    "v",
    "the",
    "http",
    "json",
    "mcp",
    "service",
    "server",
    "specification",
    "spec",
    "swagger",
}


def about(document: Document) -> tuple[dict[str, Any], list[str]]:
    """The answers about the server, and what a person should know of them."""
    info = document.resolve_if_possible(document.root.get("info") or {})
    address, note = _address(document)
    server = _name(clean(info.get("title"), 200), address)
    domain = server.removesuffix("-mcp").replace("-", "_")
    answers: dict[str, Any] = {
        "domain": domain,
        "server_name": server,
        "package_name": server.replace("-", "_"),
        "description": _description(info),
        "backend": "http",
    }
    if address:
        answers["api"] = address
    secret = _secret(document, server)
    if secret.api_auth not in ("", "bearer"):
        answers["api_auth"] = secret.api_auth
    return answers, list(filter(None, (note, secret.note)))


@dataclass(frozen=True)
class Secret:
    """How an API lets callers in: the answer `api_auth`, and what an operator sets; empty where nothing is said."""

    api_auth: str = ""
    note: str = ""


def _secret(document: Document, server: str) -> Secret:
    """Return how the API lets callers in; a bearer token goes before every other way."""
    setting = server.replace("-", "_").upper()
    secret_found = Secret()
    for scheme in _security_schemes(document):
        secret = _secret_of(scheme, setting)
        if secret.api_auth == "bearer":
            return secret
        secret_found = secret_found if secret_found.api_auth else secret
    return secret_found


def _security_schemes(document: Document) -> list[dict[str, Any]]:
    """Return the schemes that the document requires, or else those that it defines."""
    components = document.resolve_if_possible(document.root.get("components") or {})
    schemes = document.resolve_if_possible(components.get("securitySchemes") or {})
    required = [document.root.get("security")]
    if not required[0]:
        required = [part.raw.get("security") for part in operations(document)]
    names: dict[str, None] = {}
    for ways in required:
        for requirement in ways if isinstance(ways, list) else ():
            names.update(
                dict.fromkeys(requirement if isinstance(requirement, dict) else ())
            )
    return [
        document.resolve_if_possible(schemes.get(name) or {})
        for name in names or schemes
    ]


def _secret_of(scheme: Mapping[str, Any], setting: str) -> Secret:
    """Return what one security scheme asks of callers."""
    kind, place = str(scheme.get("type")), str(scheme.get("in"))
    name = clean(scheme.get("name"), 60)
    token = f"set {setting}_API_TOKEN"
    about = str(scheme.get("description"))[:LONGEST_DESCRIPTION]
    is_header = place == "header" and name.lower() == "authorization"
    if kind == "apiKey" and is_header and BEARER.search(about):
        kind = "http"  # Swagger 2.0 has no other way to name a bearer token
    if kind == "apiKey" and place in KEY_PLACES and KEY_NAME.fullmatch(name):
        where = "header" if place == "header" else f"{place} as"
        return Secret(
            f"{place}:{name}", f"the API takes its key in the {where} {name}: {token}"
        )
    if kind == "http" and str(scheme.get("scheme")).lower() == "basic":
        return Secret(
            "basic", f"the API takes a user and a password: {token}=user:password"
        )
    if kind in ("http", "oauth2", "openIdConnect"):
        return Secret("bearer", f"the API takes a bearer token: {token}")
    return Secret()


def _name(title: str, address: str) -> str:
    """A name for the server: what the title and the address share, else the title's first words."""
    plain = unicodedata.normalize("NFKD", re.sub(r"['\u2019]s\b", "", title).lower())
    # Without accents: käse is kase
    title_words = re.findall(r"[a-z0-9]+", re.sub(r"[\u0300-\u036f]", "", plain))
    host = (urlsplit(address).hostname or "").split(".")
    shared = [word for word in host[:-1] if word in title_words and word not in DULL]
    parts = shared[:1]
    for word in title_words:
        if not shared and word not in DULL and not word.isdecimal():
            parts.append(word)
    parts = parts[:3] or ["api"]
    short = "-".join(_within(parts, 24))
    short = short if short[:1].isalpha() else f"api-{short}"
    return f"{short}-mcp"


def _within(parts: list[str], most: int) -> list[str]:
    while len(parts) > 1 and len("-".join(parts)) > most:
        parts = parts[:-1]
    return [parts[0][:most], *parts[1:]]


def _description(info: dict[str, Any]) -> str:
    title = clean(info.get("title"), 120)
    text = sentence(sentences(info.get("description"), 240))
    plain = 10 < len(text) <= 280 and not re.search(r"(?i)openapi|https?:", text)
    return text if plain else sentence(f"Tools for {title or 'an API'}")


def _address(document: Document) -> tuple[str, str]:
    """The base address, and a note where the document has none, or several."""
    servers = document.root.get("servers")
    address = base(document)
    urls = list(dict.fromkeys(addresses(document, servers)))
    other_addresses = []
    for url in urls:
        if url != address and not url.startswith(f"{address}/"):
            other_addresses.append(url)
    if address and other_addresses:
        names = ", ".join(other_addresses[:3])
        return (
            address,
            f"requests go to {address}; the document also names {clean(names, 120)}",
        )
    if address:
        return address, ""
    prefix = relative_base(document)
    where = f"a path only ({prefix})" if prefix else "no address"
    return (
        "",
        f"the document has {where}: write `api:`, or set the address where the server runs",
    )


def relative_base(document: Document) -> str:
    """The path that a document gives in place of an address, as in `/api/v1`; empty without one."""
    for server in document.resolve_each(document.root.get("servers")):
        path = str(server.get("url") or "").rstrip("/")
        if (
            re.fullmatch(r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]+)+", path)
            and len(path) <= 150
        ):
            return path
    return ""


def base(document: Document) -> str:
    """The address that requests go to: the document's first; empty without one.

    Where operations have servers of their own on the same host, it is what all of them begin with,
    so that each path says the rest.
    """
    if document.base is None:
        bases = addresses(document, document.root.get("servers"))[:1]
        for operation in operations(document):
            urls = addresses(document, operation.servers)
            if urls and not (bases and {*urls} & {*bases}):
                bases.append(urls[0])
        document.base = _common_base(bases)
    return document.base


def _common_base(bases: list[str]) -> str:
    """What the first address and all others on its host begin with, in whole parts."""
    if not bases:
        return ""
    first = urlsplit(bases[0])
    parts = first.path.split("/")
    for address in bases[1:]:
        parts_of_other = urlsplit(address)
        if (parts_of_other.scheme, parts_of_other.netloc) != (
            first.scheme,
            first.netloc,
        ):
            continue
        same = 0
        for part, other_part in zip(
            parts, parts_of_other.path.split("/"), strict=False
        ):
            if part != other_part:
                break
            same += 1
        parts = parts[:same]
    return f"{first.scheme}://{first.netloc}{'/'.join(parts)}"


def place(operation: Operation) -> str:
    """What stands before the path of an operation: the rest of its server's address; mostly nothing.

    Raises:
        LeftOutError: It is on another host than the rest.
    """
    document = operation.document
    common = base(document)
    urls = addresses(document, operation.servers or document.root.get("servers"))
    if common in urls or not (common and urls):
        return ""
    for url in urls:
        if url.startswith(f"{common}/"):
            return url.removeprefix(common)
    if not operation.servers:
        return ""
    raise LeftOutError(f"it is on another server ({clean(urls[0], 60)})")


def addresses(document: Document, servers: Any) -> list[str]:
    """The addresses of servers that can be used as they are, their variables filled in."""
    urls = []
    for server in document.resolve_each(servers):
        url = server.get("url")
        if not isinstance(url, str):
            continue
        variables = document.resolve_if_possible(server.get("variables") or {})
        for name, variable in variables.items():
            default = variable.get("default") if isinstance(variable, dict) else None
            url = url.replace(
                f"{{{name}}}", str(default if default is not None else name)
            )[:400]
        try:
            parts = urlsplit(url)
            plain = (
                parts.scheme in ("http", "https")
                and parts.hostname
                and not parts.username
            )
            port = parts.port
        except ValueError:
            continue
        path = parts.path.rstrip("/")
        good = re.fullmatch(r"[A-Za-z0-9.-]+", parts.hostname or "") and re.fullmatch(
            r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]+)*", path
        )
        if (
            plain
            and good
            and len(url) <= 200
            and not parts.query
            and not parts.fragment
        ):
            host = f"{parts.hostname}:{port}" if port else parts.hostname
            urls.append(f"{parts.scheme}://{host}{path}")
    return urls
