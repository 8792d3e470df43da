"""The hints proven: each tool runs on the data its tests/tools file arranges, between snapshots."""

from inspect import unwrap

import pytest

from .cases import Variant, variants
from .conftest import ERAS, NOTES, TOOLS, Call, insist
from .pin import TABLES
from .probing import OURS, Probe
from .rules import Tool

MOST = 12  # cases of a tool
WRITTEN = {name for name, tool in OURS.items() if ".policy." not in unwrap(tool.fn).__module__}


@pytest.mark.anyio
@pytest.mark.parametrize("tool", [pytest.param(t, id=t.name) for t in TOOLS if t.name in WRITTEN])
async def test_hints_are_true(tool: Tool, call: Call, era: str) -> None:
    probe = Probe(tool, call)
    backend, cases = await probe.arranged()
    chosen = [Variant(case.arguments, case=n) for n, case in enumerate(cases)]
    base = cases[0].arguments
    if era == ERAS[-1]:
        data = await probe.snapshot(backend)
        names = probe.named_by(base, data)
        value = base[names[0]] if names else None
        if probe.behavior != "read":
            await probe.find_twins(value[0] if isinstance(value, list) and value else value, data)
        chosen += variants(tool.parameters, base, names, TABLES["versions"], probe.behavior)
        if cut := ", ".join(v.name for v in chosen[MOST:]):
            NOTES[f"{tool.name}: not all cases were run; left out: {cut}"] = None
    for variant in chosen[:MOST]:
        wrong = await probe.run(variant)
        insist(not wrong, f"{tool.name}: {f'with {variant.name} ' if variant.name else ''}{wrong}")
    if era == ERAS[-1]:
        wrong = probe.claim(base)
        insist(not wrong, f"{tool.name}: {wrong}")
