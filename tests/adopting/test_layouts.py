"""Sources, layouts and dependencies found in the field: adoption edits them correctly or refuses."""

import os
import tomllib
from pathlib import Path

import pytest
from adopting.samples import ORDINARY
from adopting.test_adopt import create_server
from adopting.test_annotate import create_project
from lifecycle import commit, uncommitted
from support import git, python

from copier_fastmcp import adopt
from copier_fastmcp.adopting import survey
from copier_fastmcp.adopting.adoption import Adoption, plan_adoption
from copier_fastmcp.cli import main
from copier_fastmcp.project import guarded_writes

MADE = 'from fastmcp import FastMCP\n\nmcp = FastMCP("it")\n'
TOOL = '\n\n@mcp.tool\ndef get_it() -> str:\n    """Get it."""\n    return ""\n'


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip rendering the template; these tests cover only the author's files."""
    monkeypatch.setattr("copier_fastmcp.adopting.adoption._render_files", lambda *_: {})


def plan_files(folder: Path, **files: str | bytes) -> Adoption:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    survey_result = survey.survey_server(folder)
    return plan_adoption(survey_result, survey_result.proposals, None, None)


SOURCES = {
    "who runs it and its encoding": (
        '#!/usr/bin/env python\n# -*- coding: latin-1 -*-\ndef register(mcp):\n    @mcp.tool\n    def get_it():\n        """Get \xe9."""\n'.encode(
            "latin-1"
        ),
        b"#!/usr/bin/env python\n# -*- coding: latin-1 -*-\nimport policy\n\n\ndef",
    ),
    "a mark, line ends and tabs": (
        b"\xef\xbb\xbffrom fastmcp import FastMCP\r\nmcp = FastMCP('a')\r\nif mcp:\r\n\t@mcp.tool\r\n\tdef get_it(): 'Get it.'\r\n",
        b'\t@mcp.tool\r\n\t@policy.read(title="Get It")\r\n\tdef',
    ),
    "a tool that is called policy": (
        b'def register(mcp):\n    @mcp.tool\n    def policy(): "Get the policy."\n',
        b"import policy as tool_policy\n\n\ndef register(mcp):\n    @mcp.tool\n    @tool_policy.read(",
    ),
    "a tool that its author closed": (
        f"{MADE}\n@mcp.tool(annotations={{'readOnlyHint': True, 'openWorldHint': False}})\ndef get_it(): 'Get it.'\n".encode(),
        b'@policy.read(title="Get It", open_world=False)\ndef get_it',
    ),
    "a tool that its author left open": (
        f"{MADE}\n@mcp.tool(annotations={{'readOnlyHint': True, 'openWorldHint': True}})\ndef get_it(): 'Get it.'\n".encode(),
        b'@policy.read(title="Get It")\ndef get_it',
    ),
    "decorators of the names of ours": (
        f"{MADE}from own import delete, read\n\n\n@mcp.tool\n@delete\ndef wipe(): 'Wipe it.'\n\n\n@read()\n@mcp.tool\ndef get_it(): 'Get it.'\n".encode(),
        b'@mcp.tool\n@policy.read(title="Get It")\ndef get_it',
    ),
}


@pytest.mark.parametrize(("text", "part"), SOURCES.values(), ids=SOURCES)
def test_sources_are_edited_as_they_are_written(
    bare: None, text: bytes, part: bytes, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"main.py": MADE + TOOL, "server.py": text}
    adoption = plan_files(tmp_path, **files)
    edited_servers = []
    for module in adoption.edited:
        if module.module.path.name == "server.py":
            edited_servers.append(module.encode_edits())
    (after,) = edited_servers
    assert part in after
    assert after[:3] == text[:3] or text.startswith(b"def")
    compile(after, "server.py", "exec")
    remaining_lines = iter(after.splitlines(keepends=True))
    for line in text.splitlines(keepends=True):
        assert line in remaining_lines, "each line, in order"


def test_files_outside_are_never_named(bare: None, tmp_path: Path) -> None:
    adoption = plan_files(
        tmp_path,
        **{
            "server.py": MADE
            + TOOL.replace("@mcp.tool", '@mcp.tool(name="../../../../x")')
        },
    )
    assert "../../../../x" in adoption.by_hand
    assert not [name for name in adoption.files if ".." in name]


