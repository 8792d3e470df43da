"""What probes and tests import of the suite; the one file here that names it. Managed by the template."""

from copier_fastmcp_engine.testing.cases import Case
from copier_fastmcp_engine.testing.plugin.problems import Problem
from copier_fastmcp_engine.testing.plugin.suite import Suite
from copier_fastmcp_engine.testing.rules import Tool

__all__ = ["Case", "Problem", "Suite", "Tool"]
