"""`metadata set` and `unset` on any layout: that change and every comment, or a refusal."""

import re
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, seed
from hypothesis import strategies as st
from strategies import drawn
from support import draws
from texts import Cli, module, write

names = st.sampled_from(["get_meter", "create_meter", "list_resources"])


fields = st.sampled_from(["title", "description", "arguments.unit"])


words = st.text("aé :#-{}[],'\"\\%&*!|>@`?=~\n", min_size=1, max_size=12).filter(
    str.strip
)


layouts = st.dictionaries(
    names,
    st.fixed_dictionaries(
        {"title": words.map(lambda t: t.replace("\n", " "))},
        optional={"description": words},
    ),
    max_size=3,
)


@seed(20261123)
@drawn(draws(120))
@given(
    data=layouts,
    flow=st.sampled_from([False, None, True]),
    indent=st.sampled_from([2, 4]),
    name=names,
    field=fields,
    value=words | st.none(),
    spots=st.lists(st.integers(0, 30), max_size=4),
)
def test_a_change_of_any_file_is_that_change_or_refused(
    cli: Cli,
    mine: Path,
    data: dict[str, Any],
    flow: bool | None,
    indent: int,
    name: str,
    field: str,
    value: str | None,
    spots: list[int],
) -> None:
    """Whatever the layout: what the file says is what was asked for, and every comment line stays."""
    written = {"version": 1, "tools": data}
    lines = yaml.safe_dump(
        written, default_flow_style=flow, indent=indent, allow_unicode=True
    )
    split = lines.splitlines()
    for n, spot in enumerate(spots):
        split.insert(spot % (len(split) + 1), f"# comment {n}")
    text = "\n".join(split) + "\n"
    try:
        commented = yaml.safe_load(text) == written
    except yaml.YAMLError:
        commented = False
    text = text if commented else lines
    write(mine, text)
    done = (
        cli("set", name, field, value)
        if value is not None
        else cli("unset", name, field)
    )
    if done.code:
        assert mine.read_text() == text
        assert done.err.count("\n") == 1
        return
    parent: Any = written["tools"]
    where = (
        [name, "arguments", "unit", "description"] if "." in field else [name, field]
    )
    for key in where[:-1]:
        parent = parent.setdefault(key, {})
    if value is None:
        del parent[where[-1]]
    else:
        parent[where[-1]] = value
    pruned = module("engine.metadata.editing").prune
    assert pruned(yaml.safe_load(mine.read_text())) == pruned(written)
    whole = re.compile("^# comment .$", re.MULTILINE)
    if field != "description":  # a comment inside of what is taken out goes with it
        assert whole.findall(mine.read_text()) == whole.findall(text)
