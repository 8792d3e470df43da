"""The `metadata` commands: look at and change the texts that models see."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import yaml
from cyclopts import App, Parameter
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from ..audit_log import lock_file
from ..errors import CouldNotError, StartError
from ..policy import Policy
from ..project import Project
from ..tools import run_now
from . import overrides as metadata
from .overrides import MOST_BYTES, SECTIONS, Overrides, Texts, merged, parse, read_text

Name = Annotated[
    str, Parameter(help="A tool, or the URI of a resource or resource template.")
]
Field = Annotated[
    str, Parameter(help="E.g. title, description, arguments.NAME, icons or enabled.")
]
Words = Annotated[str, Parameter(help="The text.", allow_leading_hyphen=True)]
Server = Annotated[
    str, Parameter(["--server", "--url"], help="A command or an address.")
]
PATIENCE = 30  # seconds for a server to start and to answer
HEAD = "# docs/metadata.md explains this file. Keep secrets out: clients can read it.\nversion: 1\n"


def _pruned(data: Mapping[str, Any]) -> dict[str, Any]:
    """Data without what is empty: mappings, and texts that the code does not have."""
    kept = {
        key: _pruned(it) if isinstance(it, dict) else it for key, it in data.items()
    }
    return {key: it for key, it in kept.items() if it not in ({}, None)}


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(_pruned(data), sort_keys=False, allow_unicode=True, width=100)


def _end(text: str, node: Any) -> int:
    """Where the last thing in a node ends (a block's own end mark lies behind the comments)."""
    while not (isinstance(node, yaml.ScalarNode) or node.flow_style):
        node = (
            node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
        )
    return len(text[: node.end_mark.index].rstrip())


def _spliced(text: str, keys: list[str], wanted: Any) -> str:
    """The text with what is wanted at a path of keys; every other line stays as it is."""
    node: Any = yaml.compose(text, yaml.SafeLoader)
    way: list[
        Any
    ] = []  # through block mappings: how many keys each has, and the one to follow
    for name in keys:
        pairs = (
            node.value
            if isinstance(node, yaml.MappingNode) and not node.flow_style
            else []
        )
        if not (pair := next((pair for pair in pairs if pair[0].value == name), None)):
            break
        way.append((len(pairs), *pair))
        node, wanted = pair[1], wanted.get(name)
    if wanted is None:  # with the lines of keys that this leaves empty
        for n, (count, key, value) in enumerate(reversed(way)):
            end = text.find("\n", key.end_mark.index if n else _end(text, value)) + 1
            text = (
                text[: text.rfind("\n", 0, key.start_mark.index) + 1]
                + text[end or len(text) :]
            )
            if count > 1:
                break
        return text
    if len(way) == len(keys) or getattr(node, "flow_style", False):
        start, end = node.start_mark.index, _end(text, node)
        if not isinstance(node, yaml.ScalarNode) and re.search(
            "#.*\n", text[start:end]
        ):
            return text  # there may be a comment in it
        block = " " * (isinstance(node, yaml.SequenceNode) and not node.flow_style)
        return (
            text[:start] + block + json.dumps(wanted, ensure_ascii=False) + text[end:]
        )
    at, indent = (
        (_end(text, node), node.start_mark.column) if way else (len(text) - 1, 0)
    )
    at, key = text.find("\n", at) + 1, keys[len(way)]
    return (
        text[:at] + textwrap.indent(_yaml({key: wanted[key]}), " " * indent) + text[at:]
    )


def _save(
    policy: Policy, path: Path, edit: Callable[[str | None], str], texts: Texts
) -> None:
    """Write what `edit` makes of a file (None: there is none), whole or not at all, and say so.

    Its folder is locked, so that commands wait for each other and a kill leaves nothing behind; what other programs
    change meanwhile is seen. StartError: the server or the disk refuses it.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as opened:
            if os.name == "posix":
                opened.callback(os.close, folder := os.open(target.parent, os.O_RDONLY))
                lock_file(folder, 60)
            text = edit(before := read_text(path))
            metadata.check(policy, path, parse(path, text), texts)
            if len(text.encode()) > MOST_BYTES:
                raise StartError(
                    f"{path} would exceed {MOST_BYTES} bytes; nothing was changed"
                )
            if text == before:
                print(f"{path} is unchanged")
                return
            if read_text(path) != before:
                raise StartError(
                    f"{path} was changed in the meantime; nothing was changed"
                )
            handle, draft = tempfile.mkstemp(prefix=".metadata-", dir=target.parent)
            opened.callback(Path(draft).unlink, missing_ok=True)
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(handle)
            Path(draft).replace(target)
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}; nothing was changed") from error
    print(f"{path} is saved. Restart the server for the change to take effect.")


async def _asked(server: str, config: Mapping[str, Any]) -> Texts:
    """What a server answers that it has, with the tools that the file takes off the wire."""
    off = {
        n: it
        for n, it in config.get("tools", {}).items()
        if not it.get("enabled", True)
    }
    try:
        program, *words = shlex.split(server)
        stdio = StdioTransport(program, words, dict(os.environ))
        asked = Client[Any](server if "://" in program else stdio)
        async with asyncio.timeout(PATIENCE), asked as client:
            listed = await client.list_tools()
            tools = {
                t.name: {"arguments": t.input_schema.get("properties", {})}
                for t in listed
            }
            uris: Texts = {
                "resources": {str(r.uri): {} for r in await client.list_resources()}
            }
            found = await client.list_resource_templates()
            uris["resource_templates"] = {t.uri_template: {} for t in found}
            return uris | {"tools": off | tools}
    except TimeoutError as error:
        raise CouldNotError(
            f"{server} does not answer within {PATIENCE} seconds"
        ) from error
    except Exception as error:
        raise CouldNotError(
            f"{server} does not answer: {' '.join(str(error).split())}"
        ) from error


class MetadataCommands:
    """The commands of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.policy = project.policy

    def _texts(self) -> tuple[Texts, Texts]:
        """The texts of the code, and the same with what the packaged file lays over them."""
        overrides = next(
            t
            for t in self.project.shipped_server().transforms
            if isinstance(t, Overrides)
        )
        return overrides.texts, merged(overrides.texts, overrides.layered)

    def _path(self) -> Path:
        own = metadata.user_file(self.policy, self.project.settings().metadata)
        return own or sys.exit("metadata is set to none: you have no file")

    def path(self) -> None:
        """Print where your own metadata file is, or would be."""
        print(self._path())

    def _change(self, name: str, field: str | None, value: object) -> None:
        """Set one field, or remove it (None; without a field: everything under the name)."""
        own, texts = self._path(), self._texts()[0]

        def edited(raw: str | None) -> str:
            text = (raw or HEAD).replace("\r\n", "\n").removesuffix("\n") + "\n"
            wanted = spot = parse(own, text)
            homes = [
                s
                for s, items in texts.items()
                if name in items or name in wanted.get(s, {})
            ]
            if not homes:
                near = metadata.mend(
                    name, chain(*texts.values()), metadata.all_names(self.policy)
                )
                sys.exit(f"no tool or resource is called {name!r}; {near}")
            keys = [homes[0], name, *([field] if field else [])]
            if field and field.startswith("arguments."):
                argument = field.removeprefix("arguments.").removesuffix(".description")
                keys[2:] = ["arguments", argument, "description"]
            for key in keys[:-1]:
                spot = spot.setdefault(key, {})
            if value is not None:
                spot[keys[-1]] = value
            elif spot.pop(keys[-1], None) is None:
                sys.exit(f"{own} does not override {'.'.join(keys[1:])}")
            text = _spliced(text, keys, wanted)
            if _pruned(parse(own, text)) != _pruned(wanted):
                sys.exit(
                    f"{own}: only `{self.policy.server_name} metadata edit` can change such a layout"
                )
            return text.replace("\n", "\r\n") if raw and "\r\n" in raw else text

        _save(self.policy, own, edited, texts)

    def init(self) -> None:
        """Write a metadata file of your own that holds commented examples."""
        own, (texts, every) = self._path(), self._texts()
        if read_text(own) is not None:
            sys.exit(
                f"{own} already exists; change it with `{self.policy.server_name} metadata edit`"
            )
        first = {
            section: dict(islice(items.items(), 1)) for section, items in every.items()
        }
        _save(
            self.policy,
            own,
            lambda _: HEAD + textwrap.indent(_yaml(first), "# "),
            texts,
        )

    def edit(self) -> None:
        """Open your file in $VISUAL or $EDITOR; what the server would refuse is not saved."""
        own, texts = self._path(), self._texts()[0]
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        before = read_text(own)
        draft = Path(tempfile.mkdtemp(prefix="metadata-")) / "metadata.yaml"
        draft.write_text(
            HEAD if before is None else before, encoding="utf-8", newline=""
        )

        def edited(now: str | None) -> str:
            if now != before:
                sys.exit(f"{own} was changed in the meantime; your text is in {draft}")
            return read_text(draft, trusted=True) or ""

        while True:
            try:
                subprocess.run([*shlex.split(editor), str(draft)], check=True)
                _save(self.policy, own, edited, texts)
                return shutil.rmtree(draft.parent)
            except StartError as error:
                print(error)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                print(f"the editor {editor!r}, of VISUAL or EDITOR: {error}")
            if sys.stdin.isatty():
                print("Open it again? [Y/n] ", end="", flush=True)
            if not sys.stdin.isatty() or next(sys.stdin, "n").lower().startswith("n"):
                sys.exit(f"{own} is unchanged; your text is in {draft}")

    def list_(self, name: Name | None = None) -> None:
        """Show every override, or those of one tool or resource, file by file."""
        listed = ""
        for file, config in metadata.layers(
            self.policy, self.project.settings().metadata
        ):
            texts = {
                section: (config or {}).get(section, {})
                for section in SECTIONS.values()
            }
            if name:
                texts = {
                    section: {name: items.get(name)} for section, items in texts.items()
                }
            listed += f"# {file}\n{_yaml(texts)}" if _pruned(texts) else ""
        if name and not listed:
            sys.exit(f"nothing overrides {name!r}")
        print(listed or "nothing is overridden\n", end="")

    def set_(self, name: Name, field: Field, value: Words) -> None:
        """Set one text in your file; an empty one clears it. Comments and order stay."""
        typed = {
            "icons": value.split(),
            "enabled": {"true": True, "false": False}.get(value, value),
        }
        self._change(name, field, typed.get(field, value))

    def unset(self, name: Name, field: Field | None = None) -> None:
        """Remove one text, or everything under a name, from your file."""
        self._change(name, field, None)

    def validate(self, *, server: Server = "") -> None:
        """Check your file against this server, or against one that runs or is started over stdio."""
        own = self._path()
        config = dict(metadata.layers(self.policy, own))[own]
        if config is None:
            return print(f"{own} does not exist, so it overrides nothing")
        texts = run_now(_asked(server, config)) if server else self._texts()[0]
        problems = [*metadata.amiss(config, texts)]
        for problem, name, known in problems:
            print(
                f"{own}: {problem}"
                + (
                    ""
                    if known is None
                    else f"; {metadata.mend(name, known, metadata.all_names(self.policy))}"
                )
            )
        if not problems:
            print(f"{own} is valid")
        sys.exit(
            config.get("strict", True)
            and any(known is not None for *_, known in problems)
        )

    def export(self) -> None:
        """Print every text as a metadata file to start from."""
        print(_yaml({"version": 1, "strict": True, **self._texts()[1]}), end="")


def make_app(project: Project) -> App:
    """Return the `metadata` commands of a project."""
    commands = MetadataCommands(project)
    app = App(name="metadata", help="Look at and change the texts that models see.")
    app.command(commands.path)
    app.command(commands.init)
    app.command(commands.edit)
    app.command(commands.list_, name=["list", "show"])
    app.command(commands.set_, name="set")
    app.command(commands.unset)
    app.command(commands.validate)
    app.command(commands.export)
    return app
