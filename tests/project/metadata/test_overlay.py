"""What a client reads: the texts of the code, of the packaged file and of the user's, and nothing else moved."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wire
from fastmcp import Client, FastMCP
from texts import (
    COMPOSED,
    FULL,
    Texts,
    module,
    served,
    texts,
    write,
)


def test_resource_description_composition_with_use_when_and_example(
    over: Callable[[str], Texts],
) -> None:
    assert over(FULL)["resources"]["lab://meters"]["description"] == COMPOSED
    alone = over("resources: {lab://help: {use_when: You are new.}}")["resources"][
        "lab://help"
    ]
    assert alone == {
        "name": "Help",
        "description": "How to measure.\n\nWhen to use: You are new.",
    }
    bare = over('resources: {lab://help: {description: "", example: Read it.}}')[
        "resources"
    ]
    assert bare["lab://help"]["description"] == "Example: Read it."


@pytest.mark.parametrize("era", wire.ERAS)
def test_server_starts_with_custom_metadata(lab: Path, home: Path, era: str) -> None:
    """The whole of the wire, held against what the file says and the code says."""
    before, after = (
        texts(served(None), era),
        texts(served(write(home / "t.yaml", FULL)), era),
    )
    expected = texts(served(None), era)
    expected["tools"]["get_meter"] |= {
        "title": "Read a meter",
        "annotated": "Read a meter",
        "description": "Reads one meter.",
    }
    expected["tools"]["get_meter"]["arguments"]["meter_id"] = "Which meter."
    expected["tools"]["create_meter"]["icons"] = ["https://example.com/meter.png"]
    expected["resources"]["lab://meters"] = {
        "name": "The meters",
        "description": COMPOSED,
    }
    expected["resource_templates"]["lab://meters/{meter_id}"]["description"] = (
        "A meter by number."
    )
    listed = expected["listed"]
    (meters,) = (item for item in listed["resources"] if item["uri"] == "lab://meters")
    meters |= {"name": "The meters", "description": COMPOSED}
    listed["resource_templates"][0]["description"] = "A meter by number."
    assert after == expected
    assert before != after


def test_tools_list_returns_overridden_descriptions(
    over: Callable[[str], Texts],
) -> None:
    read = over("tools: {get_meter: {description: Reads one meter.}}")["tools"]
    assert read["get_meter"]["description"] == "Reads one meter."


def test_list_resources_tool_returns_overridden_descriptions(
    over: Callable[[str], Texts],
) -> None:
    listed = over("resources: {lab://help: {name: Aid, description: Helps.}}")["listed"]
    assert listed["total_resources"] == len(listed["resources"]) == 2
    assert {"uri": "lab://help", "name": "Aid", "description": "Helps."} in listed[
        "resources"
    ]
    assert [item["uri"] for item in listed["resource_templates"]] == [
        "lab://meters/{meter_id}"
    ]
    assert listed["guidance"]["workflow"]


def test_list_resources_is_an_annotated_read_tool(lab: Path) -> None:
    async def work() -> None:
        async with Client(served(None)) as client:
            (tool,) = [
                t for t in await client.list_tools() if t.name == "list_resources"
            ]
        assert tool.annotations is not None
        assert tool.title == tool.annotations.title == "List Resources"
        assert tool.annotations.read_only_hint
        assert tool.output_schema
        assert set(tool.output_schema["properties"]) >= {
            "total_resources",
            "resources",
            "guidance",
        }
        assert tool.input_schema["additionalProperties"] is False

    asyncio.run(work())


def test_a_look_up_finds_what_a_list_shows(lab: Path, home: Path) -> None:
    mcp = served(write(home / "t.yaml", FULL))

    async def work() -> list[str | None]:
        resource = await mcp.get_resource("lab://meters")
        template = await mcp.get_resource_template("lab://meters/7")
        return [item.description for item in (resource, template) if item]

    assert asyncio.run(work()) == [COMPOSED, "A meter by number."]


def test_layers_are_merged_field_by_field(
    lab: Path, home: Path, tmp_path: Path
) -> None:
    """Code, then the packaged file, then the user's."""
    packaged = lab / "src/lab_texts/metadata.yaml"
    before = packaged.read_text()
    try:
        packaged.write_text(
            "tools: {get_meter: {title: From the package, description: From the package,"
            " arguments: {meter_id: {description: From the package}}}, create_meter: {enabled: false}}\n"
            "resources: {lab://help: {description: From the package, use_when: Always.}}\n"
        )
        write(
            home / ".lab-texts/metadata.yaml",
            "tools: {get_meter: {title: Mine, arguments: {unit: {description: Mine}}},"
            ' create_meter: {enabled: true}}\nresources: {lab://help: {use_when: "", example: Mine}}\n',
        )
        read = texts(
            module("server").create_server(
                module("settings").Settings(database=":memory:")
            )
        )
        packaged_only = texts(served(None))
    finally:
        packaged.write_text(before)
    meter = read["tools"]["get_meter"]
    assert (meter["title"], meter["description"]) == ("Mine", "From the package")
    assert meter["arguments"] == {"meter_id": "From the package", "unit": "Mine"}
    assert "create_meter" in read["tools"]
    assert (
        read["resources"]["lab://help"]["description"]
        == "From the package\n\nExample: Mine"
    )
    assert "create_meter" not in packaged_only["tools"]
    assert packaged_only["tools"]["get_meter"]["title"] == "From the package"


def test_the_packaged_file_is_all_comments_and_its_example_is_valid(
    lab: Path, over: Callable[[str], Texts]
) -> None:
    text = (lab / "src/lab_texts/metadata.yaml").read_text()
    for line in text.splitlines():
        assert line.startswith("#"), line
    example = "".join(line[2:] + "\n" for line in text.split("#\n", 1)[1].splitlines())
    assert over(example)["tools"]["get_meter"]["title"] == "A title for people"


def test_an_empty_text_clears_what_is_optional(over: Callable[[str], Texts]) -> None:
    read = over(
        'tools: {get_meter: {description: "", icons: [], arguments: {unit: {description: ""}}}}\n'
        'resources: {lab://help: {description: ""}}'
    )
    assert read["tools"]["get_meter"]["description"] is None
    assert read["tools"]["get_meter"]["icons"] is None
    assert read["tools"]["get_meter"]["arguments"]["unit"] is None
    assert read["resources"]["lab://help"]["description"] is None


def test_overrides_leave_hints_schemas_and_calls_alone(lab: Path, home: Path) -> None:
    def facts(mcp: FastMCP) -> Any:
        async def work() -> Any:
            async with Client(mcp) as client:
                result = await client.call_tool(
                    "create_meter", {"title": "a", "content": "b"}
                )
                wire = [t.model_dump(by_alias=True) for t in await client.list_tools()]
                for tool in wire:
                    del tool["title"], tool["annotations"]["title"], tool["description"]
                    for schema in tool["inputSchema"]["properties"].values():
                        del schema["description"]
                return wire, result.structured_content

        return asyncio.run(work())

    override = "{title: T, description: D}"
    text = f"tools: {{get_meter: {override}, create_meter: {override}}}"
    arguments = "tools: {create_meter: {arguments: {title: {description: Its name.}}}}"
    assert facts(served(write(home / "a.yaml", text))) == facts(served(None))
    assert facts(served(write(home / "a.yaml", arguments))) == facts(served(None))


def test_a_wrong_argument_never_breaks_tools_list(over: Callable[[str], Texts]) -> None:
    read = over(
        "strict: false\ntools: {get_meter: {arguments: {nope: {description: D}}}}"
    )
    assert read == texts(served(None))
