"""`fleet --plan`: what a release does, rules first, from locks and tables; no server is started."""

import copy
import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from calling import call, uv_settings
from lifecycle import ENGINE, TEMPLATE, Edit, bytes_of, commit, released, start
from support import clone_template, git, pin

import copier_fastmcp.fleet
from copier_fastmcp.cli import main
from copier_fastmcp.fleet import list_projects
from copier_fastmcp.tables import load_tables
from copier_fastmcp.updates.checkouts import Release, Result
from copier_fastmcp.updates.fleet_plan import (
    Plan,
    make_plan,
    plan_as_json,
    plan_as_markdown,
    plan_as_text,
)
from copier_fastmcp.updates.policy_changes import find_consequences, find_rule_changes

TABLES = "src/copier_fastmcp/tables.json"
EXPLICIT = '"explicit": {"hints": "explicit", "destructive": "deletes_and_overwrites", "confirm": '
ANSWERS: dict[str, Any] = {"profile": "explicit"}
HINTS = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": True,
    "openWorldHint": True,
}
READ = HINTS | {"readOnlyHint": True, "destructiveHint": False}
TOOLS = {
    "get_note": ("read", READ, False, ""),
    "set_note": ("put", HINTS, False, ""),
    "delete_note": ("delete", HINTS, True, ""),
    "send_note": (
        "action",
        HINTS | {"destructiveHint": False, "idempotentHint": False},
        False,
        ", destructive=False",
    ),
}


def server(folder: Path, *, locked: bool = True) -> Path:
    """A server's sources and lock, as far as they count here."""
    place = folder / "src/notes_mcp/tools"
    place.mkdir(parents=True)
    pinned: dict[str, Any] = {}
    for name, (behavior, hints, gated, options) in TOOLS.items():
        text = f'@{behavior}(title="A"{options})\nasync def {name}() -> None: ...\n'
        (place / f"{name}.py").write_text(text)
        entry: dict[str, Any] = dict.fromkeys(
            ("title", "description", "why", "effect"), ""
        )
        entry |= {"behavior": behavior, "hints": hints, "gated": gated, "scopes": []}
        pinned[name] = entry | {"exceptions": [], "input": {}, "output": {}}
    if locked:
        lock = {"versions": {}, "tools": pinned}
        (folder / "annotations.lock.json").write_text(json.dumps(lock))
    return folder


def change_tables(**changes: Any) -> dict[str, Any]:
    """The tables with values replaced; `__` stands for a dot, a single value for a new row."""
    tables = copy.deepcopy(load_tables())
    for name, value in changes.items():
        *path, last = name.split("__")
        row = tables
        for key in path:
            row = row[key.replace("_", "-") if key not in row else key]
        row[last.replace("_", "-") if last not in row else last] = value
    return tables


