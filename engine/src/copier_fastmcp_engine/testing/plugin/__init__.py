"""The pytest plugin of the policy suite: what the tests in tests/policy share.

It imports nothing of the project and nothing of the engine's run-time half before tests/policy is collected: pytest
loads it first, and coverage is measured from then on. Hooks and fixtures hold for the files of tests/policy only.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from ..opening import open_project
from ..project import is_start_error
from .completeness import ERAS, NOTE, OPTION, PROOF, Completeness

if TYPE_CHECKING:
    from ..rules import Tool
    from .suite import Suite

FOLDER = Path("tests/policy")
# Of two tests only one is collected, whose name tells a reader what the lock holds
MARKED = "test_only_the_pinned_tools_are_marked_destructive"
UNMARKED = "test_no_tool_currently_marked_destructive"
Call = Callable[..., Awaitable[dict[str, Any]]]
_suite_key = pytest.StashKey["Suite"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings that name the project."""
    parser.addini(
        "copier_fastmcp_policy",
        "the package of the server's policy, as in notes_mcp.policy",
    )
    parser.addini(
        "copier_fastmcp_serves",
        "MODULE:NAME of an adopted server, or of what makes it; - where that is not known",
    )
    parser.addoption(
        OPTION,
        action="store_true",
        help="fail unless every proof that annotations.lock.json records has run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the marks that the tests use."""
    config.addinivalue_line(
        "markers", "oauth: the six tests of the progressive consent flow"
    )


def _is_ours(config: pytest.Config, path: Path) -> bool:
    return path.parent == config.rootpath / FOLDER


def get_suite(config: pytest.Config, tests_package: str) -> "Suite":
    """Return the suite of this run, made when it is first asked for; a server that does not start ends the run."""
    if _suite_key not in config.stash:
        from .suite import Suite

        location = config.getini("copier_fastmcp_serves") or None
        policy = config.getini("copier_fastmcp_policy")
        try:
            suite = Suite(
                open_project(config.rootpath, policy, location), tests_package
            )
        except Exception as error:
            if not is_start_error(error):
                raise
            _end_with(config, str(error))
        config.stash[_suite_key] = suite
    return config.stash[_suite_key]


class _NoServerError(pytest.exit.Exception, KeyboardInterrupt):  # type: ignore[misc, name-defined]
    """Ends the run from a collector too, where pytest lets only interrupts through."""


def _end_with(config: pytest.Config, line: str) -> NoReturn:
    """End the run with one line: pytest's own report would add to it, or be a traceback."""
    if reporter := config.pluginmanager.getplugin("terminalreporter"):
        config.pluginmanager.unregister(reporter)
    # Printed when pytest no longer captures anything
    config.add_cleanup(lambda: print(line, file=sys.stderr))
    raise _NoServerError(line, returncode=1)  # type: ignore[call-arg]


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str
) -> list[pytest.Item] | None:
    """Leave out the one of two tests whose name is not true of the lock."""
    if name not in (MARKED, UNMARKED) or not _is_ours(collector.config, collector.path):
        return None
    module = collector.getparent(pytest.Module)
    assert module is not None
    suite = get_suite(collector.config, module.obj.__package__)
    return None if (name == MARKED) == bool(suite.pinned_destructive) else []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each `tool`, `proven_tool` or `rule` that it takes."""
    if not _is_ours(metafunc.config, metafunc.definition.path):
        return
    names = {"tool", "proven_tool", "rule", "suite"}.intersection(metafunc.fixturenames)
    if not names:
        return
    suite = get_suite(metafunc.config, metafunc.module.__package__)
    if "tool" in names:
        metafunc.parametrize("tool", suite.tools, ids=lambda tool: tool.name)
    if "proven_tool" in names:
        metafunc.parametrize(
            "proven_tool", suite.proven_tools, ids=lambda tool: tool.name
        )
    if "rule" in names:
        metafunc.parametrize("rule", suite.other_rules)


@pytest.fixture(scope="session")
def suite(request: pytest.FixtureRequest) -> "Suite":
    """The server under test: its tools, findings, pins and clients."""
    return request.config.stash[_suite_key]


@pytest.fixture(scope="module", params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """The protocol of a client: each test runs with both."""
    return str(request.param)


@pytest.fixture(scope="module")
async def call(request: pytest.FixtureRequest, era: str) -> AsyncIterator[Call]:
    """Call a tool as a client whose user agrees (or declines: `agree=False`), without the envelope."""
    suite = request.config.stash[_suite_key]
    answers = [True]
    async with suite.connect_client(suite.server, era, answers) as client:

        async def call_tool(
            name: str, arguments: dict[str, Any], *, agree: bool = True
        ) -> dict[str, Any]:
            answers[:] = [agree]
            # `confirm` answers for nobody; without it a tool may only preview
            if name in suite.gated:
                arguments = arguments | {"confirm": True}
            with suite.noting_warnings(name):
                answer = await client.call_tool(name, arguments)
            result = answer.structured_content or {}
            return (result["result"] or {}) if "outcome" in result else result

        suite.clients.append(call_tool)
        yield call_tool


@pytest.fixture
def connect_client() -> Callable[..., Any]:
    """Connect a client in memory, for which no scope hides a tool: `async with connect_client(server) as client`.

    With `scopes=["notes:read"]` it is a client over HTTP, whose token has these scopes.
    """
    from .clients import connect_client

    return connect_client


@pytest.fixture
def prove(
    request: pytest.FixtureRequest, call: Call, era: str
) -> Callable[["Tool"], Awaitable[None]]:
    """Run a tool on what its probe arranges; the cases that follow from it run in the newest protocol."""
    from .probe import Probe

    suite = request.config.stash[_suite_key]

    async def prove_tool(tool: "Tool") -> None:
        await Probe(suite, tool, call, era).prove(with_variants=era == ERAS[-1])
        if call in suite.clients:  # a fixture of a conftest may have taken its place
            suite.proofs.append(f"{tool.name} {era}")

    return prove_tool


@pytest.fixture
def check_components(suite: "Suite") -> Callable[[], Awaitable[None]]:
    """Read every resource, resource template and prompt between snapshots; the test fails where one changes something."""
    from fastmcp import Client

    from .components import ComponentProof
    from .problems import fail_with

    async def check() -> None:
        async with Client(suite.server) as client:
            problems = await ComponentProof(suite).find_problems(client)
        if problems:
            fail_with(problems)

    return check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let the clients of a test of the policy count as clients over stdio, for which no scope hides a tool."""
    if not _is_ours(item.config, item.path):
        return (yield)
    from fastmcp.server.context import reset_transport, set_transport

    token = set_transport("stdio")
    try:
        return (yield)
    finally:
        reset_transport(token)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Let a test's report carry its notes and its proof, also from another process."""
    report: Any = yield
    suite = item.config.stash.get(_suite_key, None)
    if suite is not None and call.when == "teardown":
        report.user_properties = [*report.user_properties]
        for note in suite.notes:
            report.user_properties.append((NOTE, note))
        for proof in suite.proofs:
            report.user_properties.append((PROOF, proof))
        suite.notes.clear()
        suite.proofs.clear()
    return report


def pytest_sessionstart(session: pytest.Session) -> None:
    """Collect notes and proofs from here on."""
    completeness = Completeness(session.config)
    session.config.pluginmanager.register(completeness, "copier-fastmcp-completeness")
