"""A server that cannot start with its settings says so in one line; one that can, listens where they say."""

import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from support import Renders, server
from wire import http

GARBAGE = "no database, but long enough to be taken for one" * 99
UNSTARTED: dict[str, tuple[dict[str, str], str]] = {
    "a database file that is not one": (
        {"DATABASE": "{here}/garbage"},
        "connect: DatabaseError: file is not a database; see NOTES_MCP_DATABASE ('{here}/garbage')",
    ),
    "a folder as database": (
        {"DATABASE": "{here}"},
        "connect: OperationalError: unable to open database file; see NOTES_MCP_DATABASE ('{here}')",
    ),
    "a database in a file": (
        {"DATABASE": "{here}/garbage/data.db"},
        "connect: FileExistsError: .*; see NOTES_MCP_DATABASE ('{here}/garbage/data.db')",
    ),
    "keys that are not a list": (
        {"STATE_KEYS": "abc"},
        "setting state_keys: request-state keys must be at least 32 bytes.*",
    ),
    "a password with a slash": (
        {"STATE": "redis://:a secret/x@h:6379/0"},
        "setting state: 'redis://h:6379/0': .*",
    ),
    "a kind of address that is not known": (
        {"STATE": "memcached://u:a secret@h"},
        "setting state: 'memcached://h': use memory, a folder, or a redis:// address",
    ),
    "half a list": (
        {"STATE_KEYS": '["a secret'},
        "setting state_keys: Value error, .*",
    ),
    "no number": (
        {"PORT": "http"},
        "setting port: Input should be a valid integer.* (got 'http'); change NOTES_MCP_PORT",
    ),
    "no port": (
        {"PORT": "65536"},
        "setting port: .* (got '65536'); change NOTES_MCP_PORT",
    ),
}


def refusal(project: Path, *words: str, **environ: str) -> tuple[int, str]:
    """The exit code of a start that fails, and what its one line says."""
    package = next((project / "src").iterdir()).name
    settings = {f"{package.upper()}_{name}": value for name, value in environ.items()}
    done = server(project, *(words or ["run"]), **settings)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.returncode, done.stderr.strip().split(": ", 1)[1]


@pytest.mark.parametrize(("environ", "message"), UNSTARTED.values(), ids=UNSTARTED)
def test_a_setting_that_cannot_be_used_is_one_line(
    project: Path, tmp_path: Path, environ: dict[str, str], message: str
) -> None:
    (tmp_path / "garbage").write_text(GARBAGE)
    variables = {name: value.format(here=tmp_path) for name, value in environ.items()}
    code, line = refusal(project, **variables)
    assert code == 1
    pattern = re.escape(message.format(here=tmp_path)).replace(r"\.\*", ".*")
    assert re.fullmatch(f"(.*: )?{pattern}", line), line
    assert "a secret" not in line


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        ("XX256", "setting jwt_algorithm: Input should be 'RS256'"),
        ("none", "setting jwt_algorithm: Input should be 'RS256'"),
        ("HS256", "setting jwt_algorithm: Input should be 'RS256'"),
    ],
)
def test_an_algorithm_that_signs_nothing_is_one_line(
    example: Renders, algorithm: str, message: str
) -> None:
    code, line = refusal(example("consent"), JWT_ALGORITHM=algorithm)
    assert code == 1
    assert line.startswith(message)
    assert re.search(rf"\(got {algorithm!r}\); change \w+_JWT_ALGORITHM$", line)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of this machine on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_port_in_use_could_not_be_listened_on(project: Path, taken: int) -> None:
    for words, environ in (
        (["run", "--http", "--port", str(taken)], {}),
        (["run", "--http"], {"PORT": str(taken)}),
    ):
        code, line = refusal(project, *words, **environ)
        message = f"cannot listen on 127.0.0.1:{taken}: Address already in use; "
        assert (code, line) == (2, message + "choose another with --host and --port")


@pytest.mark.parametrize("host", ["203.0.113.9", "no-such-host.invalid", "a" * 70])
def test_an_address_of_another_machine_could_not_be_listened_on(
    project: Path, host: str
) -> None:
    code, line = refusal(project, "run", "--http", "--port", "0", "--host", host)
    assert code == 2
    assert line.startswith(f"cannot listen on {host}:0: ")


def test_it_listens_where_the_settings_say_and_answers_for_the_names_they_allow(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container: on every address, for localhost, and for the names that clients use."""
    monkeypatch.setenv("NOTES_MCP_HOST", "0.0.0.0")
    monkeypatch.setenv(
        "NOTES_MCP_ALLOWED_HOSTS", "mcp.example.com, *.example.org, 10.0.*"
    )
    statuses = {}
    with http(project, tmp_path) as address:
        for host in (
            "localhost",
            "mcp.example.com:80",
            "a.example.org",
            "10.0.0.7:80",
            "evil.example",
        ):
            statuses[host] = httpx2.post(
                address, json={}, headers={"Host": host}
            ).status_code
        if sys.platform == "linux":  # which has more addresses of its own
            second_address = address.replace("127.0.0.1", "127.0.0.2")
            statuses[second_address] = httpx2.post(second_address, json={}).status_code
    assert statuses.pop("evil.example") == 421
    assert set(statuses.values()) == {400}
    log = (tmp_path / "stderr").read_text()
    assert (
        "requests to localhost, 0.0.0.0, mcp.example.com, *.example.org, 10.0.* are served, "
        "other hosts get 421; NOTES_MCP_ALLOWED_HOSTS adds names" in log
    ), log
