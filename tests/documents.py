"""What a program writes in the documents; `scripts/render-docs` renews it.

The language reference, the README's pictures and the tool file in the README.
"""

import colorsys
import importlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import warm
import yaml
from rich.console import Console
from rich.style import Style
from rich.text import Text
from support import ROOT, environment

from benchmarks.figures import insert_api_table, insert_peers

WIDTH = 100
TYPED = {
    "domain": "orders",
    "tools": "search_orders, get_order, shelve_order=put, delete_order",
}
CLEAR = "\x05\x15"  # to the end of the line, then delete to its beginning
# rich's own frame, without the font that it would load from a stranger's host
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: arial; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def tool_language() -> str:
    """The reference of the tool language, from the macros' tables."""
    return environment().get_template("docs/tool-language.md.jinja").render()


def readme(project: Path) -> str:
    """The README, with the tool file and the size of a project that the default answers make, and what was measured."""
    file = (project / "src/notes_mcp/tools/delete_note.py").read_text(encoding="utf-8")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tool = f"```python\n{file}```"
    text = re.sub(r"```python\n.*?```", lambda _: tool, text, count=1, flags=re.DOTALL)
    package = project / "src/notes_mcp"
    sizes = (
        count_lines(package / "policy") + count_lines(package / "engine"),
        count_lines(project / "tests/policy"),
    )
    price = "{:,} lines of policy and {:,} of its tests".format(
        *(round(n, -2) for n in sizes)
    )
    text, count = re.subn(
        "[0-9,]+ lines of policy and [0-9,]+ of its tests", price, text
    )
    assert count == 1
    measured = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    return insert_peers(text, measured)


