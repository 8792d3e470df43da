"""`copier copy`, from the prompt back to the prompt, against the same questions with constant contents.

The floor is this template with every file's contents replaced by one line: the questions, the validators and the
file names are the same, so what remains is Copier's own work. usage: python -m benchmarks.generate [TURNS]
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from support import clone_template, git

from benchmarks import figures

COUNTS = (1, 10, 100, 1000)
# What names the files of tools, without what describes them.
NAMES_ONLY = """specs:
  type: json
  when: false
  default: "[{% for n in tools.split(',') %}{{ ', ' if not loop.first }}{{
    {'name': n | trim, 'file': n | trim} | to_json }}{% endfor %}]"
"""


def constant(template: Path, to: Path) -> Path:
    """A template with the contents of every file one line, that computes no more of a tool than its file's name."""
    shutil.copytree(template, to)
    for path in (to / "template").rglob("*"):
        if path.is_file() and "answers_file" not in path.name:
            path.write_text("x = 1\n")
    questions = (to / "copier.yml").read_text()
    before, _, remainder = questions.partition("\nspecs:")
    after = remainder[remainder.index("\nresource_specs:") :]
    (to / "copier.yml").write_text(f"{before}\n{NAMES_ONLY}{after}")
    git(to, "commit", "--quiet", "--all", "--message=constant")
    git(to, "tag", "--force", "v99.0.0")
    return to


def copy(template: Path, tools: str) -> float:
    """The seconds of one `copier copy`, its start included, as a person waits for it."""
    options = ["--quiet", "--defaults", "--skip-tasks", f"--data=tools={tools}"]
    with tempfile.TemporaryDirectory() as to:
        command = [sys.executable, "-m", "copier", "copy", *options, str(template), to]
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - started


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """A figure for each number of tools."""
    with tempfile.TemporaryDirectory() as work:
        template = clone_template(Path(work, "ours"))
        floor = constant(template, Path(work, "constant"))
        for count in COUNTS:
            tools = ", ".join(f"get_thing{n}" for n in range(count))
            seconds = figures.measure_in_turns(
                turns if count < 1000 else max(1, turns // 3),
                partial(copy, template, tools),
                partial(copy, floor, tools),
            )
            yield figures.Figure(
                what=f"{count:,} tools" if count > 1 else "1 tool",
                unit="s",
                ours=seconds[0],
                floor=seconds[1],
                beside="constant contents",
                ratio_at_most=1.1 if count == 10 else None,
            )


if __name__ == "__main__":
    figures.run(run_benchmark, turns=9)
