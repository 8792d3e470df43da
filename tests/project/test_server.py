"""What the generated server does: seams, errors, transports, the store under a killed process."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastmcp import Client
from support import python, render, server


@pytest.fixture
def mine(project: Path, tmp_path: Path) -> Path:
    """A copy of the default project to write in."""
    return Path(
        shutil.copytree(project, tmp_path / "mine", ignore=shutil.ignore_patterns(".*cache"))
    )


def tool(project: Path, name: str, text: str) -> Path:
    """Write a tool file."""
    path = project / f"src/notes_mcp/tools/{name}.py"
    path.write_text(textwrap.dedent(text))
    return path


def run(project: Path, code: str, **environ: str) -> str:
    """Run code with a server `mcp` and a client `c` in the newest era; answers what it printed."""
    script = f"""
import asyncio
from fastmcp import Client
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

async def main():
    mcp = create_server(Settings(database=":memory:"))
    async with Client(mcp) as c:
{textwrap.indent(textwrap.dedent(code), " " * 8)}

asyncio.run(main())
"""
    done = python(project, "-c", script, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


PLAIN = '''
    """A tool."""
    from fastmcp import Context
    from pydantic import BaseModel
    from ..policy import read

    class Answer(BaseModel):
        """What it answers."""
        era: str

    @read(title="My Tool")
    async def my_tool(ctx: Context) -> Answer:
        """Tell the era."""
        return Answer(era=str(ctx.request_context is not None))
'''


def test_a_context_parameter_is_given_and_not_in_the_schema(mine: Path) -> None:
    tool(mine, "my_tool", PLAIN)
    out = run(
        mine,
        """
        listed = {t.name: t for t in await c.list_tools()}
        print(listed["my_tool"].input_schema.get("properties"))
        print((await c.call_tool("my_tool")).structured_content)
        """,
    )
    assert out.splitlines() == ["{}", "{'era': 'True'}"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("broken", "import nothing_here\n", "broken.py:1: ModuleNotFoundError: No module named"),
        ("half", "def x(:\n", "half.py: SyntaxError: "),
        ("empty", '"""Nothing."""\n', "empty.py: declares no tool; decorate one"),
        (
            "twice",
            PLAIN.replace("my_tool", "get_note"),
            "twice.py: the tool get_note is already in ",
        ),
    ],
)
def test_a_file_that_cannot_be_served_stops_the_start_with_one_line(
    mine: Path, name: str, text: str, said: str
) -> None:
    tool(mine, name, text)
    done = server(mine, "tools", "list")
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"notes-mcp: .*\n", done.stderr), done.stderr
    assert said in done.stderr


def test_a_destructive_tool_without_a_decorator_stops_the_start(mine: Path) -> None:
    (mine / "src/notes_mcp/extend.py").write_text(
        (mine / "src/notes_mcp/extend.py").read_text()
        + '''

_extend = extend


def extend(mcp: FastMCP) -> None:
    """Add a tool around the policy."""

    @mcp.tool(annotations={"destructiveHint": True})
    def wipe() -> str:
        return "gone"
'''
    )
    done = server(mine, "run")
    assert done.returncode == 1
    assert re.fullmatch(
        r"notes-mcp: .*extend\.py: the destructive tool wipe has no gate; .*\n", done.stderr
    ), done.stderr


def test_helpers_beside_the_tools_are_no_tools(mine: Path) -> None:
    tool(mine, "_helper", "VALUE = 1\n")
    assert server(mine, "tools", "list", "--json").returncode == 0


def test_the_seams_reach_lifespan_middleware_routes_prompts_settings_and_commands(
    mine: Path,
) -> None:
    (mine / "src/notes_mcp/settings.py").write_text(
        textwrap.dedent('''
        """Mine."""
        from .policy.settings import PolicySettings

        class Settings(PolicySettings):
            """Mine."""
            greeting: str = "hello"
    ''')
    )
    (mine / "src/notes_mcp/extend.py").write_text(
        textwrap.dedent('''
        """Mine."""
        from contextlib import asynccontextmanager
        from fastmcp.server.middleware import Middleware
        from starlette.responses import PlainTextResponse
        from .settings import Settings

        @asynccontextmanager
        async def lifespan(mcp):
            print("opened")
            yield {}
            print("closed")

        class Loud(Middleware):
            async def on_list_tools(self, context, call_next):
                print("listed")
                return await call_next(context)

        def extend(mcp):
            mcp.add_middleware(Loud())

            @mcp.prompt
            def greet() -> str:
                return Settings().greeting

            @mcp.custom_route("/health", methods=["GET"])
            async def health(request):
                return PlainTextResponse("ok")

        def commands(app):
            @app.command
            def hello() -> None:
                print("mine")
    ''')
    )
    out = run(
        mine,
        """
        await c.list_tools()
        print((await c.get_prompt("greet")).messages[0].content.text)
        print([r.path for r in mcp.http_app().routes if r.path == "/health"])
        """,
        NOTES_MCP_GREETING="good day",
    )
    assert out.split() == ["opened", "listed", "good", "day", "['/health']", "closed"]
    assert server(mine, "hello").stdout == "mine\n"


def test_read_only_serves_only_what_says_so(project: Path) -> None:
    out = run(
        project,
        """
        from fastmcp.exceptions import ToolError
        async with Client(create_server(Settings(database=":memory:"), read_only=True)) as r:
            print(*sorted(t.name for t in await r.list_tools()))
            try:
                await r.call_tool("create_note", {"title": "a", "content": "b"})
            except ToolError as error:
                print(error)
        """,
    )
    assert out.splitlines() == ["get_note search_notes", "Unknown tool: 'create_note'"]


def test_every_call_is_one_log_line_without_argument_values(project: Path) -> None:
    out = run(
        project,
        """
        import logging, sys
        logger = logging.getLogger("notes_mcp.server")
        logger.addHandler(logging.StreamHandler(sys.stdout))
        logger.setLevel("INFO")
        await c.call_tool("create_note", {"title": "secret", "content": "secret"})
        await c.call_tool("get_note", {"note_id": 99}, raise_on_error=False)
        """,
    )
    lines = [json.loads(line) for line in out.splitlines()]
    assert "secret" not in out
    assert [(x["tool"], x["behavior"], x["outcome"]) for x in lines] == [
        ("create_note", "create", "ok"),
        ("get_note", "read", "error"),
    ]
    assert all(isinstance(x["ms"], float) for x in lines)


def test_the_log_lines_are_on_stderr_of_a_running_server(project: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def work() -> None:
        from fastmcp.client.transports import StdioTransport

        transport = StdioTransport(
            sys.executable,
            ["-c", "from notes_mcp.cli import main; main()", "run"],
            env=dict(os.environ, PYTHONPATH=str(project / "src"), NOTES_MCP_DATABASE=":memory:"),
            log_file=log,
        )
        async with Client(transport) as client:
            await client.call_tool("search_notes", {"query": "secret"})

    asyncio.run(work())
    text = log.read_text()
    assert text.count('"event": "tool_call"') == 1, text
    assert "secret" not in text


def test_stale_update_says_what_to_do_and_paging_pages(project: Path) -> None:
    out = run(
        project,
        """
        from fastmcp.exceptions import ToolError
        for n in range(5):
            await c.call_tool("create_note", {"title": f"n{n}", "content": "x"})
        page, seen = {"next_cursor": None}, []
        while True:
            page = (await c.call_tool("search_notes", {"limit": 2, "cursor": page["next_cursor"]})).structured_content
            seen.append([item["title"] for item in page["items"]])
            if page["next_cursor"] is None:
                break
        print(page["total"], seen)
        old = (await c.call_tool("get_note", {"note_id": 1})).structured_content["etag"]
        await c.call_tool("update_note", {"note_id": 1, "etag": old, "title": "new"})
        try:
            await c.call_tool("update_note", {"note_id": 1, "etag": old, "title": "newer"})
        except ToolError as error:
            print(error)
        for cursor in ("9" * 30, "x"):
            try:
                await c.call_tool("search_notes", {"cursor": cursor})
            except ToolError as error:
                print(error)
        """,
    )
    lines = out.splitlines()
    assert lines[0] == "5 [['n0', 'n1'], ['n2', 'n3'], ['n4']]"
    assert "was changed since" in lines[1]
    assert "read it again" in lines[1]
    assert lines[2].startswith("cursor '99999")
    assert lines[3].startswith("cursor 'x' is not one of ours")


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def http(project: Path) -> Iterator[str]:
    """The address of the default project served over HTTP."""
    port = free_port()
    env = dict(os.environ, PYTHONPATH=str(project / "src"), NOTES_MCP_DATABASE=":memory:")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from notes_mcp.cli import main; main()",
            "run",
            "--http",
            f"--port={port}",
        ],
        env=env,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(10)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_http_serves_both_eras(http: str, era: str) -> None:
    async def work() -> int:
        async with Client(http, mode=era) as client:
            return len(await client.list_tools())

    assert asyncio.run(work()) == 9


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_curl_command_of_the_readme_lists_the_tools(project: Path, http: str) -> None:
    (command,) = re.findall(
        r"^curl .*?}'$", (project / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    command = command.replace("http://127.0.0.1:8000/mcp", http)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    found = {tool["name"]: tool for tool in json.loads(done.stdout)["result"]["tools"]}
    wire = json.loads(server(project, "tools", "wire", "get_note").stdout)
    assert found["get_note"]["annotations"] == wire["annotations"]
    assert len(found) == 9


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [("Host", "evil.example", 421), ("Origin", "http://evil.example", 403)],
)
def test_http_refuses_a_foreign_host_and_origin(
    http: str, header: str, value: str, status: int
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    request = urllib.request.Request(
        http, body, {"Content-Type": "application/json", header: value}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == status


WRITER = """
import asyncio, sys
from notes_mcp.backend import SqliteBackend

