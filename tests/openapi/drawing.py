"""Documents drawn by Hypothesis: sound ones in many styles, with odd names, texts and schemas in them.

`drawing.py COUNT SEED` prints them, one on a line. Hypothesis takes texts from the modules that are loaded, too, so
`drawn_documents` has them drawn by a process that has loaded no other: the same numbers, the same documents.
"""

import json
import subprocess
import sys
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy


def _words(text: str) -> list[str]:
    return text.split()


NOUNS = _words(
    "notes orders users line-items taskInstances v2 search status class ünits a.b"
)
VERBS = _words(
    "list get create update delete archive send search cancel retrieve run x import test"
)
NASTY = [
    '"""',
    "'\\n{{ 1 }}",
    "{% raw %}",
    "${x}",
    "a\tb",
    "é e\u0301",
    "🙂",
    "\u202eabc",
    "<b>",
    "a | b",
    "# no",
    "- x: y",
    "\\",
]
TEXTS = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=30),
    st.sampled_from(
        ["The note.", "Gets a note. Then more.", "Deletes it.", "List all of them"]
    ),
    st.sampled_from(["mcp", "api", "given", "class", "list", "Null removes it."]),
)
NAMES = st.one_of(
    st.sampled_from(
        _words(
            "id name title state limit page cursor per_page query confirm etag version If-Match from class "
            "filter[tag] $top noteId note_id self schema ctx x-y _id 1st"
        )
    ),
    st.text(alphabet="abcXYZ_-. é1", min_size=1, max_size=8),
)
NUMBERS = st.one_of(st.integers(-5, 50), st.floats(-5, 50), st.booleans(), st.none())


def _some(arguments: dict[str, SearchStrategy[Any]]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=arguments)


PLAIN = st.one_of(
    _some(
        {
            "type": st.just("string"),
            "minLength": NUMBERS,
            "maxLength": NUMBERS,
            "format": st.sampled_from(
                ["date", "date-time", "uuid", "uri", "email", "binary"]
            ),
            "description": TEXTS,
            "default": st.one_of(TEXTS, NUMBERS),
            "enum": st.lists(st.one_of(TEXTS, st.none()), max_size=4),
            "nullable": st.booleans(),
            "pattern": st.sampled_from(
                ["^[a-z]+$", "(?=x)", "[", r"\d{2}", "a{3,1}", "^$", "+"]
            ),
        }
    ),
    _some(
        {
            "type": st.sampled_from(["integer", "number"]),
            "minimum": NUMBERS,
            "maximum": NUMBERS,
            "exclusiveMinimum": NUMBERS,
            "exclusiveMaximum": NUMBERS,
            "default": NUMBERS,
            "enum": st.lists(st.integers(-3, 9), max_size=4),
            "nullable": st.booleans(),
            "description": TEXTS,
        }
    ),
    _some(
        {
            "type": st.sampled_from(
                [
                    "boolean",
                    "null",
                    ["string", "null"],
                    ["integer", "string"],
                    "file",
                    7,
                ]
            ),
            "default": NUMBERS,
            "description": TEXTS,
        }
    ),
    st.sampled_from(
        [
            {"$ref": "#/components/schemas/Node"},
            {"$ref": "#/components/schemas/Loop"},
            {"$ref": "#/none"},
            {"$ref": "https://example.com/x"},
            True,
            {},
        ]
    ),
)


def _deeper(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    fields = st.dictionaries(NAMES, inner, max_size=4)
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": fields},
            optional={
                "required": st.lists(NAMES, max_size=3),
                "description": TEXTS,
                "nullable": st.booleans(),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": NUMBERS, "maxItems": NUMBERS},
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "oneOf": st.lists(inner, max_size=2),
                "anyOf": st.lists(inner, max_size=2),
                "allOf": st.lists(inner, max_size=2),
            },
        ),
    )


SCHEMAS = st.recursive(PLAIN, _deeper, max_leaves=6)
OBJECTS = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(NAMES, SCHEMAS, max_size=6),
    },
    optional={"required": st.lists(NAMES, max_size=3)},
)
MEDIA = st.sampled_from(
    ["application/json"] * 6
    + [
        "application/vnd.x+json",
        "multipart/form-data",
        "application/x-www-form-urlencoded",
        "text/event-stream",
        "application/json-patch+json",
    ]
)


