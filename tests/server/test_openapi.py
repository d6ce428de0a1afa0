"""The schema: valid OpenAPI 3.1, complete, and true."""

import json
import re
from typing import Any

import httpx
import msgspec
import pytest
from fastapi.routing import APIRoute
from openapi_spec_validator import OpenAPIV31SpecValidator

from envhub.server._routes import create_router
from envhub.server._schema import CALLS
from envhub_sdk import _wire as wire

ON_THE_LANE = {("post", "/v1/step"), ("post", "/v1/sessions/{session_id}/step")}


@pytest.fixture
def schema(client: httpx.Client) -> Any:
    return client.get("/openapi.json").json()


def test_it_is_openapi_3_1(schema: Any) -> None:
    assert schema["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(schema).validate()


def test_every_route_is_in_the_table_and_every_call_of_the_table_is_served(server: Any, schema: Any) -> None:
    routes = {
        (method.lower(), route.path)
        for route in create_router(server.hub).routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    table = {(call.method, call.path) for call in CALLS}
    assert table == routes | ON_THE_LANE
    described = {(method, path) for path, calls in schema["paths"].items() for method in calls}
    assert described == table
    assert len(CALLS) == len(table)


def test_operation_ids_are_unique_and_every_code_is_known(schema: Any) -> None:
    ids = [operation["operationId"] for calls in schema["paths"].values() for operation in calls.values()]
    assert len(ids) == len(set(ids))
    for call in CALLS:
        assert set(call.errors) <= set(wire.CODES)


def test_every_code_of_the_wire_can_be_met_somewhere(schema: Any) -> None:
    text = json.dumps(schema["paths"])
    unlisted = {code for code in wire.CODES if f"`{code}`" not in text}
    assert unlisted == {"not_found", "method_not_allowed", "internal_error"}, (
        "which no call in the table gives"
    )


def test_docs_page(client: httpx.Client) -> None:
    assert "openapi.json" in client.get("/docs").text


def test_the_docs_page_needs_nothing_from_elsewhere(make_server: Any) -> None:
    """A hub without a network shows it too, and one with a token shows it to who has none."""
    with make_server(token="a-token").client() as client:
        page = client.get("/docs").text
        needed = re.findall(r'(?:src|href)="([^"]+)"', page)
        assert {path.rpartition(".")[2] for path in needed} >= {"js", "css"}
        for path in needed:
            assert path.startswith("/docs/"), path
            assert client.get(path).status_code == 200
        assert client.get("/docs/assets/none.js").json()["error"]["code"] == "not_found"
        assert client.get("/docs/assets/..%2f..%2f__init__.py").status_code == 404


def test_every_call_of_the_table_answers_as_the_schema_says(client: httpx.Client, open_one: Any) -> None:
    """The client's hook validates each answer, and the body of each request that was accepted."""
    seen: set[tuple[str, str]] = set()

    def ask(method: str, path: str, body: Any = None, **names: str) -> httpx.Response:
        seen.add((method, path))
        answer = client.request(method.upper(), path.format(**names), json=body)
        wanted = next(call.status for call in CALLS if (call.method, call.path) == (method, path))
        assert answer.status_code == wanted, answer.text
        return answer

    for path in ("/", "/healthz", "/readyz", "/metrics", "/v1/envs", "/v1/sessions"):
        ask("get", path)
    ask("get", "/v1/envs/{env}", env="frozenlake")
    ask("get", "/v1/envs/{env}/tasks", env="frozenlake")
    whole = {
        "count": 2,
        "tasks": ["train-0", {"id": "train-1"}],
        "seeds": [0, 2**63 - 1],
        "options": {"split": "train"},
        "reset": True,
        "idle_timeout_s": 1.5,
        "wait_s": 0,
        "labels": {"a": "b"},
    }
    tasks = client.get("/v1/envs/frozenlake/tasks?limit=2").json()["tasks"]
    whole["tasks"] = [tasks[0], tasks[1]["id"]]
    opened = ask("post", "/v1/envs/{env}/sessions", whole, env="frozenlake").json()["sessions"]
    one, two = (session["id"] for session in opened)
    ask("get", "/v1/sessions")
    ask("get", "/v1/sessions/{session_id}", session_id=one)
    step = {"action": "left", "step_index": 0, "episode_id": opened[0]["episode_id"]}
    ask("post", "/v1/sessions/{session_id}/step", step, session_id=one)
    ask("post", "/v1/step", {"steps": [{"session_id": two, **step, "episode_id": None}], "autoreset": True})
    ask("get", "/v1/sessions/{session_id}/trajectory", session_id=one)
    ask("get", "/v1/sessions/{session_id}/render", session_id=one)
    ask("post", "/v1/sessions/{session_id}/keepalive", session_id=one)
    reset = {"seed": 4, "task": tasks[0], "options": {}}
    ask("post", "/v1/sessions/{session_id}/reset", reset, session_id=one)
    ask("post", "/v1/reset", {"resets": [{"session_id": two, **reset}]})
    point = ask("post", "/v1/sessions/{session_id}/snapshot", session_id=one).json()["snapshot_id"]
    ask("post", "/v1/sessions/{session_id}/restore", {"snapshot_id": point}, session_id=one)
    fork = {"count": 1, "snapshot_id": point, "wait_s": 0}
    ask("post", "/v1/sessions/{session_id}/fork", fork, session_id=one)
    ask("post", "/v1/close", {"session_ids": [two]})
    ask("delete", "/v1/sessions/{session_id}", session_id=one)
    assert seen == {(call.method, call.path) for call in CALLS}


@pytest.mark.parametrize("autoreset", [False, True])
def test_batch_results_are_the_answers_of_single_calls(client: httpx.Client, autoreset: bool) -> None:
    """The schema calls a result anything; in truth it is a StepReply or an ErrorReply."""
    opened = client.post("/v1/envs/frozenlake/sessions", json={"count": 4}).json()["sessions"]
    items = [{"session_id": one["id"], "action": "down"} for one in opened] + [
        {"session_id": "s-nobody", "action": "down"}
    ]
    for _ in range(12):
        answer = client.post("/v1/step", json={"steps": items, "autoreset": autoreset})
        results = msgspec.json.decode(answer.content, type=wire.BatchResults).results
        msgspec.json.decode(results[-1], type=wire.ErrorReply)
        for result in results[:-1]:
            kind = wire.ErrorReply if b'"error"' in bytes(result)[:9] else wire.StepReply
            msgspec.json.decode(result, type=kind)
