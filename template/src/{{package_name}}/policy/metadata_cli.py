"""The `metadata` commands: look at and change the texts that models see. Managed by the template."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import yaml
from cyclopts import App, Parameter
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.tools import Tool

from ..server import shipped_server
from ..settings import Settings
from .metadata import SECTIONS, Item, Known, Overrides, mend, merged, unknown
from .metadata_edit import changed, pruned, save
from .metadata_file import MetadataConfig, layers, parse, read_text, user_file
from .registry import StartError, run_now
from .settings import SERVER_NAME

TOOL = "title, description, arguments.NAME, icons (with blanks between them) or enabled"
OTHER = "name, description, use_when or example"
Name = Annotated[str, Parameter(help="A tool, or the URI of a resource or resource template.")]
Field = Annotated[str, Parameter(help=f"For a tool: {TOOL}. Otherwise: {OTHER}.")]
Words = Annotated[str, Parameter(help="The text.", allow_leading_hyphen=True)]
app = App(name="metadata", help="Look at and change the texts that models see.")
HEAD = """\
# Texts that models see, laid over those of the code; docs/metadata.md explains the fields.
# Keep secrets out of this file: every client of the server can read these texts.
version: 1
# strict: false  # warn about names that the server does not have, instead of refusing to start
"""


def _overrides() -> Overrides:
    """What this server has, and what the packaged file lays over it."""
    return next(t for t in shipped_server().transforms if isinstance(t, Overrides))


def _path() -> Path:
    path = user_file(Settings().metadata)
    return path or sys.exit("the setting metadata is none, so there is no file of your own")


def _texts(item: Item) -> dict[str, Any]:
    if not isinstance(item, Tool):
        return {"name": item.name, "description": item.description}
    schemas = item.parameters.get("properties", {}).items()
    arguments = {name: {"description": schema.get("description")} for name, schema in schemas}
    return {"title": item.title, "description": item.description, "arguments": arguments}


def _all_texts(overrides: Overrides) -> dict[str, Any]:
    """The texts of the code and the packaged file, in the form of a metadata file."""
    registered = overrides.registered.items()
    code = {s: {name: _texts(item) for name, item in items.items()} for s, items in registered}
    return merged(code, overrides.config.model_dump(exclude_unset=True))


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(pruned(data), sort_keys=False, allow_unicode=True, width=100)


def _change(name: str, field: str | None, value: str | None) -> None:
    """Set one field, or remove it (without a field: everything under the name)."""
    path, known = _path(), _overrides().known
    raw = read_text(path)
    text = HEAD if raw is None else raw.replace("\r\n", "\n")
    config = parse(path, text)
    homes = [s for s in known if name in known[s] or name in getattr(config, s)]
    if not homes:
        every = [n for items in known.values() for n in items]
        sys.exit(f"no tool or resource is called {name!r}; {mend(name, every)}")
    keys = [homes[0], name, *([field] if field else [])]
    if field and field.startswith("arguments."):
        argument = field.removeprefix("arguments.").removesuffix(".description")
        keys[2:] = ["arguments", argument, "description"]
    typed: Any = {"true": True, "false": False}.get(value, value) if field == "enabled" else value
    new = changed(path, text, keys, typed.split() if typed and field == "icons" else typed)
    save(path, new.replace("\n", "\r\n") if raw and "\r\n" in raw else new, known)


@app.command
def path() -> None:
    """Print where your own metadata file is, or would be."""
    print(_path())


@app.command
def init() -> None:
    """Write a metadata file of your own that holds commented examples."""
    path, overrides = _path(), _overrides()
    if path.exists():
        sys.exit(f"{path} already exists; change it with `{SERVER_NAME} metadata edit`")
    first = {key: dict(islice(items.items(), 1)) for key, items in _all_texts(overrides).items()}
    example = "".join(f"# {line}\n" for line in _yaml(first).splitlines())
    save(path, HEAD + example, overrides.known)
    print("Keep secrets out of it: every client of the server can read these texts.")


@app.command
def edit() -> None:
    """Open your file in $VISUAL or $EDITOR; what the server would refuse is not saved."""
    path, known = _path(), _overrides().known
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or shutil.which("vi")
    if not editor:
        sys.exit("no editor found; set VISUAL or EDITOR, e.g. EDITOR=nano")
    before = read_text(path)
    draft = Path(tempfile.mkdtemp(prefix="metadata-")) / "metadata.yaml"
    draft.write_text(HEAD if before is None else before, encoding="utf-8", newline="")
    while True:
        if subprocess.run([*shlex.split(editor), str(draft)], check=False).returncode:
            sys.exit(f"{editor} failed; {path} is unchanged, your text is in {draft}")
        try:
            text = read_text(draft, trusted=True) or ""
            if read_text(path) != before:
                sys.exit(f"{path} was changed in the meantime; your text is in {draft}")
            save(path, text, known)
            return shutil.rmtree(draft.parent)
        except StartError as error:
            print(error)
            if not sys.stdin.isatty() or input("Open it again? [Y/n] ").lower().startswith("n"):
                sys.exit(f"{path} is unchanged, your text is in {draft}")


@app.command(name=["list", "show"])
def list_(name: Name | None = None) -> None:
    """Show every override, or those of one tool or resource, file by file."""
    shown = []
    for path, config in layers(Settings().metadata):
        texts = (
            config.model_dump(exclude_unset=True, include={*SECTIONS.values()}) if config else {}
        )
        if name:
            texts = {s: {name: items[name]} for s, items in texts.items() if name in items}
        shown += [f"# {path}\n{_yaml(texts)}"] if any(texts.values()) else []
    what = f"nothing overrides {name!r}" if name else "nothing is overridden"
    print("\n".join(shown) or f"{what}\n", end="")


@app.command(name="set")
def set_(name: Name, field: Field, value: Words) -> None:
    """Set one text in your file; an empty one clears it. Comments and order stay."""
    _change(name, field, value)


@app.command
def unset(name: Name, field: Field | None = None) -> None:
    """Remove one text, or everything under a name, from your file."""
    _change(name, field, None)


@app.command
def validate(*, url: str | None = None, server: str | None = None) -> None:
    """Check your file against this server, or against a running one.

    Args:
        url: The address of a running server, e.g. http://127.0.0.1:8000/mcp.
        server: The command line of a server to start and ask over stdio.
    """
    path = _path()
    config = dict(layers(path))[path]
    if config is None:
        return print(f"{path} does not exist, so it overrides nothing")
    known = run_now(_running(url, server or "", config)) if url or server else _overrides().known
    lines = [f"{path}: {what}; {mend(n, names)}" for what, n, names in unknown(config, known)]
    print("\n".join(lines) or f"{path} is valid")
    sys.exit(bool(lines and config.strict))


async def _running(url: str | None, server: str, config: MetadataConfig) -> Known:
    """What a running server has; a tool that the file takes off the wire counts as there."""
    program, *words = shlex.split(server) or [""]
    target: Any = url or StdioTransport(program, words, dict(os.environ))
    try:
        async with Client(target) as client:
            tools = {
                t.name: t.input_schema.get("properties", {}) for t in await client.list_tools()
            }
            resources = {str(r.uri): () for r in await client.list_resources()}
            templates = {t.uri_template: () for t in await client.list_resource_templates()}
    except Exception as error:
        why = " ".join(str(error).split())
        raise StartError(f"{url or server} does not answer: {why}") from error
    off = {name: tool.arguments for name, tool in config.tools.items() if not tool.enabled}
    return {"tools": off | tools, "resources": resources, "resource_templates": templates}


@app.command
def export() -> None:
    """Print every text as a metadata file to start from."""
    print(_yaml({"version": 1, "strict": True, **_all_texts(_overrides())}), end="")
