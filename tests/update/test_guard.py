"""What an update would lose without a word: it is refused by name, before a byte is written, and says the way on.

Plain Copier runs the guard; COPIER_FASTMCP_CHECKED=1 turns it off, and shows that each row is a real loss.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from copier.errors import TaskError
from lifecycle import (
    ENGINE,
    MIGRATIONS,
    SRC,
    TEMPLATE,
    Edit,
    bytes_of,
    commit,
    move_module,
    released,
    start,
    update,
)
from support import ROOT, git

from copier_fastmcp.updates.guard import find_harmful_settings

LATIN = "caf\xe9".encode("latin-1")
RESOURCE = {"uri": "notes://all", "name": "All notes", "description": "Every note."}
PROFILE = "    end-state - hints of the end state; asks where declared: end-state\n"
BUNDLE = "    bundle - manifest.json, for Claude Desktop: bundle\n"
# One that the release moves, one that it changes, one that it leaves alone.
EDITED_ENGINE = [
    SRC + f"engine/{name}.py" for name in ("texts", "guard", "confirmation/gate")
]
CHECK = "{{ v.resource_errors(resources, tools, _every_error is defined) }}"


@pytest.fixture(scope="module")
def releases(first: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """v2 moves a policy file and brings a new one; v3 to v6 each refuse an answer; v7 only changes a word."""
    template = shutil.copytree(first, tmp_path_factory.mktemp("releases") / "template")
    new: Edit = ("template/.envrc", "", "use uv\n")
    guide: Edit = ("template/README.md.jinja", "", "\nRelease 2.\n")
    texts: Edit = (TEMPLATE + "cli.py.jinja", "", "\n# release 2\n")
    engine: Edit = (ENGINE + "guard.py", "", "\n# release 2\n")
    released(
        template, template, "v2.0.0", *move_module(template), new, guide, texts, engine
    )
    released(template, template, "v3.0.0", ("copier.yml", PROFILE, ""))
    stricter = (
        CHECK + "{% if resources %}{{ resources[0].uri }} is refused now{% endif %}"
    )
    released(
        template,
        template,
        "v4.0.0",
        (
            "copier.yml",
            "choices:\n    explicit - all four hints",
            f"choices:\n{PROFILE}    explicit - all four hints",
        ),
        ("copier.yml", CHECK, stricter),
    )
    released(
        template,
        template,
        "v5.0.0",
        ("copier.yml", stricter, CHECK),
        ("copier.yml", BUNDLE, ""),
    )
    default = "\"{{ before.license | default('MIT') }}\""
    released(
        template,
        template,
        "v6.0.0",
        ("copier.yml", "    registry - server", BUNDLE + "    registry - server"),
        (
            "copier.yml",
            f"choices: [MIT, Apache-2.0, BSD-3-Clause, none]\n  default: {default}",
            "choices: [MIT, BSD-3-Clause, none]\n  default: MIT",
        ),
    )
    author = (
        (template / "copier.yml").read_text().split("author:\n")[1].split("\n\n")[0]
    )
    released(
        template,
        template,
        "v7.0.0",
        ("copier.yml", "choices: [MIT, BSD", "choices: [MIT, Apache-2.0, BSD"),
        (
            "copier.yml",
            f"author:\n{author}\n",
            "author: {type: str, when: false, default: ''}\n\nteam:\n  type: str\n  default: ''\n",
        ),
    )
    return template


@pytest.fixture(scope="module")
def lived(releases: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server from v1 whose owner wrote into every place that v2 or a later release touches."""
    answers: dict[str, Any] = {
        "profile": "end-state",
        "resources": [RESOURCE],
        "packages": ["bundle"],
        "license": "Apache-2.0",
        "author": "Ann",
    }
    project = start(releases, tmp_path_factory.mktemp("lived") / "p", **answers)
    for name in (*EDITED_ENGINE, SRC + "server.py", "LICENSE"):
        with (project / name).open("a", encoding="utf-8") as file:
            file.write("\n# mine\n")
    for name in ("README.md", SRC + "cli.py"):
        with (project / name).open("ab") as raw:
            raw.write(b"\n# " + LATIN + b"\n")
    (project / ".gitignore").write_text(
        (project / ".gitignore").read_text() + ".envrc\nseen.md\n"
    )
    (project / ".envrc").write_text("export TOKEN=mine\n")
    commit(project)
    return project


def refusal(
    project: Path, tag: str, capfd: pytest.CaptureFixture[str], **answers: object
) -> set[str]:
    """What an update to a release is refused with; the project is as it was."""
    before = bytes_of(project)
    capfd.readouterr()
    with pytest.raises(TaskError):
        update(project, tag, answers)
    assert bytes_of(project) == before
    assert git(project, "status", "--porcelain") == ""
    lines = capfd.readouterr().err.splitlines()
    refusals = set()
    for line in lines:
        if "not updated: " in line:
            refusals.add(line.removeprefix("not updated: "))
    return refusals


