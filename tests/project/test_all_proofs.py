"""A proof that is kept from running is named, and fails the run that `scripts/check` starts."""

import re
import shutil
from pathlib import Path

import pytest
from support import python

from copier_fastmcp_engine.testing import lock
from copier_fastmcp_engine.testing.rules import Tool

CONFTEST = "tests/conftest.py"
SETTINGS = "pyproject.toml"
MARK = """

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.{mark})
"""
FIXTURE = """
@pytest.fixture
def prove():
    async def nothing(tool):
        return None
    return nothing
"""
CALL = """
@pytest.fixture(scope="module")
async def call(call):
    async def skip_reads(name, arguments, agree=True):
        return {} if name == "get_note" else await call(name, arguments, agree=agree)
    yield skip_reads
"""
ERA = """
@pytest.fixture
def era():
    return "2026-07-28"
"""
OUTCOME = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "passed"
    return report
"""


@pytest.fixture(scope="module")
def pinned(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default project, whose suite is the proofs of two tools."""
    folder = tmp_path_factory.mktemp("proven") / "p"
    pinned = Path(shutil.copytree(project, folder))
    edit(pinned, SETTINGS, '["tests"]', '["tests/policy/test_behavior.py"]')
    names = ("delete_note", "get_note")
    tools = [Tool({"name": name}, probed=True) for name in names]
    text = lock.format_lock(lock.build_lock(tools, {}))
    (pinned / lock.FILE).write_text(text, encoding="utf-8")
    return pinned


def edit(project: Path, name: str, old: str, new: str) -> None:
    path = project / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def run_tests(project: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run the tests as `scripts/check` does; return the exit code and the proofs that did not run."""
    source = (project / "scripts/check").read_text(encoding="utf-8")
    match = re.search('"tests": "(.*)"', source)
    assert match
    done = python(project, *(arguments or match[1].split()))
    print(done.stdout, done.stderr)
    return done.returncode, re.findall("(?m)^NOT PROVEN ([^:]+):", done.stdout)


ALL = [
    f"{tool} in {era}"
    for tool in ("delete_note", "get_note")
    for era in ("legacy", "2026-07-28")
]


@pytest.mark.parametrize(
    ("name", "old", "new", "missing"),
    [
        (SETTINGS, '"-q ', '"-q -k get_note ', ALL[:2]),
        (SETTINGS, '"-q ', '"-q --collect-only ', ALL),
        (CONFTEST, "\n\n\n@pytest", MARK.format(mark="skip") + "\n\n@pytest", ALL),
        (CONFTEST, "\n\n\n@pytest", FIXTURE + "\n\n@pytest", ALL),
    ],
    ids=["addopts", "collect-only", "mark", "fixture"],
)
@pytest.mark.nightly  # the rows below cover the mechanism
def test_what_keeps_a_proof_from_running_is_noticed(
    pinned: Path, tmp_path: Path, name: str, old: str, new: str, missing: list[str]
) -> None:
    project = Path(shutil.copytree(pinned, tmp_path / "p"))
    (project / name).touch()
    edit(project, name, old, new)
    assert run_tests(project) == (1, missing)


def test_an_expected_failure_proves_nothing(pinned: Path, tmp_path: Path) -> None:
    project = Path(shutil.copytree(pinned, tmp_path / "p"))
    tool = "src/notes_mcp/tools/delete_note.py"
    edit(project, tool, 'await backend().delete("note", note_id)', "False")
    xfail = MARK.format(mark="xfail")
    edit(project, CONFTEST, "\n\n\n@pytest", xfail + "\n\n@pytest")
    assert run_tests(project) == (1, ALL[:2])


def let_a_read_delete(project: Path) -> None:
    """Let the tool get_note delete the note that it returns."""
    tool = project / "src/notes_mcp/tools/get_note.py"
    text = tool.read_text(encoding="utf-8")
    line = 'await backend().delete("note", note_id)'
    changed = re.sub(r"(\n    )(.*await backend\(\)\.get)", rf"\1{line}\1\2", text)
    assert changed != text
    tool.write_text(changed, encoding="utf-8")


def test_a_fixture_in_place_of_the_client_proves_nothing(
    pinned: Path, tmp_path: Path
) -> None:
    project = Path(shutil.copytree(pinned, tmp_path / "p"))
    let_a_read_delete(project)
    edit(project, CONFTEST, "\n\n\n@pytest", CALL + "\n\n@pytest")
    assert run_tests(project) == (1, ALL)


@pytest.mark.parametrize("code", [ERA, OUTCOME], ids=["era", "outcome"])
@pytest.mark.nightly  # the rows above cover the mechanism
def test_a_fixture_or_a_hook_hides_no_finding(
    pinned: Path, tmp_path: Path, code: str
) -> None:
    project = Path(shutil.copytree(pinned, tmp_path / "p"))
    let_a_read_delete(project)
    edit(project, CONFTEST, "\n\n\n@pytest", code + "\n\n@pytest")
    assert run_tests(project)[0] == 1


def test_settings_without_the_plugin_are_noticed(pinned: Path, tmp_path: Path) -> None:
    project = Path(shutil.copytree(pinned, tmp_path / "p"))
    edit(project, SETTINGS, '-p copier_fastmcp_suite.plugin"', '-k nothing"')
    assert run_tests(project) == (1, ALL)


def test_a_person_may_select_tests(pinned: Path) -> None:
    assert run_tests(pinned, "-m", "pytest", "-q", "-k", "get_note") == (0, [])