def guide_to_an_api() -> str:
    """docs/api.md with what was measured."""
    text = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    return insert_api_table(
        text, (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    )


def count_lines(folder: Path) -> int:
    """Count the lines of Python in a folder."""
    counts = []
    for path in folder.rglob("*.py"):
        counts.append(len(path.read_text("utf-8").splitlines()))
    return sum(counts)


def draw_svg(text: Text, title: str) -> str:
    """Draw terminal text as an SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(text, soft_wrap=False)
    drawn = console.export_svg(title=title, code_format=FRAME, unique_id="terminal")
    return add_light_form(re.sub(" +$", "", drawn, flags=re.MULTILINE))


COLOR = re.compile(r"^(\.terminal-r\d+) { fill: #([0-9a-f]{6})", re.MULTILINE)
DARKEST = 0.3  # the lightness of text on white, which leaves a contrast of 4.5 and more


def darken(color: str) -> str:
    """Return a color of text on a dark background as one for a white background."""
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (0, 2, 4))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    dark = colorsys.hls_to_rgb(hue, min(lightness, DARKEST), saturation)
    return "".join(f"{round(part * 255):02x}" for part in dark)


def add_light_form(svg: str) -> str:
    """Return a picture that is light for readers who prefer a light color scheme."""
    rules = [
        ".rich-terminal > rect { fill: #ffffff; stroke: rgba(0,0,0,0.35) }",
        ".terminal-title { fill: #1f2328 }",
    ]
    for selector, color in COLOR.findall(svg):
        rules.append(f"{selector} {{ fill: #{darken(color)} }}")
    block = "\n".join(["@media (prefers-color-scheme: light) {", *rules, "}"])
    return svg.replace("\n</style>", f"\n{block}\n</style>", 1)


def extract_words(svg: str) -> str:
    """The text in a picture, which stays when rich draws it in another way."""
    pieces = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return " ".join("".join(pieces).replace("&#160;", " ").split())


def group_cells(cells: Iterable[Any]) -> Iterator[tuple[str, bool, str]]:
    """Neighboring cells of a screen that look the same, as one text."""
    for (color, bold), same in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
        yield color, bold, "".join(cell.data for cell in same)


def terminal(folder: Path, height: int, *command: str) -> tuple[Any, Any, Any]:
    """A program in a terminal, the screen that it draws on, and what feeds that."""
    pexpect: Any = importlib.import_module("pexpect")  # not on Windows
    pyte: Any = importlib.import_module("pyte")
    screen = pyte.Screen(WIDTH, height)
    calm = {
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "TERM": "xterm-256color",
        "PATH": "/usr/bin:/bin",
    }
    # Where a test sets these, the program is forked.
    names = ("COMPILED_TEMPLATES", "FORKS", "PYTHONPATH")
    calm |= {name: os.environ[name] for name in names if name in os.environ}
    child = pexpect.spawn(
        sys.executable,
        ["-P", "-m", *command],
        env=calm | {"HOME": str(folder)},
        cwd=str(folder),
        encoding="utf-8",
        dimensions=(height, WIDTH),
        timeout=120,
    )
    return child, screen, pyte.Stream(screen)


def format_screen(screen: Any, end: str) -> Text:
    """What stands on a screen, to the line that holds a text."""
    lines = []
    for row in range(screen.lines):
        line = Text()
        cells = [screen.buffer[row][column] for column in range(WIDTH)]
        for fg, bold, run in group_cells(cells):
            color = "yellow" if fg == "brown" else fg
            if re.fullmatch("[0-9a-f]{6}", fg):
                color = f"#{fg}"
            line.append(run, Style(color=color, bold=bold))
        line.rstrip()
        if end in line.plain:
            break
        lines.append(line)
    whole = Text("\n").join(lines)
    whole.rstrip()
    return whole


def record_prompts(template: Path, folder: Path) -> Text:
    """The screen of somebody who answers the prompts of `copier copy`."""
    words = ("copier", "copy", "--quiet", "--skip-tasks", str(template), "my-orders")
    child, screen, stream = terminal(folder, 70, *words)
    questions = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    labels = {}
    for name, question in questions.items():
        if not name.startswith("_") and "help" in question:
            labels[name] = question["help"].splitlines()[0]
    while (
        at := child.expect_exact(
            [*labels.values(), importlib.import_module("pexpect").EOF]
        )
    ) < len(labels):
        stream.feed(child.before + child.after)
        name = list(labels)[at]
        labels.pop(name)
        child.send((CLEAR + TYPED[name] if name in TYPED else "") + "\r")
    stream.feed(child.before)
    child.close()
    return format_screen(screen, "is ready in")


def record_review(template: Path, folder: Path) -> Text:
    """The screen of somebody who has named the tools in `copier-fastmcp new`; they leave it there."""
    child, screen, stream = terminal(
        folder, 40, "copier_fastmcp", "new", "--template", str(template)
    )
    for question, typed in (
        ("come from?", ""),
        ("plural noun)", CLEAR + TYPED["domain"]),
        ("separated by commas:", CLEAR + TYPED["tools"]),
        ("starts the server:", ""),
        ("Which profile?", ""),
        ("Go back", ""),
    ):
        child.expect_exact(question)
        stream.feed(child.before + child.after)
        child.send("\x03" if question == "Go back" else typed + "\r")
        if typed:
            child.expect_exact(
                typed.removeprefix(CLEAR)
            )  # what is typed, then once more as an answer
            stream.feed(child.before + child.after)
    child.close(force=True)
    return format_screen(screen, "no such line")


def run_in_color(*command: str | Path, folder: Path, **environ: str) -> Text:
    """What a program prints in a terminal with colors."""
    clean = warm.clean_environment()
    clean.pop("NO_COLOR", None)
    wide = {
        "FORCE_COLOR": "1",
        "COLUMNS": str(WIDTH),
        "HOME": str(folder),
        "TERM": "xterm-256color",
    }
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=clean | wide | environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return Text.from_ansi(done.stdout.rstrip())


def pictures(template: Path, project: Path) -> dict[str, str]:
    """The pictures by the names of their files; `project` gets a program as `uv sync` would make."""
    program = project / ".venv/bin/notes-mcp"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={project / "src"} exec {sys.executable} -P -m notes_mcp "$@"\n'
    )
    program.chmod(0o755)
    table = run_in_color(program, "tools", "list", folder=project)
    demo = run_in_color(
        sys.executable, ROOT / "scripts/demo_client.py", project, folder=project
    )
    start, end = demo.plain.index("create_note {"), demo.plain.index("It is yours")
    called = demo[start:end]
    called.rstrip()
    source = {"PYTHONPATH": str(project / "src")}
    gate = run_in_color(
        sys.executable, ROOT / "scripts/demo_gate.py", folder=project, **source
    )
    return {
        "gate.svg": draw_svg(gate, "one deletion, three clients, two gates"),
        "prompts.svg": draw_svg(
            record_prompts(template, project.parent), "copier copy"
        ),
        "new.svg": draw_svg(
            record_review(template, project.parent), "copier-fastmcp new"
        ),
        "tools.svg": draw_svg(table, "notes-mcp tools list"),
        "confirmation.svg": draw_svg(called, "scripts/demo"),
    }
