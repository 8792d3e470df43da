"""The error that stops a start with one line. Managed by the template."""


class StartError(Exception):
    """The server cannot start; the message is one line that names the place and how to mend it."""
