"""`consent: url`: only there, clean whatever the answers are, and with no guard that its own suite would not miss."""

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from support import Answers, Renders, answers, python, render, rendered, server
from wire import http

OURS = re.compile(
    "consent|oauth|oidc|provision|authlib|joserfc|jwt_|elicitationid|keyring|uvicorn|httpx",
    re.IGNORECASE,
)
KNOWN = {
    "consent: none",  # in .copier-answers.yml
    "scopes: OAuth scopes that a caller over HTTP needs, all of them.",
}
NAME = "nextcloud_login_mcp"


@pytest.mark.parametrize("backend", ["sqlite", "none"])
@pytest.mark.parametrize("resources", [[], answers("orders")["resources"]])
def test_a_server_without_consent_has_not_one_line_of_it(
    backend: str, resources: list[Answers]
) -> None:
    files = rendered({"domain": "notes", "backend": backend, "resources": resources})
    assert [path for path in files if OURS.search(path)] == []
    lines = {line.strip() for text in files.values() for line in text.splitlines()}
    assert [line for line in lines - KNOWN if OURS.search(line)] == []


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
    "resources": {"resources": [{"uri": "notes://all", "name": "All", "description": "All."}]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_answers_render_clean_and_keep_their_own_rules(tmp_path: Path, name: str) -> None:
    files = rendered({"consent": "url", "tools": ["get_note", "delete_note"]} | HOSTILE[name])
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    for words in (["format", "--diff"], ["check", "--output-format=concise"]):
        done = python(tmp_path, "-m", "ruff", words[0], "--no-cache", *words[1:], ".")
        assert done.returncode == 0, done.stdout + done.stderr
    if "domain" not in HOSTILE[name]:  # the tools that come along are named after it
        return
    suite = ["-c", "config/pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider"]
    only = "tests/policy/test_annotations.py"
    done = python(tmp_path, "-m", "pytest", *suite, only, "-k", "not stdio")
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_tool_cannot_have_the_name_of_one_that_comes_along() -> None:
    taken = {"consent": "url", "domain": "notes", "tools": ["revoke_notes_access"]}
    with pytest.raises(ValueError, match="the tool name revoke_notes_access is reserved"):
        rendered(taken)
    rendered(taken | {"consent": "none"})


def test_without_settings_nothing_is_asked_and_nothing_kept(example: Renders) -> None:
    listed = server(example("consent"), "tools", "list", COLUMNS="200")
    assert listed.returncode == 0, listed.stderr
    assert "search_notes" in listed.stdout
    assert "check_logged_in" not in listed.stdout
    for word in ("status", "revoke"):
        said = server(example("consent"), "consent", word)
        assert (said.returncode, said.stderr) == (1, "nothing is kept in pass-through mode\n")


def test_behind_a_proxy_its_pages_are_reached_and_their_queries_not_logged(
    example: Renders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {
        "SERVER_URL": "https://mcp.example.com",
        "ENABLE_OFFLINE_ACCESS": "true",
        "CONSENT_DATABASE": ":memory:",
        "OIDC_ISSUER": "http://127.0.0.1:1",
        "OIDC_CLIENT_ID": "x",
        "JWT_ISSUER": "http://127.0.0.1:1",
        "JWT_AUDIENCE": "x",
        "JWT_JWKS_URI": "http://127.0.0.1:1/jwks",
    }
    for name, value in said.items():
        monkeypatch.setenv(f"{NAME.upper()}_{name}", value)
    with http(example("consent"), tmp_path) as address:
        query = {"code": "the-code-that-is-secret", "state": "the-state-that-is-secret"}
        page = address.replace("/mcp", "/oauth/callback")
        seen = [
            httpx2.get(page, params=query, headers={"Host": host}).status_code
            for host in ("mcp.example.com", "evil.example.com")
        ]
        asked = httpx2.post(address, json={}, headers={"Host": "mcp.example.com"})
    assert seen == [400, 421]
    assert asked.status_code == 401
    place = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
    assert place in asked.headers["www-authenticate"]
    logged = (tmp_path / "stderr").read_text()
    assert "GET /oauth/callback" in logged
    assert "secret" not in logged


# What is taken out -> a test of the project that must fail then.
GUARDS: dict[str, tuple[str, str, str, str]] = {
    "who grants is who asked": (
        "consent_flow",
        "if elicitation.subject not in (None, grant.subject):",
        "if False:",
        "forwarded_link_grants",
    ),
    "the browser that began": (
        "consent_flow",
        'if not flow or not same(flow["browser"], browser or ""):',
        "if not flow:",
        "forwarded_by_its_starter",
    ),
    "one of two callbacks": (
        "consent_flow",
        'if not await self.store.drop("open", elicitation.id):',
        "if False:",
        "two_states",
    ),
    "a link expires": (
        "consent_store",
        'return self.status == "pending" and time.time() < self.expires_at',
        'return self.status == "pending"',
        "expired",
    ),
    "a link is its user's": (
        "consent_tools",
        "if link is None or link.user != user.key:",
        "if link is None:",
        "link_of_another",
    ),
    "PKCE": ("oauth", 'code_challenge_method="S256",', "", "url_format"),
    "nonce": ("oauth", "if nonce is not None:", "if False:", "code_of_another"),
    "audience of the ID token": (
        "oauth",
        '"aud": {"essential": True, "value": self._id},',
        "",
        "id_token_that_does_not_hold",
    ),
    "safe endpoints": ("oauth", "secure(address) and", "", "not_safe"),
    "no PKCE downgrade": ("oauth", 'if "S256" not in', "if None in", "not_safe"),
    "a limit of links": ("consent_flow", "if len(times) >= MOST_LINKS:", "if False:", "limited"),
    "a limit of starts": ("consent_flow", "MOST_STARTS = 10", "MOST_STARTS = 99", "limited"),
    "a limit of belief": ("oauth", "LONGEST = 86_400.0", "LONGEST = 1e15", "lies"),
    "an encrypted row": (
        "consent_store",
        'row = {"sealed": self._cipher.seal(f"{collection}/{key}", value)}',
        'row = dict(value) | {"sealed": self._cipher.seal(f"{collection}/{key}", value)}',
        "disk",
    ),
    "a row in its place": ("consent_store", "plain, place.encode()", "plain, b''", "disk"),
    "tokens that cannot be kept": (
        "consent_flow",
        "await self.provider.revoke(grant)\n            raise\n",
        "raise\n",
        "cannot_be_kept",
    ),
    "the gate": (
        "consent",
        "await require(ctx, context.message.name)",
        "pass",
        "its_own_way",
    ),
    "scopes": ("scopes", "if allowed:", "if True:", "missing_scope"),
    "a user over HTTP": (
        "consent_flow",
        'if token is None and ctx.transport in (None, "stdio"):',
        "if token is None:",
        "nobody_is_no_user",
    ),
    "a page without scripts": (
        "consent_routes",
        '"Content-Security-Policy": "default-src \'none\'; ',
        '"X-Policy": "default-src \'none\'; ',
        "page_repeats",
    ),
    "a quiet log": ("consent_routes", r're.sub(r"(/oauth/', r're.sub(r"(/never/', "logged"),
}


# Forks after the slow imports: each child runs some tests of the project on a copy of its source without one guard.
DRIVER = """
import json, os, shutil, sys, tempfile
from pathlib import Path
import authlib.integrations.httpx_client, cyclopts, fastmcp.client, fastmcp.server.auth.providers.jwt, joserfc.jwt
import key_value.aio.stores.memory, keyring.backends.fail, oidc_provider_mock, opentelemetry.metrics, pytest, rich, uvicorn
import uvicorn.lifespan.on, uvicorn.protocols.http.auto, uvicorn.protocols.websockets.auto, werkzeug.serving, yaml
guards, found, running = json.load(sys.stdin), {}, {}
top = Path(tempfile.mkdtemp())
files = ["tests/policy/test_consent.py", "tests/policy/test_consent_attacks.py"]
suite = ["-c", "config/pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider", "-x", *files]
suite += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "--assert=plain"]
suite += ["-p", "anyio.pytest_plugin"]
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

def wait():
    pid, code = os.wait()
    name = running.pop(pid)
    found[name] = [os.waitstatus_to_exitcode(code), (top / name / "out").read_text()[-2000:]]

for name, (module, guard, instead, missing) in guards.items():
    while len(running) > 1:
        wait()
    shutil.copytree("src", top / name / "src")
    (file,) = (top / name / "src").glob(f"*/policy/{module}.py")
    kept = file.read_text()
    file.write_text(kept.replace(guard, instead))
    if pid := os.fork():
        running[pid] = name
        continue
    os.dup2(os.open(top / name / "out", os.O_CREAT | os.O_WRONLY), 1)
    os.environ["PYTHONPATH"] = sys.path[0] = str(top / name / "src")
    code = pytest.main([*suite, "-k", missing]) if guard in kept else 9
    sys.stdout.flush()
    os._exit(code)
while running:
    wait()
print(json.dumps(found))
"""


def test_each_guard_is_missed_when_it_is_gone(example: Renders) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER],
        input=json.dumps(GUARDS),
        cwd=example("consent"),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    # 1: a test failed; 5: none was chosen; 9: the guard is written otherwise now
    assert {name: said for name, said in found.items() if said[0] != 1} == {}
    assert {name: said for name, said in found.items() if "FAILED" not in said[1]} == {}
    assert found.keys() == GUARDS.keys()


def test_its_suite_holds_where_every_write_asks(template: Path, tmp_path: Path) -> None:
    tools = {"consent": "url", "profile": "confirm-all", "tools": ["get_note", "delete_note"]}
    project = render(template, tmp_path / "p", tools)
    suite = ["-c", "config/pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider"]
    done = python(project, "-m", "pytest", *suite, "tests/policy/test_consent.py")
    assert done.returncode == 0, done.stdout[-3000:]
