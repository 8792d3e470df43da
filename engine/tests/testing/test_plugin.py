"""What loading the plugin and the modules that the command shares brings along."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
TESTING = "copier_fastmcp_engine.testing"


def list_imports(*modules: str) -> set[str]:
    """Return the modules that importing some brings along, in a process of its own."""
    code = f"import sys\nsys.path.insert(0, {str(SOURCE)!r})\n"
    code += "".join(f"import {module}\n" for module in modules)
    code += "print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("module", ["rules", "lock", "changes", "cases", "tool_table"])
def test_modules_shared_with_the_command_need_only_the_standard_library(
    module: str,
) -> None:
    assert f"{TESTING}.{module}" in list_imports(
        f"{TESTING}.{module}"
    )  # -S: nothing else is there


def test_loading_the_plugin_imports_no_server_module() -> None:
    code = (
        f"import sys\nsys.path.insert(0, {str(SOURCE)!r})\n"
        f"import {TESTING}.plugin\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert f"{TESTING}.plugin" in loaded
    assert not {"fastmcp", "pydantic", "mcp"} & loaded
    engine_modules = {
        name for name in loaded if name.startswith("copier_fastmcp_engine.")
    }
    assert all(name.startswith(TESTING) for name in engine_modules)
