"""The dependencies of an existing server, and those that the policy adds."""

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ..errors import RefusedError
from ..project.engine_requirement import append_requirement, parse_requirement

FASTMCP = "fastmcp>=4.1,<5"
PYTEST = "pytest>=8.4"
# The steps after an adoption.
PIN = "tests/policy/pin.py"
CHECK = "tests/policy/check.py"
REVIEW = "git diff"
SCRIPT = re.compile(r"(?m)^# /// script\s*$\n((?:^#(?: .*)?$\n?)*?)^# ///\s*$")
POETRY_CARET = re.compile(r"\^(\d+)((?:\.\d+)*)")
POETRY_TILDE = re.compile(r"~\d+(?:\.\d+)*")
POETRY_EXACT = re.compile(r"\d[\w.]*")
# What may follow a requirement on its line: a comment, options of pip, a line break.
OPTIONS = re.compile(r"\s#|\s--|\s*\\$")
OLD_PYTHON = re.compile(r">=\s*3\.(?:[6-9]|10)(?:\.\d+)?(?![.\d])")
OLDER = ("0.1", "1.0", "2.0", "2.14", "3.0", "3.9", "4.0", "4.0.99")
RECENT = ("4.1.0", "4.1.2", "4.2.0", "4.9.0")
NEEDS = {
    "anyio": "anyio>=4",
    "fastmcp": FASTMCP,
    "mcp": "mcp>=2.3",
    "mcp-types": "mcp-types>=2.3",
    "opentelemetry-api": "opentelemetry-api>=1.30",
    "platformdirs": "platformdirs>=4",
    "py-key-value-aio": "py-key-value-aio>=0.4.4,<0.5",
    "pydantic": "pydantic>=2.12",
    "pydantic-core": "pydantic-core>=2.41",
    "pydantic-settings": "pydantic-settings>=2",
    "starlette": "starlette>=0.50",
}
NEEDED = "adopt needs FastMCP 4.1"
RAISE = (
    "raise it to fastmcp>=4.1,<5, run your tests, then adopt; "
    "until then `annotate` writes the hints and `audit` checks them"
)
PORT = f"{NEEDED}: import FastMCP from fastmcp, {RAISE}"


def load_pyproject(root: Path) -> dict[str, Any]:
    """Load pyproject.toml; empty if there is none.

    Raises:
        RefusedError: It is not TOML.
    """
    path = root / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"pyproject.toml: {error}; fix it") from error


def require_recent_fastmcp(root: Path, frameworks: set[str]) -> None:
    """Make sure that the server can run on FastMCP 4.1.

    Raises:
        RefusedError: The server requires an older version; the message names the steps of porting it.
    """
    if "FastMCP" not in frameworks:
        names = " and ".join(sorted(frameworks)) or "no FastMCP"
        raise RefusedError(f"this server is written with {names}; {PORT}")
    for file, text in _list_requirements(root):
        requirement = parse_requirement(text)
        if not requirement or canonicalize_name(requirement.name) != "fastmcp":
            continue
        if not _accepts_any(requirement, RECENT):
            raise RefusedError(f"{file} asks for {text}; {NEEDED}: {RAISE}")


def _list_requirements(root: Path) -> Iterator[tuple[str, str]]:
    """The requirements of a project, each with its file."""
    settings = load_pyproject(root)
    for text in _list_dependencies(settings.get("project", {})):
        yield "pyproject.toml", text
    for text in _list_grouped_dependencies(settings):
        yield "pyproject.toml", text
    for text in _list_poetry_dependencies(settings):
        yield "pyproject.toml", text
    for path in sorted(root.glob("*.py")):
        for text in read_script_dependencies(path):
            yield path.name, text
    file = root / "requirements.txt"
    if not file.is_file():
        return
    for line in file.read_text("utf-8", "replace").splitlines():
        requirement = OPTIONS.split(line)[0]
        yield file.name, requirement.strip()


def _list_dependencies(table: Mapping[str, Any]) -> list[str]:
    """The `dependencies` of a table in TOML; none where they are no list."""
    dependencies = table.get("dependencies")
    if not isinstance(dependencies, list):
        return []
    return [str(text) for text in dependencies]


