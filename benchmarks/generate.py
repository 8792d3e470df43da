"""How long a copy takes for 1, 10, 100 and 1,000 tools, as a ratio to floors measured in the same run.

Floors: an empty template, and this template with every file's contents constant (the same file names and
answers, so what remains is Copier's own work). Prints medians. usage: python benchmarks/generate.py [RUNS]
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
COUNTS = (1, 10, 100, 1000)


def repository(folder: Path) -> Path:
    """A folder as a tagged git repository."""
    who = ["-c", "user.name=b", "-c", "user.email=b@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "b"], ["tag", "v1.0.0"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
    return folder


def copied(into: Path) -> Path:
    """The working tree without its caches."""
    for name in ("copier.yml", "macros", "writing", "licenses", "src", "template", "hooks"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, into / name)
        else:
            into.mkdir(exist_ok=True)
            shutil.copy(source, into / name)
    return into


def seconds(template: Path, tools: str, runs: int) -> float:
    """The median time of `copier copy`, its start included, as a person waits for it."""
    taken = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as to:
            command = [
                sys.executable,
                "-m",
                "copier",
                "copy",
                "--quiet",
                "--defaults",
                "--skip-tasks",
            ]
            start = time.perf_counter()
            subprocess.run(
                [*command, f"--data=tools={tools}", str(template), to],
                check=True,
                stderr=subprocess.DEVNULL,
            )
            taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main(runs: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as work:
        empty = Path(work, "empty")
        (empty / "template").mkdir(parents=True)
        (empty / "copier.yml").write_text(
            "_subdirectory: template\ntools: {type: yaml, default: a}\n"
        )
        (empty / "template/a.txt").write_text("a\n")
        full = repository(copied(Path(work, "full")))
        constant = copied(Path(work, "constant"))
        for path in (constant / "template").rglob("*"):
            if path.is_file() and "answers_file" not in path.name:
                path.write_text("x = 1\n")
        # Names and files are the same; the specification is reduced to what names a file.
        settings = (constant / "copier.yml").read_text()
        head, _, tail = settings.partition("\nspecs:")
        plain = (
            "\nspecs:\n  type: json\n  when: false\n  default: \"[{% for n in tools.split(',') %}"
            "{{ ', ' if not loop.first }}{{ {'name': n | trim, 'file': n | trim} | to_json }}{% endfor %}]\"\n"
        )
        rest = tail.partition("\nresource_specs:")[2]
        (constant / "copier.yml").write_text(head + plain + "\nresource_specs:" + rest)
        floor = seconds(repository(empty), "a", runs)
        print(f"empty template: {floor:.2f} s")
        repository(constant)
        for count in COUNTS:
            tools = ", ".join(f"get_thing{n}" for n in range(count))
            times = runs if count < 1000 else max(1, runs // 2)
            ours, theirs = seconds(full, tools, times), seconds(constant, tools, times)
            print(
                f"{count:5d} tools: {ours:.2f} s, {ours / floor:.2f} x empty, "
                f"{ours / theirs:.2f} x constant contents ({theirs:.2f} s)"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
