"""Former names of `definitions.py`, until adopting/ imports the new ones."""

from .definitions import collect_evidence as signals
from .definitions import parse_tools as subjects

__all__ = ["signals", "subjects"]