def test_files_that_would_be_lost(
    lived: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = refusal(lived, "v2.0.0", capfd, license="none")
    named = {line.partition(":")[0]: line for line in lines}
    assert set(named) == {
        "LICENSE",
        *EDITED_ENGINE,
        ".envrc",
        "README.md",
        SRC + "cli.py",
    }
    for name in EDITED_ENGINE:
        assert (
            f"edited here, and the engine is replaced as a whole; copier-fastmcp restore {name}"
            in named[name]
        )
    assert "edited here, and v2.0.0 removes it" in named["LICENSE"]
    assert "git ignores it, and v2.0.0 would write over it" in named[".envrc"]
    assert "not UTF-8" in named["README.md"]


def test_the_way_on(lived: Path, tmp_path: Path) -> None:
    """What each line says, done; then the update goes through, and an edit that may stay stays."""
    project = shutil.copytree(lived, tmp_path / "p")
    git(project, "restore", "--source=HEAD~1", *EDITED_ENGINE)
    git(project, "add", "--force", ".envrc")
    for name in ("README.md", SRC + "cli.py"):
        path = project / name
        path.write_bytes(path.read_bytes().replace(LATIN, "café".encode()))
    commit(project)
    update(project, "v2.0.0")
    assert not (project / SRC / "engine/texts.py").exists()
    assert (project / SRC / "engine/guard.py").read_text().endswith("# release 2\n")
    assert (project / SRC / "server.py").read_text().endswith("# mine\n")
    assert "# café\n" in (project / "README.md").read_text()
    envrc = (project / ".envrc").read_text()
    assert "export TOKEN=mine" in envrc
    assert "<<<<<<< before updating" in envrc, "a conflict that git shows"


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (
            "v3.0.0",
            "profile: 'end-state' is not in ['explicit', 'narrow', 'confirm-all', 'custom']",
        ),
        ("v4.0.0", "resources: notes://all is refused now"),
        ("v5.0.0", "packages: 'bundle' is not in ['container', 'registry']"),
        (
            "v6.0.0",
            "license: 'Apache-2.0' is not in ['MIT', 'BSD-3-Clause', 'none']",
        ),
        ("v7.0.0", "author: 'Ann' would be dropped; say it anew: --data author=..."),
    ],
)
def test_answers_that_would_be_lost(
    lived: Path, capfd: pytest.CaptureFixture[str], tag: str, message: str
) -> None:
    assert message in refusal(lived, tag, capfd)


def test_the_package_cannot_be_renamed(
    lived: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (line,) = refusal(lived, "v1.0.0", capfd, package_name="other_mcp")
    assert line.startswith(
        "package_name: notes_mcp cannot become other_mcp at an update; rename"
    )


def test_every_question_keeps_its_old_answer() -> None:
    question = yaml.safe_load((ROOT / "copier.yml").read_text(encoding="utf-8"))
    names = [name for name in question if not name.startswith("_")]
    assert names[0] == "before", (
        "it holds the old answers only where no question stands before it"
    )
    default = {n for n in names if f"before.{n} " in str(question[n]["default"])}
    stored = set()
    for n in names:
        if question[n].get("when") is not False and "secret" not in question[n]:
            stored.add(n)
    assert default == stored


def test_it_needs_nothing_that_copier_does_not_bring() -> None:
    """The hook runs in Copier's own interpreter: the command's other libraries are not there."""
    code = "import sys; sys.modules.update(dict.fromkeys(['cyclopts', 'questionary', 'rich']))"
    hook = f"{code}; import runpy; runpy.run_path({str(ROOT / 'hooks/guard.py')!r})"
    done = subprocess.run(
        [sys.executable, "-I", "-c", hook], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_settings_of_git_that_lose_edits(
    lived: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    git(lived, "config", "apply.whitespace", "error")
    (line,) = find_harmful_settings(lived)
    assert line.startswith("git config apply.whitespace is error, which loses edits")
    git(lived, "config", "--unset", "apply.whitespace")
    assert list(find_harmful_settings(lived)) == []
    git(lived, "config", "status.showUntrackedFiles", "no")
    refused = "".join(refusal(lived, "v2.0.0", capfd))
    assert "git config status.showUntrackedFiles is no, which loses edits" in refused


@pytest.mark.nightly
def test_what_is_missing_after_an_update_is_named(
    repository: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A migration of the release takes an owner's file, and their line in a file that is merged; git has both."""
    project = start(repository, tmp_path / "p")
    with (project / "README.md").open("a", encoding="utf-8") as file:
        file.write("\nMine.\n")
    (project / "mine.txt").write_text("mine\n")
    commit(project)
    harm = (
        "from pathlib import Path; readme = Path('README.md'); Path('mine.txt').unlink(); "
        "readme.write_text(readme.read_text().replace('Mine.', ''))"
    )
    entry = f"""  - version: v2.0.0
    when: "{{{{ _stage == 'after' }}}}"
    command: ["{{{{ _copier_python }}}}", -c, "{harm}"]
"""
    edit = ("copier.yml", MIGRATIONS, MIGRATIONS + entry)
    released(
        repository,
        repository,
        "v2.0.0",
        edit,
        ("template/AGENTS.md.jinja", "", "\nTwo.\n"),
    )
    with pytest.raises(TaskError):
        update(project, "v2.0.0")
    lines = capfd.readouterr().err.splitlines()
    back = "`git restore --source=HEAD"
    losses = set()
    for line in lines:
        if line.startswith("lost: "):
            losses.add(line.removeprefix("lost: "))
    assert losses == {
        f"mine.txt: is not as you left it; {back} mine.txt` brings it back",
        f"README.md: 1 lines of yours are gone; {back} README.md` has them",
    }
    git(project, "restore", "--source=HEAD", "mine.txt")
    assert (project / "mine.txt").read_text() == "mine\n"
