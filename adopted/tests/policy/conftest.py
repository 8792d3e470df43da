"""Your own `pytest` leaves this suite out: check.py runs it, with settings of its own. Managed by the template."""

if __package__:
    from .suite import *  # noqa: F403
else:
    collect_ignore_glob = ["*"]
