"""Each example passes its own gate and serves what was asked, over stdio and HTTP, in both protocol eras."""

import asyncio
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError
from mcp_types import Tool
from support import Renders, answers, check, nightly_but, server, specs
from wire import ERAS, agree, hints_of, http, stdio

Specs = dict[str, dict[str, Any]]


def build_specs(project: Path, name: str) -> Specs:
    """The tools of an example as the macros understand its answers, with what the server computes of each."""
    done = server(project, "tools", "list", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    tool_specs = {}
    asked = answers(name)
    for spec in specs(asked["tools"], asked.get("fields"), asked.get("domain", "")):
        tool_specs[spec["name"]] = rows[spec["name"]] | spec
    return tool_specs


def parameters(spec: dict[str, Any]) -> set[str]:
    """The wire names a tool must take, its gate's among them."""
    return {param["name"] for param in spec["params"]} | (
        {"confirm"} if spec["gated"] else set()
    )


def find_faults(tool: Tool, specs: Specs) -> list[str]:
    """Find what is wrong with one tool on the wire."""
    if tool.name not in specs:
        return [] if tool.name == "list_resources" else ["nobody asked for it"]
    spec, annotations, taken = (
        specs[tool.name],
        tool.annotations,
        tool.input_schema["properties"],
    )
    description = str(tool.description).removesuffix(" Two-step confirmation.")
    checks = {
        f"title {tool.title!r}": tool.title == spec["title"],
        "annotations.title": annotations is not None
        and annotations.title == spec["title"],
        f"description {description!r}": description == spec["description"],
        f"hints {hints_of(tool)}": hints_of(tool) == spec["hints"],
        f"parameters {sorted(taken)}": set(taken) == parameters(spec),
        "undescribed": all(taken[name].get("description") for name in taken),
        "parameter texts": all(
            taken[param["name"]]["description"] == param["description"]
            for param in spec["params"]
        ),
        "open input schema": tool.input_schema["additionalProperties"] is False,
        "no output schema": bool((tool.output_schema or {}).get("properties")),
    }
    return [fault for fault, fine in checks.items() if not fine]


async def check_tools(
    client: Client[Any], specs: Specs, hidden: Collection[str] = ()
) -> None:
    """List the tools as one client sees them, and hold them against what was asked for."""
    async with client:
        tools = await client.list_tools()
    assert specs.keys() - hidden <= {tool.name for tool in tools}
    faults_of_tool = {}
    for tool in tools:
        if errors := find_faults(tool, specs):
            faults_of_tool[tool.name] = errors
    assert faults_of_tool == {}


@pytest.mark.parametrize("name", nightly_but({"unusual"}))  # CI has a job for each
def test_it_passes_its_own_gate(example: Renders, name: str) -> None:
    assert check(example(name)) == {}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", nightly_but({"unusual"}))
def test_it_serves_over_stdio(
    example: Renders, tmp_path: Path, name: str, era: str
) -> None:
    asyncio.run(
        check_tools(
            stdio(example(name), tmp_path, era), build_specs(example(name), name)
        )
    )


@pytest.mark.parametrize("name", nightly_but({"notes", "unusual"}))
def test_the_metadata_file_in_its_guide_is_valid(
    example: Renders, tmp_path: Path, name: str
) -> None:
    guide = (example(name) / "docs/metadata.md").read_text(encoding="utf-8")
    metadata = tmp_path / "metadata.yaml"
    metadata.write_text(
        guide.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8"
    )
    metadata.chmod(0o600)
    package = next((example(name) / "src").iterdir()).name.upper()
    done = server(
        example(name), "metadata", "validate", **{f"{package}_METADATA": str(metadata)}
    )
    assert (done.returncode, done.stdout) == (0, f"{metadata} is valid\n"), done.stderr


@pytest.mark.parametrize("name", nightly_but({"unusual"}))
def test_it_serves_over_http(example: Renders, tmp_path: Path, name: str) -> None:
    specs = build_specs(example(name), name)
    scoped = {
        tool for tool, spec in specs.items() if spec["scopes"]
    }  # this caller has no token
    with http(example(name), tmp_path) as address:
        for era in ERAS:
            asyncio.run(check_tools(Client(address, mode=era), specs, hidden=scoped))


@pytest.mark.parametrize("era", ERAS)
def test_orders_keep_the_defaults_and_bounds_of_their_seed(
    example: Renders, tmp_path: Path, era: str
) -> None:
    async def work() -> None:
        async with stdio(
            example("orders"), tmp_path, era, elicitation_handler=agree
        ) as client:
            tools = {tool.name: tool.input_schema for tool in await client.list_tools()}
            properties = tools["update_order_status"]["properties"]
            defaults = {}
            for name in properties:
                if "default" in properties[name]:
                    defaults[name] = properties[name]["default"]
            assert defaults == {
                "public": False,
                "email_customer": True,
                "email_additional": True,
                "confirm": False,
            }
            many = tools["bulk_update_order_status"]["properties"]
            assert (many["order_ids"]["minItems"], many["order_ids"]["maxItems"]) == (
                1,
                50,
            )
            defaults_of_many = {}
            for name in ("public", "email_customer"):
                defaults_of_many[name] = many[name]["default"]
            assert defaults_of_many == {
                "public": False,
                "email_customer": True,
            }

            change = {"order_ids": [1, 2], "status_code": "st000003"}
            preview = (
                await client.call_tool("bulk_update_order_status", change)
            ).structured_content
            assert preview is not None
            assert (preview["outcome"], preview["result"]) == ("preview", None)
            assert (await client.call_tool("list_orders")).structured_content[
                "total"
            ] == 0
            done = await client.call_tool(
                "bulk_update_order_status", {**change, "confirm": True}
            )
            assert done.structured_content == {
                "confirmed": True,
                "approved_by": "person",
                "outcome": "applied",
                "preview": None,
                "result": {
                    "success": True,
                    "count": 2,
                    "note": "Bulk updates are queued and processed asynchronously.",
                },
            }
            order = (
                await client.call_tool("get_order", {"order_id": 2})
            ).structured_content
            assert order is not None
            assert (order["status_code"], order["public"]) == ("st000003", False)
            for ids, limit in (([], "at least 1 item"), ([7] * 51, "at most 50 items")):
                pattern = f"^order_ids: List should have {limit} after validation, not {len(ids)}$"
                with pytest.raises(ToolError, match=pattern):
                    await client.call_tool(
                        "bulk_update_order_status", change | {"order_ids": ids}
                    )
            arguments = {"status_code": "x", "public": "\n", "secret": "hunter2"}
            with pytest.raises(
                ToolError, match=r"^order_id: Missing .*; status_code: .*; secret: Un"
            ) as raised:
                await client.call_tool("update_order_status", arguments)
            assert "\n" not in str(raised.value)
            assert "hunter2" not in str(raised.value)
            assert {
                str(resource.uri) for resource in await client.list_resources()
            } == {
                "statuspro://statuses",
                "statuspro://help",
            }
            (text,) = await client.read_resource("statuspro://help")
            assert "preview" in text.text

    asyncio.run(work())


def test_instruments_are_read_through_their_resources(
    example: Renders, tmp_path: Path
) -> None:
    async def work() -> None:
        async with stdio(example("instruments"), tmp_path, "2026-07-28") as client:
            sensor = {"name": "dmm", "parameters": {"volt": 1.5}}
            await client.call_tool("add_instrument", sensor)
            (listed,) = await client.read_resource("resource://available_instruments")
            assert "dmm" in listed.text
            (content,) = await client.read_resource("resource://instruments/dmm")
            assert "volt" in content.text
            info = await client.call_tool("qcodes_instrument_info", {"name": "dmm"})
            assert info.structured_content["parameters"] == {"volt": 1.5}

    asyncio.run(work())


def test_a_server_without_a_backend_names_the_file_to_write(
    example: Renders, tmp_path: Path
) -> None:
    async def work() -> None:
        async with stdio(example("tickets"), tmp_path, "2026-07-28") as client:
            with pytest.raises(
                ToolError, match=r"src/tickets_mcp/tools/get_ticket\.py"
            ):
                await client.call_tool("get_ticket", {"ticket_id": 1})

    asyncio.run(work())
