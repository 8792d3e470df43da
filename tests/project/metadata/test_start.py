"""The start of a real server: each message word for word in a terminal, and which file is read."""

import os
import shutil
from pathlib import Path

import pytest
from support import python, server
from texts import write

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
        ": tools.get_meter.zzz: Unknown field 'zzz', the fields are description, title, arguments,"
        " icons, enabled",
    ),
    "wrong type": (
        "tools: {get_meter: {title: 5}}\n",
        ": tools.get_meter.title: Input should be a valid string (got 5)",
    ),
    "unknown version": (
        "version: 2\n",
        ": version 2 is not supported; write `version: 1` or update this server",
    ),
    "unknown tool": ("tools: {zz: {title: Z}}\n", ": Unknown tool: zz; {export}"),
    "unknown argument": (
        "tools: {get_meter: {arguments: {zz: {description: Z}}}}\n",
        ": Tool 'get_meter' has no argument 'zz'; {export}",
    ),
    "unknown resource": (
        "resources: {zz: {name: Z}}\n",
        ": Unknown resource: zz; {export}",
    ),
    "unknown template": (
        "resource_templates: {zz: {name: Z}}\n",
        ": Unknown resource template: zz; {export}",
    ),
}


@pytest.mark.parametrize(("text", "line"), FLOW.values(), ids=FLOW)
def test_a_refusal_in_the_terminal(lab: Path, home: Path, text: str, line: str) -> None:
    path = write(home / ".lab-texts/metadata.yaml", text)
    done = server(lab, "run", HOME=str(home))
    line = line.replace("{export}", "`lab-texts metadata export` lists them all")
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


@pytest.mark.parametrize("source", ["option", "variable"])
def test_the_ways_to_name_a_file(lab: Path, home: Path, source: str) -> None:
    """An option before a variable before the home folder; each is read, and a `~` is the home folder."""
    write(home / ".lab-texts/metadata.yaml", "version: 3")
    write(home / "mine.yaml", "version: 4")
    words = ["--metadata", "~/mine.yaml"] if source == "option" else []
    variables = {"option": "none", "variable": "~/mine.yaml"}[source]
    done = server(lab, "run", *words, HOME=str(home), LAB_TEXTS_METADATA=variables)
    assert done.stderr.startswith(
        f"lab-texts: {home}/mine.yaml: version 4 is not supported"
    )


def test_a_user_without_a_home_can_start(lab: Path, home: Path) -> None:
    """As in a container that runs under a number that nobody has."""
    if os.getuid():
        pytest.skip("only root can become nobody in particular")
    code = """if True:
        import os
        from lab_texts.engine.metadata import overrides
        from lab_texts.policy import POLICY
        os.chdir("/")
        os.setuid(54_321)
        del os.environ["HOME"]
        print(overrides.read_text(overrides.user_file(POLICY, None)))
    """
    done = python(lab, "-c", code)
    assert done.stdout == "None\n", done.stderr


def test_the_generated_suite_never_reads_the_developers_own_file(
    lab: Path, home: Path
) -> None:
    """Nor does pinning: a file in the home folder and one in the environment stop every server that reads them."""
    write(home / ".lab-texts/metadata.yaml", "version: 98")
    poison = write(home / "mine.yaml", "version: 99")
    refused = {"HOME": str(home), "LAB_TEXTS_METADATA": str(poison)}
    assert "version 99" in server(lab, "tools", "list", **refused).stderr
    assert "version 98" in server(lab, "tools", "list", HOME=str(home)).stderr
    copied = shutil.copytree(lab, home / "project")
    for words in (["tests/policy/pin.py"], ["-m", "pytest", "-p", "no:cacheprovider"]):
        done = python(copied, *words, **refused)
        assert done.returncode == 0, done.stdout + done.stderr
