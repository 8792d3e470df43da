"""What a tool file may import: the decorators, and the question a body asks itself.

Managed by the template; your own code goes beside this folder, never into it.
"""

from .asking import ConfirmationResult, ConfirmationSchema
from .consent import Granted, granted_token, requires_consent
from .declarations import action, append, create, declare, delete, ensure, put, read, update
from .gate import require_confirmation
from .loading import resource

__all__ = ["ConfirmationResult", "ConfirmationSchema", "action", "append", "create", "declare"]
__all__ += ["delete", "ensure", "put", "read", "require_confirmation", "resource", "update"]
__all__ += ["Granted", "granted_token", "requires_consent"]
