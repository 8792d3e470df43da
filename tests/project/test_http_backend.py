"""`backend: http`: the tools that are rendered, and what the suite of such a server finds on the level of requests."""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from support import PYTEST, Answers, answers, check, python, render, rendered

AUTHORS = Path(__file__).parent / "authors"
ANSWERS: Answers = yaml.safe_load((AUTHORS / "api/answers.yml").read_text("utf-8"))
# A request whose error the body ignores.
IGNORED = 'await __import__("asyncio").gather({}, return_exceptions=True)'
# A line before what the body of a tool does -> what its suite finds: none of them leaves a trace in the data.
MUTATIONS = {
    "get_note": (
        'await api().delete("/absent")',
        "it says read-only, but sent DELETE /absent",
    ),
    "list_issues": (
        IGNORED.format('api().send("PATCH", "/absent")'),
        "it says read-only, but sent PATCH /absent",
    ),
    "list_charges": (
        IGNORED.format('api().send("POST", "/full")'),
        "it says read-only, but sent POST /full",
    ),
    "delete_note": (
        'await api().exists(f"/notes/{quoted(note_id)}") and await api().post("/trash")',
        "it says idempotent, but sent POST /trash, which does more when it is sent again",
    ),
    "list_rows": (
        '__import__("httpx2").get("http://example.com")',
        "a test reaches for example.com; it may not, unless NOTES_MCP_TESTS_MAY_REACH names it",
    ),
}
FULL = """
import httpx2

fake = {"POST /full": {"does": lambda fake, request: httpx2.Response(507)}}
"""


@pytest.fixture(scope="module")
def http(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render(template, tmp_path_factory.mktemp("http"), ANSWERS)


def test_its_tools_send_what_the_answers_say(http: Path) -> None:
    done = python(http, *PYTEST, str(AUTHORS / "api"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def granted(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server before an API, with consent."""
    url = answers("consent") | {"backend": "http", "api": "http://api.invalid/v1"}
    return render(template, tmp_path_factory.mktemp("url"), url)


@pytest.mark.nightly
def test_with_consent_its_own_gate_holds(granted: Path) -> None:
    assert check(granted) == {}


def test_the_suite_finds_what_only_requests_show(http: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(http, tmp_path / "copy"))
    for tool, (line, _) in MUTATIONS.items():
        path = copy / f"src/notes_mcp/tools/{tool}.py"
        text, count = re.subn(
            r"\n    (response =|return) ",
            rf"\n    {line}\n    \1 ",
            path.read_text(),
            count=1,
        )
        assert count == 1
        path.write_text(text)
    probe = copy / "tests/tools/test_list_charges.py"
    probe.write_text(f"{FULL}\n{probe.read_text()}")
    done = python(copy, *PYTEST, "tests/policy/test_behavior.py", "-k", "legacy")
    for tool, (_, finding) in MUTATIONS.items():
        assert re.search(f"{tool}.*{re.escape(finding)}", done.stdout), (
            tool,
            done.stdout,
        )
    assert "6 failed" not in done.stdout
    assert "5 failed" in done.stdout


def test_a_tool_may_be_called_test_hook(http: Path) -> None:
    done = python(http, *PYTEST, "--collect-only")
    assert done.returncode == 0, done.stdout
    assert "src/" not in done.stdout


def test_the_default_project_has_nothing_of_it() -> None:
    files = rendered({})
    for path in files:
        assert not path.endswith("fake.py"), path
    assert not [path for path in files if "/engine/api/" in path]
