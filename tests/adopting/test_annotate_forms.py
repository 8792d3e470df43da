"""`annotate` edits the registrations it supports, reports the others, and restores files that fail."""

import sys
from pathlib import Path

import pytest
from adopting.test_annotate import commit, create_project, git
from adopting.test_reading import survey_files

from copier_fastmcp.cli import main

HEAD = """from fastmcp import FastMCP

mcp = FastMCP("forms")
OPTS = {"annotations": {"readOnlyHint": True}}


def read_only():
    return {"readOnlyHint": True}


class Registrar:
    def tool(self, name, description=""):
        return mcp.tool(name=name, description=description)


registrar = Registrar()
"""
TOOL = '\n\n{decorator}\ndef get_note(key: str) -> str:\n    """Get a note."""\n    return {{}}.get(key, "")\n'
# A decorator that is not edited, and what is put in front of it.
BY_HAND = {
    "a helper's result": ("@mcp.tool(annotations=read_only())", ""),
    "a mapping that is spread": ("@mcp.tool(**OPTS)", ""),
    "a mapping with another one in it": (
        '@mcp.tool(annotations={**OPTS["annotations"], "title": "x"})',
        "",
    ),
    "a hint that is computed": (
        '@mcp.tool(annotations={"readOnlyHint": bool(OPTS)})',
        "",
    ),
    "an adapter without the parameter": ('@registrar.tool("admin")', ""),
    "an unknown receiver": ("@app.tool()", "from elsewhere import app\n"),
    "a class of another package": (
        "@app.tool()",
        "from elsewhere import App\n\napp = App()\n",
    ),
    "an own class of annotations": (
        "@mcp.tool(annotations=ToolAnnotations(True))",
        "from elsewhere import ToolAnnotations\n",
    ),
    "a decorator that was replaced": (
        "@mcp.tool()",
        "def logged(*given):\n    return lambda function: function\n\n\nmcp.tool = logged\n",
    ),
    "a subclass with a decorator of its own": (
        "@own.tool()",
        "class Own(FastMCP):\n    def tool(self):\n        return super().tool()\n\n\nown = Own()\n",
    ),
    "a class that comes from one of two packages": (
        "@either.tool()",
        "try:\n    from fastmcp import FastMCP as Server\nexcept ImportError:\n    from elsewhere import Server\n\neither = Server()\n",
    ),
    "one of two functions": (
        "@made().tool()",
        "def made():\n    if OPTS:\n        return mcp\n    return registrar\n",
    ),
}


