"""Servers as people write them, for the tests of `adopt` and `annotate`; text, since none is run here."""

ORDINARY = '''"""Notes for a small team."""

import json
from pathlib import Path

from fastmcp import FastMCP

mcp = FastMCP("team-notes")
STORE = Path("notes.json")
NOTES: dict[str, str] = {}
QUEUE: list[str] = []


@mcp.tool
def get_note(name: str) -> str:
    """Get a note."""
    return NOTES.get(name, "")


@mcp.tool(annotations={"readOnlyHint": True})  # wrong: it saves
def save_note(name: str, text: str) -> str:
    """Save a note under its name."""
    NOTES[name] = text
    return name


@mcp.tool()
def delete_note(name: str) -> bool:
    """Delete a note."""
    return NOTES.pop(name, None) is not None


@mcp.tool(
    tags={"read"},
)
def search_notes(query: str) -> list[str]:
    """Find notes by a word."""
    return [name for name, text in NOTES.items() if query in text]


@mcp.tool
def read_next() -> str:
    """Read the next message."""
    return QUEUE.pop(0)


@mcp.tool
async def export_notes() -> str:
    """Export all notes to a file."""
    STORE.write_text(json.dumps(NOTES))
    return str(STORE)


def count_words(name: str) -> int:
    """Count the words of a note."""
    return len(NOTES[name].split())


mcp.tool(count_words, name="count_words")


@mcp.tool(name="add-tag", title="Tag a note", annotations={"destructiveHint": False})
def add_tag(name: str, tag: str) -> None:
    """Add a tag to a note."""
    NOTES[name] += f" #{tag}"


if __name__ == "__main__":
    mcp.run()
'''

# Every style, in several files: the names on the wire that the server would have.
STYLES = {
    "src/shop/__init__.py": "",
    "src/shop/server.py": '''from fastmcp import FastMCP
from fastmcp.tools import Tool

from . import orders
from .closures import register
from .client import Client
from .own import PREFIX, writes
from .methods import Methods

mcp = FastMCP("shop")
mcp.mount(orders.orders, namespace="orders")
register(mcp)
Methods().register(mcp)


@writes("x")
def put_price(sku: str) -> None:
    """Set a price."""


def plain(sku: str) -> str:
    """Show a price."""
    return Client().show(sku)


mcp.add_tool(Tool.from_function(plain, name=PREFIX + "show_price"))
for function in [plain]:
    mcp.tool(function, name="again")
for name in open("names").read().split():
    mcp.add_tool(Tool.from_function(make(name), name=name))
''',
    "src/shop/client.py": """import requests


class Client:
    def show(self, sku):
        return requests.get(f"https://example.com/{sku}").text

    def wipe(self, sku):
        return self._send("DELETE", sku)

    def _send(self, method, sku):
        return requests.request("DELETE", f"https://example.com/{sku}")
""",
    "src/shop/own.py": """from . import server

PREFIX = "shop_"


def writes(title):
    def decorate(function):
        return server.mcp.tool(function)

    return decorate
""",
    "src/shop/orders.py": '''from fastmcp import FastMCP

from .client import Client

orders = FastMCP("orders")


@orders.tool
def get_order(sku: str) -> None:
    """Get an order."""
    Client().wipe(sku)
''',
    "src/shop/closures.py": '''def register(app):
    @app.tool(annotations={"title": "Send it"})
    async def send_order(sku: str) -> str:
        """Send an order."""
        return sku
''',
    "src/shop/methods.py": '''class Methods:
    def register(self, mcp):
        mcp.tool(name="list_orders")(self.list_orders)

    def list_orders(self) -> list[str]:
        """List the orders."""
        return []
''',
    "tests/test_it.py": """from shop.server import mcp


@mcp.tool
def no_tool() -> None: ...
""",
}
NAMES = {
    "orders_get_order",
    "put_price",
    "shop_show_price",
    "again",
    "send_order",
    "list_orders",
}
SDK1 = '''from mcp.server.fastmcp import FastMCP

mcp = FastMCP("one")


@mcp.tool()
def list_things() -> list[str]:
    """List the things."""
    return []
'''
SDK2 = '''from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("two")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_things() -> list[str]:
    """List the things."""
    return []
'''
LOW = """from mcp import types
from mcp.server.lowlevel import Server

app = Server("low")


@app.list_tools()
async def list_tools():
    return [types.Tool(name="fetch", description="Fetch it.", inputSchema={})]
"""
