"""Data locations as they may be shown: absolute, and without passwords."""

import os
import re
from pathlib import Path

NOT_PATHS = ("", "memory", ":memory:", "stdout", "stderr")
# An address with a password, or a list of NAME=VALUE with a secret
SECRET = re.compile(r"(?i)//.*@|(key|pass|pwd|secret|token|credential)\w*\s*=")


def describe_place(where: str) -> str:
    """Return a location as a setting names it, made absolute; without its password."""
    if "://" in where:
        address, _, query = where.partition("?")
        # A password may hold a question mark
        base = address.partition("//")[0] if "@" in query else address
        return re.sub("//.*@", "//", base)
    if SECRET.search(where):  # as database drivers accept it
        return "…"
    if where in NOT_PATHS:
        return where
    return str(Path(os.path.expanduser(where)).absolute())


def describe_error(error: Exception, where: str) -> str:
    """Return what is wrong with a location, on one line; only its kind where the message may repeat a password."""
    has_secret = SECRET.search(where) or (
        "://" in where and describe_place(where) != where
    )
    if has_secret and not isinstance(error, ImportError):  # which is about a package
        return type(error).__name__
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
