"""What a tool file may import: the decorators, and the question a body asks itself.

Managed by the template; your own code goes beside this folder, never into it.
"""

from .behaviors import action, append, create, delete, ensure, put, read, update
from .confirmation import ConfirmationResult, ConfirmationSchema, require_confirmation
from .registry import resource

__all__ = [
    "ConfirmationResult",
    "ConfirmationSchema",
    "action",
    "append",
    "create",
    "delete",
    "ensure",
    "put",
    "read",
    "require_confirmation",
    "resource",
    "update",
]