def test_what_is_mounted_keeps_its_titles_and_has_every_prefix(
    bare: None, tmp_path: Path
) -> None:
    mounted = MADE + 'child, last = FastMCP("c"), FastMCP("l")\n'.replace(
        'child, last = FastMCP("c"), FastMCP("l")',
        "child = FastMCP('c')\nlast = FastMCP('l')",
    )
    mounted += (
        'child.mount(last, namespace="last")\nmcp.mount(child, prefix="child")\n'
        + TOOL.replace("@mcp", "@last")
    )
    adoption = plan_files(tmp_path, **{"server.py": mounted})
    assert "tests/tools/test_child_last_get_it.py" in adoption.files
    assert '@policy.read(title="Get It")' in adoption.edited[0].text


PLACES = {
    "no package": (
        "server/main.py",
        "server/ is not a package, and nothing imports it by name",
    ),
    "one of several": (
        "packages/it/src/it/main.py",
        "copier-fastmcp adopt packages/it",
    ),
    "files in src": ("src/main.py", ""),
    "imported by its name": ("space/it/main.py", ""),
    "at the top": ("main.py", ""),
}


@pytest.mark.parametrize(("name", "refused"), PLACES.values(), ids=PLACES)
def test_policy_goes_where_the_server_can_import_it(
    bare: None, name: str, refused: str, tmp_path: Path
) -> None:
    files = {
        name: MADE + TOOL,
        "pyproject.toml": '[project.scripts]\nit = "space.it.main:run"\n',
    }
    if refused:
        with pytest.raises(Exception, match=refused.split(":")[0]):
            plan_files(tmp_path, **files)
        return
    text = plan_files(tmp_path, **files).edited[0].text
    assert (
        "from space.it import policy" if "space" in name else "import policy"
    ) in text


DEPENDENCIES = {
    '"fastmcp>=3"': "fastmcp>=4.1,<5",
    "\"FastMCP[a]>=3,!=4.1.3; python_version > '3'\"": 'FastMCP[a]>=4.1,!=4.1.3,<5; python_version > "3"',
    '"fastmcp==4.1.2"': "fastmcp==4.1.2",
    '"fastmcp>=4,<4.6"': "fastmcp>=4.1,<4.6",
    '"fastmcp @ https://example.com/f.whl"': "fastmcp @ https://example.com/f.whl",
}