def _list_grouped_dependencies(settings: Mapping[str, Any]) -> Iterator[str]:
    """The requirements of extras and of dependency groups, which are installed next to the others."""
    extras = settings.get("project", {}).get("optional-dependencies", {})
    for group in (*extras.values(), *settings.get("dependency-groups", {}).values()):
        for requirement in group:
            if isinstance(requirement, str):
                yield requirement


def _list_poetry_dependencies(settings: Mapping[str, Any]) -> Iterator[str]:
    """The dependencies of Poetry's own table, as standard requirements."""
    poetry = settings.get("tool", {}).get("poetry", {})
    dependencies = poetry.get("dependencies")
    if not isinstance(dependencies, dict):
        return
    for name, constraint in dependencies.items():
        version = constraint
        if isinstance(constraint, dict):
            version = constraint.get("version", "")
        if isinstance(version, str):
            yield f"{name}{_convert_poetry_bounds(version)}"


def read_script_dependencies(path: Path) -> list[str]:
    """The dependencies that a script declares in a comment of its own (PEP 723)."""
    script_block = SCRIPT.search(path.read_text("utf-8", "replace"))
    if script_block is None:
        return []
    lines: list[str] = []
    for line in script_block[1].splitlines():
        lines.append(line.removeprefix("#").removeprefix(" "))
    try:
        settings = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return []
    return _list_dependencies(settings)


def _convert_poetry_bounds(version: str) -> str:
    """Convert version bounds of Poetry to the standard form: `^2.3` is `>=2.3,<3`."""
    bounds: list[str] = []
    for part in version.replace(" ", "").split(","):
        bounds += _convert_poetry_bound(part)
    return ",".join(bounds)


def _convert_poetry_bound(bound: str) -> list[str]:
    caret = POETRY_CARET.fullmatch(bound)
    if caret:
        lower, major = f">={caret[1]}{caret[2]}", int(caret[1])
        return [lower, f"<{major + 1}"] if major else [lower]
    if POETRY_TILDE.fullmatch(bound):
        version = bound.removeprefix("~")
        return [f"~={version}" if "." in version else f"=={version}.*"]
    if POETRY_EXACT.fullmatch(bound):
        return [f"=={bound}"]
    return [bound] if bound not in ("", "*") else []


def add_dependencies(root: Path) -> tuple[str | None, str]:
    """Add the policy's dependencies to pyproject.toml.

    Returns:
        The new text, None if unchanged; and what to add by hand, if anything.
    """
    path = root / "pyproject.toml"
    declared = load_pyproject(root).get("project", {}).get("dependencies")
    if not isinstance(declared, list):
        names = ", ".join(NEEDS.values())
        place = _name_other_place(root)
        return None, f"add to {place}: {names}; and pytest to those of development"
    import tomlkit

    before = path.read_bytes().decode()
    document = tomlkit.parse(before)
    project: Any = document["project"]
    by_hand = _complete_dependencies(project["dependencies"])
    python_bound = str(project.get("requires-python", ""))
    raised_bound = OLD_PYTHON.sub(">=3.11", python_bound)
    if raised_bound != python_bound:
        project["requires-python"] = raised_bound
    groups: Any = document.setdefault("dependency-groups", tomlkit.table())
    dev = groups.setdefault("dev", tomlkit.array())
    if not any(str(text).startswith("pytest") for text in dev):
        append_requirement(dev, PYTEST)
    after = tomlkit.dumps(document)
    if "\r\n" in before:
        after = re.sub("\r?\n", "\r\n", after)
    if after == before:
        return None, by_hand
    return after, by_hand


def _complete_dependencies(dependencies: Any) -> str:
    """Raise FastMCP in an array of tomlkit, and append what the policy needs.

    Returns:
        What to do by hand, if anything.
    """
    positions: dict[str, int] = {}
    for position, text in enumerate(dependencies):
        requirement = parse_requirement(str(text))
        if requirement:
            positions[canonicalize_name(requirement.name)] = position
    by_hand = ""
    if "fastmcp" in positions:
        position = positions["fastmcp"]
        present = str(dependencies[position])
        raised, by_hand = _raise_floor(present)
        if raised != present:
            dependencies[position] = raised
    missing: list[str] = []
    for name, requirement_text in NEEDS.items():
        if canonicalize_name(name) not in positions:
            missing.append(requirement_text)
    if missing and "\n" not in dependencies.as_string():
        dependencies.multiline(True)
    for requirement_text in missing:
        append_requirement(dependencies, requirement_text)
    return by_hand


