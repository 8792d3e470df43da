"""`rename`: a tool under another name, in all places that are its own."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .errors import RefusedError
from .project.answers import ANSWERS, read_recorded_answers
from .project.repository import PLAIN_DIFF, git
from .project.tool_files import (
    FUNCTIONS,
    find_mentions,
    find_tool_file,
    parse_behavior,
    refuse_adopted,
    unknown_tool_error,
)
from .tools_answer import NAME, get_tool_name, infer_from_name, list_tools, parse_entry
from .updates.tool_changes import change_tools, deliver, inside_worktree, new_files
from .updates.tool_imports import (
    Source,
    rename_identifier,
    rename_imports_in_project,
)

# Where a project's decorators are: in its vendored engine, in the policy of older releases
DECLARATIONS = ("src/*/engine/declarations.py", "src/*/policy/declarations.py")
# ... or in a dependency, which the facade names
FACADE = "src/*/policy/__init__.py"
PACKAGE = "copier_fastmcp_engine"


def rename_title(text: str, old: str, new: str) -> str:
    """Replace the title of a tool and its file where the title is the old name."""
    words = old.split("_")
    pattern = " ".join(re.escape(word) for word in words)

    def replace(match: re.Match[str]) -> str:
        title = match[2].split(" ")
        has_capitals = any(word[:1].isupper() for word in title[1:])
        parts = []
        for number, word in enumerate(new.split("_")):
            if word in words:
                parts.append(title[words.index(word)])
            else:
                is_upper = number == 0 or has_capitals
                parts.append(word[:1].upper() + word[1:] if is_upper else word)
        return f"{match[1]}{' '.join(parts)}{match[3]}"

    title = rf'(\btitle=")({pattern})(")'
    text = re.sub(title, replace, text, flags=re.IGNORECASE)
    docstring = rf'\A(""")({pattern})(\.""")'
    return re.sub(docstring, replace, text, flags=re.IGNORECASE)


def _find_declaration(source: bytes, name: str) -> tuple[str, ast.Call | None]:
    """Return the behavior that a tool's file declares, and the decorator; empty if there is none."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, FUNCTIONS) or node.name != name:
            continue
        behavior, call = parse_behavior(node)
        if behavior:
            return behavior, call
    return "", None


def _parse_names(value: ast.expr | None) -> list[str] | None:
    """Return the texts of a literal list; None for any other expression."""
    if value is None:
        return []
    try:
        names = ast.literal_eval(value)
    except ValueError:
        return None
    if not isinstance(names, (list, tuple)):
        return None
    for name in names:
        if not isinstance(name, str):
            return None
    return list(names)


def add_alias(text: str, new: str, old: str) -> str:
    """Add a former name to the decorator in a tool's file.

    Args:
        text: The file.
        new: The name of the tool.
        old: Its former name.

    Returns:
        The file; unchanged if the decorator cannot hold a former name.
    """
    call = _find_declaration(text.encode(), new)[1]
    if call is None or not call.keywords:
        return text
    value = None
    for keyword in call.keywords:
        if keyword.arg == "formerly":
            value = keyword.value
            break
    aliases = _parse_names(value)
    if aliases is None:
        return text
    names = [name for name in aliases if name not in (old, new)]
    literal = json.dumps([*names, old]).encode()
    source = Source(text)
    if value is not None:
        return source.replace(source.start(value), source.end(value), literal)
    return source.insert_keyword(call, b"formerly=" + literal)


def _rename_entry(entry: Any, new: str, behavior: str, old: str) -> Any:
    """Return a tool of the answers under its new name, with its behavior if the name implies another.

    Args:
        entry: The entry of the answer `tools`.
        new: The new name.
        behavior: The behavior that the file of the tool declares.
        old: The former name that remains callable; empty without one.
    """
    is_mapping = isinstance(entry, Mapping)
    declared = "" if is_mapping else parse_entry(entry).get("behavior", "")
    if not declared and behavior != infer_from_name(new):
        declared = behavior
    if not is_mapping and not old:
        return f"{new}={declared}" if declared else new
    tool = dict(entry) if is_mapping else {}
    tool["name"] = new
    if declared:
        tool.setdefault("behavior", declared)
    if old:
        names = tool.get("formerly") or []
        aliases = [name for name in names if name not in (old, new)]
        tool["formerly"] = [*aliases, old]
    return tool


def _rename_entries(
    tools: list[Any], old: str, new: str, behavior: str, alias: str
) -> list[Any]:
    """Return the entries of the answers with one tool under its new name."""
    entries = []
    for tool in tools:
        if get_tool_name(tool) == old:
            entries.append(_rename_entry(tool, new, behavior, alias))
        else:
            entries.append(tool)
    return entries


def _find_other_mentions(name: str, own_places: tuple[str, ...]) -> list[str]:
    """Return where a project names a tool, outside the files that keep the name."""
    mentions = []
    for mention in find_mentions(name):
        if not mention.startswith(own_places):
            mentions.append(mention)
    return mentions


def rename(
    old: str,
    new: str,
    *,
    forget: bool = False,
    branch: str | None = None,
    here: bool = False,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Rename a tool of the server in this folder: answer, file, test, lock and tool table, all or nothing.

    The change is made in a temporary worktree and becomes a branch; your working tree stays as it is. The
    tool's behavior stays, whatever the new name says. The old name still answers, unlisted, and the lock
    says RENAMED. Where else the project uses the old name is listed: those lines are yours to change.

    Args:
        old: Its name.
        new: The new one.
        forget: Do not let the old name answer any more.
        branch: The branch's name; by default rename-OLD-NEW.
        here: Put the change into the working tree instead, which must be clean; nothing is staged.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Returns:
        0 when nothing has the old name any more, 1 when other files do.

    Raises:
        RefusedError: There is no such tool, the new name is taken or none, or something is in the way of the change.
        UnableError: Copier, git or the server fails; nothing has changed.
    """
    read_recorded_answers()
    checkout = Path.cwd()
    with inside_worktree() as worktree:
        answers = read_recorded_answers()
        refuse_adopted(answers, old, "rename")
        path = find_tool_file(old)
        if path is None:
            raise unknown_tool_error(old, checkout)
        if find_tool_file(new):
            raise RefusedError(f"{new!r} is taken; choose another name")
        if not NAME.fullmatch(new):
            raise RefusedError(
                f"{new!r} is not a name for a tool; write it as archive_note"
            )
        if iskeyword(new):
            problem = f"{new!r} is a word of Python, which no function has as its name"
            raise RefusedError(f"{problem}; write it as {new}_note")
        text = path.read_text("utf-8")
        behavior = _find_declaration(text.encode(), old)[0]
        new_text = rename_identifier(rename_title(text, old, new), old, new)
        final_text = new_text
        if not forget and _supports_aliases():
            final_text = add_alias(new_text, new, old)
        alias = old if final_text != new_text else ""
        before = list_tools(answers.get("tools"))
        after = _rename_entries(before, old, new, behavior, alias)
        moved = _moved_files(path, old, new)
        importing = rename_imports_in_project(path, old, new)

        def move() -> None:
            for file, edited in importing.items():
                file.write_text(edited, encoding="utf-8", newline="\n")
            _move_files(moved, path, final_text, old, new)

        tools = after if after != before else None
        changes = change_tools(worktree, answers, tools, trust=trust, edit=move)
        own_places = (f"{moved[path].as_posix()}:", f"{ANSWERS}:") if alias else ()
        mentioned = _find_other_mentions(old, own_places)
        stat = git(Path(), "diff", "--cached", "--stat", *PLAIN_DIFF)
        branch = branch or f"rename-{old}-{new}"
        place = deliver(worktree, branch, f"Rename the tool {old} to {new}", here=here)
    if json_output:
        files = _format_paths(moved)
        result: dict[str, Any] = {
            "tool": new,
            "moved": files,
            "changed": sorted(changes),
            "named": mentioned,
        }
        result["formerly"] = [alias] if alias else []
        result["branch"] = None if here else branch
        print(json.dumps(result, indent=2))
        return 1 if mentioned else 0
    _print_files(moved, importing)
    print(f"{old} still answers" if alias else f"{old} no longer answers")
    for mention in mentioned:
        print(f"{mention}: names {old}")
    print(stat, end="")
    print(place)
    return 1 if mentioned else 0


def _print_files(moved: Mapping[Path, Path], edited: Iterable[Path]) -> None:
    for source, target in moved.items():
        if source == target:
            print(f"{source.as_posix()}: edited")
        else:
            print(f"{source.as_posix()} -> {target.as_posix()}")
    for path in edited:
        if path not in moved:
            print(f"{path.as_posix()}: edited")


def _format_paths(moved: Mapping[Path, Path]) -> dict[str, str]:
    files = {}
    for source, target in moved.items():
        files[source.as_posix()] = target.as_posix()
    return files


def _supports_aliases() -> bool:
    """Return whether the project's decorators accept former names; those of older releases do not."""
    for place in DECLARATIONS:
        for path in Path().glob(place):
            if "formerly" in path.read_text("utf-8"):
                return True
    return any(PACKAGE in path.read_text("utf-8") for path in Path().glob(FACADE))


def _moved_files(path: Path, old: str, new: str) -> dict[Path, Path]:
    """Return where the tool's file and its test go; a file of another name stays."""
    moved = {path: path.with_name(f"{new}.py") if path.stem == old else path}
    test = Path(f"tests/tools/test_{old}.py")
    if test.is_file():
        moved[test] = test.with_name(f"test_{new}.py")
    return moved


def _move_files(
    moved: dict[Path, Path], path: Path, text: str, old: str, new: str
) -> None:
    """Move the tool's files, over those that the template made for a new tool of that name."""
    texts = {}
    for source, target in moved.items():
        texts[target] = rename_identifier(source.read_text("utf-8"), old, new)
    texts[moved[path]] = text
    stubs = [Path(name) for name in new_files("src", "tests/tools")]
    for stub in stubs:
        if stub.name in (f"{new}.py", f"test_{new}.py"):
            stub.unlink()
    for stub in stubs:  # the package of a stub, where the author's file is elsewhere
        if stub.name == "__init__.py" and list(stub.parent.iterdir()) == [stub]:
            stub.unlink()
    for source, target in moved.items():
        source.unlink()
        target.write_text(texts[target], encoding="utf-8", newline="\n")
