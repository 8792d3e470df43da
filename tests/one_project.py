"""One project of the CI matrix: the answers in CELL_ANSWERS, through the project's own gate. See scripts/cell."""

import json
import os
from pathlib import Path

from support import check, render


def test_it_passes_its_own_gate(template: Path, tmp_path: Path) -> None:
    assert (
        check(render(template, tmp_path, json.loads(os.environ["CELL_ANSWERS"]))) == {}
    )
