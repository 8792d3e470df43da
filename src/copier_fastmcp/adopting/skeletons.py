"""The files of an adoption in tests/tools: a skeleton of each proof, and the location of the data."""

import ast
import re
from typing import Any

from ..sources.modules import list_caller_parameters
from .proposals import Proposal

PROBE = '''"""Yours: the proof of {name}."""

unprobed = "it was adopted, and nobody has arranged data for it yet"

# To prove it, say in tests/tools/backend.py where its data is, delete the line above, and write:
#
# async def arrange(backend):
#     return {arguments}
'''
BACKEND = '''"""Yours: the data that the tools change, for the probes in this folder."""

from typing import Any


class Backend:
    """What a probe's arrange() gets, and what the suite looks at before and after each call."""

    async def snapshot(self) -> dict[str, Any]:
        """All data that the tools may change, as plain JSON."""
        raise NotImplementedError("tests/tools/backend.py: where is the data?")


def connect(settings: object) -> Backend:
    """Fresh, empty data for one case."""
    return Backend()
'''
# With it, pytest tells the files of this folder from an author's tests of the same names.
PACKAGE = '''"""The proofs of the tools, which tests/policy/check.py runs."""
'''
# As `ast.unparse` writes it
CHOICE = re.compile(r"\bLiteral\[('[^'\\]*'|-?\d+|True|False)[,\]]")
SAMPLES = {"str": "a", "int": 1, "float": 1.0, "bool": False}


def write_probe(proposal: Proposal) -> str:
    """The skeleton of a tool's proof, with the arguments that can be guessed."""
    arguments: dict[str, Any] = {}
    for name, annotation in list_caller_parameters(proposal.tool.function):
        text = ast.unparse(annotation) if annotation else "str"
        kind = _find_sample_type(text)
        if choice := CHOICE.search(text):
            arguments[name] = ast.literal_eval(choice[1])
        elif kind:
            arguments[name] = SAMPLES[kind]
    return PROBE.format(name=proposal.tool.name, arguments=arguments)


def _find_sample_type(annotation: str) -> str:
    """The first type of `SAMPLES` that an annotation names; empty: none."""
    for type_name in SAMPLES:
        if re.search(rf"\b{type_name}\b", annotation):
            return type_name
    return ""


def explain_unusable_name(proposal: Proposal) -> str:
    """Why only a person can name the file of a tool's proof; empty: its name does."""
    name = proposal.tool.name
    if not proposal.tool.exact and re.search("^_|__|_$", name):
        return "its name is known when it runs; write tests/tools/test_NAME.py for each"
    if not re.fullmatch(r"[\w.-]+", name):
        return (
            "its name cannot be that of a file, so the suite cannot prove it; rename it"
        )
    return ""
