"""`export`: what a directory asks for, from the pinned definitions of a project's tools."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from cyclopts import Parameter

from copier_fastmcp_engine.testing.lock import FILE

from .behaviors import resolve_profile
from .errors import RefusedError, UnableError, print_message
from .project.answers import ANSWERS, read_answers
from .project.pinned_tools import load_pinned_tools
from .tables import load_tables
from .updates.tool_differences import parse_tool_files

HINTS = ("read_only", "open_world", "destructive")
Pinned = Mapping[str, Any]
# The file that the submission form of OpenAI's directory imports; its schema says the rest.
SCHEMA = "https://developers.openai.com/apps-sdk/schemas/chatgpt-app-submission.v1.json"
SUBTITLE = 30
CATEGORIES = (
    "BUSINESS",
    "COLLABORATION",
    "DESIGN",
    "DEVELOPER_TOOLS",
    "EDUCATION",
    "ENTERTAINMENT",
    "FINANCE",
    "FOOD",
    "LIFESTYLE",
    "NEWS",
    "PRODUCTIVITY",
    "SHOPPING",
    "TRAVEL",
)
CASES = {"test_cases": 5, "negative_test_cases": 3}
FIELDS = (
    "description",
    "user_prompt",
    "file_attachment_urls",
    "tools_triggered",
    "expected_output",
    "expected_output_url",
)


def _load_profile() -> dict[str, Any]:
    """Return this project's profile: its hints on the wire, and the meaning of destructive."""
    return resolve_profile(read_answers() if ANSWERS.exists() else {})


def _compute_truth(pinned: Pinned, profile: Mapping[str, Any]) -> dict[str, bool]:
    """Return what a tool does, also for hints that the profile leaves out.

    `Policy.truth` computes it from a declaration. The lock has no declaration: an action's own hints are known only
    from the hints that it serves, so the meaning is computed backwards from these.

    Args:
        pinned: The tool in the lock.
        profile: The project's profile.
    """
    behavior = pinned["behavior"]
    meaning = load_tables()["behaviors"][behavior]
    written = load_tables()["on_the_wire"][profile["hints"]][behavior]
    exceptions = {}
    for exception in pinned["exceptions"]:
        if "value" in exception:
            exceptions[exception["hint"]] = exception["value"]
    truth = {"open_world": pinned["effect"] is True}
    for hint in ("read_only", "destructive"):
        wire_name = load_tables()["hints"][hint]
        served = pinned["hints"].get(wire_name, exceptions.get(hint))
        if served is not None:
            truth[hint] = served is True
        elif written[hint] in ("true", "false"):
            # It would be on the wire if it had this value.
            truth[hint] = written[hint] == "false"
        elif meaning[hint] == "policy":
            truth[hint] = profile["destructive"] == "deletes_and_overwrites"
        else:
            truth[hint] = meaning[hint] is not False
    return truth


def _justify(pinned: Pinned, hint: str, truth: Mapping[str, bool]) -> str:
    """Return a sentence that is true for the value of a hint."""
    if hint == "open_world":
        if truth[hint]:
            return "It may change what is public or another party's."
        return "It changes nothing that is public or another party's."
    for exception in pinned["exceptions"]:
        if exception["hint"] == hint:
            return str(exception["why"])
    if truth["read_only"]:
        return "It changes nothing that its user can observe."
    effect = "removes nothing"
    if hint == "read_only":
        effect = "writes"
    elif truth["destructive"]:
        effect = "may overwrite or remove what is there"
    reason = (pinned["why"] or "").strip()
    if not reason:
        reason = f"its behavior is {pinned['behavior']}"
    # An abbreviation at the beginning keeps its capitals.
    if reason[1:2].islower():
        reason = reason[0].lower() + reason[1:]
    return f"It {effect}: {reason.removesuffix('.')}."


