"""schemathesis makes requests from the hub's own OpenAPI schema, right ones and wrong ones."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CheckContext
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from envhub.server._schema import CALLS, build_schema

SCHEMA = schemathesis.openapi.from_dict(build_schema("EnvHub", "0"))
MODES = {"right": GenerationMode.POSITIVE, "wrong": GenerationMode.NEGATIVE}
ATTACKS = [
    (call.method, call.path, mode)
    for call in CALLS
    for mode in MODES
    if mode == "right" or call.takes or call.query  # else nothing can be wrong
]


def no_defect(context: CheckContext, response: Any, case: Any) -> None:
    """The other 5xx are what the schema says of environments and of a busy hub."""
    assert response.status_code != 500, response.text


CHECKS = [no_defect, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture
def live(hub: Any) -> Iterator[dict[str, str]]:
    """What a request can be aimed at; everything is closed at the end."""
    with hub.client() as client:
        opened = client.post("/v1/envs/frozenlake/sessions", json={"wait_s": 0}).json()["sessions"]
        session = opened[0]["id"]
        point = client.post(f"/v1/sessions/{session}/snapshot").json()["snapshot_id"]
        yield {"session_id": session, "env": "frozenlake", "snapshot_id": point, "action": "left"}
        close_all(client)
        assert client.get("/readyz").status_code == 200


def close_all(client: httpx.Client, but: str = "") -> None:
    listed = [one["id"] for one in client.get("/v1/sessions").json()["sessions"]]
    client.post("/v1/close", json={"session_ids": [one for one in listed if one != but]})


@pytest.mark.parametrize("method, path, mode", ATTACKS)
def test_no_request_made_from_the_schema_breaks_it(
    hub: Any, live: dict[str, str], method: str, path: str, mode: str
) -> None:
    met: set[int] = set()

    @settings(max_examples=25, database=None, suppress_health_check=list(HealthCheck))
    @given(case=SCHEMA[path][method].as_strategy(generation_mode=MODES[mode]))
    def attack(case: Any) -> None:
        aim(case, live)
        answer = case.call_and_validate(base_url=hub.url, checks=CHECKS)
        met.add(answer.status_code)
        if answer.status_code == 200 and method == "post" and path.endswith(("/sessions", "/fork")):
            close_all(client, but=live["session_id"])

    with hub.client() as client:
        attack()
    if mode == "right":
        assert met & {200, 204}, "no request got as far as what it asks for"


def aim(case: Any, live: dict[str, str]) -> None:
    """Half of the requests get as far as a session and an environment; none waits for a replica."""
    names, body = case.path_parameters or {}, case.body
    for fields in (names, body if isinstance(body, dict) else {}):
        for name, value in fields.items():
            if isinstance(value, float) and value.is_integer():
                fields[name] = int(value)  # JSON Schema has 1.0 as an integer, the hub does not
            if name in live and len(str(value)) % 2:
                fields[name] = live[name]
    if isinstance(body, dict) and case.path.endswith(("/sessions", "/fork")):
        body["wait_s"] = 0
