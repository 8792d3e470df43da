"""What the tests in tests/policy ask: the running server, its tools, their findings, the pins."""

import contextlib
import hashlib
import importlib
import inspect
import json
import re
import tomllib
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from .. import lock
from ..cases import parse_probe, sample_values
from ..existing import FOUND_BEFORE
from ..pin import COMMAND, PAGE, collect, list_on_the_wire, load_tables, read_pinned
from ..project import ProjectUnderTest
from ..rules import Finding, Tool, examine, find_waiver_mistake, only_warns
from .library_state import LibraryState
from .module_state import ModuleState
from .nested_calls import watching_calls
from .problems import Problem, fail_unless, fail_with

# The rules that a named test of tests/policy checks tool by tool; the others have one test together
NAMED_RULES = {
    "annotations-present",
    "hints-known",
    "hints-boolean",
    "hints-complete",
    "parameters-described",
    "read-only-excludes-destructive",
    "title-not-name",
    "title-written",
    "titles-equal",
}
BUDGET = {"tool-bytes": 8_000, "server-bytes": 60_000}  # name, description and input
# The budget of an adopted server that sets none of its own
NO_BUDGET = {
    "tool-bytes": 10**9,
    "server-bytes": 10**9,
}
ENGINE_MANIFEST = "tests/policy/engine.json"  # of the engine in a project
# A warning that the author's own `ctx.info` causes, and what to use in its place
CLIENT_LOGGING = "The logging capability is deprecated"
LOGGING_REMEDY = (
    "use ctx.report_progress for the client, or Python's logging for the operator"
)
ADOPTED = "it was adopted"  # in the probes that adopting writes


