"""The gate: tokens, request ids, and defects that still have the one shape of errors."""

import ast
import inspect
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from envhub.server import _gate

TOKEN = "s3cret ünd lang"


@pytest.fixture
def guarded(make_server: Any) -> Any:
    return make_server(token=TOKEN)


def bearer(token: str, scheme: str = "Bearer") -> dict[str, bytes]:
    return {"authorization": f"{scheme} {token}".encode()}


def test_only_health_and_help_are_open_without_the_token(guarded: Any) -> None:
    with guarded.client() as client:
        for path in ("/", "/healthz", "/readyz", "/docs", "/openapi.json"):
            assert client.get(path).status_code == 200
        for method, path in (
            ("GET", "/v1/envs"),
            ("GET", "/metrics"),
            ("GET", "/no/such/route"),
            ("POST", "/v1/step"),
            ("POST", "/v1/sessions/s-x/step"),
            ("POST", "/v1/envs/echo/sessions"),
            ("DELETE", "/v1/sessions/s-x"),
            ("GET", "/healthz/"),
        ):
            answer = client.request(method, path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized"), path
            assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_token_opens(guarded: Any, scheme: str) -> None:
    with guarded.client(headers=bearer(TOKEN, scheme)) as client:
        assert client.get("/v1/envs").status_code == 200
        assert client.post("/v1/envs/echo/sessions").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        bearer("s3cret"),
        bearer(TOKEN + "x"),
        bearer(TOKEN.upper()),
        bearer(TOKEN, "Basic"),
        {"authorization": TOKEN.encode()},
        {"authorization": b""},
        {"x-token": TOKEN.encode()},
    ],
    ids=str,
)
def test_anything_else_does_not(guarded: Any, headers: dict[str, bytes]) -> None:
    with guarded.client(headers=headers) as client:
        answer = client.get("/v1/envs")
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        assert TOKEN not in answer.text


def test_the_stream_needs_the_token_too(guarded: Any) -> None:
    with pytest.raises(InvalidStatus) as refused:
        guarded.stream()
    assert refused.value.response.status_code == 401
    assert b'"unauthorized"' in (refused.value.response.body or b"")
    with guarded.stream(
        additional_headers={"authorization": f"Bearer {TOKEN}".encode().decode("latin-1")}
    ) as ws:
        ws.send('{"id":1,"op":"close","session_id":"s-x"}')
        assert '"id":1' in ws.recv(timeout=20)


def test_tokens_are_compared_in_constant_time() -> None:
    tree = ast.parse(inspect.getsource(_gate))
    knows = next(node for node in ast.walk(tree) if getattr(node, "name", "") == "_knows")
    called = {ast.unparse(node.func) for node in ast.walk(knows) if isinstance(node, ast.Call)}
    assert "hmac.compare_digest" in called
    compared = [node for node in ast.walk(knows) if isinstance(node, ast.Compare)]
    assert all(isinstance(node.ops[0], ast.Is) for node in compared)


def test_a_request_id_is_echoed_or_made(client: httpx.Client) -> None:
    assert client.get("/healthz", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    made = {client.get("/healthz").headers["x-request-id"] for _ in range(3)}
    assert len(made) == 3
    for bad in ("", "x" * 129, "with space"):
        answer = client.get("/healthz", headers={"x-request-id": bad})
        assert answer.headers["x-request-id"] not in (bad, "")
    for path, status in (("/nope", 404), ("/v1/step", 405)):
        answer = client.get(path, headers={"x-request-id": "mine-2"})
        assert (answer.status_code, answer.headers["x-request-id"]) == (status, "mine-2")


@pytest.mark.parametrize("path", ["/v1/step", "/v1/close"])
async def test_a_defect_has_the_shape_of_errors_too(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ZeroDivisionError("a defect")

    transport = httpx.ASGITransport(_gate.Gate(broken, None, 1000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post(path, json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert answer.headers["x-request-id"] in caplog.text
    assert "ZeroDivisionError" in caplog.text
