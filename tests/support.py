"""Helpers of all tests: the macros' environment, the template as a tagged clone, renders, their programs."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import compiled
import copier
import forked
import pytest
import warm
import yaml
from jinja2 import FileSystemLoader, StrictUndefined, Template
from jinja2.sandbox import SandboxedEnvironment
from pydantic_core import to_jsonable_python

compiled.compile_once()
compiled.ask_git_once()
compiled.clone_once()
compiled.parse_settings_fast()
ROOT = Path(__file__).parent.parent
Answers = dict[str, Any]
Renders = Callable[[str], Path]
SECONDS = 300
# No render and no verb reads them, and Copier clones every file of a template for each render.
LEFT_OUT = (
    "benchmarks/",
    "engine/tests/",
    "examples/reading/",
    "examples/rendered/",
    "tests/",
)
# The examples whose renders are committed, with the answers that differ from those in examples/: both ways to have the engine.
COMMITTED: dict[str, Answers] = {
    "notes": {},
    "consent": {},
    "orders": {"engine": "package"},
}
ENGINE_SOURCE = re.compile(r'{ git = "file://[^"]*", rev = "[0-9a-f]{40}"')
PYTEST = ["-m", "pytest", "-p", "no:cacheprovider"]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.yml"))


def nightly_but(always: Collection[Any], names: Iterable[Any] = EXAMPLES) -> list[Any]:
    """Return the names as test parameters: `always` for every run, the others for the nightly run only."""
    params = []
    for name in names:
        params.append(
            name if name in always else pytest.param(name, marks=pytest.mark.nightly)
        )
    return params


def draws(count: int) -> int:
    """Return the number of examples of a property: all with `DRAWS=all`, as at night, else a quarter."""
    return count if os.environ.get("DRAWS") == "all" else count // 4


def answers(name: str) -> Answers:
    """The answers of a named example."""
    path = ROOT / "examples" / f"{name}.yml"
    document: Answers = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


@cache
def environment() -> SandboxedEnvironment:
    """Jinja as Copier sets it up for this template, without Copier's own context."""
    jinja = SandboxedEnvironment(
        loader=FileSystemLoader(ROOT),
        undefined=StrictUndefined,
        extensions=["jinja2_ansible_filters.AnsibleCoreFiltersExtension"],
        keep_trailing_newline=True,
    )
    jinja.filters["to_json"] = partial(
        jinja.filters["to_json"], default=to_jsonable_python
    )
    return jinja


def macro(file: str, name: str, *arguments: object) -> str:
    """Return the output of a macro of `macros/` or `writing/`."""
    template = environment().select_template(
        [f"macros/{file}.jinja", f"writing/{file}.jinja"]
    )
    return str(getattr(template.module, name)(*arguments))


def specs(
    tools: object, fields: object = None, domain: str = ""
) -> list[dict[str, Any]]:
    """The full specification of each tool in an answer, with what other answers say of its record."""
    text = macro("specs", "specs", tools, "sqlite", fields or {}, domain)
    tool_specs: list[dict[str, Any]] = json.loads(text)
    return tool_specs


@cache
def _text(source: str) -> Template:
    return environment().from_string(source)


@cache
def _questions() -> Answers:
    document: Answers = yaml.safe_load(
        (ROOT / "copier.yml").read_text(encoding="utf-8")
    )
    questions = {}
    for name, question in document.items():
        if not name.startswith("_"):
            questions[name] = question
    return questions


@cache
def _sources() -> dict[str, str]:
    paths = filter(Path.is_file, sorted((ROOT / "template").rglob("*")))
    sources = {}
    for p in paths:
        sources[p.relative_to(ROOT / "template").as_posix()] = p.read_text("utf-8")
    return sources


def complete_answers(answers: Answers) -> Answers:
    """Compute the context of a render as Copier does with `--defaults`; ValueError for a refused answer."""
    context: Answers = dict(answers) | {
        "_copier_conf": {"answers_file": ".copier-answers.yml"}
    }
    context["_copier_answers"] = remembered = {
        "_commit": "v99.0.0",
        "_src_path": "here",
    }
    for name, question in _questions().items():
        is_asked = (
            question.get("when", True) is True
            or _text(str(question["when"])).render(context) == "True"
        )
        is_given = name in answers and is_asked
        value = (
            answers[name]
            if is_given
            else _text(str(question["default"])).render(context)
        )
        if isinstance(value, str) and question["type"] != "str":
            value = (
                json.loads(value)
                if question["type"] == "json"
                else yaml.safe_load(value)
            )
        context[name] = value
        if is_asked:
            if not question.get("secret"):
                remembered[name] = value
            if error := _text(question.get("validator", "")).render(context).strip():
                raise ValueError(f"{name}: {error}")
    return context


