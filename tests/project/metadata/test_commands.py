"""`metadata`: what each command prints and writes, and what it asks of a running server."""

import asyncio
import itertools
import json
import re
import shlex
import socket
import stat
import subprocess
import textwrap
import time
from pathlib import Path
from typing import Any

import forked
import pytest
import wire
import yaml
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from support import python, server
from texts import (
    RESTART,
    Cli,
    environ,
    served,
    texts,
    write,
)


def test_init_writes_a_private_file_of_examples(
    cli: Cli, lab: Path, home: Path, mine: Path
) -> None:
    assert cli("path").out == f"{mine}\n"
    done = cli("init")
    assert done.out == f"{mine} is saved. {RESTART}\n"
    assert "Keep secrets out" in mine.read_text()
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert stat.S_IMODE(mine.parent.stat().st_mode) == 0o700
    assert texts(served(mine)) == texts(served(None))
    live = re.sub(
        "^# (?=tools|resources|resource_templates| )",
        "",
        mine.read_text(),
        flags=re.MULTILINE,
    )
    assert {"tools", "resources", "resource_templates"} < set(yaml.safe_load(live))
    assert texts(served(write(home / "live.yaml", live))) == texts(served(None))
    before = mine.read_bytes()
    second = cli("init")
    assert (
        second.err
        == f"{mine} already exists; change it with `lab-texts metadata edit`\n"
    )
    assert (second.code, mine.read_bytes()) == (1, before)


