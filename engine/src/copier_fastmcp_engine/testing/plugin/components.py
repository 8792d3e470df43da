"""Resources, resource templates and prompts: reading one changes nothing."""

import contextlib
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from mcp.shared.exceptions import MCPError

from ..backend import Backend
from ..cases import ABSENT, list_cases
from ..changes import find_changed_places, is_same, to_json_data
from .leftovers import Leftovers
from .observation import Observation
from .problems import Problem
from .suite import Suite

Arguments = dict[str, Any]
PARAMETER = re.compile(r"\{\??([^{}]+)\}")
SAMPLE = "1"
REMEDY = "fix the body, or name what no user sees in `outside` of tests/tools/components.py, with the reason"
# What is true of every resource and prompt
READ = {
    "read_only": True,
    "open_world": True,
    "idempotent": True,
    "destructive": False,
}
PROBE = "components"  # tests/tools/components.py says what its author excludes


@dataclass(frozen=True)
class Component:
    """One resource, template or prompt.

    Attributes:
        name: Its URI or its name, as messages show it.
        read: Reads it, with the arguments that it gets.
        required: The names of the arguments that it needs.
        optional: The names of the others.
    """

    name: str
    read: Callable[[Arguments], Awaitable[object]]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def list_variants(self, known: Arguments) -> dict[str, Arguments]:
        """Return the arguments with which it is read, by what differs from the first ones.

        Args:
            known: The arguments of tools, by name.
        """
        passed: Arguments = {}
        for name in self.required:
            passed[name] = known.get(name, SAMPLE)
        variants = {"": passed}
        for name in self.optional:
            variants[f"with {name} "] = {**passed, name: known.get(name, SAMPLE)}
        for name, value in passed.items():
            other = f"{value}{ABSENT}"
            variants[f"with {name}={other} "] = {**passed, name: other}
        return variants


async def list_components(client: Any) -> list[Component]:
    """Return everything but tools that a connected client can read."""
    components = []
    for resource in await client.list_resources():
        components.append(_from_resource(client, str(resource.uri)))
    for template in await client.list_resource_templates():
        components.append(_from_template(client, template.uri_template))
    for prompt in await client.list_prompts():
        components.append(_from_prompt(client, prompt))
    return components


def _from_resource(client: Any, uri: str) -> Component:
    return Component(uri, lambda _: client.read_resource(uri))


def _from_template(client: Any, pattern: str) -> Component:
    required: list[str] = []
    optional: list[str] = []
    for match in PARAMETER.finditer(pattern):
        names = match[1].rstrip("*").split(",")
        if match[0].startswith("{?"):
            optional += names
        else:
            required += names[:1]

    def fill(match: re.Match[str], arguments: Arguments) -> str:
        names = match[1].rstrip("*").split(",")
        if not match[0].startswith("{?"):
            return quote(str(arguments[names[0]]), safe="")
        passed = {name: arguments[name] for name in names if name in arguments}
        return f"?{urlencode(passed)}" if passed else ""

    async def read(arguments: Arguments) -> object:
        uri = PARAMETER.sub(lambda match: fill(match, arguments), pattern)
        return await client.read_resource(uri)

    return Component(pattern, read, tuple(required), tuple(optional))


def _from_prompt(client: Any, prompt: Any) -> Component:
    required: list[str] = []
    optional: list[str] = []
    for parameter in prompt.arguments or ():
        names = required if parameter.required else optional
        names.append(parameter.name)

    async def read(arguments: Arguments) -> object:
        texts = {name: str(value) for name, value in arguments.items()}
        return await client.get_prompt(prompt.name, texts)

    name = f"prompt {prompt.name}"
    return Component(name, read, tuple(required), tuple(optional))


class ComponentProof:
    """Reads each component between snapshots, on the data that the probes of all tools arrange."""

    def __init__(self, suite: Suite) -> None:
        """Take what the author excludes."""
        self.suite = suite
        self.module: Any = suite.find_probe_module(PROBE)
        self.unprobed: dict[str, str] = getattr(self.module, "unprobed", {})
        self.outside: dict[str, str] = getattr(self.module, "outside", {})
        self.effects: dict[str, str] = getattr(self.module, "effects", {})

    async def find_problems(self, client: Any) -> list[str]:
        """Read every component; return what each changed, a line each."""
        problems = []
        for component in await list_components(client):
            if component.name in self.unprobed:
                reason = self.unprobed[component.name]
                self.suite.note(f"{component.name} is unprobed: {reason}")
            elif problem := await self._prove(component):
                line = problem.format(self.suite.tables)
                problems.append(f"{component.name}: {line}")
        return problems

    async def _prove(self, component: Component) -> Problem | None:
        """Read one component with several arguments; return the first thing that it changed, or nothing."""
        _, known = await self._prepare()
        for title, arguments in component.list_variants(known).items():
            problem = await self._find_problem(component, title, arguments)
            if problem is not None:
                return replace(problem, text=f"{title}{problem.text}")
        return None

    async def _prepare(self) -> tuple[Backend, Arguments]:
        """Return a backend with all data that can be arranged at once, and the arguments that name it."""
        backend = self.suite.project.connect()
        arguments: Arguments = {}
        for arrange in self._list_arrangements():
            with contextlib.suppress(Exception):  # a broken probe fails its own test
                for case in list_cases(await arrange(backend.client)):
                    arguments = {**case.arguments, **arguments}
        backend.begin("")
        return backend, arguments

    def _list_arrangements(self) -> Iterator[Callable[..., Awaitable[Any]]]:
        for tool in self.suite.proven_tools:
            module = self.suite.find_probe_module(f"test_{tool.name}")
            arrange = getattr(module, "arrange", None)
            if arrange is not None:
                yield arrange

    async def _snapshot(self, backend: Backend) -> Any:
        data = to_json_data(await backend.snapshot())
        inside = {}
        for key, value in data.items():
            if key.partition("/")[0] not in self.outside:
                inside[key] = value
        return inside

    async def _find_problem(
        self, component: Component, title: str, arguments: Arguments
    ) -> Problem | None:
        """Read one component; return what it changed, or nothing."""
        try:
            backend, _ = await self._prepare()
            before = await self._snapshot(backend)
        except NotImplementedError as error:
            self.suite.note(f"{component.name} is not proven: {error}")
            return None
        observation = Observation(self.suite, component.name, READ, self.effects)
        leftovers = Leftovers(self.suite.project.source)
        try:
            with observation.call(), self.suite.noting_warnings(component.name):
                await component.read(arguments)
        except MCPError as error:
            if not title:  # another value may be refused
                text = (
                    f"{component.name} could not be read with sample arguments: {error}"
                )
                self.suite.note(text)
        await leftovers.wait()
        observation.end_call()
        after = await self._snapshot(backend)
        if not is_same(before, after):
            places = find_changed_places(before, after)
            text = f"reading it changed {places}"
            return Problem("read-only-proven", text, REMEDY)
        sent = backend.find_unproven(read_only=True, idempotent=False)
        if sent:
            return Problem("read-only-proven", sent)
        return observation.find_problem()
