"""Every setting of a server is listed in its README or guide, bundle, registry entry and container."""

import json
import re
from pathlib import Path

import pytest
from support import Answers, python, rendered

READ = """
import json
from notes_mcp.settings import Settings
known = {name: field.default for name, field in Settings.model_fields.items()}
print(json.dumps(known, default=lambda it: getattr(it, "get_secret_value", str)() or None))
"""
ANSWERS: dict[str, Answers] = {
    "sqlite": {},
    "no backend": {"backend": "none"},
    "http": {"backend": "http", "api": "https://api.example.com/v1"},
    "consent": {"consent": "url"},
    "page": {"profile": "custom", "confirm_fallback": "page"},
    "page and consent": {
        "profile": "custom",
        "confirm_fallback": "page",
        "consent": "url",
    },
}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_place_has_every_setting_with_its_default(
    tmp_path: Path, name: str
) -> None:
    every = {"packages": ["container", "bundle", "registry"]}
    files = rendered(ANSWERS[name] | every)
    for path in (path for path in files if path.startswith("src/")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(files[path], encoding="utf-8")
    done = python(tmp_path, "-c", READ)
    defaults = json.loads(done.stdout or done.stderr)
    if name == "no backend":
        del defaults["database"]
    variables = {f"NOTES_MCP_{field.upper()}" for field in defaults}

    guides = files["README.md"] + files.get("docs/consent.md", "")
    rows = dict(
        re.findall(r"^\| `(NOTES_MCP_\w+)` \| (.*?) \| .+ \|$", guides, re.MULTILINE)
    )
    assert rows.keys() == variables
    manifest, entry = (
        json.loads(files["manifest.json"]),
        json.loads(files["server.json"]),
    )
    env = manifest["server"]["mcp_config"]["env"]
    expected_env = {}
    for field in defaults:
        expected_env[f"NOTES_MCP_{field.upper()}"] = f"${{user_config.{field}}}"
    assert env == expected_env
    assert manifest["user_config"].keys() == defaults.keys()
    listed = {}
    for variable in entry["packages"][0]["environmentVariables"]:
        listed[variable["name"]] = variable
    assert listed.keys() == variables
    named = re.findall(r"^# (NOTES_MCP_\w+)$", files["Dockerfile"], re.MULTILINE)
    assert set(named) == variables

    for field, default in defaults.items():
        plain = isinstance(default, str | bool | int | float)
        expected = json.dumps(default).strip('"') if plain else ""
        documented, config = (
            rows[f"NOTES_MCP_{field.upper()}"],
            manifest["user_config"][field],
        )
        assert not expected or documented == f"`{expected}`", field
        assert config["default"] == (default if plain else "")
        assert listed[f"NOTES_MCP_{field.upper()}"].get("default", "") == expected
        secret = re.search("(keys|secret|credentials|token)$", field) is not None
        assert config.get("sensitive", False) == secret
        assert listed[f"NOTES_MCP_{field.upper()}"]["isSecret"] == secret


def test_an_empty_variable_is_one_that_is_not_set(project: Path) -> None:
    """A bundle sets variables that its user left empty."""
    empty = {
        f"NOTES_MCP_{name}": ""
        for name in ("DATABASE", "STATE_KEYS", "METADATA", "PORT")
    }
    code = "from notes_mcp.settings import Settings as S; s = S(); print(s.port, s.state_keys, s.database)"
    done = python(project, "-c", code, **empty)
    assert done.stdout == f"8000 [] {project}/.data/notes-mcp/data.db\n", done.stderr
