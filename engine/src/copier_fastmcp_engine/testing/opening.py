"""Which kind of project a run of the suite is about."""

from pathlib import Path

from .existing import ExistingServer
from .project import ProjectUnderTest


def open_project(
    root: Path, policy_package: str, location: str | None = None
) -> ProjectUnderTest:
    """Return the project in a folder.

    Args:
        root: The folder.
        policy_package: The dotted name of its policy.
        location: For an adopted server `module:name` of what makes it, `-` where nothing is known; else None.
    """
    if location is None:
        return ProjectUnderTest(root, policy_package)
    return ExistingServer(root, policy_package, location.removeprefix("-"))
