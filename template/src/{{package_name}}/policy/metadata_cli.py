"""The `metadata` commands: look at and change the texts that models see. Managed by the template."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from ..server import shipped_server
from ..settings import Settings
from .errors import StartError
from .metadata import SECTIONS, Overrides, Texts, mend, merged, unknown
from .metadata_edit import as_yaml, changed, pruned, save
from .metadata_file import MetadataConfig, layers, parse, read_text, user_file
from .serving import run_now
from .settings import SERVER_NAME

FIELDS = "title, description, arguments.NAME, icons (with spaces between them) or enabled"
Name = Annotated[str, Parameter(help="A tool, or the URI of a resource or resource template.")]
Field = Annotated[str, Parameter(help=f"{FIELDS}; or name, use_when or example.")]
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


@app.command
def path() -> Path:
    """Print where your own metadata file is, or would be."""
    own = user_file(Settings().metadata)
    return own or sys.exit("the setting metadata is none, so there is no file of your own")


def _all_texts(overrides: Overrides) -> dict[str, Any]:
    """The texts of the code and the packaged file, in the form of a metadata file."""
    return merged(overrides.texts, overrides.config.model_dump(exclude_unset=True))


def _change(name: str, field: str | None, value: str | None) -> None:
    """Set one field, or remove it (without a field: everything under the name)."""
    own, texts = path(), _overrides().texts
    raw = read_text(own)
    text = HEAD if raw is None else raw.replace("\r\n", "\n")
    config = parse(own, text)
    homes = [s for s, items in texts.items() if name in items or name in getattr(config, s)]
    if not homes:
        sys.exit(f"no tool or resource is called {name!r}; {mend(name, chain(*texts.values()))}")
    keys = [homes[0], name, *([field] if field else [])]
    if field and field.startswith("arguments."):
        argument = field.removeprefix("arguments.").removesuffix(".description")
        keys[2:] = ["arguments", argument, "description"]
    typed: Any = {"true": True, "false": False}.get(value, value) if field == "enabled" else value
    new = changed(
        own, text, keys, typed.split() if field == "icons" and typed is not None else typed
    )
    save(own, new.replace("\n", "\r\n") if raw and "\r\n" in raw else new, texts)


@app.command
def init() -> None:
    """Write a metadata file of your own that holds commented examples."""
    own, overrides = path(), _overrides()
    if own.exists():
        sys.exit(f"{own} already exists; change it with `{SERVER_NAME} metadata edit`")
    first = {key: dict(islice(items.items(), 1)) for key, items in _all_texts(overrides).items()}
    example = "".join(f"# {line}\n" for line in as_yaml(first).splitlines())
    save(own, HEAD + example, overrides.texts)
    print("Keep secrets out of it: every client of the server can read these texts.")


@app.command
def edit() -> None:
    """Open your file in $VISUAL or $EDITOR; what the server would refuse is not saved."""
    own, texts = path(), _overrides().texts
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or shutil.which("vi")
    if not editor:
        sys.exit("no editor found; set VISUAL or EDITOR, e.g. EDITOR=nano")
    before = read_text(own)
    draft = Path(tempfile.mkdtemp(prefix="metadata-")) / "metadata.yaml"
    draft.write_text(HEAD if before is None else before, encoding="utf-8", newline="")
    while True:
        if subprocess.run([*shlex.split(editor), str(draft)], check=False).returncode:
            sys.exit(f"{editor} failed; {own} is unchanged and your text is in {draft}")
        try:
            text = read_text(draft, trusted=True) or ""
            if read_text(own) != before:
                sys.exit(f"{own} was changed in the meantime; your text is in {draft}")
            save(own, text, texts)
            return shutil.rmtree(draft.parent)
        except StartError as error:
            print(error)
            if not sys.stdin.isatty() or input("Open it again? [Y/n] ").lower().startswith("n"):
                sys.exit(f"{own} is unchanged and your text is in {draft}")


@app.command(name=["list", "show"])
def list_(name: Name | None = None) -> None:
    """Show every override, or those of one tool or resource, file by file."""
    listed = ""
    for file, config in layers(Settings().metadata):
        texts = (config or MetadataConfig()).model_dump(include=SECTIONS, exclude_unset=True)
        if name:
            texts = {s: {name: items[name]} for s, items in texts.items() if name in items}
        listed += f"# {file}\n{as_yaml(texts)}" if pruned(texts) else ""
    print(
        listed or (f"nothing overrides {name!r}\n" if name else "nothing is overridden\n"), end=""
    )


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
    own = path()
    config = dict(layers(own))[own]
    if config is None:
        return print(f"{own} does not exist, so it overrides nothing")
    texts = run_now(_running(url, server or "", config)) if url or server else _overrides().texts
    lines = [f"{own}: {what}; {mend(n, names)}" for what, n, names in unknown(config, texts)]
    print("\n".join(lines) or f"{own} is valid")
    sys.exit(bool(lines and config.strict))


async def _running(url: str | None, server: str, config: MetadataConfig) -> Texts:
    """What a running server has; a tool that the file takes off the wire counts as there."""
    program, *words = shlex.split(server) or [""]
    target: Any = url or StdioTransport(program, words, dict(os.environ))
    tools = {n: {"arguments": t.arguments} for n, t in config.tools.items() if not t.enabled}
    try:
        async with Client(target) as client:
            for tool in await client.list_tools():
                tools[tool.name] = {"arguments": tool.input_schema.get("properties", {})}
            resources = {str(item.uri): {} for item in await client.list_resources()}
            templates = {item.uri_template: {} for item in await client.list_resource_templates()}
    except Exception as error:
        why = " ".join(str(error).split())
        raise StartError(f"{url or server} does not answer: {why}") from error
    return {"tools": tools, "resources": resources, "resource_templates": templates}


@app.command
def export() -> None:
    """Print every text as a metadata file to start from."""
    print(as_yaml({"version": 1, "strict": True, **_all_texts(_overrides())}), end="")
