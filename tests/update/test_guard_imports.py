"""The guard of an update runs in Copier's interpreter, which has nothing but what Copier itself needs."""

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from support import ROOT

BLOCK = """
import runpy, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"no {name} in Copier's environment", name=name)

sys.meta_path.insert(0, Refuse())
runpy.run_path(GUARD, run_name="guard")
print("imported")
"""


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def find_dependencies(distribution: str) -> set[str]:
    """Find the distributions that a distribution needs, itself included."""
    modules: set[str] = set()
    waiting = [distribution]
    while waiting:
        name = normalize(waiting.pop())
        if name in modules:
            continue
        modules.add(name)
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for line in lines:
            if "extra ==" not in line:
                waiting.append(re.split(r"[\s;<>=!~\[(]", line)[0])
    return modules


def refused_modules() -> list[str]:
    """The modules that are installed here and would not be where Copier is alone."""
    allowed = find_dependencies("copier")
    refused = []
    for module, distributions in packages_distributions().items():
        if not allowed.intersection(map(normalize, distributions)):
            refused.append(module)
    return refused


def run_guard(refused: list[str]) -> subprocess.CompletedProcess[str]:
    """Import the guard as Copier runs it, in a process of its own."""
    guard = str(ROOT / "hooks/guard.py")
    code = f"REFUSED = {set(refused)!r}\nGUARD = {guard!r}\n{BLOCK}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_the_guard_needs_what_copier_needs_and_no_more() -> None:
    refused = set(refused_modules())
    assert {"fastmcp", "cyclopts", "tomlkit"} <= refused
    done = run_guard(sorted(refused - {"copier_fastmcp", "copier_fastmcp_engine"}))
    assert done.stdout.strip() == "imported", done.stderr


def test_a_further_need_is_seen() -> None:
    assert "no yaml in Copier's environment" in run_guard(["yaml"]).stderr