@st.composite
def _paths(draw: DrawFn) -> str:
    parts = []
    for noun in draw(st.lists(st.sampled_from(NOUNS), min_size=1, max_size=3)):
        parts.append(noun)
        if draw(st.booleans()):
            parts.append(
                "{"
                + draw(
                    st.sampled_from(
                        ["id", "noteId", "note_id", "class", "x.y", "a b", "id*"]
                    )
                )
                + "}"
            )
    if draw(st.booleans()):
        parts.append(draw(st.sampled_from(VERBS)))
    return "/" + "/".join(parts)


@st.composite
def _operations(draw: DrawFn, path: str) -> dict[str, Any]:
    built = draw(
        _some(
            {
                "operationId": st.one_of(
                    TEXTS,
                    st.builds(
                        "{}{}".format,
                        st.sampled_from(VERBS),
                        st.sampled_from(["Note", "-an-order", "_things", "/all"]),
                    ),
                ),
                "summary": TEXTS,
                "description": TEXTS,
                "tags": st.lists(TEXTS, max_size=2),
                "deprecated": st.sampled_from([False, False, False, True]),
                "x-mcp": st.fixed_dictionaries(
                    {
                        "annotations": _some(
                            {
                                "readOnlyHint": st.booleans(),
                                "destructiveHint": st.booleans(),
                                "idempotentHint": st.booleans(),
                            }
                        )
                    }
                ),
                "x-openai-isConsequential": st.booleans(),
            }
        )
    )
    place = st.sampled_from(["query", "query", "query", "header", "cookie", "path"])
    row = st.fixed_dictionaries(
        {"in": place, "name": NAMES, "schema": SCHEMAS},
        optional={
            "required": st.booleans(),
            "description": TEXTS,
            "deprecated": st.booleans(),
            "style": st.sampled_from(["form", "deepObject", "pipeDelimited"]),
        },
    )
    built["parameters"] = draw(st.lists(row, max_size=4))
    if draw(st.booleans()):
        schema = draw(st.one_of(OBJECTS, OBJECTS, SCHEMAS))
        built["requestBody"] = {
            "required": draw(st.booleans()),
            "content": {draw(MEDIA): {"schema": schema}},
        }
    answer = draw(
        st.one_of(
            OBJECTS,
            OBJECTS,
            st.builds(lambda row: {"type": "array", "items": row}, OBJECTS),
            SCHEMAS,
        )
    )
    code = draw(st.sampled_from(["200", "200", "201", "202", "204", "default"]))
    built["responses"] = {
        code: {"content": {draw(MEDIA): {"schema": answer}}} if code != "204" else {}
    }
    return built


@st.composite
def documents(draw: DrawFn) -> dict[str, Any]:
    """A document of up to four paths."""
    paths: dict[str, Any] = {}
    for path in draw(st.lists(_paths(), min_size=1, max_size=4, unique=True)):
        methods = draw(
            st.lists(
                st.sampled_from(
                    ["get", "post", "put", "patch", "delete", "get", "post"]
                ),
                min_size=1,
                max_size=3,
                unique=True,
            )
        )
        paths[path] = {method: draw(_operations(path)) for method in methods}
    return {
        "openapi": draw(st.sampled_from(["3.0.3", "3.1.0", "3.2.0"])),
        "info": {"title": draw(TEXTS), "version": "1", "description": draw(TEXTS)},
        "servers": draw(
            st.lists(
                st.fixed_dictionaries(
                    {
                        "url": st.one_of(
                            TEXTS,
                            st.sampled_from(
                                [
                                    "https://api.example.com/v1",
                                    "/v1",
                                    "http://localhost:80/",
                                ]
                            ),
                        )
                    }
                ),
                max_size=2,
            )
        ),
        "paths": paths,
        "components": {
            "schemas": {
                "Node": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "child": {"$ref": "#/components/schemas/Node"},
                    },
                },
                "Loop": {"$ref": "#/components/schemas/Loop"},
            }
        },
    }


def drawn_documents(count: int, start: int) -> list[dict[str, Any]]:
    """So many documents, always the same ones for the same two numbers."""
    words = [sys.executable, "-P", __file__, str(count), str(start)]
    done = subprocess.run(
        words, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    plain = settings(database=None, deadline=None, phases=[Phase.generate])

    @seed(int(sys.argv[2]))
    @settings(
        plain, max_examples=int(sys.argv[1]), suppress_health_check=list(HealthCheck)
    )
    @given(documents())
    def show(built: dict[str, Any]) -> None:
        print(json.dumps(built))

    show()
