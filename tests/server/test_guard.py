"""Web pages are kept out: their Origin, names that were rebound to this machine, what forms can send."""

import base64
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from envhub.server import HubSettings

TOKEN = "sesame"


@pytest.fixture(scope="module")
def hubs(server: Any, make_plan: Any) -> Iterator[dict[str | None, Any]]:
    """A hub that is open to all, and one that needs a token."""
    with_token = type(server)([make_plan("echo")], HubSettings(token=TOKEN))
    yield {None: server, TOKEN: with_token}
    with_token.stop()


def ask(server: Any, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    """One request with exactly these headers; underscores stand for hyphens."""
    with server.raw() as connection:
        lines = [f"{method} {path} HTTP/1.1", "connection: close", f"content-length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        said = b""
        while part := connection.recv(65536):
            said += part
    head, _, content = said.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    is_json = b"application/json" in head.lower()
    return status, json.loads(content) if is_json and content else content


def refused(answer: tuple[int, Any]) -> bool:
    status, body = answer
    if status != 403:
        return False
    assert body["error"]["code"] == "forbidden"
    return True


def names(server: Any) -> list[str]:
    port = server.address[1]
    return [f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}"]


STRANGERS = [
    "http://evil.example",
    "https://evil.example:8000",
    "null",
    "http://localhost",
    "http://localhost:1",
    "file://",
    "chrome-extension://abcdef",
    "http://127.0.0.1.evil.example",
    "",
]


@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("origin", STRANGERS)
def test_a_page_of_another_origin_is_refused_on_every_path(
    hubs: dict[str | None, Any], token: str | None, origin: str
) -> None:
    hub = hubs[token]
    who = {} if token is None else {"authorization": f"Bearer {token}"}
    for host in names(hub):
        for method, path in (
            ("GET", "/"),
            ("GET", "/healthz"),
            ("GET", "/v1/sessions"),
            ("POST", "/v1/step"),
            ("POST", "/v1/envs/echo/sessions"),
            ("OPTIONS", "/v1/envs/echo/sessions"),
            ("DELETE", "/v1/sessions/s-x"),
        ):
            assert refused(ask(hub, method, path, host=host, origin=origin, **who)), (method, path)
    assert hub.do(hub.hub.sessions.all) == []


@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_page_of_the_hubs_own_passes(hubs: dict[str | None, Any], token: str | None) -> None:
    hub = hubs[token]
    who = {} if token is None else {"authorization": f"Bearer {token}"}
    for host in names(hub):
        for scheme in ("http", "https"):  # a proxy may have ended TLS
            headers = {**who, "host": host, "origin": f"{scheme}://{host.lower()}"}
            assert ask(hub, "GET", "/v1/sessions", **headers)[0] == 200
            assert ask(hub, "GET", "/docs", **headers)[0] == 200
            answer = ask(hub, "POST", "/v1/close", b'{"session_ids":[]}', **headers)
            assert answer == (200, {"results": []})


FORM_TYPES = [
    "text/plain",
    "TEXT/PLAIN; charset=utf-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
]


@pytest.mark.parametrize("content_type", FORM_TYPES)
def test_what_forms_can_send_is_for_programs_only(server: Any, content_type: str) -> None:
    host = names(server)[0]
    body = b'{"session_ids":[]}'
    as_program = ask(server, "POST", "/v1/close", body, host=host, content_type=content_type)
    assert as_program == (200, {"results": []})
    page = {"host": host, "origin": f"http://{host}"}
    assert refused(ask(server, "POST", "/v1/close", body, content_type=content_type, **page))
    assert ask(server, "POST", "/v1/close", body, content_type="application/json", **page)[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "x", "1"),
        "evillocalhost",
        *(
            "192.168.1.7",
            "10.0.0.1:80",
            "0.0.0.0",
            "[fe80::1]:80",
            "[::ffff:10.0.0.1]",
            "::1:80",
            "[",
            "",
            "\xe9",
        ),
    ],
)
def test_without_a_token_another_machines_name_is_refused(hubs: dict[str | None, Any], host: str) -> None:
    """DNS rebinding: the page and the hub are of one origin then, only the name gives it away."""
    assert refused(ask(hubs[None], "GET", "/v1/sessions", host=host))
    assert refused(ask(hubs[None], "GET", "/v1/sessions", host=host, origin=f"http://{host}"))
    answer = ask(hubs[TOKEN], "GET", "/v1/sessions", host=host, authorization=f"Bearer {TOKEN}")
    assert answer == (200, {"sessions": []}), "who has to show a token may call the hub by any name"


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:1", "localhost.", "hub.localhost:8000", "127.0.0.1", "127.9.8.7:1", "[::1]:9"],
)
def test_every_name_of_loopback_passes(server: Any, host: str) -> None:
    assert ask(server, "GET", "/v1/sessions", host=host)[0] == 200


def test_the_name_it_listens_on_passes(make_server: Any) -> None:
    hub = make_server(host="Mybox.lan")
    assert ask(hub, "GET", "/v1/sessions", host="mybox.lan:8000")[0] == 200
    assert ask(hub, "GET", "/v1/sessions", host="localhost")[0] == 200
    assert refused(ask(hub, "GET", "/v1/sessions", host="otherbox.lan:8000"))


@pytest.mark.parametrize("token", [None, TOKEN])
def test_the_stream_is_guarded_alike(hubs: dict[str | None, Any], token: str | None) -> None:
    hub = hubs[token]
    host = names(hub)[0]
    upgrade = {
        "upgrade": "websocket",
        "sec_websocket_version": "13",
        "sec_websocket_key": base64.b64encode(os.urandom(16)).decode(),
    }
    if token is not None:
        upgrade["authorization"] = f"Bearer {token}"

    def status(**headers: str) -> int:
        with hub.raw() as connection:
            lines = ["GET /v1/stream HTTP/1.1", "connection: upgrade"]
            lines += [f"{name.replace('_', '-')}: {value}" for name, value in {**upgrade, **headers}.items()]
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
            return int(connection.recv(65536).split()[1])

    assert status(host=host) == 101
    assert status(host=host, origin=f"http://{host}") == 101
    for origin in ("http://evil.example", "null", "https://localhost:1"):
        assert status(host=host, origin=origin) == 403
    rebound = status(host="evil.example", origin="http://evil.example")
    assert rebound == (403 if token is None else 101), "the token guards, a page does not have it"
