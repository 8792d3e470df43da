"""`drift`: policy files that are not as the template has them."""

import json
import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .answers import recorded
from .copying import rendered
from .errors import RefusedError, UnableError

# The owner's files, and those that owner and template share: a difference there is no drift.
NOT_POLICY = re.compile(
    r"src/[^/]+/((tools|resources)/.+|(backend|settings|extend)\.py|metadata\.yaml)"
    r"|tests/(tools/.+|conftest\.py)|annotations\.lock\.json|docs/tools\.md|\.copier-answers\.yml"
    r"|pyproject\.toml|README\.md|\.gitignore|LICENSE|server\.json|manifest\.json"
)


def policy_files(fresh: Path) -> list[str]:
    """The policy files of a render, as paths in the project."""
    files = (path for path in fresh.rglob("*") if path.is_file())
    names = (path.relative_to(fresh).as_posix() for path in files)
    return sorted(name for name in names if not NOT_POLICY.fullmatch(name))


def differences(fresh: Path, project: Path) -> dict[str, str]:
    """Each policy file of a fresh render that the project has otherwise: "edited" or "missing".

    Line ends do not count.
    """
    states = {}
    for name in policy_files(fresh):
        mine = project / name
        if not mine.is_file():
            states[name] = "missing"
        elif mine.read_bytes().replace(b"\r\n", b"\n") != (fresh / name).read_bytes():
            states[name] = "edited"
    return states


def drift(
    *,
    template: str | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """List the policy files of this project that differ from the template at the recorded version.

    The version is rendered anew from `.copier-answers.yml`, which runs no code of the template.
    Files of yours, and those that you share with the template, are not compared.

    Args:
        template: Where the template is, when it is no longer at the recorded address.
        json_output: Print JSON.

    Returns:
        0 when they are the same, 1 when any differ.

    Raises:
        UnableError: The recorded version cannot be rendered.
    """
    try:
        known = recorded(template)
        with rendered(known) as fresh:
            states = differences(fresh, Path())
    except (RefusedError, UnableError, OSError) as error:
        raise UnableError(f"could not compare with the template: {error}") from error
    source, version = known["_src_path"], known["_commit"]
    if json_output:
        print(json.dumps({"template": source, "version": version, "files": states}, indent=2))
    else:
        for name, state in states.items():
            print(f"{name}: {state}")
        print(f"{len(states)} policy files differ from {source} at {version}")
    return 1 if states else 0
