"""The errors that stop a command with one line."""


class StartError(Exception):
    """The server cannot start; the message is one line with the place and the fix."""


class CouldNotError(StartError):
    """What was asked for could not be tried: a port is taken, a server does not answer."""
