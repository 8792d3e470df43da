"""Former names of `evidence.py`, until adopting/ imports the new ones."""

from .evidence import READ_ONLY
from .evidence import ToolTexts as Subject

__all__ = ["READ_ONLY", "Subject"]
