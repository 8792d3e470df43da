"""A resource template of a server of an API starts, and sends its parameter in the path."""

from pathlib import Path

import pytest
from support import python, rendered

TEMPLATE = {"uri": "notes://{note_id}", "name": "Note", "description": "A note."}


@pytest.mark.parametrize("consent", ["none", "url"])
def test_a_server_of_an_api_with_a_resource_template_starts(
    tmp_path: Path, consent: str
) -> None:
    answers = {"backend": "http", "api": "https://a.example", "consent": consent}
    files = rendered({**answers, "tools": ["get_note"], "resources": [TEMPLATE]})
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = python(tmp_path, "tests/policy/pin.py")
    assert done.returncode == 0, done.stderr
