"""How long `copier update` to a release with one changed policy file takes, against a copy of the same project.

Both with 10 and 100 tools, interleaved, start of the program included. usage: python benchmarks/update.py [RUNS]
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import clone_template, git

COPIER = [sys.executable, "-m", "copier"]
POLICY = "template/src/{{package_name}}/policy/catalog.py"


def seconds(*words: str | Path) -> float:
    """The time of one run of Copier."""
    started = time.perf_counter()
    subprocess.run([*COPIER, *map(str, words)], check=True, capture_output=True)
    return time.perf_counter() - started


def main(runs: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as place:
        template = clone_template(Path(place) / "template", tag="v1.0.0")
        changed = template / POLICY
        changed.write_text(changed.read_text() + "\n# the next release\n")
        git(template, "commit", "--quiet", "--all", "--message=next")
        git(template, "tag", "v2.0.0")
        for count in (10, 100):
            tools = "tools=" + ", ".join(f"get_note_{n}" for n in range(count))
            copies, updates = [], []
            for _ in range(runs):
                project = Path(place) / "project"
                asked = ["--defaults", "--skip-tasks", "--vcs-ref", "v1.0.0", "-d", tools]
                copies.append(seconds("copy", *asked, template, project))
                git(project, "init", "--quiet")
                git(project, "add", "--all")
                git(project, "commit", "--quiet", "--message=start")
                release = ["--defaults", "--trust", "--vcs-ref", "v2.0.0"]
                updates.append(seconds("update", *release, project))
                assert (
                    "the next release" in next(project.glob("src/*/policy/catalog.py")).read_text()
                )
                shutil.rmtree(project)
            copy, update = statistics.median(copies), statistics.median(updates)
            print(
                f"{count:4} tools: copy {copy:.2f} s, update {update:.2f} s, ratio {update / copy:.1f}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
