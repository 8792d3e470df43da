"""What your tools may import: the decorators, and what governs a server that was there before.

Managed by the template; your own code goes beside this folder, never into it.
"""

from .asking import ConfirmationResult, ConfirmationSchema
from .declarations import action, append, create, declare, delete, ensure, put, read, update
from .gate import require_confirmation
from .governing import govern, tool

__all__ = ["ConfirmationResult", "ConfirmationSchema", "action", "append", "create", "declare"]
__all__ += ["delete", "ensure", "govern", "put", "read", "require_confirmation", "tool", "update"]
