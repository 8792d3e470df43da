"""A cache that compiles each template and each project module once per test run.

Jinja's compiler takes a third of the time of a render, in this process and in the Copier processes that it starts: those
load `tests/site/sitecustomize.py`, which calls `compile_once`. Hundreds of projects contain the same modules and tests;
their programs (`warm.py`) call `modules`.
"""

import hashlib
import importlib
import marshal
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, cast

import jinja2
from jinja2 import Environment, nodes

SITE = Path(__file__).parent / "site"
_compile = Environment.compile
_codes: dict["Key", CodeType] = {}
Key = tuple[object, ...]
T = TypeVar("T")


def _compile_once(
    self: Environment,
    source: str | nodes.Template,
    name: str | None = None,
    *arguments: Any,
    **keywords: Any,
) -> Any:
    """Return Jinja's code for a source; the key also contains the class and the settings, on which the code depends."""
    if not isinstance(source, str) or keywords or any(arguments[1:]):
        return _compile(self, source, name, *arguments, **keywords)
    settings = (
        self.autoescape,
        self.optimized,
        self.trim_blocks,
        self.keep_trailing_newline,
    )
    key = (str(type(self)), settings, *sorted(self.extensions), source, name)
    if key not in _codes:
        _codes[key] = _load_compiled(key, CodeType) or _store_compiled(
            key, _compile(self, source, name, *arguments)
        )
    self.preprocess(source, name)  # where Copier's `yield` forgets the template before
    return _codes[key]


def _path(key: Key) -> Path:
    """Return the file that stores a code object for the other processes."""
    name = hashlib.sha256(repr((jinja2.__version__, key)).encode()).hexdigest()
    return Path(os.environ["COMPILED_TEMPLATES"], name)


def _load_compiled(key: Key, kind: type[T]) -> T | None:
    """Load what another process compiled, or None."""
    try:
        value = marshal.loads(_path(key).read_bytes())
    except (OSError, ValueError, EOFError, KeyError):
        return None
    return value if isinstance(value, kind) else None


def _store_compiled(key: Key, value: T) -> T:
    """Write a code object for the other processes atomically."""
    if "COMPILED_TEMPLATES" in os.environ:
        path, content = _path(key), marshal.dumps(cast("Any", value))
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    return value


@cache
def modules() -> None:
    """Store the code of modules and of rewritten test files from now on; a copy elsewhere gets its own path."""
    rewriting: Any = importlib.import_module("_pytest.assertion.rewrite")
    compiled, rewritten = SourceFileLoader.source_to_code, rewriting._rewrite_test

    def source_to_code(
        self: Any, data: Any, path: Any, *name: str, **options: Any
    ) -> CodeType:
        """Since Python 3.15, `name` is the module's."""
        key = ("module", data, *name, *options.items())
        if code := _load_compiled(key, CodeType):
            return _relocate(code, str(path))
        return _store_compiled(key, compiled(self, data, path, *name, **options))

    def rewrite(path: Path, config: Any) -> tuple[bytes, CodeType]:
        key = ("tests", path.read_bytes())
        if stored := _load_compiled(key, tuple):
            return stored[0], _relocate(stored[1], str(path))
        result: tuple[bytes, CodeType] = rewritten(path, config)
        return _store_compiled(key, result)

    SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]
    rewriting._rewrite_test = rewrite


def _relocate(code: CodeType, path: str) -> CodeType:
    """Return the code as if it had been compiled at a path."""
    consts: list[object] = []
    for const in code.co_consts:
        is_code = isinstance(const, CodeType)
        consts.append(_relocate(const, path) if is_code else const)
    return code.replace(co_filename=path, co_consts=tuple(consts))


@cache
def compile_once() -> None:
    """Compile each template once for all processes from now on."""
    Environment.compile = _compile_once  # type: ignore[method-assign]


