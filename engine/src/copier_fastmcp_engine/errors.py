"""The errors that stop a command with one line."""


class StartError(Exception):
    """The server cannot start; the message is one line with the place and the fix."""


class RuleError(StartError):
    """What the server serves breaks a rule of its policy; `copier-fastmcp explain` knows the rule."""

    def __init__(self, text: str, remedy: str, rule: str) -> None:
        """Compose the finding.

        Args:
            text: The place, and what is wrong there.
            remedy: What to do about it.
            rule: The rule that is broken.
        """
        super().__init__(f"{text}; {remedy} ({rule})")


class CouldNotError(StartError):
    """What was asked for could not be tried: a port is taken, a server does not answer."""
