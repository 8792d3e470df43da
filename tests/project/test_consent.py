"""`consent: url`: only where it is asked for, clean whatever the answers are, and its own suite holds.

The attacks on consent run in process, in engine/tests/consent.
"""

import re
from pathlib import Path

import httpx2
import pytest
from support import (
    PYTEST,
    Answers,
    Renders,
    answers,
    python,
    render,
    rendered,
    server,
)
from wire import http

from copier_fastmcp_engine.consent.settings import ConsentSettings
from copier_fastmcp_engine.settings import PolicySettings

OURS = re.compile(
    "consent|oauth|oidc|provision|authlib|joserfc|jwt_|elicitationid|keyring|uvicorn|httpx",
    re.IGNORECASE,
)
KNOWN = {
    "consent: none",  # in .copier-answers.yml
    "scopes: OAuth scopes that a caller over HTTP needs, all of them.",
}
# The engine is the same for every server: its parts for consent are files of their own, named below consent/
ENGINE = re.compile("/(engine|copier_fastmcp_suite)/")
NAME = "nextcloud_login_mcp"


@pytest.mark.parametrize("backend", ["sqlite", "none"])
@pytest.mark.parametrize("resources", [[], answers("orders")["resources"]])
def test_a_server_without_consent_has_not_one_line_of_it(
    backend: str, resources: list[Answers]
) -> None:
    files = rendered({"domain": "notes", "backend": backend, "resources": resources})
    for path in files:
        assert not OURS.search(path), path
    sources = []
    for path, text in files.items():
        if not ENGINE.search(path):
            sources.append(text)
    assert len(sources) < len(files)
    lines = {line.strip() for text in sources for line in text.splitlines()}
    for line in lines - KNOWN:
        assert not OURS.search(line), line


HOSTILE: dict[str, Answers] = {
    "a verb that reads": {"domain": "list_of_x"},
    "a verb that removes": {"domain": "purge"},
    "a verb that overwrites": {"domain": "set"},
    "the longest names": {
        "domain": "d" * 32,
        "server_name": "s" * 40,
        "package_name": "p" * 40,
        "description": "d\"'\\{{}}" * 30,
    },
    "the shortest": {"domain": "x", "server_name": "x", "package_name": "x"},
    "every tool asks": {"profile": "confirm-all"},
    "few hints": {"profile": "narrow", "domain": "edit"},
    "end state": {"profile": "end-state", "domain": "replace", "backend": "none"},
    "resources": {
        "resources": [{"uri": "notes://all", "name": "All", "description": "All."}]
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_answers_render_clean_and_keep_their_own_rules(
    tmp_path: Path, name: str
) -> None:
    files = rendered(
        {"consent": "url", "tools": ["get_note", "delete_note"]} | HOSTILE[name]
    )
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    for words in (["format", "--diff"], ["check", "--output-format=concise"]):
        done = python(tmp_path, "-m", "ruff", words[0], "--no-cache", *words[1:], ".")
        assert done.returncode == 0, done.stdout + done.stderr
    if "domain" not in HOSTILE[name]:  # the tools that come along are named after it
        return
    suite = [
        "-p",
        "no:cacheprovider",
        "tests/policy/test_annotations.py",
        "-k",
        "not stdio",
    ]
    done = python(tmp_path, "-m", "pytest", *suite)
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_tool_cannot_have_the_name_of_one_that_comes_along() -> None:
    taken = {"consent": "url", "domain": "notes", "tools": ["revoke_notes_access"]}
    with pytest.raises(
        ValueError, match="revoke_notes_access: reserved by consent: url"
    ):
        rendered(taken)
    rendered(taken | {"consent": "none"})


def test_without_settings_nothing_is_asked_and_nothing_kept(example: Renders) -> None:
    listed = server(example("consent"), "tools", "list", COLUMNS="200")
    assert listed.returncode == 0, listed.stderr
    assert "search_notes" in listed.stdout
    assert "check_logged_in" not in listed.stdout
    for word in ("status", "revoke"):
        done = server(example("consent"), "consent", word)
        assert (done.returncode, done.stderr) == (
            1,
            "nothing is kept in pass-through mode\n",
        )


def test_behind_a_proxy_its_pages_are_reached_and_their_queries_not_logged(
    example: Renders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "SERVER_URL": "https://mcp.example.com",
        "ENABLE_OFFLINE_ACCESS": "true",
        "CONSENT_DATABASE": ":memory:",
        "OIDC_ISSUER": "http://127.0.0.1:1",
        "OIDC_CLIENT_ID": "x",
        "JWT_ISSUER": "http://127.0.0.1:1",
        "JWT_AUDIENCE": "x",
        "JWT_JWKS_URI": "http://127.0.0.1:1/jwks",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"{NAME.upper()}_{name}", value)
    with http(example("consent"), tmp_path) as address:
        query = {"code": "the-code-that-is-secret", "state": "the-state-that-is-secret"}
        page = address.replace("/mcp", "/oauth/callback")
        statuses = [
            httpx2.get(page, params=query, headers={"Host": host}).status_code
            for host in ("mcp.example.com", "evil.example.com")
        ]
        response = httpx2.post(address, json={}, headers={"Host": "mcp.example.com"})
    assert statuses == [400, 421]
    assert response.status_code == 401
    place = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
    assert place in response.headers["www-authenticate"]
    logged = (tmp_path / "stderr").read_text()
    assert '"path": "/oauth/callback"' in logged
    assert "secret" not in logged


def test_a_generated_resource_asks_what_the_reading_tools_of_its_records_ask() -> None:
    tools = [
        {"name": "get_note", "scopes": ["notes:read"]},
        {"name": "delete_note", "scopes": ["notes:write"]},
        {"name": "get_task", "scopes": ["tasks:read"]},
    ]
    resource = {"uri": "notes://all", "name": "All", "description": "Every note."}
    file = "src/notes_mcp/resources/all.py"
    text = rendered({"consent": "url", "tools": tools, "resources": [resource]})[file]
    assert "@requires_consent\n@resource(" in text
    assert 'scopes=["notes:read"]' in text
    assert "write" not in text
    assert "tasks" not in text
    plain = rendered({"tools": tools[:2], "resources": [resource]})[file]
    assert "requires_consent" not in plain


def test_every_setting_is_in_its_guide(example: Renders) -> None:
    guide = (example("consent") / "docs/consent.md").read_text(encoding="utf-8")
    consent_settings = (
        ConsentSettings.model_fields.keys() - PolicySettings.model_fields.keys()
    )
    assert consent_settings
    missing = []
    for name in consent_settings:
        if f"| `{NAME.upper()}_{name.upper()}` |" not in guide:
            missing.append(name)
    assert missing == []


def test_its_own_suite_holds_where_every_write_asks(
    template: Path, tmp_path: Path
) -> None:
    project = render(
        template, tmp_path, answers("consent") | {"profile": "confirm-all"}
    )
    done = python(project, *PYTEST, "tests/policy/test_consent.py")
    assert done.returncode == 0, done.stdout[-3000:]