async def main():
    backend = SqliteBackend(sys.argv[1])
    while True:
        record = await backend.create("note", {"title": "x"})
        print(record.id, flush=True)

asyncio.run(main())
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "notes.db"
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            env=dict(os.environ, PYTHONPATH=str(project / "src")),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout
        told = [writer.stdout.readline() for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.readlines()
        writer.wait()
        acknowledged = {line.strip() for line in told if line.endswith("\n")}
        code = (
            "import asyncio, sys; from notes_mcp.backend import SqliteBackend; "
            "print(*asyncio.run(SqliteBackend(sys.argv[1]).snapshot()))"
        )
        kept = python(project, "-c", code, str(path)).stdout.split()
        assert acknowledged <= {key.removeprefix("note/") for key in kept}


def test_two_processes_share_one_file(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    code = """
import asyncio, sys
from notes_mcp.backend import SqliteBackend

async def main():
    backend = SqliteBackend(sys.argv[1])
    await asyncio.gather(*(backend.create("note", {"n": n}) for n in range(50)))

asyncio.run(main())
"""
    env = dict(os.environ, PYTHONPATH=str(project / "src"))
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path)], env=env) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    count = (
        "import asyncio, sys; from notes_mcp.backend import SqliteBackend; "
        "print(len(asyncio.run(SqliteBackend(sys.argv[1]).snapshot())))"
    )
    assert python(project, "-c", count, str(path)).stdout == "100\n"