@pytest.mark.parametrize(("decorator", "before"), BY_HAND.values(), ids=BY_HAND)
def test_what_it_does_not_understand_is_left_by_hand(
    decorator: str, before: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEAD + before + TOOL.format(decorator=decorator)
    folder = create_project(tmp_path, **{"server.py": text})
    assert main(["annotate", str(folder), "--unattended"]) == 1
    line = text[: text.index("def get_note")].count("\n") + 1
    lines = capsys.readouterr().err.splitlines()
    advice_lines = []
    for message in lines:
        if message.startswith("by hand get_note"):
            advice_lines.append(message)
    (advice,) = advice_lines
    assert f"server.py:{line}" in advice
    assert "readOnlyHint" in advice, "the text to paste"
    assert (folder / "server.py").read_text() == text


KNOWN = {
    "a parameter with an annotation": (
        "def register(app: FastMCP) -> None:\n    @app.tool()\n    def get_note(key: str) -> str:\n"
        '        """Get a note."""\n        return key\n\n\nregister(mcp)\n'
    ),
    "a parameter that every call fills": (
        "def register(app):\n    @app.tool()\n    def get_note(key: str) -> str:\n"
        '        """Get a note."""\n        return key\n\n\nregister(mcp)\n'
    ),
    "an attribute of a class": (
        "class Notes:\n    def __init__(self, app: FastMCP):\n        self.app = app\n"
        "        self.app.tool(self.get_note)\n\n    def get_note(self, key: str) -> str:\n"
        '        """Get a note."""\n        return key\n'
    ),
    "a function that makes it": (
        "def made() -> FastMCP:\n    return FastMCP('x')\n\n\napp = made()\n\n\n@app.tool\n"
        'def get_note(key: str) -> str:\n    """Get a note."""\n    return key\n'
    ),
    "a subclass": (
        "class Own(FastMCP):\n    pass\n\n\napp = Own('x')\n\n\n@app.tool\n"
        'def get_note(key: str) -> str:\n    """Get a note."""\n    return key\n'
    ),
    "a subclass that hands its options on": (
        "class Own(FastMCP):\n    def tool(self, given=None, **options):\n"
        "        return super().tool(given, **options)\n\n\napp = Own('x')\n\n\n@app.tool()\n"
        'def get_note(key: str) -> str:\n    """Get a note."""\n    return key\n'
    ),
    "an attribute of another object": (
        "class Holder:\n    def __init__(self):\n        self.app = FastMCP('x')\n\n\n"
        "class Notes:\n    def __init__(self, holder: Holder):\n        self.app = holder.app\n"
        "        self.app.tool(self.get_note)\n\n    def get_note(self, key: str) -> str:\n"
        '        """Get a note."""\n        return key\n'
    ),
    "a method of a mixin": (
        "from fastmcp.contrib.mcp_mixin import MCPMixin, mcp_tool\n\n\nclass Notes(MCPMixin):\n    @mcp_tool()\n"
        '    def get_note(self, key: str) -> str:\n        """Get a note."""\n        return key\n\n\nNotes().register_all(mcp)\n'
    ),
    "nothing in place of annotations": (
        '@mcp.tool(annotations=None)\ndef get_note(key: str) -> str:\n    """Get a note."""\n    return key\n'
    ),
}


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_a_receiver_that_resolves_is_edited(text: str, tmp_path: Path) -> None:
    folder = create_project(tmp_path, **{"server.py": f"{HEAD}\n\n{text}"})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    assert (
        '"readOnlyHint": True, "destructiveHint": False'
        in (folder / "server.py").read_text()
    )


def test_a_class_of_either_sdk_gets_annotations_that_both_take(tmp_path: Path) -> None:
    text = (
        "try:\n    from mcp.server import MCPServer as Server\nexcept ImportError:\n"
        "    from mcp.server.fastmcp import FastMCP as Server\n\n"
        'app = Server("x")\n\n\n@app.tool()\ndef get_note(key: str) -> str:\n    """Get."""\n    return key\n'
    )
    folder = create_project(tmp_path, **{"server.py": text})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    written = (folder / "server.py").read_text()
    assert "from mcp.types import ToolAnnotations\n" in written
    assert 'title="Get Note", readOnlyHint=True' in written


def test_a_parameter_that_one_call_fills_with_something_else_is_by_hand(
    tmp_path: Path,
) -> None:
    text = (
        f"{HEAD}\n\n{KNOWN['a parameter that every call fills']}\nregister(registrar)\n"
    )
    folder = create_project(tmp_path, **{"server.py": text})
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert (folder / "server.py").read_text() == text


def test_one_line_that_registers_several_tools_is_by_hand(tmp_path: Path) -> None:
    functions = (
        'def get_note(key: str) -> str:\n    """Get a note."""\n    return key\n\n\n'
        'def delete_note(key: str) -> None:\n    """Delete a note."""\n    NOTES.clear()\n'
    )
    loop = (
        "NOTES = []\nfor function in (get_note, delete_note):\n    mcp.tool(function)\n"
    )
    text = f"{HEAD}\n\n{functions}\n\n{loop}"
    folder = create_project(tmp_path, **{"server.py": text})
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert (folder / "server.py").read_text() == text


def test_an_import_for_types_alone_is_no_import(tmp_path: Path) -> None:
    text = (
        "from typing import TYPE_CHECKING\n\nfrom mcp.server.fastmcp import FastMCP\n\n"
        "if TYPE_CHECKING:\n    from mcp.types import ToolAnnotations\n\n"
        'mcp = FastMCP("x")\n\n\n@mcp.tool()\ndef get_note(key: str) -> str:\n    """Get."""\n    return key\n'
    )
    folder = create_project(tmp_path, **{"server.py": text})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    assert (
        "\nfrom mcp.types import ToolAnnotations\n"
        in (folder / "server.py").read_text()
    )


def test_add_tool_of_fastmcp_takes_no_annotations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'{HEAD}\n\ndef get_note(key: str) -> str:\n    """Get."""\n    return key\n\n\nmcp.add_tool(get_note)\n'
    folder = create_project(tmp_path, **{"server.py": text})
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert (folder / "server.py").read_text() == text
    assert "mcp.tool(get_note, annotations=" in capsys.readouterr().err


def test_a_text_is_a_name_on_a_known_class_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        HEAD
        + TOOL.format(decorator='@registrar.tool("admin")')
        + '\n\n@mcp.tool("found")\ndef f(): ...\n'
    )
    folder = create_project(tmp_path, **{"server.py": text})
    main(["annotate", str(folder), "--dry-run", "--json"])
    stdout = capsys.readouterr().out
    assert '"get_note"' in stdout
    assert '"found"' in stdout
    assert '"admin"' not in stdout


PLAIN = f'''{HEAD}

@mcp.tool
def get_note(key: str) -> str:
    """Get a note."""
    return key


if __name__ == "__main__":
    mcp.run()
'''


def test_without_live_nothing_is_started_and_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": "raise SystemExit(3)\n" + PLAIN})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    assert "the server was not started" in capsys.readouterr().err


