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


@pytest.mark.parametrize(
    ("name", "is_question"), [("download_file", True), ("compare_file", False)]
)
def test_what_an_unknown_client_downloads_to_a_local_path_is_no_read(
    name: str, is_question: bool, tmp_path: Path
) -> None:
    text = (
        f"async def {name}(remote_path: str, local_path: str) -> dict:\n"
        '    """Read a file of the host."""\n    return {}'
    )
    method = name.partition("_")[0]
    call = f"await CLIENT.{method}(remote_path, local_path)"
    proposal = propose(tmp_path, text.format(call))
    assert bool(proposal.asked) is is_question
    assert (proposal.behavior == "read") is not is_question
