"""The start of a server's command line, which says in one line what a user can fix.

Clients start a server as `NAME run`. The parser of words and the other commands are loaded only where they are
needed: they take a twentieth of a server's start.
"""

import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from .policy import Policy
from .project import Project

if TYPE_CHECKING:
    from cyclopts import App


def run_cli(
    policy: Policy, description: str, add_commands: "Callable[[App], None] | None"
) -> None:
    """Run the command line of a server with the words of this process.

    A server that cannot start ends with one line on stderr.

    Args:
        policy: The server's policy.
        description: What the server does.
        add_commands: `commands` of the project's extend.py; None where it has none.
    """
    words = sys.argv[1:]
    try:
        if words == ["run"] and add_commands is None:
            from .serving import serve

            serve(Project(policy))
            return
        from .commands import make_app

        app = make_app(policy, description)
        if add_commands is not None:
            add_commands(app)
        app(words, exit_on_error=False, print_error=False)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        code, message = explain(error, policy)
        print(f"{policy.server_name}: {message}", file=sys.stderr)
        sys.exit(code)


def explain(error: Exception, policy: Policy) -> tuple[int, str]:
    """Return the exit code and the line of an error that a user can fix; any other is raised again."""
    if isinstance(error, ImportError):
        cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        if (cause.name or "").startswith((policy.package, str(__package__))):
            return 2, f"{cause}; is a policy file missing? See `git status`"
        raise error
    from cyclopts import CycloptsError

    if isinstance(error, CycloptsError):
        command = " ".join([policy.server_name, *(error.command_chain or ())])
        problem = " ".join(str(error).split())
        return 2, f"{problem} `{command} --help` shows its options"
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from .errors import CouldNotError, StartError
    from .places import SECRET

    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where, value = "_".join(str(part) for part in first["loc"]), first["input"]
        # Where one is missing, or several do not fit together, it is all of them
        is_shown = isinstance(value, str | int | float) and not SECRET.search(
            f"{where}={value}"
        )
        suffix = f" (got {value!r})" if is_shown else ""
        if not where:
            return 1, f"settings: {first['msg']}{suffix}"
        verb = "set" if first["type"] == "missing" else "change"
        variable = f"{policy.env_prefix}{first['loc'][0]}".upper()
        return 1, f"setting {where}: {first['msg']}{suffix}; {verb} {variable}"
    if isinstance(error, SettingsError):
        return 1, f"{error}; write it as JSON"
    if isinstance(error, StartError | OSError):
        return 2 if isinstance(error, CouldNotError) else 1, str(error)
    raise error