def test_a_bad_setting_is_one_line(project: Path) -> None:
    done = server(project, "tools", "list", NOTES_MCP_CONFIRM_SECONDS="soon")
    assert done.returncode == 1
    assert re.fullmatch(r"notes-mcp: setting confirm_seconds: .*'soon'.*\n", done.stderr)


def test_a_port_that_is_none_is_not_understood(project: Path) -> None:
    done = server(project, "run", "--http", "--port", "99999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "99999" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("policy", "lock"), ("tools", "table", "--write")])
def test_what_writes_a_file_does_so_in_the_project_only(
    project: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "src").symlink_to(project / "src")
    done = server(tmp_path, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"notes-mcp: there is no pyproject.toml in {tmp_path}; run this in the project\n"
    )
    assert [path.name for path in tmp_path.iterdir() if path.name != ".data"] == ["src"]


def test_wire_prints_one_tool_and_a_wrong_name_is_one_line(project: Path) -> None:
    shown = json.loads(server(project, "tools", "wire", "delete_note").stdout)
    assert shown["annotations"]["destructiveHint"] is True
    wrong = server(project, "tools", "wire", "nothing")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)


def test_fastmcp_reads_the_project_file(project: Path) -> None:
    done = python(project, "-m", "fastmcp.cli", "inspect", "fastmcp.json", "--skip-env")
    assert "notes-mcp" in done.stdout, done.stdout + done.stderr


def test_without_a_backend_a_tool_names_the_file_to_edit(template: Path, tmp_path: Path) -> None:
    project = render(template, tmp_path / "p", {"backend": "none", "tools": "get_note"})
    out = run(
        project,
        """
        answer = await c.call_tool("get_note", {"note_id": 1}, raise_on_error=False)
        print(answer.content[0].text)
        """,
    )
    assert out == (
        "get_note is not implemented yet; write its body in src/notes_mcp/tools/get_note.py\n"
    )
    probe = project / "tests/tools/test_get_note.py"
    probe.write_text(
        "async def arrange(backend: object) -> dict[str, object]:\n    return {'note_id': 1}\n"
    )
    words = ("-m", "pytest", "-c", "config/pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider")
    said = python(project, *words, "tests/policy/test_behavior.py").stdout
    assert "write snapshot() in backend.py: without it no hint is proven" in said
    assert "passed" not in said
