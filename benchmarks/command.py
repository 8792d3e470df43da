"""How long `copier-fastmcp --help` takes, and one verb's own help, against a Python that does nothing.

In turns, start of the program included. usage: python benchmarks/command.py [RUNS]
"""

import os
import statistics
import subprocess
import sys
import time

COMMAND = [sys.executable, "-P", "-m", "copier_fastmcp"]
MEASURED = {
    "python -c pass": [sys.executable, "-P", "-c", "pass"],
    "copier-fastmcp --help": [*COMMAND, "--help"],
    "copier-fastmcp add --help": [*COMMAND, "add", "--help"],
    "copier-fastmcp explain": [*COMMAND, "explain", "name-valid"],
}


def seconds(words: list[str]) -> float:
    """The time of one run, with the byte code that a second run finds."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    subprocess.run(words, env=clean, check=True, capture_output=True)
    return time.perf_counter() - started


def main(runs: int) -> None:
    """Print the table."""
    for words in MEASURED.values():
        seconds(words)
    taken: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(runs):
        for name, words in MEASURED.items():
            taken[name].append(seconds(words))
    floor = statistics.median(taken["python -c pass"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:26} {median:.3f} s, ratio {median / floor:.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
