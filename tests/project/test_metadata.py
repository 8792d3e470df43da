"""Overrides of texts: a file is on the wire exactly as written, or refused in one line that names its place.

The tests of seed 003 stand first, under its names; then the messages in a terminal, files that mean harm, and
the faults that servers with such a file were found to have.
"""

import asyncio
import itertools
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wire
import yaml
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import require_scopes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import python, server
from texts import Texts, module, served, texts, write


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home folder of its own: no test reads the developer's file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def over(lab: Path, home: Path) -> Callable[[str], Texts]:
    """What a client reads when the user's file holds a text."""
    return lambda text: texts(served(write(home / "texts.yaml", text)))


@pytest.fixture
def refusal(lab: Path, home: Path) -> Callable[[str | bytes], str]:
    """The one line with which the server refuses to start, without the name of the file."""

    def work(text: str | bytes) -> str:
        path = write(home / "texts.yaml", text)
        with pytest.raises(module("policy.registry").StartError) as caught:
            served(path)
        line = str(caught.value)
        assert line.startswith(str(path))
        assert "\n" not in line
        return line.removeprefix(str(path))

    return work


FULL = """\
version: 1
strict: true
tools:
  get_meter:
    title: "Read a meter"
    description: "Reads one meter."
    arguments:
      meter_id:
        description: "Which meter."
  create_meter:
    icons: ["https://example.com/meter.png"]
resources:
  lab://meters:
    name: "The meters"
    description: "All of them."
    use_when: "You need a meter's number."
    example: "Read this, then call get_meter."
resource_templates:
  lab://meters/{meter_id}:
    description: "A meter by number."
"""
COMPOSED = """\
All of them.

When to use: You need a meter's number.
Example: Read this, then call get_meter."""


# The unit tests of seed 003


def test_valid_config_loading(lab: Path) -> None:
    config = module("policy.metadata").parse(Path("m.yaml"), FULL)
    assert config.model_dump(exclude_unset=True) == yaml.safe_load(FULL)


@pytest.mark.parametrize("text", ["", "null\n", "# nothing yet\n", "{}", "---\n"])
def test_an_empty_or_null_file_means_defaults(over: Callable[[str], Texts], text: str) -> None:
    assert over(text) == texts(served(None))


