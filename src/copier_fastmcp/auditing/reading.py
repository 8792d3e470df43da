"""Former names of `verbs.py`, until adopting/ and bodies/ import the new ones."""

from .verbs import Verb as Says
from .verbs import parse_name as of_name
from .verbs import split_name as tokens

__all__ = ["Says", "of_name", "tokens"]
