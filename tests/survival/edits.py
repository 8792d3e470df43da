"""What owners do to their servers: more than sixty kinds of edits, each a name and what it does to a project.

An edit gets the project and its package folder, and leaves the project alone where there is nothing for it to do.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

Work = Callable[[Path, Path], None]
LATIN = "caf\xe9".encode("latin-1")
PNG = bytes(range(256)) * 3


def _append(path: Path, text: bytes) -> None:
    if path.is_file() and not path.is_symlink():
        path.write_bytes(path.read_bytes() + text)


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def _list_tools(src: Path) -> list[Path]:
    paths = []
    for path in (src / "tools").rglob("*.py"):
        if not path.name.startswith("_"):
            paths.append(path)
    return sorted(paths)


def append_text(name: str, text: str = "\n# mine\n") -> Work:
    """Append a line to a file; `~` stands for the package."""

    def work(project: Path, src: Path) -> None:
        _append(
            src / name[2:] if name.startswith("~/") else project / name, text.encode()
        )

    return work


def replace_text(name: str, pattern: str, text: str) -> Work:
    """Replace the first match of a pattern in a file."""

    def work(project: Path, src: Path) -> None:
        path = src / name[2:] if name.startswith("~/") else project / name
        if path.is_file():
            before = path.read_text(encoding="utf-8")
            path.write_text(
                re.sub(pattern, text, before, count=1), encoding="utf-8", newline=""
            )

    return work


def write_text(name: str, text: bytes) -> Work:
    """Write a file of the owner's."""
    return lambda project, src: _write(
        src / name[2:] if name.startswith("~/") else project / name, text
    )


def remove_path(name: str) -> Work:
    """Delete a file."""

    def work(project: Path, src: Path) -> None:
        (src / name[2:] if name.startswith("~/") else project / name).unlink(
            missing_ok=True
        )

    return work