YIELD = re.compile(r"{% yield (\w+) from (\w+) %}(.*){% endyield %}")


def rendered(answers: Answers) -> dict[str, str]:
    """Render every file of a project by its path without Copier, fast enough for thousands of projects."""
    context = complete_answers(answers)
    files = {}
    for source, text in _sources().items():
        loop = YIELD.search(source)
        for item in context[loop[2]] if loop else [None]:
            local = context | ({loop[1]: item} if loop else {})
            whole = YIELD.sub(r"\3", source)
            parts = [
                _text(p).render(local) if "{" in p else p for p in whole.split("/")
            ]
            if not all(part.removesuffix(".jinja") for part in parts):
                continue
            files["/".join(parts).removesuffix(".jinja")] = (
                environment().get_template(f"template/{source}").render(local)
                if source.endswith(".jinja")
                else text
            )
    return files


def git(folder: Path, *words: str) -> str:
    """Run git in a folder under a fixed author."""
    identity = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.com",
        "-c",
        "commit.gpgsign=false",
    ]
    return subprocess.run(
        ["git", *identity, *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def clone_template(to: Path, tag: str = "v99.0.0") -> Path:
    """The working tree, dirty files but no tests included, as a repository under a tag above every release."""
    shared = os.environ.get("COMPILED_TEMPLATES")  # set where pytest runs
    if shared:
        shared_clone = Path(shared, "clone")
        if not shared_clone.is_dir():
            with tempfile.TemporaryDirectory(dir=shared) as folder:
                clone = commit_working_tree(Path(folder, "clone"))
                with suppress(OSError):  # another process was faster
                    clone.rename(shared_clone)
        shutil.copytree(shared_clone, to, symlinks=True, dirs_exist_ok=True)
    else:
        commit_working_tree(to)
    git(to, "tag", tag)
    return to


def commit_working_tree(to: Path) -> Path:
    """Copy the files of the working tree that a template consists of into a new repository."""
    output = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    for name in filter(None, output.split("\0")):
        if name.startswith(LEFT_OUT) or not (ROOT / name).is_file():
            continue
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    git(to, "init", "--quiet", "--initial-branch=main")
    git(to, "add", "--all")
    git(to, "commit", "--quiet", "--message=template")
    pack_objects(to)
    return to


def pack_objects(repository: Path) -> None:
    """Pack the objects of a repository: Copier clones a template several times for each update, and removes it again.

    Nothing is compressed well, since what is packed here is read a few times only.
    """
    cheap = ["-c", "pack.window=0", "-c", "pack.compression=1"]
    git(repository, *cheap, "repack", "-dq")
    git(repository, "pack-refs", "--all")
    git(repository, "config", "gc.auto", "0")


def render(
    template: Path, to: Path, answers: Answers | None = None, **options: Any
) -> Path:
    """A project from answers, without trust and so without the hook.

    What one test has rendered is copied for the next one, also in another process: see `_kept_render`.
    """
    settings = {"defaults": True, "skip_tasks": True, "quiet": True} | options
    cached_render = _find_shared_render(template, to, answers or {}, settings)
    if cached_render and cached_render.is_dir():
        return Path(
            shutil.copytree(cached_render, to, symlinks=True, dirs_exist_ok=True)
        )
    copier.run_copy(str(template), to, data=answers or {}, **settings)
    if cached_render:
        keep_render(to, cached_render)
    return to


def keep_render(project: Path, folder: Path) -> None:
    """Store a copy of a render for the tests of other processes atomically."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        copy = shutil.copytree(project, Path(temporary, "render"), symlinks=True)
        with suppress(OSError):  # another process was faster
            Path(copy).rename(folder)


def _find_shared_render(
    template: Path, to: Path, answers: Answers, settings: dict[str, Any]
) -> Path | None:
    """The folder that keeps a render for all tests of a run.

    Returns:
        The folder, which exists where the same was rendered before; None where the result depends on more than the
        commits and tags of the template: what `to` contains, or what is not committed.
    """
    used = to.exists() and any(to.iterdir())
    if used or settings.get("vcs_ref") == "HEAD" or not (template / ".git").is_dir():
        return None
    return shared_render(template, answers, sorted(settings.items()))


def shared_render(template: Path, *key: object) -> Path | None:
    """The folder that keeps a render of the template's commits for all processes of a run, or None outside pytest."""
    shared = os.environ.get("COMPILED_TEMPLATES")
    if not shared:
        return None
    references = git(template, "show-ref", "--head")
    identity = repr((str(template), references, *key))
    name = hashlib.sha256(identity.encode()).hexdigest()
    folder = Path(shared, "renders")
    folder.mkdir(exist_ok=True)
    return folder / name


def rendered_example(template: Path, to: Path, name: str, **overrides: object) -> Path:
    """The render of an example with a fixed text in place of what changes with each commit."""
    answers_file = (
        render(template, to, answers(name) | overrides) / ".copier-answers.yml"
    )
    text = answers_file.read_text(encoding="utf-8")
    text = re.sub(
        "^_commit: .*$",
        "_commit: the commit that this file is in",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(
        "^_src_path: .*$", "_src_path: copier-fastmcp", text, flags=re.MULTILINE
    )
    answers_file.write_text(text, encoding="utf-8", newline="\n")
    project_file = to / "pyproject.toml"
    text = project_file.read_text(encoding="utf-8")
    text = ENGINE_SOURCE.sub(
        '{ git = "file:///copier-fastmcp", rev = "that commit"', text
    )
    text = re.sub('(copier-fastmcp-engine==)[^"]+', r"\1VERSION", text)
    project_file.write_text(text, encoding="utf-8", newline="\n")
    return to


def committed_renders(template: Path, folder: Path) -> None:
    """Render the committed examples: what differs between servers, without the engine.

    Args:
        template: The template, as a repository.
        folder: Where a folder for each of them is made. The first is complete except for the engine; of the
            others the files that are the same as there are left out.
    """
    first = next(iter(COMMITTED))
    for name, overrides in COMMITTED.items():
        project = rendered_example(template, folder / name, name, **overrides)
        for part in (
            "src/*/engine",
            "tests/policy/copier_fastmcp_suite",
            "tests/policy/engine.json",
        ):
            for path in project.glob(part):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        if name == first:
            continue
        for path in sorted(project.rglob("*"), reverse=True):
            twin = folder / first / path.relative_to(project)
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif (
                path.is_file()
                and twin.is_file()
                and path.read_bytes() == twin.read_bytes()
            ):
                path.unlink()


def python(
    project: Path, *words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a project with its package importable and its user's own settings out of reach."""
    clean = warm.clean_environment()
    settings = {
        "PYTHONPATH": os.pathsep.join([str(project / "src"), str(compiled.SITE)]),
        "HOME": str(project),
        "XDG_DATA_HOME": str(project / ".data"),
        "NO_COLOR": "1",
        "CI": "",  # where a missing lock is an error
        # Of the plugins that are installed here, a project has one.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "-p anyio",
        **forked.fork_variables(),
    }
    variables = clean | settings | environ
    if done := forked.run(words, project, variables, SECONDS):
        return done
    return subprocess.run(
        [sys.executable, *words],
        cwd=project,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def server(
    project: Path, *words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run the generated command line."""
    package = next((project / "src").iterdir()).name
    return python(
        project, "-c", f"from {package}.cli import main; main()", *words, **environ
    )


def check(project: Path) -> dict[str, str]:
    """Return the findings of `scripts/check` in a copy of a project; an empty mapping if there are none."""
    steps = {
        "format": ["-m", "ruff", "format", "--check", "--no-cache", "."],
        "lint": ["-m", "ruff", "check", "--no-cache", "."],
        "types": ["-m", "mypy", "--config-file", "config/mypy.ini"],
        "lock": ["tests/policy/pin.py", "--first"],
        "tests": PYTEST,
    }
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copytree(project, Path(folder) / project.name)
        done = {name: python(copied, *words) for name, words in steps.items()}
    return {n: (r.stdout + r.stderr)[-4000:] for n, r in done.items() if r.returncode}


def pin(project: Path, *words: str) -> str:
    """Write the lock and the tool table, and return what changed."""
    done = python(project, "tests/policy/pin.py", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout
