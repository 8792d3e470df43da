"""What is done with each service, as operations of its document with values by their names on the wire."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """A call.

    Attributes:
        operation: `METHOD /path`, as in the document.
        path: Values of the path, in its order; `$name` is a value that an earlier step kept.
        query: Values of the query.
        body: The body; None for none.
        keep: Names for values of the response, as in {"uuid": "uuid"}, or {"id": "0.id"} within a list.
        status: The status of a failure that is expected; 0 for success.
        values: Values of the response by their places, known before any server was run; a place that ends in `#`
            is a length. A response without them shows that the request was sent wrongly, as without a filter.
    """

    operation: str
    path: tuple[str, ...] = ()
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    keep: Mapping[str, str] = field(default_factory=dict)
    status: int = 0
    values: Mapping[str, Any] = field(default_factory=dict)


def step(operation: str, *path: str, **extra: Any) -> Step:
    """Return a step whose values of the path are positional."""
    return Step(operation, path, **extra)


MISSING = "00000000-0000-4000-8000-000000000000"
WATCH, TAG, NOTIFY = "/watch/{uuid}", "/tag/{uuid}", "/notifications"
MAIL = {"notification_urls": ["json://127.0.0.1:9/a"]}
CHANGEDETECTION = [
    step("GET /systeminfo"),
    step("GET /watch"),
    step("POST /watch", body={"url": "$page", "title": "One"}, keep={"uuid": "uuid"}),
    step("GET /watch"),
    step(f"GET {WATCH}", "$uuid"),
    step(f"GET {WATCH}", "$uuid", query={"paused": "paused"}),
    step(f"GET {WATCH}", "$uuid", query={"paused": "unpaused"}),
    step(f"PUT {WATCH}", "$uuid", body={"title": "Two"}),
    step(f"GET {WATCH}", "$uuid"),
    step(f"GET {WATCH}/history", "$uuid"),
    step(f"GET {WATCH}/history/{{timestamp}}", "$uuid", "latest", status=404),
    step("GET /search", query={"q": "Two"}),
    step("GET /search", query={"q": "tw", "partial": "true"}),
    step("GET /search", query={"q": "nothing has this"}),
    step("POST /tag", body={"title": "A tag"}, keep={"tag": "uuid"}),
    step("GET /tags"),
    step(f"GET {TAG}", "$tag"),
    step(f"PUT {TAG}", "$tag", body={"title": "Another tag"}),
    step("GET /watch", query={"tag": "Another tag"}),
    step(f"GET {NOTIFY}"),
    step(f"POST {NOTIFY}", body=MAIL),
    step(f"PUT {NOTIFY}", body=MAIL),
    step(f"DELETE {NOTIFY}", body=MAIL),
    step("POST /import", body="http://127.0.0.1:9/imported"),
    step("GET /full-spec"),
    step(f"GET {WATCH}", MISSING, status=404),
    step(f"GET {WATCH}/favicon", "$uuid", status=404),
    step(f"DELETE {WATCH}/history", "$uuid"),
    step(f"DELETE {TAG}", "$tag"),
    step(f"DELETE {WATCH}", "$uuid"),
    step(f"GET {WATCH}", "$uuid", status=404),
]

USER, GROUP = "/users/{name}", "/groups/{name}"
JUPYTERHUB = [
    step("GET /"),
    step("GET /info"),
    step("GET /user"),
    step("GET /users"),
    step("POST /users", body={"usernames": ["ann", "bob", "cyd"]}),
    step(f"POST {USER}", "dan"),
    step(f"POST {USER}", "dan", status=409),
    step(f"GET {USER}", "dan"),
    step("GET /users", query={"offset": 1.0, "limit": 2.0}),
    step("GET /users", query={"state": "inactive"}),
    step(f"PATCH {USER}", "dan", body={"admin": True}),
    step(
        f"POST {USER}/activity", "dan", body={"last_activity": "2026-11-01T00:00:00Z"}
    ),
    step(f"POST {USER}/tokens", "dan", body={"note": "live"}, keep={"token": "id"}),
    step(f"GET {USER}/tokens", "dan"),
    step(f"GET {USER}/tokens/{{token_id}}", "dan", "$token"),
    step(f"DELETE {USER}/tokens/{{token_id}}", "dan", "$token"),
    step("GET /groups"),
    step(f"POST {GROUP}", "staff"),
    step(f"GET {GROUP}", "staff"),
    step(f"POST {GROUP}/users", "staff", body={"users": ["ann", "bob"]}),
    step(f"PUT {GROUP}/properties", "staff", body={"floor": 3}),
    step(f"DELETE {GROUP}/users", "staff", body={"users": ["bob"]}),
    step("GET /groups", query={"limit": 1.0}),
    step("GET /services"),
    step("GET /services/{name}", "mcp"),
    step("GET /proxy"),
    step(f"GET {USER}", "nobody", status=404),
    step(f"DELETE {GROUP}", "staff"),
    step(f"DELETE {USER}", "dan"),
    step(f"GET {USER}", "dan", status=404),
]

TENANT = "/api/v2/tenants/{tenant}"
DATABASES, DATABASE = f"{TENANT}/databases", f"{TENANT}/databases/{{database}}"
COLLECTIONS = f"{DATABASE}/collections"
RECORDS = f"{COLLECTIONS}/{{collection_id}}"
OWN = ("live", "data")
VECTORS = [[0.5, 1.0, 2.0], [1.0, 0.0, 0.25], [0.1, 0.2, 0.3]]
CHROMA = [
    step("GET /api/v2/heartbeat"),
    step("GET /api/v2/version"),
    step("GET /api/v2/pre-flight-checks"),
    step("GET /api/v2/auth/identity"),
    step("GET /api/v2/healthcheck"),
    step("POST /api/v2/tenants", body={"name": "live"}),
    step("GET /api/v2/tenants/{tenant_name}", "live"),
    step(f"POST {DATABASES}", "live", body={"name": "data"}),
    step(f"GET {DATABASES}", "live"),
    step(f"GET {DATABASE}", *OWN),
    step(f"POST {COLLECTIONS}", *OWN, body={"name": "one", "metadata": {"a": 1}}, keep={"id": "id"}),
    step(f"POST {COLLECTIONS}", *OWN, body={"name": "two"}),
    step(f"POST {COLLECTIONS}", *OWN, body={"name": "two"}, status=409),
    step(f"GET {COLLECTIONS}", *OWN),
    step(f"GET {COLLECTIONS}", *OWN, query={"limit": 1, "offset": 1}),
    step(f"GET {RECORDS}", *OWN, "one"),
    step(f"POST {RECORDS}/add", *OWN, "$id", body={
        "ids": ["a", "b", "c"], "embeddings": VECTORS, "documents": ["x", None, "ä"],
        "metadatas": [{"n": 1}, None, {"s": "t"}]}),
    step(f"GET {RECORDS}/count", *OWN, "$id"),
    step(f"POST {RECORDS}/get", *OWN, "$id", body={"ids": ["a", "c"], "include": ["documents", "metadatas"]}),
    step(f"POST {RECORDS}/get", *OWN, "$id", body={"where": {"n": {"$eq": 1}}, "limit": 5}),
    step(f"POST {RECORDS}/query", *OWN, "$id", body={"query_embeddings": [VECTORS[0]], "n_results": 2}),
    step(f"POST {RECORDS}/update", *OWN, "$id", body={"ids": ["b"], "documents": ["y"]}),
    step(f"POST {RECORDS}/upsert", *OWN, "$id", body={"ids": ["d"], "embeddings": [VECTORS[1]]}),
    step(f"POST {RECORDS}/delete", *OWN, "$id", body={"ids": ["a"]}),
    step(f"PUT {RECORDS}", *OWN, "$id", body={"new_name": "first"}),
    step(f"GET {DATABASE}/collections_count", *OWN),
    step(f"GET {RECORDS}", *OWN, "nothing", status=404),
    step(f"DELETE {RECORDS}", *OWN, "first"),
    step(f"DELETE {DATABASE}", *OWN),
    step(f"GET {DATABASE}", *OWN, status=404),
]  # fmt: skip

FLOW, DEPLOYMENT, RUN = "/flows/{id}", "/deployments/{id}", "/flow_runs/{id}"
PREFECT = [
    step("GET /health"),
    step("GET /version"),
    step("POST /flows/", body={"name": "live", "tags": ["a"]}, keep={"flow": "id"}),
    step("POST /flows/", body={"name": "other"}),
    step(f"GET {FLOW}", "$flow"),
    step("GET /flows/name/{name}", "live"),
    step("POST /flows/filter", body={"limit": 1.0}),
    step("POST /flows/filter", body={"flows": {"name": {"any_": ["live"]}}}),
    step("POST /flows/count", body={}),
    step(f"PATCH {FLOW}", "$flow", body={"tags": ["b"]}),
    step("POST /deployments/", body={"name": "d", "flow_id": "$flow"}, keep={"deployment": "id"}),
    step("POST /deployments/filter", body={}),
    step(f"GET {DEPLOYMENT}", "$deployment"),
    step(f"PATCH {DEPLOYMENT}", "$deployment", body={"description": "Described"}),
    step(f"POST {DEPLOYMENT}/create_flow_run", "$deployment", body={"name": "r"}, keep={"run": "id"}),
    step("POST /flow_runs/filter", body={"limit": 5}),
    step(f"GET {RUN}", "$run"),
    step(f"PATCH {RUN}", "$run", body={"name": "s"}),
    step(f"POST {RUN}/set_state", "$run", body={"state": {"type": "CANCELLED"}}),
    step("POST /logs/", body=[{"name": "n", "level": 20, "message": "m", "flow_run_id": "$run",
                               "timestamp": "2026-11-01T00:00:00Z"}]),
    step("POST /logs/filter", body={"limit": 5}),
    step("POST /variables/", body={"name": "v", "value": {"a": [1, None]}}),
    step("GET /variables/name/{name}", "v"),
    step("POST /variables/filter", body={}),
    step("PATCH /variables/name/{name}", "v", body={"value": 3}),
    step("DELETE /variables/name/{name}", "v"),
    step("POST /work_pools/", body={"name": "w", "type": "process"}),
    step("GET /work_pools/{name}", "w"),
    step("POST /work_pools/filter", body={}),
    step("DELETE /work_pools/{name}", "w"),
    step(f"GET {FLOW}", MISSING, status=404),
    step("POST /flows/", body={"name": "a/b"}, status=422),
    step(f"DELETE {RUN}", "$run"),
    step(f"DELETE {DEPLOYMENT}", "$deployment"),
    step(f"DELETE {FLOW}", "$flow"),
]  # fmt: skip

SCENARIOS: dict[str, list[Step]] = {
    "changedetection.io": CHANGEDETECTION,
    "jupyterhub": JUPYTERHUB,
    "chroma": CHROMA,
    "prefect": PREFECT,
}
# What is read before and after each call of the read-only mode.
SNAPSHOTS: dict[str, list[tuple[str, Any]]] = {
    "changedetection.io": [
        ("GET /watch", None),
        ("GET /watch/$uuid", None),
        ("GET /tags", None),
    ],
    "jupyterhub": [("GET /users", None), ("GET /groups", None)],
    "chroma": [
        (
            "GET /api/v2/tenants/default_tenant/databases/default_database/collections",
            None,
        )
    ],
    "prefect": [("POST /flows/filter", {}), ("POST /variables/filter", {})],
}
SEEDS: dict[str, list[Step]] = {
    "changedetection.io": [CHANGEDETECTION[2]],
    "jupyterhub": [JUPYTERHUB[4]],
    "chroma": [],
    "prefect": [PREFECT[2], PREFECT[21]],
}

FILE, SECTION = "/api/contents/{path}", "/api/config/{section_name}"
TEXT = {"type": "file", "format": "text", "content": "one"}
JUPYTER_SERVER = [
    step("GET /api/"),
    step("GET /api/status"),
    step("GET /api/me"),
    step("GET /api/kernelspecs"),
    step("GET /api/kernels"),
    step("GET /api/sessions"),
    step("GET /api/spec.yaml"),
    step(f"PUT {FILE}", "a.txt", body=TEXT),
    step(f"GET {FILE}", "a.txt"),
    step(f"GET {FILE}", "a.txt", query={"content": 0}),
    step(f"PATCH {FILE}", "a.txt", body={"path": "b.txt"}),
    step(f"GET {FILE}", "a.txt", status=404),
    step(f"POST {FILE}/checkpoints", "b.txt", keep={"checkpoint": "id"}),
    step(f"GET {FILE}/checkpoints", "b.txt"),
    step(f"POST {FILE}/checkpoints/{{checkpoint_id}}", "b.txt", "$checkpoint"),
    step(f"GET {SECTION}", "live"),
    step(f"PATCH {SECTION}", "live", body={"level": 3}),
    step(f"GET {SECTION}", "live"),
    step(f"DELETE {FILE}/checkpoints/{{checkpoint_id}}", "b.txt", "$checkpoint"),
    step(f"DELETE {FILE}", "b.txt"),
    step(f"GET {FILE}", "b.txt", status=404),
]

BUCKET, COLLECTION = "/buckets/{id}", "/buckets/{bucket_id}/collections/{id}"
KINTO_RECORDS = "/buckets/{bucket_id}/collections/{collection_id}/records"
THINGS = ("live", "things")
# The first run, which docs/api.md reports, passed `_sort` as a text; the document has a list there.
KINTO = [
    step("GET /"),
    step("GET /__heartbeat__"),
    step(f"PUT {BUCKET}", "live", body={"data": {"color": "red"}}),
    step("GET /buckets"),
    step(f"GET {BUCKET}", "live"),
    step("POST /buckets/{bucket_id}/collections", "live", body={"data": {"id": "things"}}),
    step("GET /buckets/{bucket_id}/collections", "live"),
    step(f"PUT {KINTO_RECORDS}/{{id}}", *THINGS, "first", body={"data": {"n": 1, "tags": ["a"]}}),
    step(f"PUT {KINTO_RECORDS}/{{id}}", *THINGS, "second", body={"data": {"n": 2.5}}),
    step(f"POST {KINTO_RECORDS}", *THINGS, body={"data": {"n": None}}),
    step(f"GET {KINTO_RECORDS}", *THINGS),
    step(f"GET {KINTO_RECORDS}", *THINGS, query={"_limit": 1, "_sort": ["n"]}),
    step(f"GET {KINTO_RECORDS}/{{id}}", *THINGS, "first"),
    step(f"PATCH {KINTO_RECORDS}/{{id}}", *THINGS, "first", body={"data": {"n": 3}}),
    step(f"GET {KINTO_RECORDS}/{{id}}", *THINGS, "nothing", status=404),
    step(f"DELETE {KINTO_RECORDS}/{{id}}", *THINGS, "second"),
    step(f"GET {KINTO_RECORDS}/{{id}}", *THINGS, "second", status=404),
    step(f"DELETE {KINTO_RECORDS}", *THINGS),
    step(f"DELETE {COLLECTION}", *THINGS),
    step(f"DELETE {BUCKET}", "live"),
]  # fmt: skip

PROJECT, TASK = "/api/projects/{id}/", "/api/tasks/{id}/"
CHOICES = (
    '<View><Text name="text" value="$text"/><Choices name="mood" toName="text">'
    '<Choice value="good"/><Choice value="bad"/></Choices></View>'
)
GOOD = [
    {
        "from_name": "mood",
        "to_name": "text",
        "type": "choices",
        "value": {"choices": ["good"]},
    }
]
# The first run, which docs/api.md reports, had a title that its document calls too short, refused before it was sent, and
# four exports that the document calls deprecated, which are no tools.
LABEL_STUDIO = [
    step("GET /api/current-user/whoami", values={"email": "ann@example.com"}),
    step("GET /api/projects/", values={"count": 0, "results#": 0}),
    step("POST /api/projects/", body={"title": "Live", "label_config": CHOICES}, keep={"project": "id"},
         values={"title": "Live"}),
    step("POST /api/projects/", body={"title": "Other", "description": "ä \"q\""}, keep={"other": "id"}),
    step("POST /api/projects/", body={"title": "Broken", "label_config": "<View>"}, status=400),
    step("GET /api/projects/", query={"page_size": 1}, values={"count": 2, "results#": 1}),
    step("GET /api/projects/", query={"title": "Live"}, values={"count": 1, "results.0.title": "Live"}),
    step(f"GET {PROJECT}", "$project", values={"title": "Live", "label_config": CHOICES}),
    step(f"PATCH {PROJECT}", "$project", body={"show_instruction": True}, values={"show_instruction": True}),
    step(f"POST {PROJECT}validate/", "$project", body={"label_config": CHOICES}),
    step(f"POST {PROJECT}validate/", "$project", body={"label_config": "<View>"}, status=400),
    step(f"POST {PROJECT}import", "$project", query={"return_task_ids": True},
         body=[{"data": {"text": "one"}}, {"data": {"text": "two"}}], keep={"first": "task_ids.0"},
         values={"task_count": 2, "task_ids#": 2}),
    step(f"GET {PROJECT}tasks/", "$project", query={"page_size": 1}, values={"#": 1}),
    step("POST /api/tasks/", body={"data": {"text": "three"}, "project": "$project"}, keep={"task": "id"},
         values={"data.text": "three"}),
    step("GET /api/tasks/", query={"project": "$project", "page_size": 2}, values={"total": 3, "tasks#": 2}),
    step("GET /api/tasks/", query={"project": "$project", "fields": "all", "query": '{"ordering": ["-tasks:id"]}'},
         values={"tasks#": 3, "tasks.0.data.text": "three"}),
    step(f"GET {TASK}", "$task", values={"data.text": "three"}),
    step(f"PATCH {TASK}", "$task", body={"data": {"text": "3"}}, values={"data.text": "3"}),
    step(f"POST {TASK}annotations/", "$task", body={"result": GOOD, "lead_time": 2.0}, keep={"annotation": "id"},
         values={"result.0.value.choices": ["good"], "lead_time": 2.0}),
    step(f"GET {TASK}annotations/", "$task", values={"#": 1}),
    step("GET /api/annotations/{id}/", "$annotation", values={"lead_time": 2.0}),
    step("PATCH /api/annotations/{id}/", "$annotation", body={"ground_truth": True}, values={"ground_truth": True}),
    step("POST /api/predictions/", body={"task": "$task", "result": GOOD, "score": 0.5, "model_version": "m"},
         keep={"prediction": "id"}, values={"score": 0.5}),
    step("GET /api/predictions/", query={"task": "$task"}, values={"#": 1}),
    step("GET /api/predictions/", query={"task": "$first"}, values={"#": 0}),
    step("DELETE /api/predictions/{id}/", "$prediction"),
    step("POST /api/projects/{id}/exports/", "$project", body={"title": "All"}, keep={"export": "id"}),
    step("GET /api/projects/{id}/exports/", "$project", values={"#": 1}),
    step("GET /api/projects/{id}/exports/{export_pk}/download", "$project", "$export", query={"exportType": "JSON"}),
    step("POST /api/webhooks/", body={"url": "http://127.0.0.1:9/hook", "project": "$project", "actions": ["TASKS_CREATED"]},
         status=403),
    step("GET /api/webhooks/", query={"project": "$project"}, values={"#": 0}),
    step("POST /api/dm/views/", body={"project": "$project", "data": {"title": "A view", "ordering": ["tasks:id"]}},
         keep={"view": "id"}, values={"data.title": "A view"}),
    step("GET /api/dm/views/", query={"project": "$project"}),
    step("GET /api/users/", values={"#": 1}),
    step(f"GET {TASK}", "999999", status=404),
    step("DELETE /api/annotations/{id}/", "$annotation"),
    step(f"DELETE {TASK}", "$task"),
    step(f"DELETE {PROJECT}tasks/", "$project"),
    step(f"DELETE {PROJECT}", "$other"),
    step(f"GET {PROJECT}", "$other", status=404),
]  # fmt: skip

DATASET, EXPERIMENT = "/v1/datasets/{id}", "/v1/experiments/{experiment_id}"
NAMED = "/v1/projects/{project_identifier}"
FROM, TO = "2026-11-01T00:00:00Z", "2026-11-01T00:00:01Z"
SPANS = [
    {
        "name": name,
        "context": {"trace_id": "0" * 31 + "1", "span_id": "0" * 15 + number},
        "span_kind": "LLM",
        "start_time": FROM,
        "end_time": TO,
        "status_code": "OK",
        "attributes": {"llm.model_name": "m", "deep": {"a": [1, None]}},
    }
    for name, number in (("first", "1"), ("second", "2"))
]
PROMPT_VERSION = {
    "model_provider": "OPENAI",
    "model_name": "m",
    "template": {
        "type": "chat",
        "messages": [{"role": "user", "content": "Hello {{name}}"}],
    },
    "template_type": "CHAT",
    "template_format": "MUSTACHE",
    "invocation_parameters": {"type": "openai", "openai": {"temperature": 0.5}},
}
PHOENIX = [
    step("GET /v1/projects", values={"data#": 1}),
    step("POST /v1/projects", body={"name": "live", "description": "Ä"}, keep={"project": "data.id"},
         values={"data.name": "live", "data.description": "Ä"}),
    step("GET /v1/projects", query={"name_contains": "liv"}, values={"data#": 1, "data.0.name": "live"}),
    step(f"GET {NAMED}", "live", values={"data.name": "live"}),
    step(f"PUT {NAMED}", "live", body={"description": "Changed"}, values={"data.description": "Changed"}),
    step(f"GET {NAMED}", "nothing", status=404),
    step("POST /v1/datasets/upload", query={"sync": True}, body={
        "action": "create", "name": "data", "inputs": [{"q": "1"}, {"q": "2"}], "outputs": [{"a": "x"}, {"a": "y"}]},
        keep={"dataset": "data.dataset_id"}),
    step("POST /v1/datasets/upload", query={"sync": True}, body={"action": "create", "name": "data", "inputs": [{"q": "1"}]},
         status=409),
    step("GET /v1/datasets", query={"name": "data"}, values={"data#": 1, "data.0.name": "data"}),
    step(f"GET {DATASET}", "$dataset", values={"data.example_count": 2}),
    step(f"GET {DATASET}/versions", "$dataset", values={"data#": 1}),
    step(f"GET {DATASET}/examples", "$dataset", keep={"example": "data.examples.0.id"}, values={"data.examples#": 2}),
    step(f"GET {DATASET}/csv", "$dataset"),
    step(f"GET {DATASET}/jsonl", "$dataset"),
    step("POST /v1/dataset_labels", body={"name": "good", "color": "#00ff00"}, keep={"label": "data.id"}),
    step("POST /v1/dataset_labels", body={"name": "good", "color": "#00ff00"}, status=409),
    step("POST /v1/dataset_labels", body={"name": "green", "color": "green"}, status=422),
    step("PATCH /v1/dataset_labels/{label_id}", "$label", body={"color": "#0000ff"}, values={"data.color": "#0000ff"}),
    step("PUT /v1/datasets/{dataset_identifier}/labels/{label_id}", "data", "$label"),
    step("GET /v1/datasets/{dataset_identifier}/labels", "data", values={"data#": 1}),
    step("DELETE /v1/datasets/{dataset_identifier}/labels/{label_id}", "data", "$label"),
    step("POST /v1/datasets/{dataset_identifier}/splits", "data", body={"name": "train", "example_ids": ["$example"]},
         values={"data.name": "train"}),
    step(f"GET {DATASET}/examples", "$dataset", query={"split": ["train"]}, values={"data.examples#": 1}),
    step("POST /v1/datasets/{dataset_id}/experiments", "$dataset", body={"name": "e", "repetitions": 2.0},
         keep={"experiment": "data.id"}, values={"data.repetitions": 2}),
    step(f"POST {EXPERIMENT}/runs", "$experiment", body={
        "dataset_example_id": "$example", "output": {"a": [1, None]}, "repetition_number": 1, "start_time": FROM, "end_time": TO},
        keep={"run": "data.id"}),
    step(f"GET {EXPERIMENT}/runs", "$experiment", values={"data#": 1, "data.0.output": {"a": [1, None]}}),
    step("POST /v1/experiment_evaluations", body={
        "experiment_run_id": "$run", "name": "exact", "annotator_kind": "CODE", "start_time": FROM, "end_time": TO,
        "result": {"score": 1.0, "label": "yes"}}),
    step(f"GET {EXPERIMENT}/incomplete-runs", "$experiment", query={"limit": 1}, values={"data#": 1}),
    step(f"GET {EXPERIMENT}/json", "$experiment", values={"0.output": {"a": [1, None]}}),
    step(f"GET {EXPERIMENT}/csv", "$experiment"),
    step(f"PATCH {EXPERIMENT}", "$experiment", body={"name": "f"}, values={"data.name": "f"}),
    step("POST /v1/annotation_configs", body={
        "type": "CATEGORICAL", "name": "mood", "optimization_direction": "MAXIMIZE",
        "values": [{"label": "good", "score": 1.0}, {"label": "bad"}]}, keep={"config": "data.id"},
        values={"data.values#": 2}),
    step("POST /v1/annotation_configs", body={
        "type": "CONTINUOUS", "name": "level", "optimization_direction": "NONE", "lower_bound": 0.0}),
    step("GET /v1/annotation_configs", query={"limit": 1}, values={"data#": 1}),
    step("GET /v1/annotation_configs/{config_identifier}", "mood", values={"data.type": "CATEGORICAL"}),
    step("DELETE /v1/annotation_configs/{config_id}", "$config", values={"data.name": "mood"}),
    step("POST /v1/prompts", body={"prompt": {"name": "hello"}, "version": PROMPT_VERSION}, keep={"version": "data.id"},
         values={"data.template.messages.0.content": "Hello {{name}}"}),
    step("GET /v1/prompts/{prompt_identifier}/latest", "hello", values={"data.model_name": "m"}),
    step("POST /v1/prompt_versions/{prompt_version_id}/tags", "$version", body={"name": "stable"}),
    step("GET /v1/prompts/{prompt_identifier}/tags/{tag_name}", "hello", "stable"),
    step("DELETE /v1/prompts/{prompt_identifier}", "hello"),
    step(f"POST {NAMED}/spans", "live", body={"data": SPANS}, values={"total_queued": 2}),
    step("GET /v1/model_providers"),
    step("GET /v1/users"),
    step(f"DELETE {EXPERIMENT}", "$experiment"),
    step(f"DELETE {DATASET}", "$dataset"),
    step(f"DELETE {NAMED}", "live"),
    step(f"GET {NAMED}", "live", status=404),
]  # fmt: skip

FRESH_SCENARIOS: dict[str, list[Step]] = {
    "jupyter-server": JUPYTER_SERVER,
    "kinto": KINTO,
    "label-studio": LABEL_STUDIO,
    "phoenix": PHOENIX,
}
