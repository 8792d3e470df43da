"""Failures instead of silent skips on CI: a missing program fails its test unless MAY_SKIP names it.

A platform, a fork of the template, or the answers of a project may decide that a row asks nothing; a program that is not
installed decides nothing. `MAY_SKIP="redis chromium"` allows reasons with one of these words.
"""

import os
import re
from collections.abc import Generator
from typing import Any

import pytest

ON_CI = os.environ.setdefault(
    "LOUD_SKIPS", os.environ.get("CI", "")
)  # processes that tests start inherit it
DECIDED = re.compile(
    "POSIX|fork|posix|pseudo-terminal|process groups|in a shell|no two steps|nobody is asked"
    "|no such signals|this user has not|only root|root may|pexpect"
)


def is_missing(reason: str) -> bool:
    """Tell whether a test was skipped because a program that CI should have is missing."""
    allowed = os.environ.get("MAY_SKIP", "").lower().split()
    return not DECIDED.search(reason) and not any(
        word in reason.lower() for word in allowed
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[
    None, pytest.TestReport, pytest.TestReport
]:
    """Turn a skip for want of something into a failure that says how to allow it."""
    report = yield
    longrepr: Any = report.longrepr
    skipped = (
        report.skipped
        and not hasattr(report, "wasxfail")
        and isinstance(longrepr, tuple)
    )
    if ON_CI and skipped and is_missing(longrepr[2]):
        remedy = "install it (scripts/_system), or name it in MAY_SKIP"
        report.outcome, report.longrepr = (
            "failed",
            f"{longrepr[2]}\nOn CI this is a failure: {remedy}.",
        )
    return report