class Suite:
    """The server under test, with all that the tests of one run share.

    Attributes:
        project: The project.
        server: Its server, with the pinned settings.
        tools: The tools as they are served, with their declarations.
        notes: What a reader of the results should know.
        proofs: The proofs of this test that ran to their end: a tool and an era each.
        on_question: Called before each answer of a client that `connect_client` made.
    """

    def __init__(self, project: ProjectUnderTest, tests_package: str) -> None:
        """Make the server.

        Args:
            project: The project.
            tests_package: The package of the tests, next to which that of the probes is.

        Raises:
            StartError: The server does not start.
        """
        self.project = project
        self.policy = project.policy
        self.settings = project.settings
        self.server = project.create_server()
        project.grant_access(self.server)
        self.tables = load_tables(project)
        self.today = datetime.now(UTC).date().isoformat()
        self.tables["today"] = self.today
        self.pins = collect(project, self.server, self.tables)
        self.tools = [*self.pins.tools]
        self.notes: dict[str, None] = {}
        self.proofs: list[str] = []
        self.clients: list[Any] = []  # functions of the fixture `call`
        self.on_question: Callable[[], Awaitable[None]] | None = None
        project.probe_package = f"{tests_package.rpartition('.')[0]}.tools"

    def engine(self, module: str) -> Any:
        """Import a module of the engine that the project runs on."""
        return self.project.engine(module)

    # The tools

    @cached_property
    def served(self) -> dict[str, Any]:
        """The tools as objects of FastMCP, by name."""
        run_now = self.engine("tools").run_now
        tools = run_now(self.server.list_tools(run_middleware=False), self.server)
        return {tool.name: tool for tool in tools}

    @cached_property
    def proven_tools(self) -> list[Tool]:
        """The tools that have a probe or need one: declared here, and not the engine's own."""
        engine = type(self.policy).__module__.rpartition(".")[0]
        proven = []
        for tool in self.tools:
            served = self.served.get(tool.name)
            is_engine_tool = _module_of(served).startswith(f"{engine}.")
            if self.project.needs_proof(served) and not is_engine_tool:
                proven.append(tool)
        return proven

    @cached_property
    def gated(self) -> set[str]:
        """The names of the tools that ask first."""
        names = set()
        for tool in self.tools:
            if tool.declared and tool.declared["gated"]:
                names.add(tool.name)
        return names

    @cached_property
    def module_state(self) -> ModuleState:
        """The state of the author's modules."""
        source = self.project.source
        policy = Path(
            str(importlib.import_module(self.project.policy_package).__file__)
        )
        left_out = (source / "engine", policy.parent, self.project.root / "tests")
        return ModuleState(source, left_out)

    @cached_property
    def library_state(self) -> LibraryState:
        """The state of the libraries."""
        engine = type(self.policy).__module__.rpartition(".")[0]
        testing = __name__.partition(".")[0]
        tests = self.project.probe_package.partition(".")[0]
        return LibraryState([self.project.package, engine, testing, tests])

    def watching_calls(self) -> contextlib.AbstractContextManager[list[Any]]:
        """Collect the tools that run in a block."""
        policy_tool = self.engine("tools").PolicyTool
        return watching_calls(
            policy_tool, self.engine("guarded_components").GuardedTool
        )

    def writes(self, tool: Any) -> bool:
        """Tell whether a served tool declares that it changes something."""
        declaration = self.engine("tools").declared(tool)
        return (
            declaration is not None and not self.policy.truth(declaration)["read_only"]
        )

    def probe_module(self, name: str) -> Any:
        """Import the probe of a tool."""
        return importlib.import_module(f"{self.project.probe_package}.test_{name}")

    def find_probe_module(self, name: str) -> Any:
        """Import a file next to the probes; None where there is none."""
        if not (self.project.probes / f"{name}.py").exists():
            return None
        return importlib.import_module(f"{self.project.probe_package}.{name}")

    def note(self, text: str) -> None:
        """Print a line at the end of the run, once."""
        self.notes[text] = None

    @contextlib.contextmanager
    def noting_warnings(self, subject: str) -> Iterator[None]:
        """Note the warnings of libraries during a call, whatever the filters of pytest make of others.

        Args:
            subject: The tool, resource or prompt that runs.
        """
        own_code = rf"(?!{re.escape(self.project.package)}(\.|$))"
        with warnings.catch_warnings(record=True) as caught:
            warnings.filterwarnings("always", module=own_code)
            yield
        for warning in caught:
            kind = warning.category.__name__
            text = f"{subject}: a library warns: {warning.message} ({kind})"
            if CLIENT_LOGGING in text:
                text += f"; {LOGGING_REMEDY}"
            self.note(text)

    # Servers and clients of a test's own

    def create_server(self, **settings: Any) -> Any:
        """Return another server of the project, with other settings where they are given."""
        return self.project.create_server(self.settings.model_copy(update=settings))

    def create_empty_server(self) -> Any:
        """Return a server to which a test adds tools."""
        return self.project.create_empty_server()

    def add_tool(
        self,
        server: Any,
        function: Callable[..., Any],
        declaration: Any = None,
    ) -> None:
        """Serve one more function, as its decorator declares it or as `declaration` does."""
        declaration = declaration or self.engine("declarations").declaration_of(
            function
        )
        server.add_tool(
            self.engine("tools").build_tool(self.policy, function, declaration)
        )

    def connect_client(self, server: Any, era: str, answers: list[bool]) -> Any:
        """Return a client whose user agrees or declines, answer by answer; the last one is repeated.

        Args:
            server: What it connects to.
            era: Its protocol.
            answers: The answers; without any it cannot be asked.
        """
        from fastmcp import Client
        from fastmcp.client.elicitation import ElicitResult

        async def answer(_text: str, _type: object, form: Any, _: object) -> Any:
            if self.on_question:
                await self.on_question()
            properties = (getattr(form, "requested_schema", None) or {}).get(
                "properties", {}
            )
            content = {}
            for name, schema in properties.items():
                content[name] = next(sample_values(schema), None)
            agrees = answers.pop(0) if len(answers) > 1 else answers[0]
            return ElicitResult(
                action="accept" if agrees else "decline", content=content
            )

        async def sample(*_: object) -> str:
            return "probe"

        return Client(
            server,
            mode=era,
            elicitation_handler=answer if answers else None,
            sampling_handler=sample,
        )

    def fail_unless(self, good: object, problem: Problem) -> None:
        """Fail the test with a problem, unless a condition holds."""
        fail_unless(good, problem, self.tables)

    def check_served(self, tools: list[dict[str, Any]]) -> None:
        """Fail where a client is served other tools than the suite examines."""
        expected = {tool.name: dict(tool.wire) for tool in self.tools}
        served = {tool["name"]: tool for tool in tools}
        self._check_alike(expected, served, "this client is served {} otherwise")

    def _check_alike(
        self,
        expected: Mapping[str, Any],
        served: Mapping[str, Any],
        text: str,
    ) -> None:
        """Fail with a text that names the tools which differ."""
        names = []
        for name in sorted(expected.keys() | served.keys()):
            if expected.get(name) != served.get(name):
                names.append(name)
        problem = Problem("served-alike", text.format(", ".join(names)))
        self.fail_unless(not names, problem)

    def check_engine_files(self) -> None:
        """Fail where a file of the engine's copy in the project was edited."""
        path = self.project.root / ENGINE_MANIFEST
        recorded = json.loads(path.read_text(encoding="utf-8"))
        edited = []
        for name, digest in recorded["files"].items():
            path = self.project.root / name
            content = path.read_bytes() if path.is_file() else b""
            content = content.replace(b"\r\n", b"\n")
            if hashlib.sha256(content).hexdigest() != digest:
                edited.append(name)
        text = f"{', '.join(edited)}: not as engine {recorded['version']} has it"
        self.fail_unless(not edited, Problem("engine-unedited", text))

    async def check_metadata(
        self, era: str, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Fail unless a metadata file changes every text of the declared tools, and no hint.

        Args:
            era: The protocol version of the client.
            folder: A folder for the file.
            monkeypatch: Raises the limit of the file's size, for servers with hundreds of tools.
        """
        from fastmcp import Client

        monkeypatch.setattr(self.engine("metadata.overrides"), "MOST_BYTES", 2**24)
        metadata: dict[str, Any] = {}
        expected = {}
        for tool in self.tools:
            if not tool.declared:
                continue
            wire = json.loads(json.dumps(tool.wire))
            name, schemas = wire["name"], wire["inputSchema"]["properties"]
            texts = {"title": f"Title of {name}", "description": f"What {name} is for"}
            arguments = {}
            for parameter, schema in schemas.items():
                arguments[parameter] = {"description": f"{parameter} of {name}"}
                schema.update(arguments[parameter])
            metadata[name] = {**texts, "arguments": arguments}
            wire.update(texts)
            wire["annotations"]["title"] = texts["title"]
            expected[name] = wire
        path = folder / "metadata.yaml"
        path.write_text(json.dumps({"tools": metadata}), encoding="utf-8")
        path.chmod(0o600)
        server = self.create_server(metadata=path)
        served = await self.list_tools(Client(server, mode=era))
        changed = {tool["name"]: tool for tool in served if tool["name"] in metadata}
        text = "a metadata file changes more or less than the texts of {}"
        self._check_alike(expected, changed, text)

    async def list_tools(self, client: Any) -> list[dict[str, Any]]:
        """Return every tool as a client sees it."""
        return await list_on_the_wire(client)

    def environment(self) -> dict[str, str]:
        """Return the pinned settings as environment variables."""
        prefix = self.policy.env_prefix
        values = self.project.pinned_values.items()
        return {f"{prefix}{name}".upper(): str(value) for name, value in values}

    # The rules

    @cached_property
    def other_rules(self) -> list[str]:
        """The rules of the policy that no test is named after."""
        names = []
        for name, rule in self.tables["rules"].items():
            if "policy" in rule["profiles"] and name not in NAMED_RULES:
                names.append(name)
        return names

    @cached_property
    def findings(self) -> list[Finding]:
        """What is wrong with the tools; findings that only warn, or are waived, are noted."""
        findings = examine(self.tools, self.tables)
        return [finding for finding in findings if not self._is_excused(finding)]

    def _is_excused(self, finding: Finding) -> bool:
        rule = self.tables["rules"][finding.rule]
        reason = ""
        waiver = self._waivers.get((finding.tool, finding.rule))
        if waiver:
            reason = f"waived until {waiver['until']}: {waiver['why']}"
        if finding.rule in FOUND_BEFORE and self._is_served_elsewhere(finding.tool):
            reason = "of another server"
        if only_warns(rule.get("fails", ""), self.today, self._release):
            reason = f"a warning since {rule['warns']}, fails from {rule['fails']}"
        if reason:
            self.note(f"{finding}: {reason}")
        return bool(reason)

    def _is_served_elsewhere(self, name: str) -> bool:
        """Tell whether a declared tool comes from a server that the project mounts, whose texts it cannot change."""
        served = self.served.get(name)
        return not self.project.is_existing and not self.project.is_own(served)

    @cached_property
    def _waivers(self) -> dict[tuple[str, str], Any]:
        waivers = {}
        for tool in self.tools:
            for waiver in tool.waivers:
                if not find_waiver_mistake(waiver, self.tables):
                    waivers[tool.name, waiver["rule"]] = waiver
        return waivers

    @cached_property
    def _release(self) -> str:
        """The release of the template that the project has."""
        path = self.project.root / ".copier-answers.yml"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        match = re.search(r"(?m)^_commit: (\S+)$", text)
        return match[1] if match else ""

    def check_rules(self, rules: Collection[str], tool: str | None = None) -> None:
        """Fail where rules are broken; violations that an adopted server had before are only reported.

        Args:
            rules: The rules.
            tool: The tool that has to keep them; every one when left out.
        """
        lines = []
        is_existing = self.project.is_existing
        for finding in self.findings:
            if finding.rule not in rules or tool not in (None, finding.tool):
                continue
            lines.append(str(finding))
            is_existing = is_existing and finding.rule in FOUND_BEFORE
        if lines and is_existing:
            pytest.skip("; ".join(lines))
        if lines:
            fail_with(lines)

    def check_declared(self, tool: Tool) -> None:
        """Fail where a tool has no declaration."""
        text = f"{tool.name}: it declares no behavior"
        problem = Problem("tool-declared", text)
        self.fail_unless(tool.declared is not None, problem)

    def check_budget(self) -> None:
        """Fail where model-facing text is larger than the project allows."""
        path = self.project.root / "pyproject.toml"
        document = (
            tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        )
        default = NO_BUDGET if self.project.is_existing else BUDGET
        budget = default | document.get("tool", {}).get("copier-fastmcp", {})
        sizes = {}
        for name, entry in self.pins.lock["tools"].items():
            sizes[name] = entry["bytes"]["model"]
        largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        largest_sizes = ", ".join(f"{name} ({sizes[name]:,})" for name in largest)
        total = sum(sizes.values())
        if self._lists_search():
            total = 0  # a model reads two tools, and the few that it finds
        fits = all(size <= budget["tool-bytes"] for size in sizes.values())
        text = (
            f"a model reads {total:,} bytes of {len(sizes)} tools, most of {largest_sizes}; at most "
            f"{budget['tool-bytes']:,} of one and {budget['server-bytes']:,} of all are set"
        )
        is_kept = fits and total <= budget["server-bytes"]
        self.fail_unless(is_kept, Problem("budget-kept", text))

    def _lists_search(self) -> bool:
        """Return whether the server lists a search in place of its tools."""
        fields = getattr(type(self.project.settings), "model_fields", {})
        return "search" in fields and fields["search"].default is True

    # The pins

    @cached_property
    def _pinned(self) -> tuple[lock.Lock | None, str]:
        """The pinned lock, and why there is none where it is damaged or missing."""
        try:
            return read_pinned(self.project.root), ""
        except ValueError as error:
            return None, str(error)

    @cached_property
    def pinned_destructive(self) -> set[str]:
        """The tools that the lock has as destructive."""
        pinned, _ = self._pinned
        entries = pinned["tools"].items() if pinned else ()
        names = set()
        for name, entry in entries:
            if entry["hints"].get("destructiveHint"):
                names.add(name)
        return names

    def _skip_unpinned(self) -> None:
        pinned, problem = self._pinned
        if not pinned and not problem:
            pytest.skip(f"nothing was ever pinned; {COMMAND} pins")

    def check_lock(self) -> None:
        """Fail where the running tools differ from the lock."""
        self._skip_unpinned()
        pinned, problem = self._pinned
        if pinned is None:
            fail_with([problem])
        changed = lock.report_differences(pinned, self.pins.lock)
        changed = [line for line in changed if ": RENDERED: " not in line]
        self.fail_unless(not changed, Problem("lock-current", "\n".join(changed)))

    def check_table(self) -> None:
        """Fail where docs/tools.md is not that of the running tools."""
        self._skip_unpinned()
        path = self.project.root / PAGE
        written = path.read_text(encoding="utf-8") if path.exists() else ""
        is_current = written == self.pins.table
        self.fail_unless(is_current, Problem("table-current", f"{PAGE} is stale"))

    def check_destructive(self) -> None:
        """Fail where other tools are marked destructive than the lock has."""
        self._skip_unpinned()
        marked = set()
        for tool in self.tools:
            if tool.annotations.get("destructiveHint") is True:
                marked.add(tool.name)
        odd = sorted(marked ^ self.pinned_destructive)
        text = f"destructive here or in {lock.FILE}, not in both: {', '.join(odd)}"
        self.fail_unless(not odd, Problem("lock-current", text))

    def check_probe_files(self) -> None:
        """Fail where a probe is of no tool; that of an adopted tool may be of one that a setting leaves out."""
        names = {f"test_{tool.name}.py" for tool in self.tools}
        for path in sorted(self.project.probes.glob("test_*.py")):
            if path.name in names:
                continue
            definitions = {"unprobed": ADOPTED} | parse_probe(path)
            is_probe = "arrange" in definitions or ADOPTED not in str(
                definitions["unprobed"]
            )
            text = f"tests/tools/{path.name} is of no tool"
            self.fail_unless(not is_probe, Problem("probe-has-tool", text))


def _module_of(tool: Any) -> str:
    """Return the module of a tool's own function."""
    function = getattr(tool, "fn", None)
    if function is None:
        return ""
    return str(getattr(inspect.unwrap(function), "__module__", ""))
