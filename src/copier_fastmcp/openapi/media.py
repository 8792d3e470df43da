"""Media types: which hold JSON, text, or bytes."""

import re

TEXTUAL = re.compile(
    r"text/.*|.*\+(xml|yaml)|application/(xml|yaml|x-yaml|csv|javascript|x-ndjson|ndjson|jsonl?|"
    r"x-jsonlines|x-www-form-urlencoded|graphql|sql|rtf|toml|x-sh|problem.*)|\*/\*"
)
STREAM = "text/event-stream"
