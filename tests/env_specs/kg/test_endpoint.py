"""Graphs at a SPARQL endpoint: a real server, killed and started again, and slow and broken ones."""

import base64
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from envhub_kg import KGEnv
from envhub_kg.errors import DataError, InvalidOptions
from envhub_kg.store import Iri, Literal, QueryRefused, StoreError
from envhub_kg.store.base import XSD
from envhub_kg.store.endpoint import Endpoint

from .conftest import Server, loaded

FILM = "http://example.org/films/Film"
FILMS_QUERY = f"SELECT ?f WHERE {{ ?f a <{FILM}> }} ORDER BY ?f"


def test_the_same_questions_have_the_same_answers_at_an_endpoint(server: Server, films: Path) -> None:
    questions = films / "questions.json"
    there = loaded(endpoint=server.url, data_dir=questions)
    here = loaded(store=films / "films.ttl", data_dir=questions)
    assert there.ontology == here.ontology
    seen = []
    for source in (there, here):
        env = KGEnv(shared=source, expert=True)
        for task in env.tasks("train"):
            steps: list[Any] = [env.reset(options={"task": task})]
            info, terminated = steps[0][1], False
            while not terminated:
                steps.append(env.step(info["expert_action"]))
                _, reward, terminated, _, info = steps[-1]
            assert reward == 1.0
            seen.append(steps)
        source.store.close()
    assert seen[:2] == seen[2:]


def test_nodes_are_what_they_are(server: Server) -> None:
    store = Endpoint(server.url)
    values = '1 "a" "b"@en <http://a.org/> UNDEF'
    found = store.select(f"SELECT ?x WHERE {{ VALUES ?x {{ {values} }} }}")
    assert found == [
        (Literal("1", XSD + "integer"),),
        (Literal("a"),),
        (Literal("b", language="en"),),
        (Iri("http://a.org/"),),
    ]
    assert store.select("SELECT ?x WHERE { BIND(BNODE() AS ?x) }") == []
    with pytest.raises(QueryRefused, match="answered 400"):
        store.select("SELECT")
    assert len(store.select(FILMS_QUERY)) == 3  # the same connection goes on
    store.close()


def test_a_server_that_is_killed_and_comes_back_costs_an_episode_nothing(server: Server, films: Path) -> None:
    source = loaded(endpoint=server.url, data_dir=films / "questions.json", endpoint_retries=60)
    env = KGEnv(shared=source, expert=True)
    _, info = env.reset(options={"task": {"id": "last"}})
    terminated = False
    while not terminated:
        server.kill()
        restart = threading.Timer(0.1, server.start)
        restart.start()
        _, reward, terminated, _, info = env.step(info["expert_action"])
        restart.join()
    assert reward == 1.0
    source.store.close()


def test_a_server_that_stays_away_is_a_failure_that_may_be_tried_again(server: Server, films: Path) -> None:
    source = loaded(endpoint=server.url, data_dir=films / "questions.json", endpoint_retries=0)
    env = KGEnv(shared=source)
    env.reset(options={"task": {"id": "count"}})
    server.kill()
    with pytest.raises(StoreError, match="did not answer") as failed:
        env.step("get_relations(Ozu)")
    assert failed.value.retryable and getattr(failed.value, "envhub_code", None) is None
    source.store.close()


def test_a_hub_does_not_begin_with_an_endpoint_that_is_not_there(films: Path) -> None:
    away = "http://127.0.0.1:9/query"  # nobody listens at the port of `discard`
    with pytest.raises(DataError, match=r"can't be asked: the endpoint http://127\.0\.0\.1:9/query did not"):
        loaded(endpoint=away, data_dir=films / "questions.json", endpoint_retries=0)


# -- servers that are no good -----------------------------------------------------------------------


