"""What the process holds outside of modules: its umask, paths, signals, limits, and functions that run at its end."""

import atexit
import gc
import locale
import logging
import os
import random
import signal
import socket
import sys
import time
import weakref
from typing import Any

AT_EXIT = "atexit"
SEEDED = "random.seed()"
State = dict[str, Any]


def read_process() -> State:
    """Return the state of the process, by what holds it.

    It draws a random number afterwards: only who begins the numbers anew reaches the same state again.
    """
    mask = os.umask(0o077)
    os.umask(mask)
    numbers = random.getstate()
    random.random()
    handlers = {}
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None)):
        if number is not None:
            handlers[number] = signal.getsignal(number)
    return {
        "umask": mask,
        "sys.path": [*sys.path],
        "sys.argv": [*sys.argv],
        "sys.getrecursionlimit()": sys.getrecursionlimit(),
        "signal handlers": handlers,
        "locale": locale.setlocale(locale.LC_ALL),
        "socket.getdefaulttimeout()": socket.getdefaulttimeout(),
        "gc.isenabled()": gc.isenabled(),
        "time.tzname": time.tzname,
        "logging.disable()": logging.root.manager.disable,
        AT_EXIT: _count_exit_functions(),
        SEEDED: numbers,
    }


def _count_exit_functions() -> int:
    """Return how many functions run at the end, without the one that the first weakref.finalize adds."""
    count = getattr(atexit, "_ncallbacks", int)()
    return int(count) - bool(getattr(weakref.finalize, "_registered_with_atexit", 0))


def find_changed_process(states: list[State]) -> list[str]:
    """Return what calls changed; an imported library may add a function that runs at the end once.

    Args:
        states: The states before the first call and after each.
    """
    changed = []
    for name, old in states[0].items():
        if states[-1][name] == old or (name == SEEDED and not _is_seeded(states)):
            continue
        is_once = len(states) < 3 or states[1][name] == states[-1][name]
        if name != AT_EXIT or not is_once:
            changed.append(name)
    return changed


def _is_seeded(states: list[State]) -> bool:
    """Tell whether calls began the random numbers anew: any other leaves another state."""
    seen = [state[SEEDED] for state in states]
    return len(seen) > 2 and seen[1] == seen[-1] != seen[0]
