"""What probes and tests import of the suite; the one file here that names it. Managed by the template."""

from copier_fastmcp_suite.cases import Case
from copier_fastmcp_suite.plugin.problems import Problem
from copier_fastmcp_suite.plugin.suite import Suite
from copier_fastmcp_suite.rules import Tool

__all__ = ["Case", "Problem", "Suite", "Tool"]
