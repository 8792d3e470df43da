"""The path in docs/authors.md, walked: the tool that it shows, what the suite then says, and the fix."""

import asyncio
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Client
from fastmcp.server.auth.providers.jwt import RSAKeyPair
from joserfc.jwk import RSAKey
from support import PYTEST, ROOT, pin, python, render
from wire import http

TEXT = (ROOT / "docs/authors.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
TOOLS = "search_orders, get_order, create_order, delete_order"
PROOFS = [*PYTEST, "tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]


def test_the_guide_for_authors_is_true(template: Path, tmp_path: Path) -> None:
    project = render(template, tmp_path, {"domain": "orders", "tools": TOOLS})
    pin(project)
    tool, probe, *_ = BLOCKS
    (project / "src/orders_mcp/tools/shelve_order.py").write_text(tool)
    first = python(project, *PROOFS)
    table = TEXT.partition("| output | remedy |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(rows) == 4
    assert [row for row in rows if row not in first.stdout] == []
    assert "5 failed" in first.stdout
    (project / "tests/tools/test_shelve_order.py").write_text(probe)
    assert "1 new (shelve_order)" in pin(project)
    repaired = python(project, *PROOFS)
    assert repaired.returncode == 0, repaired.stdout
    for words in (["format", "--check"], ["check"]):
        done = python(project, "-m", "ruff", *words, "--no-cache", ".")
        assert done.returncode == 0, done.stdout


def test_the_guide_lets_in_who_has_a_token(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its settings and its verifier, over HTTP, with a provider that publishes its keys."""
    said = {
        "domain": "orders",
        "tools": ["search_orders", {"name": "get_order", "scopes": ["o:read"]}],
    }
    project = render(template, tmp_path / "p", said)
    *_, settings, extend, clients = BLOCKS
    for name, begin, text in (
        ("settings", "class Settings", settings),
        ("extend", "def extend", extend),
    ):
        path = project / f"src/orders_mcp/{name}.py"
        before, _, after = path.read_text(encoding="utf-8").partition(begin)
        rest = after.partition("\n\n\n")[2]
        path.write_text(
            before + text + (f"\n\n{rest}" if rest else ""), encoding="utf-8"
        )
    for words in (["ruff", "format", "--check"], ["ruff", "check"]):
        done = python(project, "-m", *words, "--no-cache", ".")
        assert done.returncode == 0, done.stdout
    typed = python(project, "-m", "mypy", "--config-file", "config/mypy.ini")
    assert typed.returncode == 0, typed.stdout

    (project / "tests/test_clients.py").write_text(clients, encoding="utf-8")
    tested = python(project, *PYTEST, "tests/test_clients.py")
    assert tested.returncode == 0, tested.stdout

    keys, stranger = RSAKeyPair.generate(), RSAKeyPair.generate()
    jwk = RSAKey.import_key(keys.public_key).as_dict(private=False)

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"keys": [jwk]}).encode())

        def log_message(self, *words: Any) -> None:
            """Say nothing."""

    provider = HTTPServer(("127.0.0.1", 0), Keys)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    issuer, me = f"http://127.0.0.1:{provider.server_port}", "https://mcp.example.com"
    for name, value in {
        "ISSUER": issuer,
        "JWKS_URI": f"{issuer}/jwks",
        "PUBLIC_URL": me,
    }.items():
        monkeypatch.setenv(f"ORDERS_MCP_{name}", value)

    def token(pair: RSAKeyPair, audience: str, *scopes: str) -> str:
        return pair.create_token(issuer=issuer, audience=audience, scopes=[*scopes])

    async def listed(address: str, bearer: str) -> set[str]:
        async with Client[Any](address, auth=bearer) as client:
            return {tool.name for tool in await client.list_tools()}

    with http(project, tmp_path) as address:
        for bearer in (
            "",
            token(stranger, f"{me}/mcp"),
            token(keys, "https://other.example.com"),
        ):
            sent = {"Authorization": f"Bearer {bearer}"} if bearer else {}
            refused = httpx2.post(address, json={}, headers=sent)
            assert refused.status_code == 401
            place = f'resource_metadata="{me}/.well-known/oauth-protected-resource/mcp"'
            assert place in refused.headers["www-authenticate"]
        assert asyncio.run(listed(address, token(keys, f"{me}/mcp"))) == {
            "search_orders"
        }
        able = token(keys, f"{me}/mcp", "o:read")
        assert asyncio.run(listed(address, able)) == {"search_orders", "get_order"}
    provider.shutdown()


SHOP = """
import httpx2
from fastmcp import FastMCP

from .policy import declare

CLIENT = httpx2.AsyncClient(base_url="https://shop.example.com")
PATH = {
    "in": "path",
    "name": "order_id",
    "required": True,
    "description": "The ID of the order.",
    "schema": {"type": "integer"},
}
DONE = {"200": {"description": "Done."}}
GET = {"operationId": "get_order", "summary": "Get an order.", "parameters": [PATH], "responses": DONE}
CANCEL = {"operationId": "cancel_order", "summary": "Cancel an order.", "parameters": [PATH], "responses": DONE}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {"/orders/{order_id}": {"get": GET, "delete": CANCEL}},
}
"""


def find_block(text: str) -> str:
    """Return the one example of the guide that contains a text."""
    (block,) = [block for block in BLOCKS if text in block]
    return str(block)


@pytest.mark.nightly
def test_the_other_examples_run_through_the_suite(
    template: Path, tmp_path: Path
) -> None:
    """A resource with a setting, a prompt, a mounted server with declared tools, and a tool that asks."""
    project = render(template, tmp_path, {"domain": "orders", "tools": TOOLS})
    package = project / "src/orders_mcp"
    settings = package / "settings.py"
    field = '    greenhouse: str = "north"\n'
    assert field.strip() in TEXT
    settings.write_text(settings.read_text(encoding="utf-8") + f"\n{field}")
    (package / "resources").mkdir()
    resource = find_block('@resource("orders://greenhouse"')
    (package / "resources/greenhouse.py").write_text(resource)
    extend = find_block("FastMCP.from_openapi(DOCUMENT, CLIENT)")
    seam = package / "extend.py"
    before, _, after = seam.read_text(encoding="utf-8").partition("def extend(")
    rest = after.partition("\n\n\n")[2]
    seam.write_text(f"{before}{SHOP}\n\n{extend}\n\n{rest}", encoding="utf-8")
    (package / "prompts").mkdir()
    prompt = find_block("def late_orders")
    (package / "prompts/late_orders.py").write_text(prompt, encoding="utf-8")

    tool, probe = BLOCKS[0], BLOCKS[1]
    head = tool.partition("@put(")[0]
    head = head.replace("import put", "import ask, put")
    head = head.replace("from pydantic", "from fastmcp import Context\nfrom pydantic")
    asking = head + find_block("await ask(\n")
    (package / "tools/shelve_order.py").write_text(asking, encoding="utf-8")
    unasked = probe.replace(', "shelf": "B12"}', "}")
    assert unasked != probe
    (project / "tests/tools/test_shelve_order.py").write_text(unasked)

    for name in ("shop_get_order", "shop_cancel_order"):
        text = 'unprobed = "the shop proves it"\n'
        assert text.strip() in TEXT
        (project / f"tests/tools/test_{name}.py").write_text(text, encoding="utf-8")
    pin(project)
    lock = json.loads((project / "annotations.lock.json").read_text(encoding="utf-8"))
    assert {"shop_get_order", "shop_cancel_order", "shelve_order"} <= lock[
        "tools"
    ].keys()
    tested = python(project, *PYTEST)
    assert tested.returncode == 0, tested.stdout
