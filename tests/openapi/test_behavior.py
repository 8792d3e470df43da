"""What an operation does, row by row of what methods, words and extensions say."""

from typing import Any

import pytest
from openapi.documents_of import make_json_body, make_operation

from copier_fastmcp.openapi.behavior import derive

MADE = {"201": {"description": ""}}
LATER = {"202": {"description": ""}}
BODY = make_json_body(title={"type": "string"})
ACTIONS = {"in": "query", "name": "action", "schema": {"enum": ["create", "delete"]}}
MATCH = {
    "in": "header",
    "name": "If-Match",
    "required": True,
    "schema": {"type": "string"},
}

SURE: list[tuple[str, dict[str, Any], str]] = [
    ("GET /notes", {}, "read"),
    ("HEAD /notes", {}, "read"),
    ("QUERY /notes", {}, "read"),
    ("GET /runs/{id}", {"operationId": "getRun"}, "read"),
    (
        "GET /actions/runs",
        {"operationId": "actions/list-workflow-runs", "tags": ["actions"]},
        "read",
    ),
    (
        "GET /notes/{id}/archive",
        {"operationId": "getArchive", "summary": "Get it"},
        "read",
    ),
    (
        "GET /users",
        {"summary": "List the users who can create and delete notes"},
        "read",
    ),
    ("GET /logs", {"operationId": "listLogs", "parameters": [ACTIONS]}, "read"),
    ("GET /tests", {"summary": "Test results"}, "read"),
    ("GET /tests", {"summary": "Allows you to list all tests"}, "read"),
    ("GET /a", {"x-mcp-annotations": {"destructiveHint": True}}, "action"),
    ("GET /a", {"x-mcp-annotations": {"idempotentHint": False}}, "action"),
    (
        "GET /a",
        {"x-mcp-annotations": {"destructiveHint": False, "idempotentHint": True}},
        "read",
    ),
    ("POST /notes/search", {"operationId": "searchNotes"}, "read"),
    ("POST /graphql", {"operationId": "query", "summary": "Query"}, "action"),
    ("POST /getNote", {"description": "Use this method to get a note."}, "read"),
    (
        "POST /transfer/intent/get",
        {"operationId": "transferIntentGet", "summary": "Retrieve an intent"},
        "read",
    ),
    ("POST /customer/get", {"summary": "Returns a customer."}, "read"),
    (
        "POST /notes:batchGet",
        {"operationId": "batchGet", "summary": "Get many notes"},
        "read",
    ),
    ("POST /notes/count", {"summary": "Counts the notes"}, "read"),
    (
        "POST /backups/{id}/restore",
        {"operationId": "backups.restore", "summary": "Restore from a backup"},
        "action",
    ),
    (
        "POST /notes/{id}/restore",
        {"operationId": "restoreNote", "summary": "Restore a note"},
        "put",
    ),
    ("POST /notes", {"responses": MADE}, "create"),
    ("POST /notes", {"operationId": "createNote"}, "create"),
    (
        "POST /tokens",
        {
            "operationId": "create-remove-token",
            "summary": "Create a token",
            "responses": MADE,
        },
        "create",
    ),
    ("POST /hooks", {"operationId": "createHook", "callbacks": {"a": {}}}, "create"),
    (
        "POST /issues/{id}/labels",
        {"operationId": "addLabels", "summary": "Add labels"},
        "append",
    ),
    (
        "POST /charges/{charge}",
        {
            "operationId": "PostChargesCharge",
            "summary": "Updates it",
            "requestBody": BODY,
        },
        "put",
    ),
    ("POST /notes/upsert", {}, "put"),
    ("POST /notes/ensure", {}, "ensure"),
    ("POST /notes", {"operationId": "getOrCreateNote"}, "ensure"),
    ("POST /notes/{id}/archive", {}, "put"),
    ("POST /notes/{id}/enable", {"operationId": "enableNote"}, "put"),
    ("POST /notes/{id}/toggle", {}, "action"),
    ("POST /orders/{id}/cancel", {}, "delete"),
    ("POST /keys/{id}/revoke", {}, "delete"),
    ("POST /notes/{id}/send", {}, "action"),
    ("POST /notes/{id}/publish", {}, "action"),
    ("POST /reports", {"responses": LATER}, "action"),
    ("POST /reports", {"callbacks": {"done": {}}}, "action"),
    ("POST /dags/{id}/runs", {"operationId": "createRun", "responses": MADE}, "action"),
    ("POST /notes/bulk", {"requestBody": BODY}, "action"),
    (
        "POST /notes/{id}",
        {"requestBody": make_json_body(action={"enum": ["open", "close"]})},
        "action",
    ),
    ("POST /rpc", {"requestBody": make_json_body(jsonrpc={}, method={})}, "action"),
    (
        "POST /threads/{id}",
        {"operationId": "updateThread", "summary": "Update it", "requestBody": BODY},
        "put",
    ),
    ("PUT /notes/{id}", {"requestBody": BODY}, "put"),
    ("PUT /lists/{id}", {"operationId": "listUpdate", "requestBody": BODY}, "put"),
    ("PUT /a/{id}/proxy", {"operationId": "PutProxy", "requestBody": BODY}, "put"),
    ("PUT /notes/{id}", {"requestBody": BODY, "parameters": [MATCH]}, "update"),
    (
        "PUT /notes/{id}",
        {"requestBody": make_json_body(increment={"type": "integer"})},
        "action",
    ),
    ("PUT /notes/{id}/star", {}, "put"),
    ("PUT /orders/{id}/cancel", {"operationId": "cancelOrder"}, "delete"),
    (
        "PUT /pulls/{id}/merge",
        {"operationId": "mergePull", "requestBody": BODY},
        "action",
    ),
    ("PATCH /notes/{id}", {"requestBody": BODY}, "put"),
    (
        "PATCH /notes/{id}",
        {"requestBody": {"content": {"application/json-patch+json": {}}}},
        "update",
    ),
    ("PATCH /notes/{id}", {"requestBody": BODY, "parameters": [MATCH]}, "update"),
    (
        "PATCH /blocks/{id}/children",
        {"operationId": "append-block-children", "requestBody": BODY},
        "append",
    ),
    ("DELETE /notes/{id}", {}, "delete"),
    ("DELETE /messages/next", {}, "action"),
    (
        "DELETE /gists/{id}/star",
        {"operationId": "unstar", "others": {"/gists/{id}/star": {"put": {}}}},
        "put",
    ),
    ("DELETE /orgs/{org}/members/{name}", {"operationId": "removeMember"}, "delete"),
    (
        "GET /a",
        {"x-mcp": {"annotations": {"readOnlyHint": False, "destructiveHint": False}}},
        "append",
    ),
    ("POST /a", {"x-mcp-annotations": {"readOnlyHint": True}}, "read"),
    (
        "POST /recovery/link",
        {"operationId": "createLink", "summary": "Create a link"},
        "create",
    ),
    (
        "POST /login/password",
        {"operationId": "completeLoginFlow", "summary": "Complete login flow"},
        "action",
    ),
    ("POST /tasks/{id}/complete", {"operationId": "completeTask"}, "put"),
    ("POST /tags", {"summary": "Store a new tag"}, "create"),
    (
        "POST /a",
        {
            "x-frontmcp": {
                "annotations": {
                    "readOnlyHint": False,
                    "idempotentHint": True,
                    "destructiveHint": False,
                }
            }
        },
        "action",
    ),
    ("POST /a", {"x-speakeasy-mcp": {"readOnlyHint": True}}, "read"),
    ("POST /a", {"x-kubernetes-action": "post"}, "create"),
    ("GET /a/{name}/proxy", {"x-kubernetes-action": "connect"}, "action"),
    (
        "PATCH /a/{name}",
        {"x-kubernetes-action": "patch", "requestBody": BODY},
        "update",
    ),
    ("POST /a/{name}/eviction", {"x-kubernetes-action": "post"}, "action"),
    (
        "POST /selfsubjectaccessreviews",
        {"x-kubernetes-action": "post", "responses": MADE},
        "read",
    ),
]

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("GET /oauth.access", {"description": "Exchanges a code for a token."}),
    ("POST /orders/{id}/return", {"summary": "Returns an order."}),
    ("POST /tables/scan", {}),
    ("PUT /builds", {"operationId": "reRunBuild", "requestBody": BODY}),
    (
        "POST /lists/{id}/forms",
        {"operationId": "postForms", "summary": "Customize a form"},
    ),
    ("GET /auth/logout", {}),
    ("GET /auth/logout", {"operationId": "getAuthLogout"}),
    ("GET /messages", {"operationId": "getAndClearMessages"}),
    ("GET /messages", {"summary": "Returns the oldest message and then deletes it"}),
    ("GET /messages", {"description": "Get the messages and delete them."}),
    ("GET /setWebhook", {"operationId": "setWebhook"}),
    ("GET /cards", {"summary": "Move a card"}),
    ("GET /files.remote.share", {"description": "Share a remote file into a channel."}),
    (
        "GET /permissions.request",
        {"description": "Allows an app to request additional scopes"},
    ),
    ("GET /rows", {"parameters": [{"in": "query", "name": "sql"}]}),
    ("GET /a", {"x-mcp-annotations": {"readOnlyHint": True, "destructiveHint": True}}),
    (
        "GET /pods/{name}/portforward",
        {"operationId": "connectPod", "description": "connect to it"},
    ),
    (
        "POST /notes/search",
        {"operationId": "searchNotes", "summary": "Search notes and delete them"},
    ),
    (
        "POST /query",
        {
            "operationId": "query",
            "summary": "Query rows",
            "requestBody": make_json_body(sql={}),
        },
    ),
    ("DELETE /a/{id}", {"x-kubernetes-action": "get"}),
    ("DELETE /a/{id}", {"operationId": "getIt", "summary": "Get it"}),
    (
        "PATCH /nodes/{name}/proxy/{path}",
        {
            "operationId": "connectPatchNodeProxy",
            "description": "connect PATCH requests to proxy",
        },
    ),
    (
        "PUT /change-sets",
        {"operationId": "PutChangeSets", "summary": "Get asset changes."},
    ),
    ("GET /unsubscribe", {}),
    ("GET /recovery/browser", {"summary": "Initialize a recovery flow"}),
    ("GET /oidc/callback", {"summary": "Handle the callback"}),
    (
        "GET /oidc",
        {"summary": "Handle a login", "description": "Exchanges the code for tokens."},
    ),
    (
        "GET /recovery/browser",
        {"description": "This endpoint initializes a recovery flow."},
    ),
    (
        "POST /media",
        {"operationId": "getUploadUrl", "summary": "Get a presigned upload URL"},
    ),
    ("GET /jobs/{id}", {"operationId": "triggerJob"}),
    ("GET /notes/refresh", {"summary": "Refresh the notes"}),
    ("GET /notes", {"responses": LATER}),
    ("GET /notes", {"callbacks": {"a": {}}}),
    ("GET /notes", {"security": [{"oauth": ["notes:write"]}]}),
    ("POST /notes/search", {"operationId": "saveSearch", "responses": MADE}),
    ("POST /notes/search", {"summary": "Save a search"}),
    ("POST /oauth/token", {"operationId": "getToken", "summary": "Get a token"}),
    (
        "POST /guests/{id}/check-in",
        {"operationId": "checkInGuest", "summary": "Check in a guest"},
    ),
    ("POST /thing/{id}", {"requestBody": BODY}),
    ("POST /thing", {}),
    ("PATCH /notes/{id}/dry_run", {"requestBody": BODY}),
    (
        "PUT /notes/{id}",
        {"requestBody": BODY, "x-mcp-annotations": {"readOnlyHint": True}},
    ),
    ("DELETE /notes/{id}", {"x-speakeasy-mcp": {"readOnlyHint": True}}),
]


