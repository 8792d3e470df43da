"""A rendered project on the engine of this checkout, whose modules a benchmark can then name."""

import functools
import shutil
import tempfile
from pathlib import Path

ENGINE = Path(__file__).resolve().parent.parent / "engine/src"


@functools.cache
def on_the_package(project: Path) -> Path:
    """Return a copy of a project that imports the engine of this checkout in place of its own.

    Only `policy/__init__.py` names the engine, so that this is all that `engine: package` changes in a project's code.
    """
    copy = Path(tempfile.mkdtemp(prefix="measured-")) / project.name
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".*cache", "engine"))
    (facade,) = (copy / "src").glob("*/policy/__init__.py")
    text = facade.read_text(encoding="utf-8")
    facade.write_text(
        text.replace("from ..engine.", "from copier_fastmcp_engine."), encoding="utf-8"
    )
    return copy
