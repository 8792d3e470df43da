"""The one place where secrets are removed from everything that leaves the client: results, errors and log lines."""

import base64
import html
import json
import logging
import re
from collections.abc import Iterable
from typing import Any, ClassVar
from weakref import WeakSet

MASK = "***"
# A shorter secret is only removed where it is a word of its own: "pw" is a part of many harmless texts.
SHORTEST = 4
LOGGERS = (
    "httpx2",
    "httpcore2.connection",
    "httpcore2.http11",
    "httpcore2.http2",
    "httpcore2.proxy",
    "httpcore2.socks",
)


class Redactor:
    """Replaces secrets with `***`: raw, percent-encoded in whole or in part, in base64, in hex, escaped."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Prepare the patterns of some secrets.

        Args:
            secrets: The secrets; empty ones are ignored.
        """
        plain: set[str] = set()
        encoded: list[str] = []
        for secret in secrets:
            if not secret:
                continue
            plain |= _list_spellings(secret)
            encoded.append(_percent_pattern(secret))
        patterns = [
            _plain_pattern(text) for text in sorted(plain, key=len, reverse=True)
        ]
        self._pattern = re.compile("|".join(patterns)) if patterns else None
        self._percent = re.compile("|".join(encoded)) if encoded else None
        self._spellings = plain
        _watch(self)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        if self._pattern is not None:
            text = self._pattern.sub(MASK, text)
        if self._percent is not None and "%" in text:
            text = self._percent.sub(MASK, text)
        return text

    def without_cut_secret(self, text: str) -> str:
        """Return a text that was cut without the start of a secret at its end."""
        longest = 0
        for spelling in self._spellings:
            for length in range(SHORTEST, len(spelling)):
                if text.endswith(spelling[:length]):
                    longest = max(longest, length)
        return f"{text[: len(text) - longest]}{MASK}" if longest else text

    def value(self, value: Any) -> Any:
        """Return a JSON value without the secrets, in keys as in values."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.value(item) for name, item in value.items()}
        return value

    def data(self, data: bytes) -> bytes:
        """Return bytes without the secrets, of the same length."""
        text = data.decode("latin-1")
        for pattern in (self._pattern, self._percent):
            if pattern is not None:
                text = pattern.sub(_mask, text)
        return text.encode("latin-1")


def _mask(match: re.Match[str]) -> str:
    return "*" * len(match[0])


def _list_spellings(secret: str) -> set[str]:
    """Return the texts in which a secret appears without percent-encoding."""
    data = secret.encode()
    spellings = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret).replace("/", "\\/")[1:-1],
        html.escape(secret),
    }
    if len(data) < SHORTEST:
        return spellings
    spellings |= {data.hex(), data.hex().upper()}
    # Base64 of a text that contains the secret depends on where in the text the secret begins.
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
        start = (0, 2, 3)[offset]
        unfinished = (offset + len(data)) % 3
        core = encoded[start : len(encoded) - bool(unfinished)]
        spellings |= {core, core.replace("+", "-").replace("/", "_")}
    return spellings


def _plain_pattern(text: str) -> str:
    """Return the pattern of a text, which is a word of its own where it is short."""
    pattern = re.escape(text)
    if len(text) < SHORTEST:
        return f"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    return pattern


def _percent_pattern(secret: str) -> str:
    """Return a pattern in which each byte of a secret is raw or percent-encoded, also more than once."""
    parts = []
    for byte in secret.encode():
        character = chr(byte)
        encoded = f"%(?:25)*(?i:{byte:02x})"
        raw = [re.escape(character)] if byte < 128 else []
        if character == " ":
            raw.append(r"\+")
        parts.append(f"(?:{'|'.join([*raw, encoded])})")
    pattern = "".join(parts)
    if len(secret) < SHORTEST:
        return f"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    return pattern


class _RedactingFilter(logging.Filter):
    """Removes secrets from the lines of the HTTP library, which logs each address with its query."""

    redactors: ClassVar[WeakSet[Redactor]] = WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        redacted = message
        for redactor in list(self.redactors):
            redacted = redactor.text(redacted)
        if redacted != message:
            record.msg, record.args = redacted, ()
        return True


_FILTER = _RedactingFilter()


def _watch(redactor: Redactor) -> None:
    """Apply a redactor to the log lines of the HTTP library, as long as the redactor is in use."""
    _FILTER.redactors.add(redactor)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
