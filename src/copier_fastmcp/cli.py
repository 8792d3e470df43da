"""The command line: one verb, one module, imported when it is called.

The page that `--help` prints needs nothing but this module and `errors`, so it is there at once.
"""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module

from .errors import AnswersError, RefusedError, UnableError, one_line

NAME = "copier-fastmcp"
VERBS = {
    "new": "Create a server from names, an OpenAPI document, or an answers file.",
    "import": "Convert an OpenAPI document to an answers file, with the source of each behavior.",
    "sync": "Apply a later OpenAPI document to a server: answers, tool files and lock, on a branch.",
    "try": "Call the reads of the server's API, and compare the responses with the tools.",
    "add": "Add a tool to a server, in a dialog or by options.",
    "rename": "Rename a tool everywhere: answer, file, test, lock and tool table.",
    "remove": "Remove a tool everywhere: answer, file, test, lock and tool table.",
    "update": "Update a server to a release of the template, on a branch.",
    "drift": "List policy files that differ from the template at the recorded version.",
    "restore": "Restore policy files to the recorded version.",
    "fleet": "Update many servers to a release of the template, each on a branch.",
    "adopt": "Add the policy to an existing FastMCP server.",
    "annotate": "Write correct hints and titles into an existing server, and nothing else.",
    "audit": "Check the hints of any MCP server without calling a tool.",
    "export": "Print the file for a directory's submission form, from annotations.lock.json.",
    "explain": "Print what a rule requires, who requires it, and how to fix a violation.",
}
# A verb that Python keeps for itself is another name in code.
NAMES = {"import": ("importing", "import_"), "try": ("trying", "try_")}
EXITS = "Exit codes: 0 done or clean, 1 findings or refused, 2 failed; an error is one line."
# Git and ssh must not ask in the middle of something: their questions would wait unseen.
QUIET_GIT = {"GIT_TERMINAL_PROMPT": "0"}
QUIET_SSH = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}


def format_overview() -> str:
    """The page that `--help` prints."""
    width = max(map(len, VERBS)) + 2
    rows = [f"  {verb:{width}}{text}" for verb, text in VERBS.items()]
    lines = [
        f"Usage: {NAME} VERB [OPTIONS]",
        "",
        "Create and maintain FastMCP servers from the template copier-fastmcp.",
        "",
        *rows,
        "",
        f"`{NAME} VERB --help` explains a verb. Every verb has --json, which prints only JSON, and",
        "--debug, which prints a traceback. `--version` prints the template in use.",
        EXITS,
    ]
    return "\n".join(lines)


def format_version() -> str:
    """This command's version, and the template that it belongs to."""
    from .project.origin import find_template, get_installed_version

    try:
        template = find_template()
        origin = f"template {template.source} at {template.ref}"
    except UnableError as error:
        origin = str(error)
    return f"{NAME} {get_installed_version()}\n{origin}"


def _format_default(default: object) -> object:
    """A default, for the help; an option that is off unless said needs none."""
    return None if default is False else default


def _read_purpose(function: Callable[..., object]) -> str:
    """What a docstring says before its sections, a paragraph on a line: the terminal wraps it."""
    from inspect import getdoc

    text, _, _ = (getdoc(function) or "").partition("\n\nArgs:")
    paragraphs: list[str] = []
    for paragraph in text.split("\n\n"):
        paragraphs.append(" ".join(paragraph.split()))
    return "\n\n".join(paragraphs)


def call(verb: str, words: Sequence[str]) -> int:
    """Run a verb with its words; what it returns is the exit code."""
    from cyclopts import App, CycloptsError, Parameter

    module, name = NAMES.get(verb, (verb, verb))
    function = getattr(import_module(f"{__package__}.{module}"), name)
    app = App(
        name=f"{NAME} {verb}",
        help=_read_purpose(function),
        help_format="plaintext",
        help_formatter="plain",
        help_epilogue=EXITS,
        version_flags=(),
        default_parameter=Parameter(negative=(), show_default=_format_default),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    app.default(function)
    try:
        code = app(list(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise UnableError(
            f"{one_line(error)} `{NAME} {verb} --help` shows its options"
        ) from error
    return code if isinstance(code, int) else 0


def _dispatch(words: Sequence[str]) -> int:
    if not words or words[0] in ("--help", "-h", "help"):
        if not sys.stdout.isatty():
            print(format_overview())
            return 0
        from .wrapping import print_text

        print_text(format_overview(), max(map(len, VERBS)) + 4)
        return 0
    if words[0] == "--version":
        print(format_version())
        return 0
    if words[0] not in VERBS:
        from difflib import get_close_matches

        close = get_close_matches(words[0], VERBS, 1)
        suggestion = f"did you mean {close[0]}? The" if close else "the"
        raise UnableError(
            f"{words[0]!r} is not a verb; {suggestion} verbs are {', '.join(VERBS)}"
        )
    return call(words[0], words[1:])


def _split_debug(words: Sequence[str]) -> tuple[list[str], bool]:
    """The words but for `--debug`, which stands anywhere in front of a `--`."""
    end = words.index("--") if "--" in words else len(words)
    remaining = [word for word in words[:end] if word != "--debug"]
    return [*remaining, *words[end:]], len(remaining) < end


def _describe_error(error: Exception) -> list[str]:
    """Return an error as lines: one, or one for each error in the answers."""
    if isinstance(error, AnswersError):
        return list(map(one_line, error.lines))
    if isinstance(error, (RefusedError, UnableError)):
        return [one_line(error)]
    if isinstance(error, subprocess.CalledProcessError):
        output = f"{error.stdout or ''}{error.stderr or ''}".strip().splitlines()
        return [one_line(f"{error}: {output[-1]}" if output else error)]
    if isinstance(error, (OSError, ValueError)):
        return [one_line(error) or type(error).__name__]
    return [one_line(f"{type(error).__name__}: {error}; --debug prints a traceback")]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 done or clean, 1 findings or refused, 2 could not."""
    words, debug = _split_debug(sys.argv[1:] if words is None else words)
    os.environ.update(QUIET_SSH | os.environ | QUIET_GIT)
    with suppress(ValueError):  # outside the main thread
        # At SIGTERM a verb puts back what it did, as at Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print(f"{NAME}: stopped", file=sys.stderr)
        return 130
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        for line in _describe_error(error):
            print(f"{NAME}: {line}", file=sys.stderr)
        return 1 if isinstance(error, RefusedError) else 2
    return code