def test_the_file_of_the_environment_is_the_one_worked_on(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TEXTS_METADATA", "~/other/texts.yaml")
    assert cli("path").out == f"{home}/other/texts.yaml\n"
    assert cli("set", "get_meter", "title", "T").code == 0
    assert (home / "other/texts.yaml").exists()
    monkeypatch.setenv("LAB_TEXTS_METADATA", "none")
    assert cli("path").err == "metadata is set to none: you have no file\n"
    monkeypatch.setenv("LAB_TEXTS_METADATA", "")
    assert cli("path").out == f"{home}/.lab-texts/metadata.yaml\n"


def test_export_holds_every_text_and_reads_back_unchanged(
    cli: Cli, lab: Path, home: Path
) -> None:
    packaged = lab / "src/lab_texts/metadata.yaml"
    before = packaged.read_text()
    try:
        packaged.write_text(
            "resources: {lab://help: {use_when: You are new.}}\n"
            "tools: {get_meter: {title: 'yes'}, create_meter: {enabled: false}}"
        )
        exported = cli("export").out
        data = yaml.safe_load(exported)
        assert texts(served(write(home / "all.yaml", exported))) == texts(served(None))
    finally:
        packaged.write_text(before)
    assert {name: set(texts) for name, texts in data["tools"].items()} == {
        "list_resources": {"title", "description"},
        "get_meter": {"title", "description", "arguments"},
        "create_meter": {"title", "description", "arguments", "enabled"},
        "delete_meter": {"title", "description", "arguments"},
    }
    assert set(data["tools"]["delete_meter"]["arguments"]) == {"meter_id", "confirm"}
    assert data["resources"]["lab://help"]["description"] == "How to measure."
    assert set(data["resource_templates"]) == {"lab://meters/{meter_id}"}


ARGUMENT = ["    arguments:", "      unit:", "        description: U"]


def test_list_and_show_name_the_file_that_says_it(
    cli: Cli, lab: Path, mine: Path
) -> None:
    assert cli("list").out == "nothing is overridden\n"
    about_meter = (
        "tools: {get_meter: {title: T, arguments: {unit: {description: U}}}}\n"
    )
    write(
        mine, "strict: false\n" + about_meter + "resources: {lab://help: {name: N}}\n"
    )
    expected = (
        "\n".join([f"# {mine}", "tools:", "  get_meter:", "    title: T", *ARGUMENT])
        + "\n"
    )
    assert cli("show", "get_meter") == (0, expected, "")
    assert cli("list").out == expected + "resources:\n  lab://help:\n    name: N\n"
    assert cli("show", "create_meter") == (1, "", "nothing overrides 'create_meter'\n")


def test_validate_checks_without_running_a_server(cli: Cli, mine: Path) -> None:
    assert cli("validate") == (
        0,
        f"{mine} does not exist, so it overrides nothing\n",
        "",
    )
    write(mine, "tools: {get_meter: {title: T}}")
    assert cli("validate") == (0, f"{mine} is valid\n", "")
    write(mine, "tools: {zz: {title: T}, yy: {title: T}}")
    lines = [
        f"{mine}: Unknown tool: {n}; `lab-texts metadata export` lists them all\n"
        for n in ("zz", "yy")
    ]
    assert cli("validate") == (1, "".join(lines), "")
    write(mine, "strict: false\ntools: {zz: {title: T}, yy: {title: T}}")
    assert cli("validate") == (0, "".join(lines), "")
    write(mine, "tools: {get_meter: {description: ''}}")
    assert cli("validate").out == f"{mine}: get_meter is left without a description\n"
    write(mine, "tools: [")
    assert cli("validate").err.startswith(f"lab-texts: {mine}:2:1: not YAML")


def test_validate_asks_a_server_that_runs(
    cli: Cli, lab: Path, home: Path, mine: Path
) -> None:
    """Over HTTP and stdio; its own overrides are in force, the tool that they take away included."""
    text = "tools: {get_meter: {title: T, arguments: {unit: {description: U}}}, create_meter: {enabled: false}}\n"
    write(mine, text + "resources: {lab://help: {name: N}}\n")
    with wire.http(lab, home) as url:
        assert cli("validate", "--url", url) == (0, f"{mine} is valid\n", "")
        write(mine, "tools: {zz: {}}")
        assert cli("validate", "--url", url).out.startswith(
            f"{mine}: Unknown tool: zz; "
        )
        write(mine, "tools: {get_meter: {arguments: {zz: {}}}}")
        assert cli("validate", "--url", url).out.startswith(
            f"{mine}: Tool 'get_meter' has no argument 'zz'"
        )
    write(mine, text)
    command = shlex.join(wire.command(lab, "run"))
    result = server(lab, "metadata", "validate", "--server", command, HOME=str(home))
    assert result.stdout == f"{mine} is valid\n"
    for words in (["--url", url], ["--server", "no-such-program"], ["--server", "'"]):
        failure = cli("validate", *words)
        assert failure.err.startswith(f"lab-texts: {words[1]} does not answer: ")
        assert (failure.code, failure.err.count("\n")) == (2, 1)


IMPATIENT = """
from lab_texts import cli
from lab_texts.engine.metadata import commands
commands.PATIENCE = 1
cli.main()
"""


def test_a_server_that_is_silent_is_not_waited_for(
    lab: Path, home: Path, mine: Path
) -> None:
    write(mine, "tools: {get_meter: {title: T}}")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for address in (f"http://127.0.0.1:{silent.getsockname()[1]}/mcp", "sleep 900"):
            words = ["-c", IMPATIENT, "metadata", "validate", "--server", address]
            started = time.monotonic()
            done = python(lab, *words, HOME=str(home))
            assert (
                done.stderr
                == f"lab-texts: {address} does not answer within 1 seconds\n"
            )
            assert (done.returncode, done.stdout) == (2, "")
            assert time.monotonic() - started < 300


@pytest.mark.parametrize("era", wire.ERAS)
def test_a_proxy_passes_the_overridden_texts_through(
    lab: Path, home: Path, mine: Path, era: str
) -> None:
    """`fastmcp run URL`, as docs/metadata.md says, is a bridge from stdio."""
    write(
        mine,
        "tools: {get_meter: {title: Through, description: Words.}, create_meter: {enabled: false}}\n"
        "resources: {lab://help: {name: Aid}}\nresource_templates:\n  lab://meters/{meter_id}:\n"
        "    description: One.\n",
    )

    async def facts(client: Client[Any]) -> Any:
        async with client:
            listed: list[Any] = [
                await client.list_tools(),
                await client.list_resources(),
                await client.list_resource_templates(),
            ]
            # FastMCP's own proxy adds an empty `_meta`
            texts = []
            for item in itertools.chain(*listed):
                texts.append(item.model_dump(exclude_none=True, exclude={"meta"}))
            answer = await client.call_tool("list_resources")
            contents = await client.read_resource("lab://help")
            read = [item.model_dump() for item in contents]
            return json.loads(
                json.dumps([texts, answer.structured_content, read], default=str)
            )

    with wire.http(lab, home) as url:
        words = ["-c", "from fastmcp.cli import app; app()", "run", url, "--no-banner"]
        program, *words = forked.python(words)
        transport = StdioTransport(program, words, environ(lab, home), keep_alive=False)
        direct = asyncio.run(facts(Client(url, mode=era)))
        assert asyncio.run(facts(Client(transport, mode=era))) == direct
    assert "Through" in str(direct)
    assert "Aid" in str(direct)


def test_run_does_not_import_the_commands(lab: Path, home: Path) -> None:
    code = textwrap.dedent("""
        import sys
        from lab_texts.cli import main
        sys.argv = ["lab-texts", "run"]
        try:
            main()
        finally:
            print("lab_texts.engine.metadata.commands" in sys.modules, file=sys.stderr)
    """)
    done = subprocess.run(
        forked.python(["-c", code]),
        env=environ(lab, home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "False"
