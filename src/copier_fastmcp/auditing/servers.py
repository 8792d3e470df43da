"""The tools of a running server; a failure is one line."""

import asyncio
import logging
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..errors import UnableError
from .tool_lists import Tools


def fetch_tools(
    server: str | None, url: str | None, headers: Mapping[str, str], seconds: float
) -> Tools:
    """Fetch the tools of a running server.

    Raises:
        UnableError: The server did not respond; the message contains its last line on stderr.
    """
    from .wire import fetch_from_server

    with (
        _silence_logging(),
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
    ):
        try:
            if url is not None and not re.match(r"https?://[^/]", url):
                raise ValueError("an address begins with http:// or https://")
            return asyncio.run(fetch_from_server(server, url, headers, seconds, log))
        except (Exception, asyncio.CancelledError) as error:
            log.seek(0)
            late = (
                f"no answer in {seconds:g} seconds"
                if isinstance(error, TimeoutError)
                else ""
            )
            reasons = [
                late or str(error) or type(error).__name__,
                *log.read().splitlines()[-1:],
            ]
            message = f"could not check {url or server or 'an empty command'}: {' | '.join(reasons)}"
            raise UnableError(message) from error


@contextmanager
def _silence_logging() -> Iterator[None]:
    """Silence the logs of libraries: a failure is one line."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)