MIXIN = """from fastmcp import FastMCP
from fastmcp.contrib.mcp_mixin import MCPMixin, mcp_tool

NOTES: dict[str, str] = {}


class Notes(MCPMixin):
    @mcp_tool("add_note")
    def add(self, title: str, text: str) -> str:
        NOTES.setdefault(title, text)
        return title

    @mcp_tool(name="delete_note", description="Delete a note.")
    def delete(self, title: str) -> bool:
        return NOTES.pop(title, None) is not None


mcp = FastMCP("mixed")
Notes().register_all(mcp)
if __name__ == "__main__":
    mcp.run()
"""


def test_tools_of_a_mixin_are_listed_as_their_source_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": MIXIN})
    words = ["annotate", str(folder), "--unattended", "--live"]
    assert main([*words, format_live_command(folder)]) == 0
    messages = capsys.readouterr().err
    assert "it lists 2 tools, the same that its source shows" in messages
    text = (folder / "server.py").read_text()
    assert '@mcp_tool("add_note", annotations={' in text
    assert '@mcp_tool(name="delete_note", description="Delete a note.", annota' in text


def format_live_command(folder: Path) -> str:
    return f"{sys.executable} {folder / 'server.py'}"


def test_live_compares_the_server_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": PLAIN})
    assert (
        main(
            [
                "annotate",
                str(folder),
                "--unattended",
                "--live",
                format_live_command(folder),
            ]
        )
        == 0
    )
    assert "readOnlyHint" in (folder / "server.py").read_text()
    assert "lists the same 1 tool" in capsys.readouterr().err


# It looks at its own source as it starts, so that an edit changes what it does.
FRAGILE = PLAIN.replace(
    "mcp = FastMCP", "SELF = open(__file__).read()\nmcp = FastMCP", 1
)
STOPS = FRAGILE.replace(
    "OPTS =",
    'if SELF.count("destructiveHint") > 1:\n    raise SystemExit("no")\nOPTS =',
    1,
)
DIFFERS = FRAGILE.replace('"""Get a note."""', '"""Get a note."""', 1).replace(
    "@mcp.tool\n", '@mcp.tool(description=str(SELF.count("destructiveHint")))\n', 1
)
MEDDLES = STOPS.replace(
    'raise SystemExit("no")',
    'open(__file__, "a").write("# mine\\n")\n    raise SystemExit("no")',
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [(STOPS, "does not start any more"), (DIFFERS, "get_note: description")],
)
def test_live_restores_what_makes_a_difference(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": text})
    assert (
        main(
            [
                "annotate",
                str(folder),
                "--unattended",
                "--live",
                format_live_command(folder),
            ]
        )
        == 2
    )
    assert (folder / "server.py").read_text() == text
    assert git(folder, "status", "--porcelain") == ""
    reasons = []
    for message in capsys.readouterr().err.splitlines():
        if reason in message:
            reasons.append(message)
    (line,) = reasons
    assert "restored" in line


def test_a_file_that_somebody_changed_meanwhile_is_named_and_not_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": MEDDLES})
    assert (
        main(
            [
                "annotate",
                str(folder),
                "--unattended",
                "--live",
                format_live_command(folder),
            ]
        )
        == 2
    )
    assert "# mine" in (folder / "server.py").read_text()
    assert "not restored: server.py" in capsys.readouterr().err


def test_a_server_that_does_not_start_before_is_not_edited(tmp_path: Path) -> None:
    text = "raise SystemExit(3)\n" + PLAIN
    folder = create_project(tmp_path, **{"server.py": text})
    assert (
        main(
            [
                "annotate",
                str(folder),
                "--unattended",
                "--live",
                format_live_command(folder),
            ]
        )
        == 2
    )
    assert (folder / "server.py").read_text() == text


def test_live_names_tools_that_the_source_does_not_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden_tool = 'hide = mcp.__getattribute__("tool")\nhide(lambda: 1, name="hidden")\n\n\nif __name__'
    folder = create_project(
        tmp_path, **{"server.py": PLAIN.replace("if __name__", hidden_tool)}
    )
    assert (
        main(
            [
                "annotate",
                str(folder),
                "--unattended",
                "--live",
                format_live_command(folder),
            ]
        )
        == 1
    )
    assert (
        "by hand hidden: registered at run time: annotate by hand"
        in capsys.readouterr().err
    )
    commit(folder)


PASSED_ON = """from fastmcp import FastMCP

mcp = FastMCP("passed")


def register(server: FastMCP, definitions, authorize) -> None:
    for definition in definitions:
        server.tool(authorize(definition.name, definition.handler))
"""


def test_what_a_function_gets_and_registers_is_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": PASSED_ON})
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert (
        "registered at run time: annotate by hand (server.py:8)"
        in capsys.readouterr().err
    )


def test_a_function_is_found_behind_the_name_that_a_wrapper_gets(
    tmp_path: Path,
) -> None:
    registration = 'mcp.tool(guard("get_note", get_note))'
    text = f"{HEAD}{TOOL.format(decorator='@plain')}\n\n{registration}\n"
    (proposal,) = survey_files(tmp_path, **{"server.py": text}).proposals
    assert proposal.tool.name == "get_note"
