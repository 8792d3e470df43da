"""The former name of `servers.py`, until adopting/ imports the new one."""

from .servers import fetch_tools as over_the_wire

__all__ = ["over_the_wire"]
