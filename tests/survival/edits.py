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


def _tools(src: Path) -> list[Path]:
    found = (
        path for path in (src / "tools").rglob("*.py") if not path.name.startswith("_")
    )
    return sorted(found)


def appended(name: str, text: str = "\n# mine\n") -> Work:
    """A line more at the end of a file; `~` stands for the package."""

    def work(project: Path, src: Path) -> None:
        _append(
            src / name[2:] if name.startswith("~/") else project / name, text.encode()
        )

    return work


def replaced(name: str, pattern: str, text: str) -> Work:
    """The first place of a pattern in a file has another text."""

    def work(project: Path, src: Path) -> None:
        path = src / name[2:] if name.startswith("~/") else project / name
        if path.is_file():
            before = path.read_text(encoding="utf-8")
            path.write_text(
                re.sub(pattern, text, before, count=1), encoding="utf-8", newline=""
            )

    return work


def written(name: str, text: bytes) -> Work:
    """A file of their own."""
    return lambda project, src: _write(
        src / name[2:] if name.startswith("~/") else project / name, text
    )


def removed(name: str) -> Work:
    """A file is deleted."""

    def work(project: Path, src: Path) -> None:
        (src / name[2:] if name.startswith("~/") else project / name).unlink(
            missing_ok=True
        )

    return work


