"""`export`: what a directory asks for, from the pinned definitions of a project's tools."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from cyclopts import Parameter

from copier_fastmcp_engine.testing.lock import FILE

from .behaviors import resolve_profile
from .errors import RefusedError, UnableError
from .project.answers import ANSWERS, read_answers
from .project.pinned_tools import load_pinned_tools
from .tables import load_tables

HINTS = ("read_only", "open_world", "destructive")
Pinned = Mapping[str, Any]
# The file that the submission form of OpenAI's directory imports; its schema says the rest.
SCHEMA = "https://developers.openai.com/apps-sdk/schemas/chatgpt-app-submission.v1.json"
SUBTITLE = 30
CATEGORIES = (
    *(
        "BUSINESS",
        "COLLABORATION",
        "DESIGN",
        "DEVELOPER_TOOLS",
        "EDUCATION",
        "ENTERTAINMENT",
    ),
    *("FINANCE", "FOOD", "LIFESTYLE", "NEWS", "PRODUCTIVITY", "SHOPPING", "TRAVEL"),
)
CASES = {"test_cases": 5, "negative_test_cases": 3}
FIELDS = (
    *("description", "user_prompt", "file_attachment_urls", "tools_triggered"),
    *("expected_output", "expected_output_url"),
)


def _policy() -> dict[str, Any]:
    """Which hints this project's profile puts on the wire, and what it calls destructive."""
    return resolve_profile(read_answers() if ANSWERS.exists() else {})


def _truth(pinned: Pinned, policy: Mapping[str, Any]) -> dict[str, bool]:
    """What a tool does, also where the profile leaves its hint out."""
    behavior = pinned["behavior"]
    meaning = load_tables()["behaviors"][behavior]
    written = load_tables()["on_the_wire"][policy["hints"]][behavior]
    exempt = {
        one["hint"]: one["value"] for one in pinned["exceptions"] if "value" in one
    }
    truth = {"open_world": pinned["effect"] is True}
    for hint in ("read_only", "destructive"):
        served = pinned["hints"].get(load_tables()["hints"][hint], exempt.get(hint))
        if served is not None:
            truth[hint] = served is True
        elif written[hint] in (
            "true",
            "false",
        ):  # it is written only when it has this value
            truth[hint] = written[hint] == "false"
        elif meaning[hint] == "policy":
            truth[hint] = policy["destructive"] == "deletes_and_overwrites"
        else:
            truth[hint] = meaning[hint] is not False
    return truth


def _justification(pinned: Pinned, hint: str, truth: Mapping[str, bool]) -> str:
    """One sentence, true for the value that a hint has."""
    if hint == "open_world":
        nothing = "It changes nothing that is public or another party's."
        return (
            "It may change what is public or another party's."
            if truth[hint]
            else nothing
        )
    for exception in pinned["exceptions"]:
        if exception["hint"] == hint:
            return str(exception["why"])
    if truth["read_only"]:
        return "It changes nothing that its user can observe."
    loses = (
        "may overwrite or remove what is there"
        if truth["destructive"]
        else "removes nothing"
    )
    why = (pinned["why"] or "").strip() or f"its behavior is {pinned['behavior']}"
    why = why[0].lower() + why[1:] if why[1:2].islower() else why
    return f"It {'writes' if hint == 'read_only' else loses}: {why.removesuffix('.')}."


def _entry(pinned: Pinned, policy: Mapping[str, Any]) -> dict[str, Any]:
    truth = _truth(pinned, policy)
    return {
        "annotations": {load_tables()["hints"][hint]: truth[hint] for hint in HINTS},
        "justifications": {
            f"{hint}_justification": _justification(pinned, hint, truth)
            for hint in HINTS
        },
    }


def _written(path: Path, tools: Collection[str]) -> dict[str, Any]:
    """What an author wrote for the form besides the tools, as the importer takes it.

    Raises:
        UnableError: The file cannot be read.
        RefusedError: The importer would refuse what stands there.
    """
    try:
        parts = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UnableError(f"{path}: {error}") from error
    if not isinstance(parts, dict) or parts.keys() - {"app_info", *CASES}:
        raise RefusedError(
            f"{path}: write app_info, {' and '.join(CASES)}, and nothing else"
        )
    if (info := parts.get("app_info")) is not None:
        texts = info if isinstance(info, dict) else {}
        for field in ("display_name", "subtitle", "description", "category"):
            if not isinstance(texts.get(field), str) or not texts[field].strip():
                raise RefusedError(f"{path}: app_info has no {field}; write one")
        if len(texts["subtitle"]) > SUBTITLE:
            long = len(texts["subtitle"])
            raise RefusedError(
                f"{path}: the subtitle has {long} characters; shorten it to {SUBTITLE}"
            )
        if texts["category"] not in CATEGORIES:
            raise RefusedError(
                f"{path}: {texts['category']!r} is not a category; say one of {', '.join(CATEGORIES)}"
            )
    for key, wanted in CASES.items():
        if key in parts:
            parts[key] = _cases(f"{path}: {key}", parts[key], wanted, tools)
    return parts


def _cases(
    place: str, cases: object, wanted: int, tools: Collection[str]
) -> list[dict[str, Any]]:
    """Test cases with every field that the importer knows; those left out are null."""
    if not isinstance(cases, list) or len(cases) != wanted:
        raise RefusedError(f"{place} must be a list of {wanted} cases")
    for case in cases:
        for field in ("description", "user_prompt", "expected_output"):
            if not isinstance(case, dict) or not str(case.get(field) or "").strip():
                raise RefusedError(f"{place}: a case has no {field}; write one")
        named = [
            each.strip() for each in str(case.get("tools_triggered") or "").split(",")
        ]
        if unknown := [each for each in named if each and each not in tools]:
            raise RefusedError(f"{place}: {unknown[0]!r} is not a tool of this server")
        if (wanted == CASES["test_cases"]) != any(named):
            says = "names no tool" if wanted == CASES["test_cases"] else "names a tool"
            raise RefusedError(f"{place}: a case {says} in tools_triggered")
    return [{**dict.fromkeys(FIELDS), **case} for case in cases]


def export(
    directory: Literal["openai"],
    *,
    form: Annotated[Path | None, Parameter("--with")] = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> None:
    """Print the file that a directory's submission form imports: for openai, chatgpt-app-submission.json.

    Hints and justifications of each tool come from annotations.lock.json, so pin first what you
    changed. openWorldHint has the directory's meaning: whether the tool can change what is public
    or belongs to others, as `public_effect=` declares it.

    Args:
        directory: The directory whose form to print.
        form: A file with the other parts of the form (app_info, test cases), which is checked.
        json_output: It is JSON with and without this option.

    Raises:
        RefusedError: The directory would refuse what stands in the file.
        UnableError: There is no lock here, or it does not hold what is needed.
    """
    try:
        policy, pinned = _policy(), load_pinned_tools()
        tools = {
            name: _entry(one, policy)
            for name, one in pinned.items()
            if one.get("behavior")
        }
    except (LookupError, TypeError, AttributeError) as error:
        raise UnableError(
            f"{FILE}: {error} is not as pinning writes it; pin anew"
        ) from error
    more = _written(form, tools) if form else {}
    submission = {"$schema": SCHEMA, "schema_version": 1, "tools": tools, **more}
    print(json.dumps(submission, indent=2, ensure_ascii=False))
