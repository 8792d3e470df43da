"""Plan Evening."""

from ..policy import prompt


@prompt(title="Plan Evening", description="Plan an evening of reading.")
def plan_evening(minutes: int = 30) -> str:
    """Return the text of the prompt."""
    return f"Search my unread articles and choose some that take {minutes} minutes together."