def _crlf(project: Path, src: Path) -> None:
    for path in (_list_tools(src)[-1], project / "docs/metadata.md"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def _rename_tool(_: Path, src: Path) -> None:
    path = _list_tools(src)[0]
    path.rename(path.with_name("my_" + path.name))


def _delete_tool(project: Path, src: Path) -> None:
    path = _list_tools(src)[-1]
    path.unlink()
    (project / f"tests/tools/test_{path.name}").unlink(missing_ok=True)


def _module(_: Path, src: Path) -> None:
    _write(src / "tools/mine/__init__.py", b'"""Mine."""\n')
    _list_tools(src)[0].rename(src / "tools/mine" / _list_tools(src)[0].name)


def _executable(project: Path, src: Path) -> None:
    for path in (src / "backend.py", project / "README.md"):
        path.chmod(0o755)


def _link(project: Path, _: Path) -> None:
    (project / "docs/notes-link.md").symlink_to("../README.md")


def _claude(project: Path, _: Path) -> None:
    path = project / "CLAUDE.md"
    path.unlink(missing_ok=True)
    path.symlink_to("AGENTS.md")


def _no_newline(project: Path, _: Path) -> None:
    path = project / "README.md"
    path.write_bytes(path.read_bytes().rstrip(b"\n") + b"\nno newline at the end")


def _odd_lines(project: Path, src: Path) -> None:
    _append(
        project / "README.md",
        "\nform\x0cfeed, lone\rreturn, a\u2028separator\x85here\n".encode(),
    )
    _append(src / "extend.py", b"\n# form\x0cfeed and lone\rreturn\n")


def _trailing_space(project: Path, _: Path) -> None:
    _append(project / "AGENTS.md", b"\ntrailing   \t \n\n\n")


def _double_text(project: Path, _: Path) -> None:
    path = project / "README.md"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(
        "".join([*lines[:3], "Mine, near the top.\n", *lines[3:]]), encoding="utf-8"
    )


def _dependencies(name: str, *items: str) -> Work:
    def work(project: Path, _: Path) -> None:
        path = project / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        start = text.index(f"{name} = [")
        end = text.index("\n]", start) + 1
        new = "".join(f'    "{item}",\n' for item in items)
        path.write_text(text[:end] + new + text[end:], encoding="utf-8")

    return work


def _ignore_file(name: str, text: bytes) -> Work:
    def work(project: Path, _: Path) -> None:
        _append(project / ".gitignore", f"{name}\n".encode())
        _write(project / name, text)

    return work


def _rewrite_file(name: str) -> Work:
    def work(project: Path, src: Path) -> None:
        path = src / name
        path.write_text('"""All mine."""\n\nMINE = True\n', encoding="utf-8")
        os.utime(path)

    return work


def _reorder_answers(project: Path, _: Path) -> None:
    path = project / ".copier-answers.yml"
    head, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if not any(line.startswith((" ", "-")) for line in lines):
        path.write_text(head + "".join(reversed(lines)), encoding="utf-8")


EDITS: dict[str, Work] = {
    "a tool's body": lambda _, src: _append(_list_tools(src)[0], b"\n# mine\n"),
    "a tool in Latin-1": lambda _, src: _append(
        _list_tools(src)[-1], b"\n# " + LATIN + b"\n"
    ),
    "a tool renamed": _rename_tool,
    "a tool deleted": _delete_tool,
    "a tool in a module": _module,
    "a tool by hand": write_text("~/tools/by_hand.py", b"# all mine\n"),
    "a helper of tools": write_text("~/tools/_helper.py", b'"""Mine."""\n'),
    "a resource by hand": write_text("~/resources/mine.py", b"# all mine\n"),
    "backend": append_text("~/backend.py"),
    "backend rewritten": _rewrite_file("backend.py"),
    "settings": append_text("~/settings.py"),
    "extend": append_text("~/extend.py"),
    "extend rewritten": _rewrite_file("extend.py"),
    "metadata": append_text("~/metadata.yaml"),
    "metadata emptied": write_text("~/metadata.yaml", b""),
    "a package of their own": write_text("~/mine/__init__.py", b'"""Mine."""\n'),
    "a module of their own": write_text("~/client.py", b'"""Mine."""\n'),
    "a tool's test": lambda project, _: _append(
        min((project / "tests/tools").glob("*.py")), b"\n# mine\n"
    ),
    "a test of their own": write_text(
        "tests/test_mine.py", b"def test_mine() -> None:\n    pass\n"
    ),
    "conftest": append_text("tests/conftest.py"),
    "the lock": append_text("annotations.lock.json", "\n"),
    "the tool table": append_text("docs/tools.md", "\nMine.\n"),
    "an ADR": write_text("docs/adr/0001-mine.md", b"# Mine\n"),
    "a guide": write_text("docs/mine.md", b"# Mine\n"),
    "a workflow": write_text(".github/workflows/mine.yml", b"on: push\n"),
    "an image": write_text("docs/logo.png", PNG),
    "a binary of no known kind": write_text("data/blob", PNG),
    "a name with spaces": write_text("docs/my notes.md", b"mine\n"),
    "a name beyond ASCII": write_text("docs/café ☃.md", b"mine\n"),
    "a name with quotes": write_text('docs/it\'s "mine".md', b"mine\n"),
    "an empty file": write_text("docs/empty.md", b""),
    "a file in UTF-16": write_text("docs/utf16.txt", "mine\n".encode("utf-16")),
    "a link": _link,
    "CLAUDE.md a link": _claude,
    "run bits": _executable,
    "line ends of Windows": _crlf,
    "README's end": append_text("README.md", "\nMine.\n"),
    "README's top": _double_text,
    "README's title": replace_text("README.md", r"^# .*", "# My own title"),
    "README without a last newline": _no_newline,
    "odd line separators": _odd_lines,
    "README in Latin-1": lambda project, _: _append(
        project / "README.md", b"\n" + LATIN + b"\n"
    ),
    "dependencies": _dependencies(
        "dependencies", "aiofiles>=24", "mcp-extra>=1", "zope>=5"
    ),
    "dependencies for development": _dependencies("dev", "hypothesis>=6"),
    "a pinned dependency": replace_text(
        "pyproject.toml", r'"fastmcp>=4\.1,<5"', '"fastmcp==4.1.2"'
    ),
    "a version": replace_text(
        "pyproject.toml", 'version = "0.1.0"', 'version = "2.7.1"'
    ),
    "a script": replace_text(
        "pyproject.toml", r"(\[project.scripts\]\n)", r'\1mine = "mine:main"\n'
    ),
    "rules for ruff": append_text(
        "pyproject.toml", '\n[tool.ruff.lint.per-file-ignores]\n"x.py" = ["F"]\n'
    ),
    "a table for another tool": append_text("pyproject.toml", "\n[tool.mine]\nx = 1\n"),
    "ignores": append_text(".gitignore", "mine/\n"),
    "an ignored .envrc": _ignore_file(".envrc", b"export TOKEN=mine\n"),
    "an ignored secret": _ignore_file("secret.txt", b"mine\n"),
    "the license": append_text("LICENSE", "\nMine, too.\n"),
    "AGENTS.md": append_text("AGENTS.md", "\nMine.\n"),
    "trailing space": _trailing_space,
    "CLAUDE.md": append_text("CLAUDE.md", "\nMine.\n"),
    "fastmcp.json": replace_text("fastmcp.json", r"\{", '{\n  "mine": true,'),
    "a policy file": append_text("~/policy/gate.py"),
    "a policy file that moves": append_text("~/policy/texts.py"),
    "a policy file that is Latin-1": lambda _, src: _append(
        src / "policy/errors.py", b"\n# " + LATIN + b"\n"
    ),
    "a policy file deleted": remove_path("~/policy/metadata_cli.py"),
    "a policy file more": write_text("~/policy/mine.py", b'"""Mine."""\n'),
    "a policy test": append_text("tests/policy/test_behavior.py"),
    "a policy ADR": append_text(
        "docs/adr/policy/0001-tool-annotations.md", "\nMine.\n"
    ),
    "a guide of ours deleted": remove_path("docs/metadata.md"),
    "ruff's settings": append_text("config/ruff.toml", "\n# mine\n"),
    "mypy's settings": append_text("config/mypy.ini", "\n# mine\n"),
    "scripts/check": append_text("scripts/check"),
    "line ends of git": append_text(".gitattributes", "*.csv text\n"),
    "our workflow": append_text(".github/workflows/ci.yml", "\n# mine\n"),
    "Dockerfile": append_text("Dockerfile", "\n# mine\n"),
    "manifest.json": replace_text("manifest.json", r"\{", '{\n  "mine": true,'),
    "server.json": replace_text("server.json", r"\{", '{\n  "mine": true,'),
    "order of answers": _reorder_answers,
}
