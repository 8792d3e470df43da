"""How requests carry the token of a server: `bearer`, `basic`, `header:NAME`, `query:NAME` or `cookie:NAME`."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
# A bare name other than bearer and basic is the name of a header.
PATTERN = rf"^(?i:(?:header|cookie):{NAME}|query:[^\s&=#?]+|[A-Za-z][A-Za-z0-9-]*)$"
_PRINTABLE = re.compile("[ -~]*")
_COOKIE_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]*")


@dataclass(frozen=True)
class Credentials:
    """The parts of a request that carry the token, and the texts that must not leave the client."""

    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


def build_credentials(scheme: str, token: str) -> Credentials:
    """Build the parts of a request that carry a token.

    Args:
        scheme: A value of the setting `api_auth`, matching `PATTERN`.
        token: The token, empty for none; for `basic` it is `user:password`.

    Raises:
        ValueError: The token contains a character that cannot be sent that way.
    """
    if not token:
        return Credentials()
    kind, _, name = scheme.partition(":")
    kind = kind.lower()
    if kind == "query":
        return Credentials(query={name: token}, secrets=(token,))
    if not _PRINTABLE.fullmatch(token):
        raise ValueError(
            "setting api_token contains a character that no header can carry"
        )
    if kind == "bearer":
        return Credentials({"Authorization": f"Bearer {token}"}, secrets=(token,))
    if kind == "basic":
        encoded = base64.b64encode(token.encode()).decode()
        _, _, password = token.partition(":")
        secrets = (token, encoded, password)
        return Credentials({"Authorization": f"Basic {encoded}"}, secrets=secrets)
    if kind == "cookie":
        if not _COOKIE_VALUE.fullmatch(token):
            raise ValueError(
                "setting api_token contains a character that no cookie can carry"
            )
        return Credentials({"Cookie": f"{name}={token}"}, secrets=(token,))
    header = name if kind == "header" else scheme
    return Credentials({header: token}, secrets=(token, *_list_inner_secrets(token)))


def _list_inner_secrets(value: str) -> Iterator[str]:
    """Yield the secrets in the value of a header that begins with a scheme, as in `Token abc` and `ApiKey key=abc`."""
    scheme, _, rest = value.partition(" ")
    if not rest:
        return
    yield rest
    _, is_named, named = rest.partition("=")
    if is_named and named.strip('="'):
        yield named.strip('"')
    if scheme.lower() == "basic":
        try:
            password = base64.b64decode(rest).decode().partition(":")[2]
        except ValueError:
            return
        yield password
