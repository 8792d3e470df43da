"""What the packaging files say of the package is the same in all of them. Managed by the template."""

import json
import tomllib
from pathlib import Path

from .conftest import insist

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_package_has_the_same_version() -> None:
    registry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    bundle = json.loads((ROOT / "manifest.json").read_text(encoding="utf-8"))
    said = {
        "server.json": registry["version"],
        "server.json packages": registry["packages"][0]["version"],
        "manifest.json": bundle["version"],
    }
    wanted = PROJECT.get("version", bundle["version"])  # absent where a build plugin finds it
    wrong = [f"{where} has {it}" for where, it in said.items() if it != wanted]
    insist(not wrong, f"pyproject.toml has version {wanted}, {', '.join(wrong)}")


def test_the_readme_names_the_server_as_the_registry_does() -> None:
    name = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))["name"]
    line = f"<!-- mcp-name: {name} -->"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    insist(line in readme, f"README.md lacks the line {line}, by which the registry knows it")