@pytest.mark.parametrize(("declared", "raised"), DEPENDENCIES.items(), ids=DEPENDENCIES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_dependencies_keep_what_their_author_said(
    bare: None, declared: str, raised: str, newline: str, tmp_path: Path
) -> None:
    text = f'[project]\nname = "it"\nrequires-python = ">=3.10,<4"\ndependencies = [{declared}, "pydantic_settings"]\n'
    adoption = plan_files(
        tmp_path,
        **{"server.py": MADE + TOOL, "pyproject.toml": text.replace("\n", newline)},
    )
    after = adoption.files["pyproject.toml"].decode()
    metadata = tomllib.loads(after)["project"]
    assert metadata["dependencies"][:3] == [raised, "pydantic_settings", "anyio>=4"]
    assert metadata["requires-python"] == ">=3.11,<4"
    assert "\n" not in after.replace(newline, "")
    assert max(map(len, after.splitlines())) < 80, "one on a line"
    assert ("(dependencies)" in adoption.by_hand) is ("@" in declared)


def test_what_an_older_server_asks_for_elsewhere_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(
        tmp_path / "it", **{"requirements.txt": "fastmcp==2.14 # the framework\n"}
    )
    assert main(["adopt", str(folder), "--unattended", "--raise"]) == 1
    assert (
        "requirements.txt asks for fastmcp==2.14; adopt needs"
        in capsys.readouterr().err
    )


HELD = {
    "its own tests of the policy": "tests/policy/test_it.py",
    "its own policy": "policy/rules.yaml",
}


@pytest.mark.parametrize("name", HELD.values(), ids=HELD)
def test_a_folder_of_the_authors_gets_nothing_of_ours(
    name: str, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("")
    commit(folder)
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) == 1
    assert (
        f"{Path(name).parent.as_posix()}: in the way of the policy"
        in capsys.readouterr().err
    )
    assert uncommitted(folder) == set()


def test_what_git_could_not_undo_is_not_written(
    bare: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", **{".gitignore": "__pycache__/\ndocs\n"})
    assert main(["adopt", str(folder), "--unattended", "--raise"]) == 1
    assert "docs/adoption.md: .gitignore leaves it out" in capsys.readouterr().err
    (tmp_path / "far.py").write_text(ORDINARY)
    (folder / "server.py").unlink()
    (folder / ".gitignore").write_text("__pycache__/\n")
    os.symlink(tmp_path / "far.py", folder / "server.py")
    commit(folder)
    for words in (["adopt", "--raise"], ["annotate"]):
        assert main([*words, str(folder), "--unattended"]) == 1
        assert (
            "server.py: a link leads out of the repository" in capsys.readouterr().err
        )
    assert (tmp_path / "far.py").read_text() == ORDINARY
    assert uncommitted(folder) == set()


def test_what_fails_in_the_middle_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("mine")
    (tmp_path / "file").write_text("mine")
    files = {"a.py": b"x", "new/b.py": b"x", "file/c.py": b"x"}
    contents = {}
    for name, text in files.items():
        contents[tmp_path / name] = text
    with pytest.raises(OSError, match="file"):
        guarded_writes.write_files(contents)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "file"]
    assert (tmp_path / "a.py").read_text() == "mine"


def test_a_file_that_is_edited_while_it_asks_is_not_overwritten(
    bare: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = create_server(tmp_path / "it")

    def slowly(*words: object, **options: bool) -> object:
        (folder / "server.py").write_text(ORDINARY + "# mine\n")
        return survey.answer_questions(*words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(adopt, "answer_questions", slowly)
    assert main(["adopt", str(folder), "--unattended", "--raise"]) == 1
    assert "files were changed in the meantime" in capsys.readouterr().err
    assert (folder / "server.py").read_text() == ORDINARY + "# mine\n"
    assert uncommitted(folder) == {"server.py"}


def test_annotating_twice_before_a_commit_has_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": ORDINARY})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    after = (folder / "server.py").read_text()
    assert main(["annotate", str(folder), "--unattended"]) == 0
    assert "0 files changed" in capsys.readouterr().err
    assert (folder / "server.py").read_text() == after
    (folder / "server.py").write_text(
        after.replace('"readOnlyHint": False', '"readOnlyHint": True', 1)
    )
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert "commit server.py first" in capsys.readouterr().err


STARTED = """
import asyncio
from fastmcp import Client
from server import mcp

async def main():
    async with Client(mcp) as client:
        print([(tool.name, tool.title) for tool in await client.list_tools()])

asyncio.run(main())
"""


def test_a_flat_src_serves_and_its_authors_tests_run(
    template: Path, tmp_path: Path
) -> None:
    files = {
        "src/server.py": MADE
        + "from test_cases import get_case\n"
        + TOOL
        + "\n\nmcp.tool(get_case)\n",
        "src/test_cases.py": 'def get_case() -> str:\n    """Get a case."""\n    return ""\n',
        "tests/test_get_it.py": "from server import get_it\n\n\ndef test_it():\n    assert get_it() == ''\n",
        "pyproject.toml": '[project]\nname = "mcp-server-tickets"\nversion = "1"\ndependencies = ["fastmcp>=4.1"]\n',
        ".gitignore": "__pycache__/\n",
    }
    folder = create_project(tmp_path / "it", **files)
    git(folder, "status")
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) == 0
    assert "\ndomain: tickets\n" in (folder / ".copier-answers.yml").read_text()
    done = python(folder, "-c", STARTED)
    assert "[('get_it', 'Get It'), ('get_case', 'Get Case')]" in done.stdout, (
        done.stderr
    )
    done = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "1 passed" in done.stdout, done.stdout
    done = python(folder, "tests/policy/pin.py", PYTHONPATH="")
    assert "hold 2 tools" in done.stdout, done.stderr


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("command", ["demo", "zoo"])
def test_of_two_servers_the_tests_prove_that_of_the_command(
    tmp_path: Path, command: str
) -> None:
    plan = plan_files(
        tmp_path,
        **{
            "src/it/__init__.py": "",
            "src/it/demo.py": MADE + TOOL,
            "src/it/zoo.py": MADE + TOOL.replace("get_it", "get_zoo"),
            "pyproject.toml": f'[project]\nname = "it"\nscripts = {{ it = "it.{command}:mcp.run" }}\n',
        },
    )
    assert plan.by_hand["(the tests)"].endswith(f"proves it.{command}:mcp")
