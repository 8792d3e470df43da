"""Forms of English words in names.

The macros have a `singular` of their own (`macros/names.jinja`), which must run inside Copier and never changes: a
record keeps its name. The results of this one are names of imported tools, so it does not change either.
"""

UNCHANGED = frozenset(
    {"news", "series", "species", "gas", "atlas", "canvas", "address"}
)
SHORTEST_PLURAL = 4


def singular(word: str) -> str:
    """Return the singular of a plural, as in `note` for `notes`; any other word as it is."""
    if word in UNCHANGED:
        return word
    if word.endswith("ies") and len(word) > SHORTEST_PLURAL:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith(("ss", "us", "is")) or len(word) < SHORTEST_PLURAL:
        return word
    return word.removesuffix("s")