def test_missing_file_handling_graceful_default(
    lab: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = module("server").create_server(module("settings").Settings(database=":memory:"))
    assert texts(mcp) == texts(served(None))
    assert not caplog.records
    texts(served(home / "gone.yaml"))
    assert caplog.messages == [f"{home}/gone.yaml: no such file, so it overrides nothing"]


def test_invalid_tool_name_detection_strict_mode(refusal: Callable[[str], str]) -> None:
    said = refusal("tools: {get_metre: {title: Read}}")
    assert said == ": Unknown tool: get_metre; did you mean get_meter?"
    said = refusal("tools: {zzz: {title: Read}}")
    assert said == ": Unknown tool: zzz; `lab-texts metadata export` has them all"


def test_invalid_tool_name_warning_non_strict_mode(
    over: Callable[[str], Texts], home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = over(
        "strict: false\ntools: {zzz: {title: Z}, get_meter: {title: Read, arguments: {y: {}}}}\n"
        "resources: {lab://none: {name: N}}\nresource_templates: {lab://x/{x}: {name: N}}\n".replace(
            "lab://x/{x}", '"lab://x/{x}"'
        )
    )
    assert found["tools"]["get_meter"]["title"] == "Read"
    assert caplog.messages == [
        f"{home}/texts.yaml: {problem} (skipped)"
        for problem in (
            "Unknown tool: zzz",
            "Tool 'get_meter' has no argument 'y'",
            "Unknown resource: lab://none",
            "Unknown resource template: lab://x/{x}",
        )
    ]


def test_invalid_argument_name_detection(refusal: Callable[[str], str]) -> None:
    said = refusal("tools: {get_meter: {arguments: {meter: {description: D}}}}")
    assert said == ": Tool 'get_meter' has no argument 'meter'; did you mean meter_id?"


def test_invalid_resource_uri_detection(refusal: Callable[[str], str]) -> None:
    said = refusal("resources: {lab://meter: {name: N}}")
    assert said == ": Unknown resource: lab://meter; did you mean lab://meters?"
    said = refusal("resource_templates: {lab://meters: {name: N}}")
    assert said.startswith(": Unknown resource template: lab://meters; did you mean lab://meters/{")


def test_resource_description_composition_with_use_when_and_example(
    over: Callable[[str], Texts],
) -> None:
    assert over(FULL)["resources"]["lab://meters"]["description"] == COMPOSED
    alone = over("resources: {lab://help: {use_when: You are new.}}")["resources"]["lab://help"]
    assert alone == {"name": "Help", "description": "How to measure.\n\nWhen to use: You are new."}
    bare = over('resources: {lab://help: {description: "", example: Read it.}}')["resources"]
    assert bare["lab://help"]["description"] == "Example: Read it."


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system ['true']", "!mine x", "!!str x"])
def test_yaml_safe_load_security(refusal: Callable[[str], str], tag: str) -> None:
    assert "anchors, aliases, tags" in refusal(f"tools:\n  get_meter:\n    title: {tag}\n")


# Its integration tests and acceptance criteria


@pytest.mark.parametrize("era", wire.ERAS)
def test_server_starts_with_custom_metadata(lab: Path, home: Path, era: str) -> None:
    """The whole of the wire, held against what the file says and the code says."""
    before, after = texts(served(None), era), texts(served(write(home / "t.yaml", FULL)), era)
    wanted = texts(served(None), era)
    wanted["tools"]["get_meter"] |= {
        "title": "Read a meter",
        "annotated": "Read a meter",
        "description": "Reads one meter.",
    }
    wanted["tools"]["get_meter"]["arguments"]["meter_id"] = "Which meter."
    wanted["tools"]["create_meter"]["icons"] = ["https://example.com/meter.png"]
    wanted["resources"]["lab://meters"] = {"name": "The meters", "description": COMPOSED}
    wanted["resource_templates"]["lab://meters/{meter_id}"]["description"] = "A meter by number."
    listed = wanted["listed"]
    (meters,) = (item for item in listed["resources"] if item["uri"] == "lab://meters")
    meters |= {"name": "The meters", "description": COMPOSED}
    listed["resource_templates"][0]["description"] = "A meter by number."
    assert after == wanted
    assert before != after


def test_tools_list_returns_overridden_descriptions(over: Callable[[str], Texts]) -> None:
    found = over("tools: {get_meter: {description: Reads one meter.}}")["tools"]
    assert found["get_meter"]["description"] == "Reads one meter."


def test_list_resources_tool_returns_overridden_descriptions(over: Callable[[str], Texts]) -> None:
    listed = over("resources: {lab://help: {name: Aid, description: Helps.}}")["listed"]
    assert listed["total_resources"] == len(listed["resources"]) == 2
    assert {"uri": "lab://help", "name": "Aid", "description": "Helps."} in listed["resources"]
    assert [item["uri"] for item in listed["resource_templates"]] == ["lab://meters/{meter_id}"]
    assert listed["guidance"]["workflow"]


def test_list_resources_is_an_annotated_read_tool(lab: Path) -> None:
    async def work() -> None:
        async with Client(served(None)) as client:
            (tool,) = [t for t in await client.list_tools() if t.name == "list_resources"]
        assert tool.annotations is not None
        assert tool.title == tool.annotations.title == "List Resources"
        assert tool.annotations.read_only_hint
        assert tool.output_schema
        assert set(tool.output_schema["required"]) >= {"total_resources", "resources", "guidance"}
        assert tool.input_schema["additionalProperties"] is False

    asyncio.run(work())


def test_dynamic_tools_are_outside_overrides(
    lab: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A name unknown at start stays unknown: the tool that takes it later keeps its own words."""

    def late() -> str:
        """My own words."""
        return "late"

    text = "strict: false\ntools: {late: {description: D, enabled: false}, get_meter: {title: T}}"
    mcp = served(write(home / "t.yaml", text))
    assert caplog.messages == [f"{home}/t.yaml: Unknown tool: late (skipped)"]
    mcp.tool(late)
    assert texts(mcp)["tools"]["late"]["description"] == "My own words."
    with pytest.raises(module("policy.registry").StartError, match="Unknown tool: late"):
        served(write(home / "t.yaml", "tools: {late: {description: D}}"))


def test_a_tool_replaced_after_start_is_not_served_from_memory(lab: Path, home: Path) -> None:
    mcp = served(write(home / "t.yaml", "tools: {create_meter: {title: T}}"))
    assert "meter" in str(texts(mcp)["tools"]["create_meter"])
    mcp.local_provider.remove_tool("create_meter")
    assert "create_meter" not in texts(mcp)["tools"]

    def create_meter(volts: int) -> int:
        """Another."""
        return volts

    mcp.tool(create_meter)

    async def work() -> Any:
        async with Client(mcp) as client:
            return (await client.call_tool("create_meter", {"volts": 3})).data

    assert asyncio.run(work()) == 3


def test_tools_of_extend_count_as_known(lab: Path, home: Path, monkeypatch: Any) -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    monkeypatch.setattr(module("extend"), "extend", lambda mcp: mcp.tool(ping))
    found = texts(served(write(home / "t.yaml", "tools: {ping: {title: Are you there?}}")))
    ping_text = found["tools"]["ping"]
    assert (ping_text["title"], ping_text["annotated"]) == ("Are you there?", "Are you there?")


def test_a_tool_behind_a_scope_counts_as_known(
    lab: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a mounted server, which lists only what its caller may see."""
    far = FastMCP("far")

    @far.tool(auth=require_scopes("far:read"))
    def far_tool() -> str:
        """Far away."""
        return "far"

    monkeypatch.setattr(module("extend"), "extend", lambda mcp: mcp.mount(far))
    served(write(home / "t.yaml", "tools: {delete_meter: {title: T}, far_tool: {title: T}}"))


def test_a_look_up_finds_what_a_list_shows(lab: Path, home: Path) -> None:
    mcp = served(write(home / "t.yaml", FULL))

    async def work() -> list[str | None]:
        resource = await mcp.get_resource("lab://meters")
        template = await mcp.get_resource_template("lab://meters/7")
        return [item.description for item in (resource, template) if item]

    assert asyncio.run(work()) == [COMPOSED, "A meter by number."]


def test_the_generated_suite_never_reads_the_developers_own_file(lab: Path, home: Path) -> None:
    """One in the home folder and one in the environment would each stop every server that reads it."""
    write(home / ".lab-texts/metadata.yaml", "version: 98")
    poison = write(home / "mine.yaml", "version: 99")
    refused = {"HOME": str(home), "LAB_TEXTS_METADATA": str(poison)}
    assert "version 99" in server(lab, "tools", "list", **refused).stderr
    assert "version 98" in server(lab, "tools", "list", HOME=str(home)).stderr
    words = ["-m", "pytest", "-c", "config/pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider"]
    done = python(lab, *words, **refused)
    assert done.returncode == 0, done.stdout + done.stderr


# Layers


def test_layers_are_merged_field_by_field(lab: Path, home: Path, tmp_path: Path) -> None:
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
        found = texts(
            module("server").create_server(module("settings").Settings(database=":memory:"))
        )
        packaged_only = texts(served(None))
    finally:
        packaged.write_text(before)
    meter = found["tools"]["get_meter"]
    assert (meter["title"], meter["description"]) == ("Mine", "From the package")
    assert meter["arguments"] == {"meter_id": "From the package", "unit": "Mine"}
    assert "create_meter" in found["tools"]
    assert found["resources"]["lab://help"]["description"] == "From the package\n\nExample: Mine"
    assert "create_meter" not in packaged_only["tools"]
    assert packaged_only["tools"]["get_meter"]["title"] == "From the package"


def test_the_packaged_file_is_all_comments_and_its_example_is_valid(
    lab: Path, over: Callable[[str], Texts]
) -> None:
    text = (lab / "src/lab_texts/metadata.yaml").read_text()
    assert all(line.startswith("#") for line in text.splitlines())
    example = "".join(line[2:] + "\n" for line in text.split("#\n", 1)[1].splitlines())
    assert over(example)["tools"]["get_meter"]["title"] == "A title for people"


def test_an_empty_text_clears_what_is_optional(over: Callable[[str], Texts]) -> None:
    found = over(
        'tools: {get_meter: {description: "", icons: [], arguments: {unit: {description: ""}}}}\n'
        'resources: {lab://help: {description: ""}}'
    )
    assert found["tools"]["get_meter"]["description"] is None
    assert found["tools"]["get_meter"]["icons"] is None
    assert found["tools"]["get_meter"]["arguments"]["unit"] is None
    assert found["resources"]["lab://help"]["description"] is None


def test_an_empty_title_or_name_is_refused(refusal: Callable[[str], str]) -> None:
    assert refusal('tools: {get_meter: {title: ""}}').startswith(": tools.get_meter.title: ")
    assert refusal('resources: {lab://help: {name: ""}}').startswith(": resources.lab://help.name")


def test_a_tool_taken_off_the_wire_cannot_be_called(lab: Path, home: Path) -> None:
    mcp = served(write(home / "t.yaml", "tools: {create_meter: {enabled: false}}"))

    async def work() -> None:
        async with Client(mcp) as client:
            assert "create_meter" not in {tool.name for tool in await client.list_tools()}
            with pytest.raises(ToolError, match="Unknown tool"):
                await client.call_tool("create_meter", {"title": "t", "content": "c"})

    asyncio.run(work())


HINT_KEYS = ["readOnlyHint", "destructiveHint", "read_only", "destructive", "open_world", "hints"]


@pytest.mark.parametrize("key", [*HINT_KEYS, "idempotentHint", "openWorldHint", "annotations"])
def test_a_hint_cannot_be_overridden(refusal: Callable[[str], str], key: str) -> None:
    said = refusal(f"tools: {{get_meter: {{{key}: false}}}}")
    assert (
        said
        == f": tools.get_meter.{key}: overrides change words, never hints; change the tool itself"
    )


def test_overrides_leave_hints_schemas_and_calls_alone(lab: Path, home: Path) -> None:
    def facts(mcp: FastMCP) -> Any:
        async def work() -> Any:
            async with Client(mcp) as client:
                made = await client.call_tool("create_meter", {"title": "a", "content": "b"})
                wire = [t.model_dump(by_alias=True) for t in await client.list_tools()]
                for tool in wire:
                    del tool["title"], tool["annotations"]["title"], tool["description"]
                    for of in tool["inputSchema"]["properties"].values():
                        del of["description"]
                return wire, made.structured_content

        return asyncio.run(work())

    said = "{title: T, description: D}"
    text = f"tools: {{get_meter: {said}, create_meter: {said}}}"
    arguments = "tools: {create_meter: {arguments: {title: {description: Its name.}}}}"
    assert facts(served(write(home / "a.yaml", text))) == facts(served(None))
    assert facts(served(write(home / "a.yaml", arguments))) == facts(served(None))


# The messages, word for word, from a terminal

FLOW = {
    "not YAML": (
        "tools:\n  get_meter: a: b\n",
        ":2:15: not YAML: mapping values are not allowed in this context",
    ),
    "unknown field": (
        "tools:\n  get_meter:\n    desc: D\n",
        ": tools.get_meter.desc: Unknown field 'desc', did you mean 'description'?",
    ),
    "unknown section": (
        "tool: {}\n",
        ": tool: Unknown field 'tool', did you mean 'tools'?",
    ),
    "no near field": (
        "tools: {get_meter: {zzz: D}}\n",
        ": tools.get_meter.zzz: Unknown field 'zzz', the fields are title, description, arguments,"
        " icons, enabled",
    ),
    "wrong type": (
        "tools: {get_meter: {title: 5}}\n",
        ": tools.get_meter.title: Input should be a valid string (got 5)",
    ),
    "unknown version": (
        "version: 2\n",
        ": version 2 is unknown; write version: 1, or update this server",
    ),
    "unknown tool": ("tools: {zz: {title: Z}}\n", ": Unknown tool: zz; {export}"),
    "unknown argument": (
        "tools: {get_meter: {arguments: {zz: {description: Z}}}}\n",
        ": Tool 'get_meter' has no argument 'zz'; {export}",
    ),
    "unknown resource": ("resources: {zz: {name: Z}}\n", ": Unknown resource: zz; {export}"),
    "unknown template": (
        "resource_templates: {zz: {name: Z}}\n",
        ": Unknown resource template: zz; {export}",
    ),
}


@pytest.mark.parametrize(("text", "line"), FLOW.values(), ids=FLOW)
def test_a_refusal_in_the_terminal(lab: Path, home: Path, text: str, line: str) -> None:
    path = write(home / ".lab-texts/metadata.yaml", text)
    done = server(lab, "run", HOME=str(home))
    line = line.replace("{export}", "`lab-texts metadata export` has them all")
    assert done.stderr == f"lab-texts: {path}{line}\n"
    assert (done.returncode, done.stdout) == (1, "")


def test_the_warnings_in_the_terminal(lab: Path, home: Path) -> None:
    text = "strict: false\ntools: {zz: {title: Z}, get_meter: {arguments: {zz: {}}}}\nresources: {z: {}}"
    path = write(home / "mine.yaml", text)
    done = server(lab, "run", "--metadata", str(path), HOME=str(home))
    for problem in (
        "Unknown tool: zz",
        "Tool 'get_meter' has no argument 'zz'",
        "Unknown resource: z",
    ):
        assert done.stderr.count(f"{path}: {problem} (skipped)\n") == 1
    assert done.returncode == 0


@pytest.mark.parametrize("way", ["option", "variable"])
def test_the_ways_to_name_a_file(lab: Path, home: Path, way: str) -> None:
    """An option before a variable before the home folder; each is read, and a `~` is the home folder."""
    write(home / ".lab-texts/metadata.yaml", "version: 3")
    write(home / "mine.yaml", "version: 4")
    words = ["--metadata", "~/mine.yaml"] if way == "option" else []
    variables = {"option": "none", "variable": "~/mine.yaml"}[way]
    done = server(lab, "run", *words, HOME=str(home), LAB_TEXTS_METADATA=variables)
    assert done.stderr.startswith(f"lab-texts: {home}/mine.yaml: version 4 is unknown")


def test_a_user_without_a_home_can_start(lab: Path, home: Path) -> None:
    """As in a container that runs under a number that nobody has."""
    if os.getuid():
        pytest.skip("only root can become nobody in particular")
    code = """if True:
        import os
        from lab_texts.policy import metadata
        os.chdir("/")
        os.setuid(54_321)
        del os.environ["HOME"]
        print(metadata.read(metadata.user_file(None)))
    """
    done = python(lab, "-c", code)
    assert done.stdout == "None\n", done.stderr


# Files that mean harm

BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in itertools.pairwise("abcdefghi")
)
HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "alias bomb": (BOMB, ":1:4: anchors, aliases, tags and deep nesting are refused"),
    "alias": ("tools: {get_meter: &a {title: *a}}", ":1:20: anchors"),
    "merge key": ("tools: {get_meter: {<<: {title: T}}}", ":1:21: <<"),
    "deep": ("[" * 60_000, ":1:8: anchors, aliases, tags and deep nesting"),
    "duplicate key": ("tools: {get_meter: {title: A, title: B}}", ":1:31: the key title is there"),
    "duplicate tool": ("tools:\n  a: {}\n  a: {}\n", ":3:3: the key a is there twice"),
    "yes": ("strict: yes", ":1:9: yes is not text to every reader"),
    "no": ("tools: {get_meter: {enabled: no}}", ":1:30: no is not text"),
    "on": ("tools: {get_meter: {title: on}}", ":1:28: on is not text"),
    "off as a name": ("tools: {off: {title: T}}", ":1:9: off is not text"),
    "number": ("tools: {get_meter: {title: 0x1F}}", ":1:28: 0x1F is not text"),
    "date": ("tools: {get_meter: {title: 2026-01-31}}", ":1:28: 2026-01-31 is not text"),
    "quoted boolean": ('strict: "true"', ": strict: Input should be a valid boolean (got true)"),
    "version true": ("version: true", ": version true is unknown"),
    "version text": ('version: "1"', ": version 1 is unknown"),
    "tag": ("tools: !!python/object:os.system {}", ":1:8: anchors, aliases, tags"),
    "two documents": ("version: 1\n---\nversion: 1\n", ":2:1: a second document begins"),
    "no mapping": ("- tools", ": the file: Input should be a valid dictionary"),
    "list of tools": ("tools: [get_meter]", ": tools: Input should be a valid dictionary"),
    "10 MiB": (b"#" * (10 * 2**20), " is 10485760 bytes long; at most 65536"),
    "one byte too many": (b"#" * 65_537, " is 65537 bytes long; at most 65536"),
    "BOM": ("\ufeffversion: 1\n", ":1: U+FEFF is a hidden character"),
    "NUL": ("version: 1\n# \0\n", ":2: U+0000 is a hidden character"),
    "escaped NUL": (
        'tools: {get_meter: {title: "a\\0b"}}',
        ": tools.get_meter.title: Text should have no",
    ),
    "invalid UTF-8": (b"version: 1\n# \xff\n", " is not UTF-8; save it as UTF-8"),
    "bidi": ("version: 1\n# \u202eevil\n", ":2: U+202E is a hidden character"),
    "escaped bidi": (
        'tools: {get_meter: {description: "\\u202Eevil"}}',
        "description: Text should have no",
    ),
    "escape sequence": (
        'tools: {get_meter: {title: "\\e[31m"}}',
        "title: Text should have no U+001B",
    ),
    "half a character": ('tools: {get_meter: {title: "\\ud800"}}', ""),
    "blanks": (
        'tools: {get_meter: {description: "  "}}',
        "description: Text should have more than",
    ),
    "decomposed": (
        'tools: {get_meter: {title: "e\\u0301"}}',
        "title: Text should have normal form C",
    ),
    "two lines of title": ('tools: {get_meter: {title: "a\\nb"}}', "title: String should match"),
    "long title": (f"tools: {{get_meter: {{title: {'a' * 101}}}}}", "at most 100 characters"),
    "long text": (
        f"tools: {{get_meter: {{description: {'a' * 2001}}}}}",
        "at most 2000 characters",
    ),
    "script as icon": ('tools: {get_meter: {icons: ["javascript:x"]}}', "icons.0: String should"),
    "null text": ("tools:\n  get_meter:\n    title:\n", ":3:11: nothing stands here"),
    "null section": ("tools:\n", ":1:7: nothing stands here"),
    "list as key": ("? [a]\n: b\n", ':1:3: the key ["a"] is no text'),
    "name of nothing": ('tools: {"": {title: T}}', ': Unknown tool: ""; '),
    "field of nothing": ('tools: {get_meter: {"": T}}', ': tools.get_meter."": Unknown field'),
    "name of two lines": ('tools: {"a\\nb": {title: T}}', ": Unknown tool: a"),
}


@pytest.mark.parametrize(("text", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused(
    refusal: Callable[[str | bytes], str], home: Path, text: str | bytes, said: str
) -> None:
    served(None)  # what the first server of a process imports does not count
    started = time.process_time()
    line = refusal(text)
    assert time.process_time() - started < 1
    assert said in line, line
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]", line)
    assert (home / "texts.yaml").read_bytes() == (
        text if isinstance(text, bytes) else text.encode()
    )


def test_thousands_of_unknown_names_are_told_in_a_moment(
    lab: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A likely name is looked up for what is refused, not for each warning."""
    metadata, path = module("policy.metadata"), Path("m.yaml")
    names = "".join(f"  t{n}: {{}}\n" for n in range(3_000))
    config = metadata.parse(path, f"strict: false\ntools:\n{names}")
    known = {"tools": {f"tool_{n}": () for n in range(1_000)}}
    started = time.process_time()
    metadata.check(path, config, known)
    assert time.process_time() - started < 1
    assert len(caplog.messages) == 3_000


def refused_path(path: Path) -> str:
    started = time.process_time()
    with pytest.raises(module("policy.registry").StartError) as caught:
        served(path)
    assert time.process_time() - started < 1
    return str(caught.value)


def test_what_is_no_regular_file_is_refused(lab: Path, home: Path) -> None:
    served(None)
    os.mkfifo(home / "pipe")
    for target in (Path("/dev/zero"), Path("/dev/null"), home, home / "pipe"):
        link = home / "link.yaml"
        link.symlink_to(target)
        assert refused_path(link) == f"{link} is no regular file"
        link.unlink()
    (home / "loop").symlink_to(home / "loop")
    assert refused_path(home / "loop").startswith(f"{home}/loop cannot be read: ")


def test_a_link_to_a_file_is_followed_and_its_target_checked(lab: Path, home: Path) -> None:
    target = write(home / "target.yaml", "tools: {get_meter: {title: Linked}}")
    link = home / "link.yaml"
    link.symlink_to(target)
    assert texts(served(link))["tools"]["get_meter"]["title"] == "Linked"
    target.chmod(0o666)
    assert "can be written by others" in refused_path(link)


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o666, 0o777])
def test_a_file_that_others_can_write_is_refused(lab: Path, home: Path, mode: int) -> None:
    path = write(home / "t.yaml", "version: 1")
    path.chmod(mode)
    assert refused_path(path) == f"{path} can be written by others; run `chmod go-w {path}`"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o644)
    served(path)


def test_windows_line_ends_and_tabs_are_read(over: Callable[[str], Texts]) -> None:
    text = (
        "tools:\r\n  get_meter:\r\n    description: |\r\n      One.\r\n      Two.\r\n# a\ttab\r\n"
    )
    assert over(text)["tools"]["get_meter"]["description"] == "One.\nTwo.\n"


# The faults that were found in servers with such a file (reference/field-lessons 8)


def test_a_wrong_argument_never_breaks_tools_list(over: Callable[[str], Texts]) -> None:
    found = over("strict: false\ntools: {get_meter: {arguments: {nope: {description: D}}}}")
    assert found == texts(served(None))


def test_a_typo_is_never_ignored(refusal: Callable[[str], str]) -> None:
    assert refusal("tools: {get_meter: {title_: T}}")
    assert refusal("tools: {get_meter: {arguments: {meter_id: {desc: D}}}}")
    assert refusal("resources: {lab://help: {title: T}}")
    assert refusal("stric: false\ntools: {}")


def test_broken_yaml_never_serves_empty_descriptions(refusal: Callable[[str], str]) -> None:
    assert refusal("tools:\n  get_meter:\n    description:\n").endswith(
        "fill it in, or take the key out"
    )
    assert refusal("tools:\n get_meter:\n   title: a\n  description: b\n").startswith(":4:")


# Whatever the file says

NAMES = ["get_meter", "create_meter", "list_resources"]
URIS = ["lab://meters", "lab://help"]
PATTERNS = ["lab://meters/{meter_id}"]
ODD = ["zzz", "no", "", "a\nb", "desc"]
GOOD = ["A text", "Ein Text für Menschen", "a: b # c", "- x", "'\"", "yes", "1.5", " x ", "é{}%s"]


def mostly(usual: st.SearchStrategy[Any], rare: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One in twelve is rare."""
    return st.integers(0, 11).flatmap(lambda n: usual if n else rare)


def table(names: list[str], of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Some names, mostly known ones."""
    return st.dictionaries(
        mostly(st.sampled_from(names), st.sampled_from(ODD)), of, min_size=1, max_size=3
    )


bad = st.text(max_size=20) | st.none() | st.booleans() | st.integers(0, 3) | st.just(["x"])
line = mostly(st.sampled_from(GOOD), bad)
value = mostly(st.sampled_from(["", "Two\nlines", *GOOD]), bad)
images = st.lists(mostly(st.just("https://example.com/a.png"), st.just("javascript:x")), max_size=2)
argument = st.fixed_dictionaries({}, optional={"description": value})
tool = st.fixed_dictionaries(
    {},
    optional={
        "title": line,
        "description": value,
        "arguments": table(["meter_id", "unit", "title"], argument),
        "icons": images,
        "enabled": st.booleans(),
    },
)
resource = st.fixed_dictionaries(
    {}, optional={"name": line, "description": value, "use_when": value, "example": value}
)
files = st.fixed_dictionaries(
    {"strict": mostly(st.just(False), st.just(True)), "tools": table(NAMES, tool)},
    optional={
        "version": mostly(st.just(1), st.just(2)),
        "resources": table(URIS, resource),
        "resource_templates": table(PATTERNS, resource),
    },
)


def wanted(code: Texts, said: dict[str, Any]) -> Texts:
    """What the wire must show, worked out here in the plainest way."""
    for name, of in (said.get("tools") or {}).items():
        tool = code["tools"].get(name)
        if tool is None:
            continue
        if of.get("enabled") is False:
            del code["tools"][name]
            if name == "list_resources":
                code.pop("listed")
            continue
        if "title" in of:
            tool["title"] = tool["annotated"] = of["title"]
        if "description" in of:
            tool["description"] = of["description"] or None
        if "icons" in of:
            tool["icons"] = of["icons"] or None
        for argument, words in of.get("arguments", {}).items():
            if argument in tool["arguments"] and "description" in words:
                tool["arguments"][argument] = words["description"] or None
    for section in ("resources", "resource_templates"):
        for uri, of in said.get(section, {}).items():
            item = code[section].get(uri)
            if item is None:
                continue
            text = of.get("description", item["description"])
            if of.get("use_when") or of.get("example"):
                text += "\n\n" if text else ""
                text += f"When to use: {of['use_when']}" if of.get("use_when") else ""
                text += "\n" if of.get("use_when") and of.get("example") else ""
                text += f"Example: {of['example']}" if of.get("example") else ""
            item |= {"name": of.get("name", item["name"]), "description": text or None}
            if "listed" in code:
                for listed in code["listed"][section]:
                    if listed["uri"] == uri:
                        listed |= item
    return code


def attempt(work: Callable[[], Any]) -> tuple[Any, str]:
    """What came of it, or None and the refusal."""
    try:
        return work(), ""
    except module("policy.registry").StartError as error:
        return None, str(error)


@settings(max_examples=150, deadline=None, suppress_health_check=[*HealthCheck])
@given(said=files, flow=st.sampled_from([True, False, None]), width=st.sampled_from([5, 100]))
def test_any_file_is_refused_with_its_place_or_on_the_wire_as_written(
    lab: Path, home: Path, said: dict[str, Any], flow: bool | None, width: int
) -> None:
    text = yaml.safe_dump(said, default_flow_style=flow, width=width, allow_unicode=True)
    path = write(home / "any.yaml", text)
    mcp, line = attempt(lambda: served(path))
    if mcp is None:
        assert "\n" not in line
        assert line.startswith(str(path))
        names = [*said, *(name for of in said.values() if isinstance(of, dict) for name in of)]
        assert any((name.partition("\n")[0] or '""') in line for name in names) or re.match(
            r":\d+", line.removeprefix(str(path))
        ), line
        return
    assert texts(mcp) == wanted(texts(served(None)), said)


@settings(max_examples=200, deadline=None, suppress_health_check=[*HealthCheck])
@given(data=st.binary(max_size=60) | st.text("tols: -[]{}#&*!|>'\"\n%@`\\,?0ytrue", max_size=60))
def test_any_bytes_are_refused_or_served(lab: Path, home: Path, data: bytes | str) -> None:
    path = write(home / "any.yaml", data)
    config, line = attempt(lambda: module("policy.metadata").read(path))
    assert config is not None or line.startswith(str(path))
    assert "\n" not in line
