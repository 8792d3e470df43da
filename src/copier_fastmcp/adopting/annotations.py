"""Hints and titles for the tools of an ordinary server: edits where the source is understood, else a text to paste."""

import ast
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..sources.modules import has_spread_keywords, index_keywords
from ..sources.receivers import ANNOTATION_CLASSES, FASTMCP, SDK_1, SDK_2, Receivers
from ..sources.registrations import SNAKE, SourceTool
from .edits import Edited
from .hints import hints_of
from .proposals import Proposal
from .survey import Survey

CAMEL_TO_SNAKE = {camel: snake for snake, camel in SNAKE.items()}
IMPORT_SOURCES = {SDK_1: "mcp.types", SDK_2: "mcp_types"}
RUN_TIME = "registered at run time: annotate by hand"


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
    registered = Counter(id(proposal.tool.site) for proposal in proposals)
    for proposal in proposals:
        module = proposal.tool.module
        edited = edited_files.setdefault(module.path, Edited(module))
        before = len(edited.edits), len(edited.imports)
        try:
            if registered[id(proposal.tool.site)] > 1 or _is_in_loop(proposal.tool):
                raise ByHandError("one line registers several tools")
            AnnotationEdit(survey, proposal, edited, receivers).apply()
        except ByHandError as error:
            del edited.edits[before[0] :], edited.imports[before[1] :]
            annotations.by_hand.append(
                (proposal.tool.name, _describe_by_hand(survey, proposal, str(error)))
            )
    for tool in survey.left:
        place = f"{survey.locate_tool(tool)}:{tool.line}"
        annotations.by_hand.append((tool.name, f"{RUN_TIME} ({place})"))
    for name in survey.unread:
        annotations.by_hand.append((name, RUN_TIME))
    annotations.files = [edited for edited in edited_files.values() if edited.edits]
    return annotations


