"""The `metadata` commands: look at and change the texts that models see. Managed by the template."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from cyclopts import App, Parameter
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.tools import Tool

from ..server import create_server, shipped_server
from ..settings import Settings
from . import metadata as m
from .errors import StartError
from .serving import run_now
from .settings import SERVER_NAME

TOOL = "title, description, arguments.NAME, icons (blanks between several) or enabled"
OTHER = "name, description, use_when or example"
Name = Annotated[str, Parameter(help="A tool, or the URI of a resource or resource template.")]
Which = Annotated[str, Parameter(help=f"Of a tool: {TOOL}. Else: {OTHER}.")]
Words = Annotated[str, Parameter(help="The text.", allow_leading_hyphen=True)]
app = App(name="metadata", help="Look at and change the texts that models see.")
HEAD = """\
# Texts that models see, laid over those of the code; docs/metadata.md explains the fields.
# No secret belongs here: every client of the server can read these texts.
version: 1
# strict: false  # warn about names that the server does not have, instead of refusing to start
"""


def _overrides(mcp: FastMCP) -> m.Overrides:
    """What a server has, and what is laid over it."""
    return next(transform for transform in mcp.transforms if isinstance(transform, m.Overrides))


def _path() -> Path:
    path = m.user_file(Settings().metadata)
    return path or sys.exit("the setting metadata is none: there is no file of your own")


def _texts(item: Any) -> dict[str, Any]:
    """The texts of the code, in the shape of a metadata file."""
    names = ("title" if isinstance(item, Tool) else "name", "description")
    texts = {name: text for name in names if (text := getattr(item, name))}
    properties = item.parameters.get("properties", {}) if isinstance(item, Tool) else {}
    arguments = {
        n: {"description": of["description"]} for n, of in properties.items() if "description" in of
    }
    return texts | ({"arguments": arguments} if arguments else {})


def _all_texts(overrides: m.Overrides) -> dict[str, Any]:
    code = {s: {n: _texts(i) for n, i in items.items()} for s, items in overrides.found.items()}
    return m.merged(code, overrides.said.model_dump(exclude_unset=True))


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(
        {k: v for k, v in data.items() if v}, sort_keys=False, allow_unicode=True, width=100
    )


def _save(path: Path, text: str, known: m.Known) -> None:
    """Write what the server would start with: the whole file, or the old one stays."""
    m.check(path, m.parse(path, text), known)
    if len(text.encode()) > m.MOST_BYTES:
        raise StartError(f"{path} would be longer than {m.MOST_BYTES} bytes; nothing was changed")
    target = path.resolve()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".metadata-", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(handle)
            Path(draft).replace(target)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}; nothing was changed") from error
    print(f"{path} is written. Restart the server for it to take effect.")


def _end(node: Any) -> int:
    """Where the last thing in a node ends (a block's own end mark lies behind the comments)."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _line_end(text: str, index: int) -> int:
    return index if text[:index].endswith("\n") else (text.find("\n", index) + 1 or len(text))


def _above(text: str, where: list[str]) -> list[tuple[Any, Any, Any]]:
    """The mappings on the way to a key as far as they are there, each with the key and value to follow."""
    node, found = yaml.compose(text, yaml.SafeLoader), list[Any]()
    for name in where:
        pairs = (
            [p for p in node.value if p[0].value == name]
            if isinstance(node, yaml.MappingNode)
            else []
        )
        if not pairs:
            return [*found, (node, None, None)]
        found.append((node, *pairs[0]))
        node = pairs[0][1]
    return found


def _set(text: str, where: list[str], value: str) -> str:
    """The text with one value set; every other line stays as it is."""
    above = _above(text, where)
    node, key, old = above[-1]
    if key:
        start, end = old.start_mark.index, _end(old)
        return text[:start] + value + "\n" * text[:end].endswith("\n") + text[end:]
    keys = [
        n if re.fullmatch("[a-z]+(_[a-z]+)*", n) else json.dumps(n) for n in where[len(above) - 1 :]
    ]
    if getattr(node, "flow_style", False):
        at, more = node.start_mark.index + 1, ", " if node.value else ""
        return f"{text[:at]}{': {'.join(keys)}: {value}{'}' * (len(keys) - 1)}{more}{text[at:]}"
    at, indent = len(text), 0
    if len(above) > 1:
        at, indent = _line_end(text, _end(node)), node.start_mark.column
    before = text[:at] if text[:at].endswith("\n") or not at else f"{text[:at]}\n"
    lines = [f"{' ' * (indent + 2 * n)}{key}:" for n, key in enumerate(keys)]
    return before + "\n".join(lines) + f" {value}\n{text[at:]}"


def _unset(text: str, where: list[str]) -> str:
    """The text without one key, and without the lines of keys that this leaves empty."""
    for n, (mapping, key, value) in enumerate(reversed(_above(text, where))):
        start, end = key.start_mark.index, key.end_mark.index if n else _end(value)
        if mapping.flow_style:
            rest = re.sub(r"^\s*,\s*", "", text[end:])
            last = len(rest) == len(text) - end
            return (re.sub(r",\s*$", "", text[:start]) if last else text[:start]) + rest
        text = text[: text.rfind("\n", 0, start) + 1] + text[_line_end(text, end) :]
        if len(mapping.value) > 1:
            break
    return text


def _pruned(data: Any) -> Any:
    """Data without empty mappings, to compare what two files say."""
    if not isinstance(data, dict):
        return data
    return {key: kept for key, value in data.items() if (kept := _pruned(value)) != {}}


def _change(name: str, field: str | None, value: str | None) -> None:
    """Set one field, or take it (with no field: all of the name) out."""
    path, known = _path(), _overrides(shipped_server()).known
    raw = m.text_of(path)
    text = HEAD if raw is None else raw.replace("\r\n", "\n")
    said = m.parse(path, text).model_dump(exclude_unset=True)
    homes = [s for s, items in known.items() if name in items or name in said.get(s, {})]
    if not homes:
        every = [n for items in known.values() for n in items]
        sys.exit(f"nothing is called {name!r}; {m.mend(name, every)}")
    where = [homes[0], name, *([field] if field else [])]
    if field and field.startswith("arguments."):
        argument = field.removeprefix("arguments.").removesuffix(".description")
        where[2:] = ["arguments", argument, "description"]
    spot = said
    for key in where[:-1]:
        spot = spot.setdefault(key, {})
    if value is None and where[-1] not in spot:
        sys.exit(f"{path} says nothing about {'.'.join(where[1:])}")
    if value is None:
        new = _unset(text, where)
        del spot[where[-1]]
    else:
        flag = {"true": True, "false": False} if field == "enabled" else {}
        spot[where[-1]] = value.split() if field == "icons" else flag.get(value, value)
        new = _set(text, where, json.dumps(spot[where[-1]], ensure_ascii=False))
    if _pruned(m.parse(path, new).model_dump(exclude_unset=True)) != _pruned(said):
        sys.exit(f"{path} is laid out in a way that only `{SERVER_NAME} metadata edit` can change")
    _save(path, new.replace("\n", "\r\n") if raw and "\r\n" in raw else new, known)


@app.command
def path() -> None:
    """Print where your own metadata file is, or would be."""
    print(_path())


@app.command
def init() -> None:
    """Write a metadata file of your own, all examples."""
    path, overrides = _path(), _overrides(shipped_server())
    if path.exists():
        sys.exit(f"{path} is there already; change it with `{SERVER_NAME} metadata edit`")
    first = {
        section: dict([*items.items()][:1]) for section, items in _all_texts(overrides).items()
    }
    example = "".join(f"# {line}\n" for line in _yaml(first).splitlines())
    _save(path, HEAD + example, overrides.known)
    print("Write no secret into it: every client of the server can read these texts.")


@app.command
def edit() -> None:
    """Open your file in $VISUAL or $EDITOR; what the server would refuse is not saved."""
    path, known = _path(), _overrides(shipped_server()).known
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or shutil.which("vi")
    if not editor:
        sys.exit("no editor is known: set VISUAL or EDITOR, e.g. EDITOR=nano")
    before = m.text_of(path)
    draft = Path(tempfile.mkdtemp(prefix="metadata-")) / "metadata.yaml"
    draft.write_text(HEAD if before is None else before, encoding="utf-8", newline="")
    while True:
        if subprocess.run([*shlex.split(editor), str(draft)], check=False).returncode:
            sys.exit(f"{editor} failed; {path} stays as it was")
        try:
            text = m.text_of(draft, trusted=True) or ""
            if m.text_of(path) != before:
                sys.exit(f"{path} was changed meanwhile; your text is in {draft}")
            _save(path, text, known)
            return shutil.rmtree(draft.parent)
        except StartError as error:
            print(error)
            if not sys.stdin.isatty() or input("Open it again? [Y/n] ").lower().startswith("n"):
                sys.exit(f"{path} stays as it was; your text is in {draft}")


def _said(name: str | None = None) -> Iterator[str]:
    """Every override as a line, file by file; `name` keeps those of one tool or resource."""

    def flat(texts: Mapping[str, Any], above: str) -> Iterator[str]:
        for key, value in texts.items():
            nested = isinstance(value, dict)
            yield from flat(value, f"{above}{key}.") if nested else [f"{above}{key}: {value!r}"]

    for path in filter(None, [m.PACKAGED, m.user_file(Settings().metadata)]):
        config = m.read(path, trusted=path == m.PACKAGED)
        said = config.model_dump(exclude_unset=True) if config else {}
        sections = [
            said.get(s, {}).get(name, {}) for s in ("tools", "resources", "resource_templates")
        ]
        lines = [line for texts in (sections if name else [said]) for line in flat(texts, "  ")]
        yield from [f"{path}:", *lines] if lines else []


@app.command(name="list")
def list_() -> None:
    """Show every override, file by file."""
    print("\n".join(_said()) or "nothing is overridden")


@app.command
def show(name: Name) -> None:
    """Show what overrides one tool or resource."""
    print("\n".join(_said(name)) or sys.exit(f"nothing overrides {name!r}"))


@app.command(name="set")
def set_(name: Name, field: Which, value: Words) -> None:
    """Set one text in your file; an empty one clears it. Comments and order stay."""
    _change(name, field, value)


@app.command
def unset(name: Name, field: Which | None = None) -> None:
    """Take one text, or all that is said of a name, out of your file."""
    _change(name, field, None)


@app.command
def validate(*, url: str | None = None, server: str | None = None) -> None:
    """Check your file against this server, or against one that runs.

    Parameters
    ----------
    url
        The address of a server that runs, e.g. http://127.0.0.1:8000/mcp.
    server
        The command line of a server to start and ask over stdio.
    """
    path = _path()
    config = m.read(path)
    if config is None:
        print(f"{path} is not there, so it overrides nothing")
        return
    target: Any = url or (shlex.split(server) if server else None)
    known = run_now(_running(target, config)) if target else _overrides(shipped_server()).known
    found = [f"{path}: {what}; {m.mend(n, of)}" for what, n, of in m.problems(config, known)]
    print("\n".join(found) or f"{path} is valid")
    sys.exit(bool(found and config.strict))


async def _running(target: Any, config: m.MetadataConfig) -> m.Known:
    """What a server that runs has; a tool that the file takes off the wire counts as there."""
    try:
        to: Any = (
            target
            if isinstance(target, str)
            else StdioTransport(target[0], target[1:], dict(os.environ))
        )
        async with Client(to) as client:
            off = {name: said.arguments for name, said in config.tools.items() if not said.enabled}
            tools = {
                t.name: t.input_schema.get("properties", {}) for t in await client.list_tools()
            }
            resources = {str(r.uri): () for r in await client.list_resources()}
            templates = {t.uri_template: () for t in await client.list_resource_templates()}
    except Exception as error:
        raise StartError(f"{target} does not answer: {' '.join(str(error).split())}") from error
    return {"tools": off | tools, "resources": resources, "resource_templates": templates}


@app.command
def export() -> None:
    """Print every text as a metadata file to start from."""
    print(_yaml({"version": 1, "strict": True, **_all_texts(_overrides(shipped_server()))}), end="")


@app.command
def tokens() -> None:
    """Show what each tool's texts cost a model, without and with the overrides."""
    overrides = _overrides(create_server())
    tools = overrides.found["tools"]
    served = {tool.name: tool for tool in run_now(overrides.list_tools([*tools.values()]))}
    rows = [(_cost(tools[name]), _cost(served.get(name)), name) for name in sorted(tools)]
    for row in [*rows, (sum(r[0] for r in rows), sum(r[1] for r in rows), "total")]:
        print("{:>8} {:>8}  {}".format(*row))
    print("An estimate: a token for 4 bytes of name, description and input schema as JSON.")


def _cost(tool: Tool | None) -> int:
    sent = [tool.name, tool.description, tool.parameters] if tool else []
    return len(json.dumps(sent, ensure_ascii=False).encode()) // 4