@contextmanager
def _serving(answer: Callable[[http.server.BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """Serve one answer to every request."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.body = self.rfile.read(int(self.headers["Content-Length"]))
            answer(self)

        def log_message(self, *message: object) -> None:
            pass

    class Quiet(http.server.ThreadingHTTPServer):
        def handle_error(self, *where: object) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as broken:
        thread = threading.Thread(target=broken.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{broken.server_address[1]}/sparql?default-graph-uri=x"
        finally:
            broken.shutdown()
            thread.join()


def _send(handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def _results(name: str, value: object) -> bytes:
    found = {name: {"type": "uri", "value": value}}
    return json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [found]}}).encode()


ANOTHER, NO_TEXT = _results("y", "http://example.org/y"), _results("x", 5)
EMPTY = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": []}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "headers", "error", "words"),
    [
        (500, b"Virtuoso  S1T00\nError", {}, StoreError, "answered 500 .*: Virtuoso S1T00 Error"),
        (503, b"", {}, StoreError, "answered 503"),
        (429, b"slow down", {}, StoreError, "answered 429"),
        (200, b"<html>", {}, StoreError, "sent no results in JSON: <html>"),
        (200, b'{"boolean": true}', {}, StoreError, "sent no results in JSON"),
        (200, b"[" * 200_000, {}, StoreError, "sent no results in JSON"),
        (200, EMPTY.replace(b'"x"', b""), {}, StoreError, "sent no results in JSON"),
        (200, ANOTHER, {}, StoreError, "sent no results in JSON"),
        (200, NO_TEXT, {}, StoreError, "sent no results in JSON"),
        (200, EMPTY, {"X_SQL_State": "S1TAT"}, StoreError, "sent a part of the answer: S1TAT"),
        (401, b"who?", {}, QueryRefused, "answered 401 Unauthorized: who?"),
        (404, b"", {}, QueryRefused, "answered 404 Not Found: nothing"),
    ],
)
def test_what_is_no_answer_is_no_score(
    status: int, body: bytes, headers: dict[str, str], error: type[Exception], words: str
) -> None:
    asked: list[str | None] = []

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        asked.append(handler.headers["Authorization"])
        _send(handler, status, body, **headers)

    with _serving(answer) as url:
        store = Endpoint(url, retries=1)
        with pytest.raises(error, match=words) as failed:
            store.select("SELECT ?x WHERE {}")
        store.close()
    assert "127.0.0.1" in str(failed.value) and asked[0] is None
    again = error is StoreError and words != "sent no results in JSON" and b"<html>" not in body
    assert len(asked) == (2 if again else 1)


def test_a_hub_does_not_begin_with_an_endpoint_that_has_nothing(films: Path) -> None:
    with (
        _serving(lambda handler: _send(handler, 200, EMPTY)) as url,
        pytest.raises(DataError, match=r"the graph at http.*/sparql is empty: load it first"),
    ):
        loaded(endpoint=url, data_dir=films / "questions.json")


def test_a_server_that_is_well_again_is_asked_again() -> None:
    answers = [500, 502, 200]
    paths = []

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        paths.append(handler.path)
        status = answers.pop(0)
        _send(handler, status, EMPTY if status == 200 else b"busy")

    with _serving(answer) as url:
        store = Endpoint(url, retries=2)
        assert store.select("SELECT ?x WHERE {}") == []
        store.close()
    assert paths == ["/sparql?default-graph-uri=x"] * 3
    assert str(store).endswith("/sparql")


def test_a_password_is_of_netrc_and_in_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said = []

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        said.append(handler.headers["Authorization"])
        _send(handler, 200, EMPTY)

    secrets = tmp_path / ".netrc"
    secrets.write_text("machine 127.0.0.1 login ada password lovelace\n", encoding="utf-8")
    secrets.chmod(0o600)
    with _serving(answer) as url:
        store = Endpoint(url)
        store.select("SELECT ?x WHERE {}")
        store.close()
    assert said == ["Basic " + base64.b64encode(b"ada:lovelace").decode()]
    secrets.write_text("machine", encoding="utf-8")
    with pytest.raises(InvalidOptions, match="netrc can't be read"):
        Endpoint("http://127.0.0.1/")
    with pytest.raises(InvalidOptions, match=r"put it into ~/\.netrc, as `machine a\.org login") as refused:
        Endpoint("http://ada:lovelace@a.org/")
    assert "lovelace" not in str(refused.value)


@pytest.mark.parametrize("trickles", [False, True], ids=["says nothing", "trickles"])
def test_a_server_that_is_slow_is_given_up(trickles: bool) -> None:
    over = threading.Event()

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        if not trickles:
            over.wait(60)
            return
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while not over.wait(0.02):
            handler.wfile.write(b"1\r\n \r\n")

    with _serving(answer) as url:
        store = Endpoint(url, timeout_s=0.3, retries=1)
        try:
            with pytest.raises(
                StoreError, match=r"took longer than 0.3 s|did not answer: TimeoutError|timed out"
            ):
                store.select("SELECT ?x WHERE {}")
        finally:
            over.set()
        store.close()


def test_a_connection_is_kept_and_one_that_was_closed_meanwhile_costs_no_try() -> None:
    peers = set()
    close = threading.Event()

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        peers.add(handler.client_address)
        handler.close_connection = close.is_set()
        _send(handler, 200, EMPTY)

    with _serving(answer) as url:
        store = Endpoint(url, retries=0)
        for _ in range(5):
            store.select("SELECT ?x WHERE {}")
        assert len(peers) == 1
        close.set()
        for _ in range(3):
            store.select("SELECT ?x WHERE {}")
        assert len(peers) == 3
        store.close()
