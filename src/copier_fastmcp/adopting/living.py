"""`--live`: the tools that a server lists when it runs, beside those that its source shows."""

import sys
from dataclasses import replace

from ..auditing.reading import tokens
from ..errors import one_line
from ..parsing.saying import SourceTool
from .survey import Survey

SECONDS = 60


def compared(seen: Survey, command: str) -> Survey:
    """What was read, and the tools that only the running server shows; what differs is told on stderr.

    Raises:
        UnableError: The command does not answer as a server.
    """
    from ..auditing.running import over_the_wire

    print(f"--live runs the server's code: {one_line(command)}", file=sys.stderr)
    names = [str(tool.get("name")) for tool in over_the_wire(command, None, {}, SECONDS)]
    read = [each.tool for each in seen.proposals] + seen.left
    unread = tuple(name for name in names if not any(_is(one, name) for one in read))
    absent = [one.name for one in read if one.exact and one.name not in names]
    agree = "the same that its source shows"
    differ = agree if not (unread or absent) else f"{len(unread)} not found in the source"
    print(f"it lists {len(names)} tools, {differ}", file=sys.stderr)
    if absent:
        said = f"found in the source and not listed: {', '.join(absent)}"
        print(f"{said}; a setting may leave them out", file=sys.stderr)
    return replace(seen, unread=unread)


def _is(found: SourceTool, name: str) -> bool:
    """Whether a listed name is that of a tool that was read; of one that is put together, its parts come in order."""
    if found.exact or found.name == name:
        return found.name == name
    rest = iter(tokens(name))
    return found.name != "*" and all(part in rest for part in tokens(found.name))
