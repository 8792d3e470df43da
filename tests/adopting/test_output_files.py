"""Files that libraries write to a path that the caller names, below a tool whose words say read."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose

READ = 'def area(uri: str, output: str) -> dict:\n    """Extract the area."""\n    return {}'
WRITERS = (
    "lib.write_dataframe(frame, path)",
    "frame.to_file(path)",
    "frame.to_parquet(path)",
    "lib.imwrite(path, frame)",
    "lib.warp(path, frame)",
)


@pytest.mark.parametrize("helper", ["clip", "convert"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_at_a_named_output_is_no_read(
    writer: str, helper: str, tmp_path: Path
) -> None:
    head = (
        f"import lib\n\n\ndef {helper}(uri, path):\n    frame = lib.read_info(uri)\n"
        f"    {writer}\n    return lib.read_info(path)\n\n\n@mcp.tool"
    )
    proposal = propose(tmp_path, READ.format(f"{helper}(uri, output)"), head)
    assert proposal.asked or proposal.behavior != "read"


BASE = """
from abc import ABC, abstractmethod


class Transport(ABC):
    @abstractmethod
    async def download(self, remote: str, local: str) -> dict: ...


class Disk(Transport):
    async def download(self, remote: str, local: str) -> dict:
        {0}


def connect() -> Transport:
    return Disk()


@mcp.tool
"""
DOWNLOAD = """async def download_file(remote_path: str, local_path: str) -> dict:
    \"\"\"Read a file of the host.\"\"\"
    return await connect().download(remote_path, local_path)"""


@pytest.mark.parametrize("base", ["...", "pass", "raise NotImplementedError"])
@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        ("Path(local).write_bytes(Path(remote).read_bytes())", False),
        ("return {'size': len(Path(remote).read_bytes())}", True),
    ],
)
def test_a_method_without_a_body_does_what_its_implementations_do(
    base: str, body: str, is_read: bool, tmp_path: Path
) -> None:
    head = BASE.format(body).replace("dict: ...", f"dict: {base}").strip()
    proposal = propose(tmp_path, DOWNLOAD, head)
    assert (proposal.behavior == "read" and not proposal.asked) is is_read


def test_a_method_that_nobody_implements_is_not_known(tmp_path: Path) -> None:
    head = BASE.format("...").replace("Disk()", "LOADED").strip()
    function = DOWNLOAD.replace("local_path", "output")
    assert propose(tmp_path, function, head).asked
