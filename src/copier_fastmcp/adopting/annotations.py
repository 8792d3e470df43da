"""Hints and titles for the tools of an ordinary server: edits where the source is understood, else a text to paste."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from ..sources.modules import has_spread_keywords, index_keywords
from ..sources.receivers import ANNOTATION_CLASSES, FASTMCP, SDK_1, SDK_2, Receivers
from ..sources.registrations import SNAKE, SourceTool
from .edits import Edited
from .hints import combine_hints
from .proposals import Proposal
from .survey import Survey

CAMEL_TO_SNAKE = {camel: snake for snake, camel in SNAKE.items()}
IMPORT_SOURCES = {SDK_1: "mcp.types", SDK_2: "mcp_types"}
IMPORT_PREFIXES = {
    FASTMCP: "fastmcp",
    SDK_2: "mcp.server.mcpserver",
    SDK_1: "mcp.server.fastmcp",
}
RUN_TIME = "registered at run time: annotate by hand"
LOOPS = (
    *(ast.For, ast.AsyncFor, ast.While),
    *(ast.comprehension, ast.ListComp, ast.GeneratorExp),
)


@dataclass
class Annotations:
    """What annotating a server writes, and what is left to a person.

    Attributes:
        files: The files with their edits.
        by_hand: A line for each tool that is left to a person, with its name.
    """

    files: list[Edited] = field(default_factory=list)
    by_hand: list[tuple[str, str]] = field(default_factory=list)


class ByHandError(Exception):
    """The registration of a tool is not understood well enough to edit it."""


def annotate_survey(survey: Survey, chosen: Iterable[Proposal]) -> Annotations:
    """Edit the registrations that are understood.

    Args:
        survey: The server.
        chosen: A behavior for each tool.
    """
    proposals = list(chosen)
    receivers = Receivers(survey.project)
    edited_files: dict[Path, Edited] = {}
    annotations = Annotations()
    registered: Counter[int] = Counter()
    for proposal in proposals:
        registered[id(proposal.tool.site)] += 1
    for proposal in proposals:
        tool = proposal.tool
        edited = edited_files.setdefault(tool.module.path, Edited(tool.module))
        edit_count = len(edited.edits)
        import_count = len(edited.imports)
        try:
            if registered[id(tool.site)] > 1 or _is_in_loop(tool):
                raise ByHandError("one line registers several tools")
            edit = AnnotationEdit(survey, proposal, edited, receivers)
            edit.apply()
        except ByHandError as error:
            del edited.edits[edit_count:]
            del edited.imports[import_count:]
            reason = _describe_by_hand(survey, proposal, str(error))
            annotations.by_hand.append((tool.name, reason))
    for tool in survey.left:
        place = survey.locate_line(tool)
        annotations.by_hand.append((tool.name, f"{RUN_TIME} ({place})"))
    for name in survey.unread:
        annotations.by_hand.append((name, RUN_TIME))
    annotations.files = [edited for edited in edited_files.values() if edited.edits]
    return annotations


def choose_title(proposal: Proposal) -> str:
    """The human-readable title of a tool: the present one, else from its name."""
    if proposal.tool.title:
        return proposal.tool.title
    name = proposal.tool.local or proposal.tool.name
    words: list[str] = []
    for word in re.split(r"[-_.\s]+", name):
        words.append(word[:1].upper() + word[1:])
    return " ".join(filter(None, words))


class AnnotationEdit:
    """The edit of one registration."""

    def __init__(
        self, survey: Survey, proposal: Proposal, edited: Edited, receivers: Receivers
    ) -> None:
        """Name the parts."""
        self.survey = survey
        self.proposal = proposal
        self.tool = proposal.tool
        self.edited = edited
        self.receivers = receivers

    def apply(self) -> None:
        """Note the edits.

        Raises:
            ByHandError: The registration is not understood.
        """
        if self._is_complete():
            return
        self._check_registration()
        present = self.tool.annotated
        if present is None:
            self._add_annotations()
        elif isinstance(present, ast.Constant) and present.value is None:
            self.edited.replace_node(present, self._format_new_annotations())
        elif isinstance(present, ast.Dict):
            entries = self._list_dict_entries(present)
            self._extend_annotations(present, entries, '"{}": {}')
        elif self._is_annotations_call(present):
            entries = self._list_call_entries(present)
            self._extend_annotations(present, entries, "{}={}")
        else:
            raise ByHandError("its annotations= is made elsewhere")

    def _is_annotations_call(self, present: ast.expr) -> TypeGuard[ast.Call]:
        """Whether the present annotations are a call of the class that its framework has for them."""
        if not isinstance(present, ast.Call):
            return False
        return self.receivers.is_annotations(self.tool.module, present)

    def _is_complete(self) -> bool:
        """Whether the present annotations say all that would be written, wherever they are made."""
        present = self.tool.annotated
        if present is None:
            return False
        is_literal = isinstance(present, ast.Dict | ast.Call)
        needs_title = self.tool.title is None and not self.tool.own_decorator
        if is_literal and needs_title:
            return False
        hints = combine_hints(self.proposal)
        return hints.items() <= self.tool.hints.items()

    def _check_registration(self) -> None:
        """Make sure that the registration accepts `annotations` and that all of its arguments are seen."""
        tool = self.tool
        if tool.marked:
            decorator = tool.own_decorator
            raise ByHandError(
                f"registered at run time by {decorator}: annotate by hand"
            )
        if tool.own_decorator:
            raise ByHandError(f"{tool.own_decorator} registers it")
        if not tool.framework:
            raise ByHandError(_explain_unknown_target(tool.site))
        if not isinstance(tool.site, ast.Call):
            return
        if has_spread_keywords(tool.site):
            raise ByHandError("its arguments are spread with **")
        for argument in tool.site.args:
            if isinstance(argument, ast.Starred):
                raise ByHandError("its arguments are spread with *")

    def _add_annotations(self) -> None:
        text = f"annotations={self._format_new_annotations()}"
        if isinstance(self.tool.site, ast.Call):
            self.edited.add_arguments(self.tool.site, text)
        else:
            self.edited.insert_after(self.tool.site, f"({text})")

    def _format_new_annotations(self) -> str:
        """The annotations of a tool that has none, with the import that they need."""
        framework = self.tool.framework
        if framework == FASTMCP:
            return format_annotations(self.proposal, framework)
        package = self._find_types_package()
        if package:
            name = f"{package}.ToolAnnotations"
            return format_annotations(self.proposal, framework, name)
        self._import_class(IMPORT_SOURCES[framework])
        return format_annotations(self.proposal, framework)

    def _find_types_package(self) -> str:
        """The name before the class of a listed tool, as `types` in `types.Tool`; empty where there is none."""
        site = self.tool.site
        if not self.tool.low_level or not isinstance(site, ast.Call):
            return ""
        if isinstance(site.func, ast.Attribute):
            return ast.unparse(site.func.value)
        return ""

    def _import_class(self, source: str) -> None:
        """Import ToolAnnotations, unless the file does when it is loaded."""
        name = "ToolAnnotations"
        module = self.edited.module
        for node in module.tree.body:
            if not isinstance(node, ast.ImportFrom):
                continue
            if f"{node.module}.{name}" in ANNOTATION_CLASSES and _imports(node, name):
                return
        if name in module.top or _is_bound_elsewhere(module.nodes, name):
            raise ByHandError(f"{name} is something else in this file")
        self.edited.add_import(f"from {source} import {name}")

    def _list_dict_entries(self, present: ast.Dict) -> dict[str, ast.expr]:
        entries: dict[str, ast.expr] = {}
        for key, value in zip(present.keys, present.values, strict=True):
            name = getattr(key, "value", None)
            if not isinstance(key, ast.Constant) or not isinstance(name, str):
                raise ByHandError("its annotations= has keys that are made elsewhere")
            entries[name] = value
        return entries

    def _list_call_entries(self, present: ast.Call) -> dict[str, ast.expr]:
        if present.args or has_spread_keywords(present):
            raise ByHandError("the arguments of its ToolAnnotations are made elsewhere")
        return index_keywords(present)

    def _extend_annotations(
        self, present: ast.Call | ast.Dict, entries: dict[str, ast.expr], form: str
    ) -> None:
        """Add the missing hints to present annotations, and correct the wrong ones."""
        spells_snake = self._spells_snake(present, entries)
        additions: list[str] = []
        if self.tool.title is None and "title" not in entries:
            title = _quote(choose_title(self.proposal))
            additions.append(form.format("title", title))
        for hint, value in combine_hints(self.proposal).items():
            name = hint
            snake = CAMEL_TO_SNAKE[hint]
            if snake in entries or (spells_snake and hint not in entries):
                name = snake
            if name in entries:
                self._correct_value(name, entries[name], value)
            else:
                additions.append(form.format(name, value))
        if additions:
            self.edited.add_arguments(present, *additions)

    def _spells_snake(
        self, present: ast.Call | ast.Dict, entries: dict[str, ast.expr]
    ) -> bool:
        """Whether new hints are written in snake case, as those that are there or as their class has them."""
        if entries.keys() & SNAKE.keys():
            return True
        if isinstance(present, ast.Dict) or entries.keys() & CAMEL_TO_SNAKE.keys():
            return False
        return self.tool.framework == SDK_2

    def _correct_value(self, name: str, present: ast.expr, value: bool) -> None:
        present_value = getattr(present, "value", None)
        if not isinstance(present, ast.Constant) or not isinstance(present_value, bool):
            raise ByHandError(f"its {name} is computed")
        if present.value is not value:
            self.edited.replace_node(present, str(value))


def format_annotations(
    proposal: Proposal, framework: str, name: str = "ToolAnnotations"
) -> str:
    """The annotations of a tool as its framework accepts them."""
    pairs: list[tuple[str, str]] = []
    if proposal.tool.title is None:
        pairs.append(("title", _quote(choose_title(proposal))))
    for hint, value in combine_hints(proposal).items():
        pairs.append((hint, str(value)))
    texts: list[str] = []
    for key, text in pairs:
        if framework == FASTMCP:
            texts.append(f'"{key}": {text}')
        elif framework == SDK_2:
            texts.append(f"{CAMEL_TO_SNAKE.get(key, key)}={text}")
        else:
            texts.append(f"{key}={text}")
    joined = ", ".join(texts)
    if framework == FASTMCP:
        return f"{{{joined}}}"
    return f"{name}({joined})"


def _describe_by_hand(survey: Survey, proposal: Proposal, reason: str) -> str:
    """Why a tool is left to a person, where it is, and the text to paste."""
    tool = proposal.tool
    framework = tool.framework or _find_imported_framework(survey, tool)
    text = format_annotations(proposal, framework)
    place = survey.locate_line(tool)
    return f"{reason} ({place}); paste annotations={text}"


def _explain_unknown_target(site: ast.expr) -> str:
    """Why a registration is not edited whose target may accept no annotations."""
    target = site.func if isinstance(site, ast.Call) else site
    name = ast.unparse(target)
    is_method = isinstance(target, ast.Attribute) and target.attr == "add_tool"
    if not is_method or not isinstance(site, ast.Call) or not site.args:
        return f"{name} is not certain to accept annotations="
    server = name.removesuffix(".add_tool")
    function = ast.unparse(site.args[0])
    remedy = f"write {server}.tool({function}, annotations=...)"
    return f"{name} accepts no annotations; {remedy}"


def _find_imported_framework(survey: Survey, tool: SourceTool) -> str:
    """The framework that the file of a tool imports, else the project."""

    for framework, prefix in IMPORT_PREFIXES.items():
        for target in tool.module.imports.values():
            if target.startswith(prefix):
                return framework
    for framework in IMPORT_PREFIXES:
        if framework in survey.frameworks:
            return framework
    return FASTMCP


def _is_in_loop(tool: SourceTool) -> bool:
    """Whether a registration runs once for each of several things."""
    return any(isinstance(node, LOOPS) for node in tool.module.above(tool.site))


def _imports(statement: ast.ImportFrom, name: str) -> bool:
    """Whether a statement imports something under a name."""
    return any((alias.asname or alias.name) == name for alias in statement.names)


def _is_bound_elsewhere(nodes: Iterable[ast.AST], name: str) -> bool:
    """Whether a file gives a name to something that is not the protocol's class."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                is_same = f"{node.module}.{alias.name}" in ANNOTATION_CLASSES
                if (alias.asname or alias.name) == name and not is_same:
                    return True
        is_assigned = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if is_assigned and getattr(node, "id", "") == name:
            return True
    return False


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