def title_of(proposal: Proposal) -> str:
    """The human-readable title of a tool: the present one, else from its name."""
    if proposal.tool.title:
        return proposal.tool.title
    name = proposal.tool.local or proposal.tool.name
    words = name.replace("_", " ").replace("-", " ").replace(".", " ").split()
    return " ".join(word[:1].upper() + word[1:] for word in words)


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
            self._extend_annotations(
                present, self._list_dict_entries(present), '"{}": {}'
            )
        elif isinstance(present, ast.Call) and self.receivers.is_annotations(
            self.tool.module, present
        ):
            self._extend_annotations(present, self._list_call_entries(present), "{}={}")
        else:
            raise ByHandError("its annotations= is made elsewhere")

    def _is_complete(self) -> bool:
        """Whether the present annotations say all that would be written, wherever they are made."""
        present = self.tool.annotated
        if present is None:
            return False
        is_literal = isinstance(present, ast.Dict | ast.Call)
        if is_literal and self.tool.title is None and not self.tool.own_decorator:
            return False
        return hints_of(self.proposal).items() <= self.tool.hints.items()

    def _check_registration(self) -> None:
        """Make sure that the registration accepts `annotations` and that all of its arguments are seen."""
        tool = self.tool
        if tool.marked:
            raise ByHandError(
                f"registered at run time by {tool.own_decorator}: annotate by hand"
            )
        if tool.own_decorator:
            raise ByHandError(f"{tool.own_decorator} registers it")
        call = tool.site if isinstance(tool.site, ast.Call) else None
        target = call.func if call else tool.site
        if not tool.framework:
            if (
                isinstance(target, ast.Attribute)
                and target.attr == "add_tool"
                and call
                and call.args
            ):
                function = ast.unparse(call.args[0])
                raise ByHandError(
                    f"{ast.unparse(target)} accepts no annotations; write "
                    f"{ast.unparse(target.value)}.tool({function}, annotations=...)"
                )
            raise ByHandError(
                f"{ast.unparse(target)} is not certain to accept annotations="
            )
        if call is None:
            return
        if has_spread_keywords(call):
            raise ByHandError("its arguments are spread with **")
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            raise ByHandError("its arguments are spread with *")

    def _add_annotations(self) -> None:
        text = f"annotations={self._format_new_annotations()}"
        if isinstance(self.tool.site, ast.Call):
            self.edited.add_arguments(self.tool.site, text)
        else:
            _, end = self.edited.find_span(self.tool.site)
            self.edited.edits.append((end, end, f"({text})"))

    def _format_new_annotations(self) -> str:
        """The annotations of a tool that has none, with the import that they need."""
        framework = self.tool.framework
        if framework == FASTMCP:
            return annotations_text(self.proposal, framework)
        target = self.tool.site.func if isinstance(self.tool.site, ast.Call) else None
        is_listed = self.tool.low_level and isinstance(target, ast.Attribute)
        if is_listed and isinstance(target, ast.Attribute):
            name = f"{ast.unparse(target.value)}.ToolAnnotations"  # types.Tool, types.ToolAnnotations
            return annotations_text(self.proposal, framework, name)
        self._import_class(IMPORT_SOURCES[framework])
        return annotations_text(self.proposal, framework)

    def _import_class(self, source: str) -> None:
        """Import ToolAnnotations, unless the file does when it is loaded."""
        name = "ToolAnnotations"
        module = self.edited.module
        for node in module.tree.body:
            if isinstance(node, ast.ImportFrom):
                is_protocol = f"{node.module}.{name}" in ANNOTATION_CLASSES
                for alias in node.names if is_protocol else ():
                    if (alias.asname or alias.name) == name:
                        return
        if name in module.top or _is_bound_elsewhere(module.nodes, name):
            raise ByHandError(f"{name} is something else in this file")
        self.edited.add_import(f"from {source} import {name}")

    def _list_dict_entries(self, present: ast.Dict) -> dict[str, ast.expr]:
        entries: dict[str, ast.expr] = {}
        for key, value in zip(present.keys, present.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise ByHandError("its annotations= has keys that are made elsewhere")
            entries[key.value] = value
        return entries

    def _list_call_entries(self, present: ast.Call) -> dict[str, ast.expr]:
        if present.args or has_spread_keywords(present):
            raise ByHandError("the arguments of its ToolAnnotations are made elsewhere")
        return index_keywords(present)

    def _extend_annotations(
        self, present: ast.Call | ast.Dict, entries: dict[str, ast.expr], form: str
    ) -> None:
        """Add to annotations that are there what they lack, and correct what is wrong in them."""
        spells_snake = bool(entries.keys() & SNAKE.keys()) or (
            isinstance(present, ast.Call)
            and not entries.keys() & CAMEL_TO_SNAKE.keys()
            and self.tool.framework == SDK_2
        )
        additions: list[str] = []
        if self.tool.title is None and "title" not in entries:
            additions.append(form.format("title", _quote(title_of(self.proposal))))
        for hint, value in hints_of(self.proposal).items():
            snake = CAMEL_TO_SNAKE[hint]
            name = (
                snake
                if snake in entries or (spells_snake and hint not in entries)
                else hint
            )
            if name not in entries:
                additions.append(form.format(name, value))
                continue
            present_value = entries[name]
            if not isinstance(present_value, ast.Constant) or not isinstance(
                present_value.value, bool
            ):
                raise ByHandError(f"its {name} is computed")
            if present_value.value is not value:
                self.edited.replace_node(present_value, str(value))
        if additions:
            self.edited.add_arguments(present, *additions)


def annotations_text(
    proposal: Proposal, framework: str, name: str = "ToolAnnotations"
) -> str:
    """The annotations of a tool as its framework accepts them."""
    pairs: list[tuple[str, str]] = []
    if proposal.tool.title is None:
        pairs.append(("title", _quote(title_of(proposal))))
    for hint, value in hints_of(proposal).items():
        pairs.append((hint, str(value)))
    if framework == FASTMCP:
        return "{" + ", ".join(f'"{key}": {value}' for key, value in pairs) + "}"
    if framework == SDK_2:
        arguments = [f"{CAMEL_TO_SNAKE.get(key, key)}={value}" for key, value in pairs]
    else:
        arguments = [f"{key}={value}" for key, value in pairs]
    return f"{name}({', '.join(arguments)})"


def _describe_by_hand(survey: Survey, proposal: Proposal, reason: str) -> str:
    """Why a tool is left to a person, where it is, and the text to paste."""
    tool = proposal.tool
    framework = tool.framework or _find_imported_framework(survey, tool)
    text = annotations_text(proposal, framework)
    return (
        f"{reason} ({survey.locate_tool(tool)}:{tool.line}); paste annotations={text}"
    )


def _find_imported_framework(survey: Survey, tool: SourceTool) -> str:
    """The framework that the file of a tool imports, else the project."""
    targets = tool.module.imports.values()
    prefixes = {
        FASTMCP: "fastmcp",
        SDK_2: "mcp.server.mcpserver",
        SDK_1: "mcp.server.fastmcp",
    }
    for framework, prefix in prefixes.items():
        if any(target.startswith(prefix) for target in targets):
            return framework
    for framework in prefixes:
        if framework in survey.frameworks:
            return framework
    return FASTMCP


def _is_in_loop(tool: SourceTool) -> bool:
    """Whether a registration runs once for each of several things."""
    loops = (
        ast.For,
        ast.AsyncFor,
        ast.While,
        ast.comprehension,
        ast.ListComp,
        ast.GeneratorExp,
    )
    return any(isinstance(node, loops) for node in tool.module.above(tool.site))


def _is_bound_elsewhere(nodes: Iterable[ast.AST], name: str) -> bool:
    """Whether a file gives a name to something that is not the protocol's class."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                is_same = f"{node.module}.{alias.name}" in ANNOTATION_CLASSES
                if (alias.asname or alias.name) == name and not is_same:
                    return True
        if (
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Store)
        ):
            return True
    return False


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
