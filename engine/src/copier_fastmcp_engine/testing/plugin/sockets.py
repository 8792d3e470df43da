"""Connections that a tool opens while it is called: one that declares a closed world opens none."""

import contextlib
import socket
import sys
from collections.abc import Iterator
from typing import Any

EVENTS = ("socket.connect", "socket.sendto", "socket.getaddrinfo")
_watched: list[list[str]] = []
_is_installed = False


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    """Note where a connection goes; sockets of this machine's own files are none."""
    if not _watched or event not in EVENTS:
        return
    if event == "socket.getaddrinfo":
        address = f"{arguments[0]}:{arguments[1]}"
    elif arguments[0].family == getattr(socket, "AF_UNIX", None):
        return
    else:
        address = ":".join(str(part) for part in arguments[1][:2])
    for addresses in _watched:
        addresses.append(address)


@contextlib.contextmanager
def watching_connections() -> Iterator[list[str]]:
    """Collect the addresses to which connections are opened in the block."""
    global _is_installed
    if not _is_installed:  # an audit hook stays for the life of the process
        sys.addaudithook(_listen)
        _is_installed = True
    addresses: list[str] = []
    _watched.append(addresses)
    try:
        yield addresses
    finally:
        _watched.remove(addresses)
