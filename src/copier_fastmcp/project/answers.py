"""What a project answered the template, and where it came from."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..errors import RefusedError, UnableError
from ..yaml_limits import check_yaml_size

ANSWERS = Path(".copier-answers.yml")


def read_answers(
    path: Path = ANSWERS, shown_folder: Path | None = None
) -> dict[str, Any]:
    """Return the answers in a file, that of the current folder if none is named.

    Args:
        path: The file.
        shown: The folder that an error names, where the file is that of a temporary copy.

    Raises:
        RefusedError: They unfold to more than anybody answers.
        UnableError: There are none here, or they cannot be read.
    """
    try:
        answers = yaml.safe_load(path.read_text(encoding="utf-8"))
        check_yaml_size(path, answers, plain=False)
        return {str(name): value for name, value in answers.items()}
    except FileNotFoundError as error:
        folder = shown_folder or path.parent.resolve()
        if not folder.is_dir():
            raise UnableError(f"{folder} is not a folder; name a checkout") from error
        raise UnableError(
            f"{ANSWERS} is not in {folder}; run this in the project"
        ) from error
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError) as error:
        raise _damaged_error(error) from error


def read_recorded_answers(template: str | None = None) -> dict[str, Any]:
    """The answers in the current folder, with `_src_path` and `_commit` as texts.

    Args:
        template: An address that replaces the recorded one.

    Raises:
        UnableError: There are none here, or they do not name a template and its version.
    """
    answers = read_answers()
    try:
        source = str(template or answers["_src_path"])
        answers |= {"_src_path": source, "_commit": str(answers["_commit"])}
    except KeyError as error:
        raise _damaged_error(error) from error
    if not is_absolute(source):
        raise UnableError(describe_relative_template(source, bool(template)))
    return answers


def is_absolute(source: str) -> bool:
    """Return whether an address names the same template from every folder."""
    return ":" in source or Path(source).expanduser().is_absolute()


def resolve_template(template: str | None) -> str | None:
    """Return a template's address for a project that may be elsewhere: a folder as its whole path."""
    if template and Path(template).expanduser().is_dir():
        return str(Path(template).expanduser().resolve())
    return template


def describe_relative_template(source: str, is_option: bool) -> str:
    """Return the error for a template's address that depends on the folder."""
    place = "--template" if is_option else f"{ANSWERS}: _src_path"
    problem = f"{place} {source} is relative, so it could be any folder"
    return f"{problem}; write the template's whole path or address"


def strip_copier_keys(answers: dict[str, Any]) -> dict[str, Any]:
    """The answers alone, without what Copier keeps with them."""
    stripped = {}
    for name, value in answers.items():
        if not str(name).startswith("_"):
            stripped[name] = value
    return stripped


def guess_domain(folder: Path | None) -> dict[str, str]:
    """What a folder's name says a server in it is about, as an answer: orders and orders-mcp, orders.

    Nothing where no folder is named, or none of its name can be used.
    """
    plain = unicodedata.normalize(
        "NFKD", folder.resolve().name if folder else ""
    ).lower()
    words = re.findall(r"[a-z0-9]+", re.sub(r"[\u0300-\u036f]", "", plain))
    while words and words[-1] == "mcp":
        words.pop()
    name = "_".join(words).lstrip("0123456789_")[:32].strip("_")
    return {"domain": name} if name else {}


def parse_data_options(items: list[str] | None) -> dict[str, Any]:
    """Answers from `--data name=value`, the value in YAML.

    Raises:
        RefusedError: One is not such a pair.
    """
    answers: dict[str, Any] = {}
    for item in items or []:
        name, equals, value = item.partition("=")
        try:
            answers[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise RefusedError(
                f"--data {item!r} is not YAML; write it as license=MIT"
            ) from error
        if not equals or not name.strip():
            raise RefusedError(
                f"--data {item!r} names no answer; write it as license=MIT"
            )
    return answers


def require_questions(typed: Iterable[str], recorded: Mapping[str, Any]) -> None:
    """Refuse an answer of `--data` that the template has no question for.

    Args:
        typed: The names of such answers.
        recorded: The answers that a render records.

    Raises:
        RefusedError: There is none for one of them.
    """
    for name in typed:
        if name not in recorded:
            names = ", ".join(key for key in recorded if not key.startswith("_"))
            raise RefusedError(
                f"--data {name}: no such question; the answers are {names}"
            )


def _damaged_error(error: Exception) -> UnableError:
    problem = f"{ANSWERS} names no template and version ({type(error).__name__})"
    return UnableError(f"{problem}; restore it from git")
