"""Each edit that takes a guard out fits the engine: known in a second, where the rows take minutes."""

import ast
from pathlib import Path

import pytest
import yaml
from inside import ENGINE, ENGINE_NAME, edited
from support import ROOT

FILES = sorted((ROOT / "tests/attacks/consent").glob("*.yml"))


@pytest.mark.parametrize(
    "file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}"
)
def test_each_edit_changes_the_engine(file: Path) -> None:
    misfits = []
    for guard in yaml.safe_load(file.read_text(encoding="utf-8")):
        edits = [guard] if isinstance(guard, str) else guard["edits"]
        for edit in edits:
            try:
                path, text = edited(edit, ENGINE / ENGINE_NAME)
            except (LookupError, OSError) as error:
                misfits.append(f"{edit}: {error}")
                continue
            if text == ast.unparse(ast.parse(path.read_text(encoding="utf-8"))):
                misfits.append(f"{edit}: it changes nothing")
    assert not misfits