def ask_git_once() -> None:
    """Have Copier ask git once for each run, not once for each file, whether `core.fileMode` is off.

    The answer is the same for all files of a run, and asking is nearly half of what a render costs.
    """
    main: Any = importlib.import_module("copier._main")
    failed: Any = importlib.import_module("plumbum").ProcessExecutionError
    original = main.Worker._sync_git_index_executable_bit

    def synchronize(worker: Any, path: Path, mode: int) -> None:
        cache = vars(worker.subproject)
        if "file_mode_is_off" not in cache:
            git = main.get_git(context_dir=worker.subproject.local_abspath)
            try:
                setting = git("config", "--type=bool", "--get", "core.fileMode")
            except failed:
                setting = ""
            cache["file_mode_is_off"] = setting.strip() == "false"
        if cache["file_mode_is_off"]:
            original(worker, path, mode)

    main.Worker._sync_git_index_executable_bit = synchronize


def clone_once() -> None:
    """Have Copier clone each version of a template once for all processes, and link its files for each further use.

    A clone starts thirty processes of git, and an update makes three.
    """
    module: Any = importlib.import_module("copier._template")
    original = module.clone

    def clone(url: str, ref: str = "HEAD", location: str | None = None) -> str:
        kept_clone = _find_kept_clone(url, ref)
        if kept_clone is None or location is None:
            return str(original(url, ref, location))
        if not kept_clone.is_dir():
            _keep_clone(original(url, ref, location), kept_clone)
            return location
        shutil.copytree(
            kept_clone,
            location,
            symlinks=True,
            copy_function=_link_or_copy,
            dirs_exist_ok=True,
        )
        return location

    module.clone = clone


def _link_or_copy(source: str, target: str) -> str:
    """Link a file; copy it where the folders are on two file systems."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _keep_clone(clone: str, folder: Path) -> None:
    """Store a copy of a clone for all processes atomically."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        copy = Path(temporary, "clone")
        shutil.copytree(clone, copy, symlinks=True)
        with suppress(OSError):  # another process was faster
            copy.rename(folder)


def _find_kept_clone(url: str, ref: str) -> Path | None:
    """Return the folder for the clone of a version, which exists where it was made before.

    Returns:
        The folder; None outside pytest, and where a clone is more than what a repository here contains: a
        working tree, another host, a submodule.
    """
    shared_folder = os.environ.get("COMPILED_TEMPLATES")
    repository = Path(url.removeprefix("file://"))
    database = repository / ".git"
    is_plain = database.is_dir() and not (repository / ".gitmodules").exists()
    if not shared_folder or ref == "HEAD" or not is_plain:
        return None
    references = subprocess.run(
        ["git", "show-ref", "--head"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    if references.returncode:
        return None
    variables = []
    for name, value in sorted(os.environ.items()):
        if name.startswith("GIT_") or name == "PATH":
            variables.append((name, value))
    configuration = (database / "config").read_text("utf-8")
    identity = (url, ref, references.stdout, configuration, variables)
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()
    folder = Path(shared_folder, "clones")
    folder.mkdir(exist_ok=True)
    return folder / digest


def load_certificates_once() -> None:
    """Have the tests' HTTP clients share the trusted certificates, which each would load from the disk again."""
    module: Any = importlib.import_module("httpcore2")
    module.default_ssl_context = cache(module.default_ssl_context)


def parse_settings_fast() -> None:
    """Have Copier read copier.yml with the parser written in C, where PyYAML has it."""
    yaml: Any = importlib.import_module("yaml")
    module: Any = importlib.import_module("copier._template")
    load = module.load_template_config

    def load_fast(*arguments: Any, **options: Any) -> Any:
        slow = yaml.SafeLoader
        yaml.SafeLoader = getattr(yaml, "CSafeLoader", slow)
        try:
            return load(*arguments, **options)
        finally:
            yaml.SafeLoader = slow

    module.load_template_config = load_fast


def shared(folder: Path) -> None:
    """Share the cache with every process that is started from now on and keeps PYTHONPATH."""
    os.environ["COMPILED_TEMPLATES"] = str(folder)
    paths = [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
