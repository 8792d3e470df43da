"""The `metadata` commands: look at and change the texts that models see."""

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from ..audit_log import lock_file
from ..errors import CouldNotError, StartError
from ..policy import Policy
from ..project import Project
from ..tools import run_now
from . import overrides as metadata
from .editing import format_yaml, prune, write_value
from .overrides import (
    MOST_BYTES,
    SECTIONS,
    Overrides,
    Texts,
    merge_layers,
    parse,
    read_text,
)

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


class MetadataFile:
    """A metadata file that is changed whole or not at all.

    Args:
        policy: The policy of its server.
        path: Where it is.
        texts: The texts of the server's code.
    """

    def __init__(self, policy: Policy, path: Path, texts: Texts) -> None:
        self._policy = policy
        self._path = path
        self._texts = texts

    def save(self, edit: Callable[[str | None], str]) -> None:
        """Write what `edit` makes of the file (None: there is none), and print what was done.

        Its folder is locked, so that commands wait for each other and a kill leaves nothing behind; what other programs
        change meanwhile is detected.

        Raises:
            StartError: The server or the disk refuses it.
        """
        folder = Path(os.path.realpath(self._path)).parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(folder):
                self._save_locked(edit)
        except OSError as error:
            raise StartError(
                f"{self._path}: {error.strerror}; nothing was changed"
            ) from error

    def _save_locked(self, edit: Callable[[str | None], str]) -> None:
        before = read_text(self._path)
        text = edit(before)
        config = parse(self._path, text)
        metadata.check(self._policy, self._path, config, self._texts)
        if len(text.encode()) > MOST_BYTES:
            raise StartError(
                f"{self._path} would exceed {MOST_BYTES} bytes; nothing was changed"
            )
        if text == before:
            print(f"{self._path} is unchanged")
            return
        if read_text(self._path) != before:
            raise StartError(
                f"{self._path} was changed in the meantime; nothing was changed"
            )
        _replace_file(Path(os.path.realpath(self._path)), text)
        print(
            f"{self._path} is saved. Restart the server for the change to take effect."
        )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder, where the system can."""
    if os.name != "posix":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        lock_file(descriptor, 60)
        yield
    finally:
        os.close(descriptor)


def _replace_file(target: Path, text: str) -> None:
    """Replace a file's text in one step."""
    descriptor, draft = tempfile.mkstemp(prefix=".metadata-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        Path(draft).replace(target)
    finally:
        Path(draft).unlink(missing_ok=True)


async def _fetch_texts(server: str, config: Mapping[str, Any]) -> Texts:
    """Return what a running server has, with the tools that the file disables.

    Args:
        server: Its address, or the command that starts it.
        config: The content of the metadata file.

    Raises:
        CouldNotError: It does not answer.
    """
    texts: Texts = {
        "tools": {},
        "resources": {},
        "resource_templates": {},
    }
    for name, override in config.get("tools", {}).items():
        if not override.get("enabled", True):
            texts["tools"][name] = override
    try:
        transport: Any = server
        if "://" not in server:
            program, *arguments = shlex.split(server)
            transport = StdioTransport(program, arguments, dict(os.environ))
        client = Client[Any](transport)
        async with asyncio.timeout(PATIENCE), client:
            for tool in await client.list_tools():
                properties = tool.input_schema.get("properties", {})
                texts["tools"][tool.name] = {"arguments": properties}
            for resource in await client.list_resources():
                texts["resources"][str(resource.uri)] = {}
            for template in await client.list_resource_templates():
                texts["resource_templates"][template.uri_template] = {}
    except TimeoutError as error:
        raise CouldNotError(
            f"{server} does not answer within {PATIENCE} seconds"
        ) from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CouldNotError(f"{server} does not answer: {reason}") from error
    return texts


class MetadataCommands:
    """The commands of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.policy = project.policy

    def _overrides(self) -> Overrides:
        """Return the overrides of the server without its user's own file."""
        for transform in self.project.shipped_server().transforms:
            if isinstance(transform, Overrides):
                return transform
        raise LookupError("the server has no overrides")

    def _texts(self) -> Texts:
        """Return the texts of the code."""
        return self._overrides().texts

    def _packaged_texts(self) -> Texts:
        """Return the texts of the code with what the packaged file lays over them."""
        overrides = self._overrides()
        return merge_layers(overrides.texts, overrides.layered)

    def _path(self) -> Path:
        path = metadata.user_file(self.policy, self.project.settings().metadata)
        return path or sys.exit("metadata is set to none: you have no file")

    def path(self) -> None:
        """Print where your own metadata file is, or would be."""
        print(self._path())

    def _change(self, name: str, field: str | None, value: object) -> None:
        """Set one field, or remove it (None; without a field: everything under the name)."""
        path = self._path()
        texts = self._texts()

        def edit(raw: str | None) -> str:
            text = (raw or HEAD).replace("\r\n", "\n").removesuffix("\n") + "\n"
            data = parse(path, text)
            keys = self._keys_of(name, field, texts, data)
            _set_at(data, keys, value, path)
            text = write_value(text, keys, data)
            if prune(parse(path, text)) != prune(data):
                command = f"`{self.policy.server_name} metadata edit`"
                sys.exit(f"{path}: only {command} can change such a layout")
            if raw and "\r\n" in raw:
                return text.replace("\n", "\r\n")
            return text

        MetadataFile(self.policy, path, texts).save(edit)

    def _keys_of(
        self,
        name: str,
        field: str | None,
        texts: Texts,
        data: Mapping[str, Any],
    ) -> list[str]:
        """Return the path of a field in a file; the command ends where nothing has the name."""
        for section, items in texts.items():
            if name not in items and name not in data.get(section, {}):
                continue
            if field is None:
                return [section, name]
            if not field.startswith("arguments."):
                return [section, name, field]
            argument = field.removeprefix("arguments.").removesuffix(".description")
            return [section, name, "arguments", argument, "description"]
        names = chain(*texts.values())
        remedy = metadata.suggest_fix(name, names, metadata.all_names(self.policy))
        sys.exit(f"no tool or resource is named {name!r}; {remedy}")

    def init(self) -> None:
        """Write a metadata file of your own that holds commented examples."""
        path = self._path()
        if read_text(path) is not None:
            command = f"`{self.policy.server_name} metadata edit`"
            sys.exit(f"{path} already exists; change it with {command}")
        examples = {}
        for section, items in self._packaged_texts().items():
            examples[section] = dict(islice(items.items(), 1))
        text = HEAD + textwrap.indent(format_yaml(examples), "# ")
        MetadataFile(self.policy, path, self._texts()).save(lambda _: text)

    def edit(self) -> None:
        """Open your file in $VISUAL or $EDITOR; what the server would refuse is not saved."""
        path = self._path()
        file = MetadataFile(self.policy, path, self._texts())
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        before = read_text(path)
        draft = Path(tempfile.mkdtemp(prefix="metadata-")) / "metadata.yaml"
        text = HEAD if before is None else before
        draft.write_text(text, encoding="utf-8", newline="")

        def take_draft(current: str | None) -> str:
            if current != before:
                sys.exit(f"{path} was changed in the meantime; your text is in {draft}")
            return read_text(draft, trusted=True) or ""

        while True:
            try:
                subprocess.run([*shlex.split(editor), str(draft)], check=True)
                file.save(take_draft)
                shutil.rmtree(draft.parent)
                return
            except StartError as error:
                print(error)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                print(f"the editor {editor!r}, of VISUAL or EDITOR: {error}")
            if not _wants_to_go_on():
                sys.exit(f"{path} is unchanged; your text is in {draft}")

    def list_(self, name: Name | None = None) -> None:
        """Show every override, or those of one tool or resource, file by file."""
        listing = ""
        setting = self.project.settings().metadata
        for path, config in metadata.layers(self.policy, setting):
            texts = {}
            for section in SECTIONS.values():
                items = (config or {}).get(section, {})
                texts[section] = {name: items.get(name)} if name else items
            if prune(texts):
                listing += f"# {path}\n{format_yaml(texts)}"
        if name and not listing:
            sys.exit(f"nothing overrides {name!r}")
        print(listing or "nothing is overridden\n", end="")

    def set_(self, name: Name, field: Field, value: Words, /) -> None:
        """Set one text in your file; an empty one clears it. Comments and order stay."""
        parsed: object = value
        if field == "icons":
            parsed = value.split()
        elif field == "enabled" and value in ("true", "false"):
            parsed = value == "true"
        self._change(name, field, parsed)

    def unset(self, name: Name, field: Field | None = None, /) -> None:
        """Remove one text, or everything under a name, from your file."""
        self._change(name, field, None)

    def validate(self, *, server: Server = "") -> None:
        """Check your file against this server, or against one that runs or is started over stdio."""
        path = self._path()
        config = dict(metadata.layers(self.policy, path))[path]
        if config is None:
            print(f"{path} does not exist, so it overrides nothing")
            return
        texts = run_now(_fetch_texts(server, config)) if server else self._texts()
        problems = [*metadata.find_problems(config, texts)]
        for problem in problems:
            line = f"{path}: {problem.text}"
            if problem.is_unknown_name:
                everything = metadata.all_names(self.policy)
                remedy = metadata.suggest_fix(
                    problem.name, problem.known_names, everything
                )
                line += f"; {remedy}"
            print(line)
        if not problems:
            print(f"{path} is valid")
        is_strict = config.get("strict", True)
        sys.exit(is_strict and any(problem.is_unknown_name for problem in problems))

    def export(self) -> None:
        """Print every text as a metadata file to start from."""
        data = {"version": 1, "strict": True, **self._packaged_texts()}
        print(format_yaml(data), end="")


def _set_at(
    data: dict[str, Any],
    keys: Sequence[str],
    value: object,
    path: Path,
) -> None:
    """Set a value at a path of keys, or remove it (None); the command ends where there is none to remove."""
    *parents, last = keys
    parent = data
    for key in parents:
        parent = parent.setdefault(key, {})
    if value is not None:
        parent[last] = value
    elif parent.pop(last, None) is None:
        sys.exit(f"{path} does not override {'.'.join(keys[1:])}")


def _wants_to_go_on() -> bool:
    """Ask whether to open the editor again; no without a terminal."""
    if not sys.stdin.isatty():
        return False
    print("Open it again? [Y/n] ", end="", flush=True)
    return not next(sys.stdin, "n").lower().startswith("n")


def make_app(project: Project) -> App:
    """Return the `metadata` commands of a project."""
    commands = MetadataCommands(project)
    app = App(name="metadata", help="Show and change model-facing texts.")
    app.command(commands.path)
    app.command(commands.init)
    app.command(commands.edit)
    app.command(commands.list_, name=["list", "show"])
    app.command(commands.set_, name="set")
    app.command(commands.unset)
    app.command(commands.validate)
    app.command(commands.export)
    return app
