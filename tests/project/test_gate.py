"""The gate of a generated server: each guard is needed, and it holds for replicas, crowds and in the logs."""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import python, render

SUITE = "tests/policy/test_confirmation.py"
PROFILES: dict[str, dict[str, str]] = {
    "": {},
    "preview-first": {"profile": "confirm-all"},
    "refuse": {"profile": "custom", "confirm_fallback": "refuse"},
}
GATE, STORE, WORDS = "policy/confirmation.py", "policy/pending.py", "policy/questions.py"
TOOLS, START = "policy/registry.py", "server.py"
BOUND = 'bound(arguments | ({"confirm": True} if own else {}))'
Edit = tuple[str, str, str]  # a file of the package, a guard in it, what stands there without it

# What protects an action, each with the row of the generated suite that fails when it is gone.
GUARDS: dict[str, tuple[str, str, list[Edit]]] = {
    "only the boolean true is a yes": (
        "",
        "test_answer[accept-word-legacy-alone]",
        [(GATE, '.get("confirm") is True', '.get("confirm")')],
    ),
    "only an accepted form is a yes": (
        "",
        "test_answer[decline-legacy-alone]",
        [(GATE, 'answer.action == "accept" and ', "")],
    ),
    "a closed form is told from a no": (
        "",
        "test_answer[cancel-2026-07-28-mounted]",
        [(GATE, ' or answer.action == "cancel"', "")],
    ),
    "what is no answer to a form is none": (
        "",
        "test_row[state-without-answer-2026-07-28]",
        [(GATE, "not isinstance(answer, ElicitResult)", "answer is ...")],
    ),
    "an answer needs a question": (
        "",
        "test_row[answer-without-state-2026-07-28]",
        [
            (GATE, "(state := call.ctx.request_state) is None", 'not (state := "none")'),
            (GATE, "call.gate.take(name):", "call.gate.take(name) or _ANY(call):"),
            (
                GATE,
                "async def _load(",
                'def _ANY(c: Any) -> Any:\n    return {"asked": c.binding, "answers": {}}\n\n\nasync def _load(',
            ),
        ],
    ),
    "a state is answered once": (
        "",
        "test_row[state-replayed-2026-07-28]",
        [(STORE, " or not await self.store.delete(name, collection=QUESTIONS)", "")],
    ),
    "a preview is applied once": (
        "",
        "test_row[preview-applied-legacy]",
        [(STORE, " or not await self.store.delete(name, collection=QUESTIONS)", "")],
    ),
    "of two answers at once one counts": (
        "",
        "test_row[state-two-at-once-2026-07-28]",
        [
            (
                STORE,
                "not await self.store.delete(name, collection=QUESTIONS)",
                "await self.store.delete(name, collection=QUESTIONS) is None",
            )
        ],
    ),
    "of two confirms at once one counts": (
        "",
        "test_row[preview-two-at-once-legacy]",
        [
            (
                STORE,
                "not await self.store.delete(name, collection=QUESTIONS)",
                "await self.store.delete(name, collection=QUESTIONS) is None",
            )
        ],
    ),
    "an approval is of one tool": (
        "",
        "test_row[preview-of-other-tool-legacy]",
        [
            (
                GATE,
                "digest(tool, arguments, caller_of(ctx))",
                "digest(len(arguments) > 9, caller_of(ctx))",
            )
        ],
    ),
    "an approval is of its arguments": (
        "",
        "test_row[preview-of-other-arguments-2026-07-28]",
        [(GATE, "digest(tool, arguments, caller_of(ctx))", "digest(tool, caller_of(ctx))")],
    ),
    "an approval is of one user": (
        "",
        "test_row[preview-of-other-user-2026-07-28]",
        [(GATE, "if token is not None:", "if token is ...:")],
    ),
    "an approval is of one session": (
        "",
        "test_row[preview-of-other-session-legacy]",
        [(GATE, 'f"session:{ctx.session_id}"', '"session"')],
    ),
    "only confirm=true applies a preview": (
        "",
        "test_row[preview-twice-legacy]",
        [(GATE, "elif call.confirm:", "elif call.binding:")],
    ),
    "confirm=true answers nobody's question": (
        "",
        "test_row[confirm-answers-for-nobody-2026-07-28]",
        [
            (
                GATE,
                "    answer = call.answers.get(key)\n",
                "    answer = call.answers.get(key)\n    if call.confirm:\n        answer = ConfirmationResult.CONFIRMED\n",
            )
        ],
    ),
    "a preview expires": (
        "",
        "test_row[preview-expired-legacy]",
        [(STORE, "ttl=self.seconds", "ttl=None")],
    ),
    "a question expires": (
        "",
        "test_row[state-expired-2026-07-28]",
        [(START, "ttl=seconds", "ttl=600")],
    ),
    "a flood pushes out old previews": (
        "",
        "test_row[preview-flood-legacy]",
        [(STORE, "max_entries_per_collection=MOST", "")],
    ),
    "an unanswered question times out": (
        "",
        "test_answer[time-out-legacy-alone]",
        [(GATE, "return ConfirmationResult.TIMED_OUT", "return ConfirmationResult.CONFIRMED")],
    ),
    "a client's error is no answer": (
        "",
        "test_answer[client-error-legacy-alone]",
        [
            (
                GATE,
                "except MCPError as error:",
                "except MCPError as error:\n        return ConfirmationResult.CONFIRMED",
            )
        ],
    ),
    "a malformed answer is no answer": (
        "",
        "test_answer[wrong-type-legacy-alone]",
        [
            (
                GATE,
                "except ValidationError:\n        return None",
                "except ValidationError:\n        return ConfirmationResult.CONFIRMED",
            )
        ],
    ),
    "a client that cannot be asked is not asked again": (
        "",
        "test_row[not-asked-again-legacy]",
        [(GATE, "await call.gate.is_mute(call.ctx.session_id)", "await call.gate.is_mute('')")],
    ),
    "a client for addresses alone cannot show a form": (
        "",
        "test_row[url-only-2026-07-28]",
        [(GATE, " or (said.form is None and said.url is not None)", "")],
    ),
    "a model is validated before anyone is asked": (
        "",
        "test_row[nobody-asked-invalid-model-legacy]",
        [
            (TOOLS, f"passed = {BOUND}", "passed = arguments"),
            (TOOLS, "functools.partial(function, **passed)", f"lambda: function(**{BOUND})"),
        ],
    ),
    "a preview can refuse before anyone is asked": (
        "",
        "test_row[nobody-asked-preview-says-legacy]",
        [
            (
                GATE,
                "if preview else None",
                "if preview and not await _confirm(call, key, question, None) else None",
            )
        ],
    ),
    "what was confirmed once is not asked for in the same call": (
        "",
        "test_row[nested-same-twice-2026-07-28]",
        [(GATE, "if call.applied:", "if not call.gate:")],
    ),
    "a yes is used up": (
        "",
        "test_row[nested-same-twice-2026-07-28]",
        [(GATE, "            call.answers.pop(key, None)\n", "")],
    ),
    "a yes outlives the next question": (
        "",
        "test_row[body-one-yes-2026-07-28]",
        [(GATE, "interrupted = True", "interrupted = False")],
    ),
    "two questions of the same words are two": (
        "",
        "test_row[body-one-yes-2026-07-28]",
        [(GATE, "digest(call.questions, ", "digest(")],
    ),
    "a no stays a no": (
        "",
        "test_row[body-no-stays-no-2026-07-28]",
        [(GATE, "ConfirmationResult(said) for", "ConfirmationResult.CONFIRMED for")],
    ),
    "a body does not go on without its answer": (
        "",
        "test_row[nested-2026-07-28]",
        [(GATE, "        if outer:\n            raise\n", "")],
    ),
    "a nested tool is not confirmed by its caller's parameter": (
        "",
        "test_row[nested-cannot-ask-legacy]",
        [(GATE, "if not call.nested:", "if True:")],
    ),
    "a tool without the parameter has no second step": (
        "",
        "test_row[body-cannot-ask-2026-07-28]",
        [(GATE, '"refuse" if self.confirm is None else CONFIRM_FALLBACK', "CONFIRM_FALLBACK")],
    ),
    "the profile gates what its author forgot": (
        "",
        "test_row[body-one-yes-legacy]",
        [("policy/behaviors.py", "return self.gate_demanded()", "return False")],
    ),
    "the registry builds the gate in": (
        "",
        "test_row[confirm-true-first-legacy]",
        [
            (
                TOOLS,
                "    if declaration.gated():\n",
                "    if declaration.gated() and not function:\n",
            )
        ],
    ),
    "a destructive tool without decorator stops the start": (
        "",
        "test_tool_by_hand[plain-at-start]",
        [
            (
                TOOLS,
                "if reason := undeclared(tool):",
                "if (reason := undeclared(tool)) and not tool:",
            )
        ],
    ),
    "a scope hides no tool from that check": (
        "",
        "test_tool_by_hand[scoped-at-start]",
        [(TOOLS, '        set_transport("stdio")', '        set_transport("sse")')],
    ),
    "a destructive tool that comes late is not served": (
        "",
        "test_tool_by_hand[mounted-late]",
        [(TOOLS, "    mcp.add_transform(Undeclared())\n", "")],
    ),
    "nothing hidden is in a question": (
        "",
        "test_answer[accept-2026-07-28-alone]",
        [(WORDS, 'HIDDEN.sub("\\N{REPLACEMENT CHARACTER}", text)', "text")],
    ),
    "a long value is shortened": (
        "",
        "test_answer[accept-legacy-alone]",
        [(WORDS, "text if len(text) <= longest else", "text if text else")],
    ),
    "the first call only previews": (
        "preview-first",
        "test_row[first-call-2026-07-28]",
        [
            (
                GATE,
                "PREVIEW_FIRST and call.confirm is False",
                "PREVIEW_FIRST and call.confirm is None",
            )
        ],
    ),
    "a client that cannot be asked is refused": (
        "refuse",
        "test_row[preview-applied-legacy]",
        [
            (
                GATE,
                "if self.confirm is None else CONFIRM_FALLBACK",
                'if self.confirm is None else "two_step"',
            )
        ],
    ),
}


