"""What a metadata file may say, and the one line for one that says something else."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from texts import FULL, Texts, module, served, texts


def test_valid_config_loading(lab: Path) -> None:
    assert module("engine.metadata.overrides").parse(
        Path("m.yaml"), FULL
    ) == yaml.safe_load(FULL)


@pytest.mark.parametrize("text", ["", "null\n", "# nothing yet\n", "{}", "---\n"])
def test_an_empty_or_null_file_means_defaults(
    over: Callable[[str], Texts], text: str
) -> None:
    assert over(text) == texts(served(None))


def test_missing_file_handling_graceful_default(
    lab: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mcp = module("server").create_server(
        module("settings").Settings(database=":memory:")
    )
    assert texts(mcp) == texts(served(None))
    assert not caplog.records
    texts(served(home / "gone.yaml"))
    assert caplog.messages == [
        f"{home}/gone.yaml: no such file, so it overrides nothing"
    ]


def test_invalid_tool_name_detection_strict_mode(refusal: Callable[[str], str]) -> None:
    line = refusal("tools: {get_metre: {title: Read}}")
    assert line == ": Unknown tool: get_metre; did you mean 'get_meter'?"
    line = refusal("tools: {zzz: {title: Read}}")
    assert line == ": Unknown tool: zzz; `lab-texts metadata export` lists them all"


def test_invalid_tool_name_warning_non_strict_mode(
    over: Callable[[str], Texts], home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read = over(
        "strict: false\ntools: {zzz: {title: Z}, get_meter: {title: Read, arguments: {y: {}}}}\n"
        "resources: {lab://none: {name: N}}\nresource_templates: {lab://x/{x}: {name: N}}\n".replace(
            "lab://x/{x}", '"lab://x/{x}"'
        )
    )
    assert read["tools"]["get_meter"]["title"] == "Read"
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
    line = refusal("tools: {get_meter: {arguments: {meter: {description: D}}}}")
    assert (
        line == ": Tool 'get_meter' has no argument 'meter'; did you mean 'meter_id'?"
    )


def test_invalid_resource_uri_detection(refusal: Callable[[str], str]) -> None:
    line = refusal("resources: {lab://meter: {name: N}}")
    assert line == ": Unknown resource: lab://meter; did you mean 'lab://meters'?"
    line = refusal("resource_templates: {lab://meters: {name: N}}")
    assert line.startswith(
        ": Unknown resource template: lab://meters; did you mean 'lab://meters/{"
    )


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system ['true']", "!mine x", "!!str x"]
)
def test_yaml_safe_load_security(refusal: Callable[[str], str], tag: str) -> None:
    assert "anchors, aliases, tags" in refusal(
        f"tools:\n  get_meter:\n    title: {tag}\n"
    )


def test_an_empty_title_or_name_is_refused(refusal: Callable[[str], str]) -> None:
    assert refusal('tools: {get_meter: {title: ""}}').startswith(
        ": tools.get_meter.title: "
    )
    assert refusal('resources: {lab://help: {name: ""}}').startswith(
        ": resources.lab://help.name"
    )


HINT_KEYS = [
    "readOnlyHint",
    "destructiveHint",
    "read_only",
    "destructive",
    "open_world",
    "hints",
]


@pytest.mark.parametrize(
    "key", [*HINT_KEYS, "idempotentHint", "openWorldHint", "annotations"]
)
def test_a_hint_cannot_be_overridden(refusal: Callable[[str], str], key: str) -> None:
    line = refusal(f"tools: {{get_meter: {{{key}: false}}}}")
    assert (
        line
        == f": tools.get_meter.{key}: overrides change words, never hints; change the tool itself"
    )


def test_windows_line_ends_and_tabs_are_read(over: Callable[[str], Texts]) -> None:
    text = "tools:\r\n  get_meter:\r\n    description: |\r\n      One.\r\n      Two.\r\n# a\ttab\r\n"
    assert over(text)["tools"]["get_meter"]["description"] == "One.\nTwo.\n"


def test_a_typo_is_never_ignored(refusal: Callable[[str], str]) -> None:
    assert refusal("tools: {get_meter: {title_: T}}")
    assert refusal("tools: {get_meter: {arguments: {meter_id: {desc: D}}}}")
    assert refusal("resources: {lab://help: {title: T}}")
    assert refusal("stric: false\ntools: {}")


def test_broken_yaml_never_serves_empty_descriptions(
    refusal: Callable[[str], str],
) -> None:
    assert refusal("tools:\n  get_meter:\n    description:\n").endswith(
        "add it or remove the key"
    )
    assert refusal("tools:\n get_meter:\n   title: a\n  description: b\n").startswith(
        ":4:"
    )


def test_a_text_that_is_emptied_is_told(
    over: Callable[[str], Texts], home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read = over(
        'tools: {get_meter: {description: "", arguments: {unit: {description: ""}}}}\n'
        'resources: {lab://help: {description: ""}}\n'
    )
    assert read["tools"]["get_meter"]["description"] is None
    assert caplog.messages == [
        f"{home}/texts.yaml: {name} is left without a description"
        for name in ("get_meter", "get_meter.unit", "lab://help")
    ]
