"""A program that runs in a process of tests/forked.py: it gets these streams, and this process ends as it does.

usage: python -IS relay.py ADDRESS WORDS

A run of the tests starts it a thousand times, so it imports only what is part of the interpreter.
"""

from __future__ import annotations

import _socket
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

IN_TIME = {"PYTHONPATH", "PYTHONUNBUFFERED"}
FORKING = ("copier", "copier_fastmcp", "pytest")


def hand_on(address: str, words: Sequence[str]) -> NoReturn:
    """Have the process at an address run the program with these words, and wait for its end."""
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(address)
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)
    order = {"words": [*words], "folder": os.getcwd(), "environ": dict(os.environ)}
    message = marshal.dumps(order, 4)  # a format that every Python here reads
    sent = connection.sendmsg([message], [rights])
    connection.sendall(message[sent:])
    code = int(connection.recv(8) or 1)
    connection.close()
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def can_relay(words: Sequence[str]) -> bool:
    """Whether a program may run there: it imports much, and no variable would come too late."""
    late = {n for n in os.environ if n.startswith(("FASTMCP_", "PYTHON"))} - IN_TIME
    module, code, *_ = [*words[words[:1] == ["-P"] :], "", ""]
    is_known = (module == "-m" and code in FORKING) or (
        module == "-c" and "main()" in code
    )
    return not late and (is_known or module.endswith((".py", "/copier-fastmcp")))


if __name__ == "__main__":
    hand_on(sys.argv[1], sys.argv[2:])