def _crlf(project: Path, src: Path) -> None:
    for path in (_tools(src)[-1], project / "docs/metadata.md"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def _rename_tool(_: Path, src: Path) -> None:
    path = _tools(src)[0]
    path.rename(path.with_name("my_" + path.name))


def _delete_tool(project: Path, src: Path) -> None:
    path = _tools(src)[-1]
    path.unlink()
    (project / f"tests/tools/test_{path.name}").unlink(missing_ok=True)


def _module(_: Path, src: Path) -> None:
    _write(src / "tools/mine/__init__.py", b'"""Mine."""\n')
    _tools(src)[0].rename(src / "tools/mine" / _tools(src)[0].name)


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


def _doubled(project: Path, _: Path) -> None:
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


def _ignored(name: str, text: bytes) -> Work:
    def work(project: Path, _: Path) -> None:
        _append(project / ".gitignore", f"{name}\n".encode())
        _write(project / name, text)

    return work


def _rewritten(name: str) -> Work:
    def work(project: Path, src: Path) -> None:
        path = src / name
        path.write_text('"""All mine."""\n\nMINE = True\n', encoding="utf-8")
        os.utime(path)

    return work


def _reordered(project: Path, _: Path) -> None:
    path = project / ".copier-answers.yml"
    head, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if not any(line.startswith((" ", "-")) for line in lines):
        path.write_text(head + "".join(reversed(lines)), encoding="utf-8")


EDITS: dict[str, Work] = {
    "a tool's body": lambda _, src: _append(_tools(src)[0], b"\n# mine\n"),
    "a tool in Latin-1": lambda _, src: _append(
        _tools(src)[-1], b"\n# " + LATIN + b"\n"
    ),
    "a tool renamed": _rename_tool,
    "a tool deleted": _delete_tool,
    "a tool in a module": _module,
    "a tool by hand": written("~/tools/by_hand.py", b"# all mine\n"),
    "a helper of tools": written("~/tools/_helper.py", b'"""Mine."""\n'),
    "a resource by hand": written("~/resources/mine.py", b"# all mine\n"),
    "backend": appended("~/backend.py"),
    "backend rewritten": _rewritten("backend.py"),
    "settings": appended("~/settings.py"),
    "extend": appended("~/extend.py"),
    "extend rewritten": _rewritten("extend.py"),
    "metadata": appended("~/metadata.yaml"),
    "metadata emptied": written("~/metadata.yaml", b""),
    "a package of their own": written("~/mine/__init__.py", b'"""Mine."""\n'),
    "a module of their own": written("~/client.py", b'"""Mine."""\n'),
    "a tool's test": lambda project, _: _append(
        min((project / "tests/tools").glob("*.py")), b"\n# mine\n"
    ),
    "a test of their own": written(
        "tests/test_mine.py", b"def test_mine() -> None:\n    pass\n"
    ),
    "conftest": appended("tests/conftest.py"),
    "the lock": appended("annotations.lock.json", "\n"),
    "the tool table": appended("docs/tools.md", "\nMine.\n"),
    "an ADR": written("docs/adr/0001-mine.md", b"# Mine\n"),
    "a guide": written("docs/mine.md", b"# Mine\n"),
    "a workflow": written(".github/workflows/mine.yml", b"on: push\n"),
    "an image": written("docs/logo.png", PNG),
    "a binary of no known kind": written("data/blob", PNG),
    "a name with spaces": written("docs/my notes.md", b"mine\n"),
    "a name beyond ASCII": written("docs/café ☃.md", b"mine\n"),
    "a name with quotes": written('docs/it\'s "mine".md', b"mine\n"),
    "an empty file": written("docs/empty.md", b""),
    "a file in UTF-16": written("docs/utf16.txt", "mine\n".encode("utf-16")),
    "a link": _link,
    "CLAUDE.md a link": _claude,
    "run bits": _executable,
    "line ends of Windows": _crlf,
    "README's end": appended("README.md", "\nMine.\n"),
    "README's top": _doubled,
    "README's title": replaced("README.md", r"^# .*", "# My own title"),
    "README without a last newline": _no_newline,
    "odd line separators": _odd_lines,
    "README in Latin-1": lambda project, _: _append(
        project / "README.md", b"\n" + LATIN + b"\n"
    ),
    "dependencies": _dependencies(
        "dependencies", "aiofiles>=24", "mcp-extra>=1", "zope>=5"
    ),
    "dependencies for development": _dependencies("dev", "hypothesis>=6"),
    "a pinned dependency": replaced(
        "pyproject.toml", r'"fastmcp>=4\.1,<5"', '"fastmcp==4.1.2"'
    ),
    "a version": replaced("pyproject.toml", 'version = "0.1.0"', 'version = "2.7.1"'),
    "a script": replaced(
        "pyproject.toml", r"(\[project.scripts\]\n)", r'\1mine = "mine:main"\n'
    ),
    "rules for ruff": appended(
        "pyproject.toml", '\n[tool.ruff.lint.per-file-ignores]\n"x.py" = ["F"]\n'
    ),
    "a table for another tool": appended("pyproject.toml", "\n[tool.mine]\nx = 1\n"),
    "ignores": appended(".gitignore", "mine/\n"),
    "an ignored .envrc": _ignored(".envrc", b"export TOKEN=mine\n"),
    "an ignored secret": _ignored("secret.txt", b"mine\n"),
    "the license": appended("LICENSE", "\nMine, too.\n"),
    "AGENTS.md": appended("AGENTS.md", "\nMine.\n"),
    "trailing space": _trailing_space,
    "CLAUDE.md": appended("CLAUDE.md", "\nMine.\n"),
    "fastmcp.json": replaced("fastmcp.json", r"\{", '{\n  "mine": true,'),
    "a policy file": appended("~/policy/gate.py"),
    "a policy file that moves": appended("~/policy/texts.py"),
    "a policy file that is Latin-1": lambda _, src: _append(
        src / "policy/errors.py", b"\n# " + LATIN + b"\n"
    ),
    "a policy file deleted": removed("~/policy/metadata_cli.py"),
    "a policy file more": written("~/policy/mine.py", b'"""Mine."""\n'),
    "a policy test": appended("tests/policy/test_behavior.py"),
    "a policy ADR": appended("docs/adr/policy/0001-tool-annotations.md", "\nMine.\n"),
    "a guide of ours deleted": removed("docs/metadata.md"),
    "ruff's settings": appended("config/ruff.toml", "\n# mine\n"),
    "mypy's settings": appended("config/mypy.ini", "\n# mine\n"),
    "scripts/check": appended("scripts/check"),
    "line ends of git": appended(".gitattributes", "*.csv text\n"),
    "our workflow": appended(".github/workflows/ci.yml", "\n# mine\n"),
    "Dockerfile": appended("Dockerfile", "\n# mine\n"),
    "manifest.json": replaced("manifest.json", r"\{", '{\n  "mine": true,'),
    "server.json": replaced("server.json", r"\{", '{\n  "mine": true,'),
    "order of answers": _reordered,
}