def _build_entry(pinned: Pinned, profile: Mapping[str, Any]) -> dict[str, Any]:
    truth = _compute_truth(pinned, profile)
    annotations = {}
    justifications = {}
    for hint in HINTS:
        annotations[load_tables()["hints"][hint]] = truth[hint]
        justifications[f"{hint}_justification"] = _justify(pinned, hint, truth)
    return {"annotations": annotations, "justifications": justifications}


def _load_form(path: Path, tools: Collection[str]) -> dict[str, Any]:
    """Return the author's parts of the form, in the importer's format.

    Args:
        path: The file with app_info and test cases.
        tools: The names of the server's tools.

    Raises:
        UnableError: The file cannot be read.
        RefusedError: The importer would refuse its contents.
    """
    try:
        parts = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = f"{path}: {error.strerror}; name a YAML file with app_info"
        raise UnableError(problem) from error
    except (ValueError, yaml.YAMLError) as error:
        raise UnableError(f"{path}: {error}") from error
    if not isinstance(parts, dict) or parts.keys() - {"app_info", *CASES}:
        raise RefusedError(
            f"{path}: write app_info, {' and '.join(CASES)}, and nothing else"
        )
    if parts.get("app_info") is not None:
        _check_app_info(path, parts["app_info"])
    for key, count in CASES.items():
        if key in parts:
            parts[key] = _complete_cases(path, key, parts[key], count, tools)
    return parts


def _check_app_info(path: Path, info: object) -> None:
    """Refuse texts that the importer would refuse.

    Raises:
        RefusedError: A text is missing, too long, or not a category.
    """
    texts = info if isinstance(info, dict) else {}
    for field in ("display_name", "subtitle", "description", "category"):
        if not isinstance(texts.get(field), str) or not texts[field].strip():
            raise RefusedError(f"{path}: app_info has no {field}; write one")
    length = len(texts["subtitle"])
    if length > SUBTITLE:
        raise RefusedError(
            f"{path}: the subtitle has {length} characters; shorten it to {SUBTITLE}"
        )
    category = texts["category"]
    if category not in CATEGORIES:
        raise RefusedError(
            f"{path}: {category!r} is not a category; say one of {', '.join(CATEGORIES)}"
        )


def _complete_cases(
    path: Path, key: str, cases: object, count: int, tools: Collection[str]
) -> list[dict[str, Any]]:
    """Return test cases with every field of the importer's format; missing fields are null.

    Raises:
        RefusedError: The importer would refuse a case.
    """
    place = f"{path}: {key}"
    if not isinstance(cases, list) or len(cases) != count:
        raise RefusedError(f"{place} must be a list of {count} cases")
    for case in cases:
        for field in ("description", "user_prompt", "expected_output"):
            if not isinstance(case, dict) or not str(case.get(field) or "").strip():
                raise RefusedError(f"{place}: a case has no {field}; write one")
        triggered = str(case.get("tools_triggered") or "").split(",")
        names = [name.strip() for name in triggered if name.strip()]
        for name in names:
            if name not in tools:
                raise RefusedError(f"{place}: {name!r} is not a tool of this server")
        if key == "test_cases" and not names:
            raise RefusedError(f"{place}: a case names no tool in tools_triggered")
        if key != "test_cases" and names:
            raise RefusedError(f"{place}: a case names a tool in tools_triggered")
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
    tools = {}
    try:
        profile = _load_profile()
        for name, pinned in load_pinned_tools().items():
            if pinned.get("behavior"):
                tools[name] = _build_entry(pinned, profile)
    except (LookupError, TypeError, AttributeError) as error:
        raise UnableError(
            f"{FILE}: {error} is not as pinning writes it; pin anew"
        ) from error
    if unpinned := sorted(parse_tool_files(Path()).keys() - load_pinned_tools().keys()):
        print_message(
            f"not in {FILE}, so not exported: {', '.join(unpinned)}; pin them"
        )
    form_parts = _load_form(form, tools) if form else {}
    submission = {"$schema": SCHEMA, "schema_version": 1, "tools": tools, **form_parts}
    print(json.dumps(submission, indent=2, ensure_ascii=False))