@pytest.mark.parametrize(("call", "raw", "behavior"), SURE)
def test_what_is_sure(call: str, raw: dict[str, Any], behavior: str) -> None:
    result = derive(make_operation(call, **raw))
    assert (result.behavior, result.asked) == (behavior, False), result
    assert result.reason


@pytest.mark.parametrize(("call", "raw"), ASKED)
def test_what_is_asked_is_taken_as_destructive(call: str, raw: dict[str, Any]) -> None:
    result = derive(make_operation(call, **raw))
    assert result.asked, result
    assert result.behavior == "action", result
    assert result.source == "asked"


def test_an_extension_goes_before_the_table_and_the_first_one_wins() -> None:
    raw = {
        "x-speakeasy-mcp": {"readOnlyHint": False},
        "x-mcp": {"annotations": {"readOnlyHint": True}},
        "x-kubernetes-action": "delete",
    }
    result = derive(make_operation("POST /a", **raw))
    assert (result.behavior, result.source) == ("read", "extension x-mcp.annotations")


def test_a_deleted_collection_and_what_is_consequential_ask_a_person() -> None:
    siblings: dict[str, Any] = {"/notes/{id}": {"get": {}}}
    assert derive(make_operation("DELETE /notes", others=siblings)).confirm
    assert not derive(make_operation("DELETE /notes/{id}")).confirm
    assert derive(
        make_operation(
            "POST /notes", responses=MADE, **{"x-openai-isConsequential": True}
        )
    ).confirm


def test_what_stores_nothing_by_its_name_alone_is_no_read() -> None:
    """One signal is not enough: neither a path nor an operationId makes a POST a read."""
    assert derive(make_operation("POST /notes/search")).behavior != "read"
    assert (
        derive(make_operation("POST /notes", operationId="searchNotes")).behavior
        != "read"
    )
    assert (
        derive(
            make_operation(
                "POST /notes/search", operationId="searchNotes", responses=MADE
            )
        ).behavior
        != "read"
    )