@pytest.fixture(scope="session")
def served(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The project of a policy, one for all tests; tests must not write in it."""
    answers = {"tools": "get_note, delete_note"}
    return functools.cache(
        lambda name: render(template, tmp_path_factory.mktemp("gate"), answers | PROFILES[name])
    )


def rows(project: Path, *wanted: str) -> tuple[int, str]:
    """Run rows of a project's suite."""
    done = python(
        project,
        *["-m", "pytest", "-c", "config/pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider"],
        *["-o", "addopts=-q --import-mode=importlib --tb=line"],
        *(f"{SUITE}::{row}" for row in wanted),
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", GUARDS)
def test_without_a_guard_its_row_fails(
    name: str, served: Callable[[str], Path], tmp_path: Path
) -> None:
    profile, row, edits = GUARDS[name]
    project = Path(shutil.copytree(served(profile), tmp_path / "p"))
    for file, guard, without in edits:
        path = project / "src/notes_mcp" / file
        text = path.read_text(encoding="utf-8")
        assert text.count(guard) == 1, f"{file} has {text.count(guard)} times {guard!r}"
        path.write_text(text.replace(guard, without), encoding="utf-8")
    code, said = rows(project, row)
    assert code == 1, said
    assert "1 failed" in said, said


@pytest.mark.parametrize("profile", PROFILES)
def test_with_its_guards_every_row_holds(profile: str, served: Callable[[str], Path]) -> None:
    wanted = sorted({row for of, row, _ in GUARDS.values() if of == profile})
    code, said = rows(served(profile), *wanted)
    assert code == 0, said