def _name_other_place(root: Path) -> str:
    """Describe where a project without `[project] dependencies` declares them."""
    if _declares_with_poetry(root):
        return "[tool.poetry.dependencies] of pyproject.toml"
    script = _find_script(root)
    if script:
        return f"the dependencies in the `# /// script` comment of {script}"
    if (root / "requirements.txt").is_file():
        return "requirements.txt"
    return "your dependencies"


def _declares_with_poetry(root: Path) -> bool:
    """Whether a project declares its dependencies in Poetry's own table."""
    poetry = load_pyproject(root).get("tool", {}).get("poetry", {})
    return bool(poetry.get("dependencies"))


def _find_script(root: Path) -> str:
    """The name of the script that declares dependencies in a comment; empty if there is none."""
    for path in sorted(root.glob("*.py")):
        if read_script_dependencies(path):
            return path.name
    return ""


def list_next_steps(root: Path) -> list[str]:
    """The commands after an adoption: install, pin, check, review.

    Args:
        root: The folder of the server.
    """
    project = load_pyproject(root).get("project", {})
    if isinstance(project.get("dependencies"), list):
        return ["uv sync", f"uv run {PIN}", f"uv run {CHECK}", REVIEW]
    requirements = shlex.join(NEEDS.values())
    if _declares_with_poetry(root):
        return [
            f"poetry add {requirements}",
            f"poetry add --group dev {shlex.quote(PYTEST)}",
            f"poetry run python {PIN}",
            f"poetry run python {CHECK}",
            REVIEW,
        ]
    script = _find_script(root)
    if script:
        name = shlex.quote(script)
        run = f"uv run --no-project --with-requirements {name}"
        return [
            f"uv add --script {name} {requirements}",
            *_list_runs(run),
            REVIEW,
        ]
    if (root / "requirements.txt").is_file():
        run = "uv run --no-project --with-requirements requirements.txt"
        return [*_list_runs(run), REVIEW]
    return [*_list_runs("uv run --no-project --with-editable ."), REVIEW]


def _list_runs(run: str) -> list[str]:
    """The commands that pin the tools and check them, in an environment without pytest."""
    return [f"{run} {PIN}", f"{run} --with pytest {CHECK}"]


def list_raised_floors(root: Path) -> list[str]:
    """The lower bounds that an adoption raises, each with its old and new value.

    Args:
        root: The folder of the server.
    """
    floors: list[str] = []
    project = load_pyproject(root).get("project", {})
    for text in _list_dependencies(project):
        requirement = parse_requirement(text)
        if requirement and canonicalize_name(requirement.name) == "fastmcp":
            raised, _ = _raise_floor(text)
            if raised != text:
                floors.append(f"{text} becomes {raised}")
    python_bound = str(project.get("requires-python", ""))
    raised_bound = OLD_PYTHON.sub(">=3.11", python_bound)
    if raised_bound != python_bound:
        floors.append(f"requires-python {python_bound} becomes {raised_bound}")
    return floors


def _accepts_any(requirement: Requirement, versions: Iterable[str]) -> bool:
    """Whether a requirement accepts one of several versions."""
    return any(requirement.specifier.contains(version) for version in versions)


def _raise_floor(text: str) -> tuple[str, str]:
    """A requirement of FastMCP 4.1 or later, and what the user has to change by hand.

    Its extras, its marker, what it leaves out and its upper bound stay.
    """
    requirement = Requirement(text)
    if requirement.url:
        return text, f"make sure that {text} is FastMCP 4.1 or later"
    if requirement.specifier and not _accepts_any(requirement, OLDER):
        return text, ""
    kept_bounds: list[str] = []
    has_upper_bound = False
    for specifier in requirement.specifier:
        if specifier.operator in ("<", "<=", "!="):
            kept_bounds.append(str(specifier))
            has_upper_bound = has_upper_bound or specifier.operator != "!="
    bounds = [">=4.1", *sorted(kept_bounds)]
    if not has_upper_bound:
        bounds.append("<5")
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{extras}{','.join(bounds)}{marker}", ""