FINER = [
    {
        "behavior": "read",
        "tools": ["get_note"],
        "hint": "open_world",
        "value": False,
        "why": "It is ours.",
    }
]
DATED = {
    "warns": "v2.0.0",
    "fails": "2027-03-01",
    "profiles": ["policy"],
    "text": "Short.",
    "fix": "x",
}
CHANGES: dict[str, tuple[dict[str, Any], str, set[tuple[str, str, bool]]]] = {
    "a gate is lost": (
        change_tables(profiles__explicit__confirm="none"),
        "profiles.explicit.confirm: deletes -> none",
        {("delete_note", "gate lost", True)},
    ),
    "a gate is gained": (
        change_tables(profiles__explicit__confirm="writes"),
        "profiles.explicit.confirm: deletes -> writes",
        {("set_note", "gate gained", False), ("send_note", "gate gained", False)},
    ),
    "overwriting is no longer destructive": (
        change_tables(profiles__explicit__destructive="deletes"),
        "profiles.explicit.destructive: deletes_and_overwrites -> deletes",
        {("set_note", "destructiveHint true -> false", True)},
    ),
    "a finer rule": (
        change_tables(finer=FINER),
        "finer.read.get_note.open_world: new: ",
        {("get_note", "openWorldHint true -> false", True)},
    ),
    "a hint that is left out": (
        change_tables(on_the_wire__explicit__read__open_world="never"),
        "on_the_wire.explicit.read.open_world: always -> never",
        {("get_note", "openWorldHint true -> absent", False)},
    ),
    "a rule with a date": (
        change_tables(rules__name_short=DATED),
        "rules.name-short: new: ",
        set(),
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_a_rule_means_for_tools(kind: str, tmp_path: Path) -> None:
    new, line, effects = CHANGES[kind]
    consequences = find_consequences(
        server(tmp_path), ANSWERS, ANSWERS, load_tables(), new
    )
    (rule,) = [f"{name}: {change}" for name, change in consequences.rules.items()]
    assert rule.startswith(line)
    assert {(e.tool, e.change, e.is_relaxed) for e in consequences.effects} == effects
    assert {effect.rule for effect in consequences.effects} <= {*consequences.rules}
    assert (consequences.unknown, consequences.is_static) == ([], False)


def test_two_rules_are_told_apart_and_joint_ones_are_named_so(tmp_path: Path) -> None:
    new = change_tables(
        profiles__explicit__confirm="none", profiles__explicit__destructive="deletes"
    )
    consequences = find_consequences(
        server(tmp_path), ANSWERS, ANSWERS, load_tables(), new
    )
    assert {(effect.tool, effect.rule) for effect in consequences.effects} == {
        ("delete_note", "profiles.explicit.confirm"),
        ("set_note", "profiles.explicit.destructive"),
    }
    assert len(find_rule_changes(load_tables(), new)) == 2
    joint = change_tables(
        behaviors__put__destructive=True, profiles__explicit__confirm="destructive"
    )
    without = change_tables(behaviors__put__destructive=False)
    consequences = find_consequences(tmp_path, ANSWERS, ANSWERS, without, joint)
    assert consequences.unknown == ["set_note"], "its lock is of other tables"
    (tmp_path / "annotations.lock.json").unlink()
    consequences = find_consequences(tmp_path, ANSWERS, ANSWERS, without, joint)
    assert consequences.is_static
    causes = {(effect.change, effect.rule) for effect in consequences.effects}
    assert ("gate gained", "several") in causes


def test_an_answer_that_an_update_changes_is_the_cause(tmp_path: Path) -> None:
    answers = {"profile": "end-state"}
    consequences = find_consequences(
        server(tmp_path), ANSWERS, answers, load_tables(), load_tables()
    )
    gates = set()
    for effect in consequences.effects:
        if "gate" in effect.change:
            gates.add((effect.tool, effect.rule))
    assert gates == {("delete_note", "answers")}


def test_fifty_servers_in_one_report(tmp_path: Path) -> None:
    new, _, _ = CHANGES["a gate is lost"]
    consequences = find_consequences(
        server(tmp_path), ANSWERS, ANSWERS, load_tables(), new
    ).as_json()
    files = {
        ".github/workflows/ci.yml": "changed",
        "src/notes_mcp/policy/new.py": "new",
    }
    results = []
    for n in range(48):
        results.append(
            Result(
                f"/servers/s{n}",
                "relaxed",
                ["v1 -> v2"],
                consequences=consequences,
                files=files,
            )
        )
    results.append(
        Result(
            "/servers/c",
            "conflict",
            ["a.py"],
            conflicts=["a.py:3: the release has `x`"],
        )
    )
    results.append(Result("/servers/b", "failed", ["uncommitted; commit"]))
    plan = make_plan(results, [])
    text = plan_as_text(plan)
    rule = "profiles.explicit.confirm: deletes -> none; RELAXED: gate lost: 48 tools in 48 servers"
    assert text.splitlines()[:2] == ["Rules that relax tools:", f"  {rule}"]
    assert "  /servers/c: a.py:3: the release has `x`\n" in text
    assert "  /servers/b: uncommitted; commit\n" in text
    assert ".github/workflows/ci.yml: changed in 48 servers" in text
    assert "src/*/policy/new.py: new in 48 servers" in text
    assert "50 servers: 1 conflict, 1 failed, 48 relaxed" in text
    assert text.endswith("--accept profiles.explicit.confirm")
    assert plan.needs_a_decision()
    accepted = make_plan(results[:48], ["profiles.explicit.confirm"])
    assert not accepted.needs_a_decision()
    assert make_plan(results[:48], ["profiles.explicit.destructive"]).needs_a_decision()
    for report in (text, plan_as_markdown(plan)):
        assert max(map(len, report.splitlines())) <= 200
    data = plan_as_json(plan)
    assert data["open"] == ["profiles.explicit.confirm"]
    assert len(data["rules"][0]["effects"][0]["tools"]) == 48


def test_what_running_servers_show_beyond_an_accepted_rule(tmp_path: Path) -> None:
    """With --live a rule's own relaxations are in the lock, too; an accepted rule covers them there."""
    new, _, _ = CHANGES["a gate is lost"]
    consequences = find_consequences(
        server(tmp_path), ANSWERS, ANSWERS, load_tables(), new
    ).as_json()
    shown = ["delete_note: RELAXED: gate lost", "get_note: description a -> b"]
    result = Result("/s", "relaxed", tools=shown, consequences=consequences)
    accepted = ["profiles.explicit.confirm"]
    assert not make_plan([result], accepted).needs_a_decision()
    assert make_plan([result], []).needs_a_decision()
    shown.append("set_note: RELAXED: gate lost")
    assert make_plan([result], accepted).needs_a_decision()
    assert "From running servers:\n  /s: delete_note: RELAXED" in plan_as_text(
        make_plan([result], accepted)
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_an_interrupted_plan_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(tmp_path / letter) for letter in "abcd"]
    planned: list[str] = []

    def plan_server(name: str, release: Release) -> Result:
        """Interrupt the command at the second server, which ends at its next step."""
        planned.append(name)
        if len(planned) == 2:
            command = threading.main_thread().ident
            assert command
            signal.pthread_kill(command, signal.SIGINT)
            assert release.stop.wait(10)
            return Result(name, "failed", ["stopped"])
        return Result(name, "clean", ["v1 -> v2"], files={"README.md": "changed"})

    monkeypatch.setattr(copier_fastmcp.fleet, "plan_server", plan_server)
    monkeypatch.setattr(copier_fastmcp.fleet, "_commit_of", lambda project: "")
    handlers = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        handlers[number] = signal.getsignal(number)
    words = ["fleet", "--plan", "--ref", "v2", "--jobs", "1", *names]
    words += ["--state", str(tmp_path / "state.json")]
    try:
        assert main(words) == 130
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    output = capsys.readouterr()
    assert planned == names[:2]
    assert "README.md: changed in 1 server" in output.out, "the first result is kept"
    assert "Blocked" not in output.out
    assert f"[1/4] {names[0]}: clean" in output.err
    assert "stopped: 3 of 4 servers remain" in output.err
    assert main(words) == 0
    assert planned[2:] == names[1:], "the first one is not planned again"
    assert "4 servers: 4 clean" in capsys.readouterr().out


def test_a_listing_of_repositories(tmp_path: Path) -> None:
    listing = tmp_path / "repos.json"
    rows = [
        {"clone_url": "https://git.example.com/a.git", "archived": False},
        {"clone_url": "https://git.example.com/old.git", "archived": True},
        {"url": "https://git.example.com/b", "isArchived": False},
    ]
    listing.write_text(json.dumps(rows))
    addresses = ["https://git.example.com/a.git", "https://git.example.com/b"]
    assert list_projects((f"@{listing}",)) == addresses
    listing.write_text('[{"name": "a"}]')
    done = call(tmp_path, "fleet", "--plan", f"@{listing}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "not a listing of repositories" in done.stderr


# The kinds of change that a fork makes, each with the line of the plan that it causes for two servers.
RULE = '"text": "Names are short.", "source": "our house", "fix": "shorten it"'
DATE = '"warns": "v2.0.0", "fails": "2999-01-31"'
FINER_TEXT = '{"behavior": "read", "tools": ["get_note"], "hint": "open_world", "value": false, "why": "It is ours."}'
FORK: dict[str, tuple[Edit, str]] = {
    "a profile's default": (
        (TABLES, EXPLICIT + '"deletes"', EXPLICIT + '"none"'),
        "profiles.explicit.confirm: deletes -> none; RELAXED: gate lost: N tools in N servers",
    ),
    "a finer rule": (
        (TABLES, '"finer": [\n', f'"finer": [\n    {FINER_TEXT}\n'),
        "finer.read.get_note.open_world: new: ",
    ),
    "a rule with a date": (
        (
            TABLES,
            '    "name-valid": {',
            f'    "name-short": {{"profiles": ["policy"], {DATE}, {RULE}}},\n    "name-valid": {{',
        ),
        'rules.name-short: new: {"fails": "2999-01-31", ',
    ),
    "a text": (
        ("template/AGENTS.md.jinja", "", "\nTwo.\n"),
        "AGENTS.md: changed in N servers",
    ),
    "a step of CI": (
        (
            "template/.github/workflows/ci.yml.jinja",
            "",
            "      - name: House check\n        run: echo house\n",
        ),
        ".github/workflows/ci.yml: changed in N servers",
    ),
    "a module": (
        (f"{TEMPLATE}policy/house.py", "", '"""Example Corp\'s own."""\n'),
        "src/*/policy/house.py: new in N servers",
    ),
}


def assert_one_line(kind: str, output: str, count: int) -> None:
    """The plan has one line for a kind of change, with the number of servers."""
    start_of_line = f"  {FORK[kind][1]}".replace("N ", f"{count} ")
    lines = []
    for line in output.splitlines():
        if line.startswith(start_of_line):
            lines.append(line)
    assert len(lines) == 1, f"{start_of_line}\n{output}"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """v1, and v2 with every kind of change that a fork makes."""
    clone = clone_template(tmp_path_factory.mktemp("plan"), tag="v1.0.0")
    return released(clone, clone, "v2.0.0", *[edit for edit, _ in FORK.values()])


def test_a_plan_of_checkouts_and_an_address(template: Path, tmp_path: Path) -> None:
    pinned = start(template, tmp_path / "pinned", tools="get_note, delete_note")
    pin(pinned)
    commit(pinned)
    bare = start(template, tmp_path / "bare", tools="get_note, delete_note")
    (pinned / "untracked.txt").write_text("mine\n")
    projects = [pinned, bare]
    before = [bytes_of(project) for project in projects]
    refs = [git(project, "for-each-ref") for project in projects]
    state = tmp_path / "state.json"
    words = ["fleet", "--plan", "--trust", "--ref", "v2.0.0", "--state", state]
    words += [
        "--report",
        tmp_path / "plan.md",
        *projects,
        bare.as_uri(),
        tmp_path / "none",
    ]
    done = call(tmp_path, *words, **uv_settings(pinned))
    assert done.returncode == 1, done.stderr
    rule = "profiles.explicit.confirm: deletes -> none; RELAXED: gate lost: 3 tools in 3 servers"
    lines = done.stdout.splitlines()
    assert lines[0] == "Rules that relax tools:"
    assert f"  {rule}" in lines[:4], done.stdout
    for kind in FORK:
        assert_one_line(kind, done.stdout, 3)
    unwrapped = " ".join(done.stdout.split())  # a long path breaks the line
    assert (
        f"{tmp_path}/none: {tmp_path}/none is not a folder; name a checkout"
        in unwrapped
    )
    assert "gate lost: 1 tool" in done.stderr
    assert [bytes_of(project) for project in projects] == before
    assert [git(project, "for-each-ref") for project in projects] == refs
    assert "gate lost: 3 tools in 3 servers" in (tmp_path / "plan.md").read_text()
    commit(pinned)
    accepted = ["--accept", "profiles.explicit.confirm"]
    accepted += ["--accept", "finer.read.get_note.open_world"]
    second = call(tmp_path, *words[:-1], *accepted, "--json")
    assert second.returncode == 0, second.stderr
    assert "[3/3]" in second.stderr
    assert "[2/3]" not in second.stderr, (
        "only the server with a new commit is planned again"
    )
    assert json.loads(second.stdout)["rules"][0]["accepted"] is True


@pytest.mark.nightly
def test_a_lost_gate_is_never_clean(template: Path, tmp_path: Path) -> None:
    project = start(template, tmp_path / "p", tools="get_note, delete_note")
    pin(project)
    commit(project)
    done = call(tmp_path, "fleet", "--trust", "--ref", "v2.0.0", project)
    assert done.returncode == 1
    assert "relaxed" in done.stdout
    git(project, "branch", "--quiet", "-D", "template-v2.0.0")
    words = ["fleet", "--plan", "--live", "--trust", "--ref", "v2.0.0", project]
    for name in ("profiles.explicit.confirm", "finer.read.get_note.open_world"):
        words += ["--accept", name]
    done = call(tmp_path, *words, COLUMNS="400", **uv_settings(project))
    assert done.returncode == 0, done.stdout + done.stderr
    shown = f"  {project}: delete_note: RELAXED: gate lost"
    live = done.stdout.partition("From running servers:\n")[2]
    assert live.startswith(shown), done.stdout


@pytest.mark.nightly
def test_an_edited_file_of_the_engine_blocks_a_server(
    template: Path, tmp_path: Path
) -> None:
    """The guard refuses such an update, so a plan must not report what a merge would give."""
    name = "src/notes_mcp/engine/errors.py"
    project = start(template, tmp_path / "p", tools="get_note")
    with (project / name).open("a") as file:
        file.write("\n# mine\n")
    commit(project)
    new = released(
        template,
        tmp_path / "template",
        "v3.0.0",
        (ENGINE + "errors.py", "", "\n# upstream's\n"),
    )
    words = ["fleet", "--plan", "--trust", "--ref", "v3.0.0", "--template", new]
    done = call(tmp_path, *words, project, COLUMNS="400")
    assert done.returncode == 1, done.stdout
    assert f"{name}: edited here, and the engine is replaced as a whole" in done.stdout
    assert "1 server: 1 failed" in done.stdout


@pytest.mark.parametrize(
    ("blocked", "line"),
    [
        ({"a": "nobody trusts it"}, "Rules not compared: every server is blocked."),
        ({}, "No rule changes."),
    ],
)
def test_a_plan_says_whether_it_compared_any_rules(
    blocked: dict[str, str], line: str
) -> None:
    plan = Plan(blocked=blocked, servers={"a": "blocked" if blocked else "clean"})
    assert line in plan_as_text(plan).splitlines()
    assert line in plan_as_markdown(plan).splitlines()
