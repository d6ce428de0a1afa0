"""A graph at a SPARQL endpoint.

The standard library's HTTP client is enough: a worker does one thing at a time, so it needs one connection,
which is kept; the workers' connections are the pool. It leaves one package less to install, and nothing that
starts threads.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import netrc
import os
import time
from typing import Any
from urllib.parse import urlencode, urlsplit

from envhub_kg.errors import InvalidOptions
from envhub_kg.store.base import Iri, Literal, Node, QueryRefused, Row, StoreError
from envhub_kg.store.slots import Slots

MOST_BYTES = 64 << 20
"""Of a response; a longer one is given up."""

_RESULTS = "application/sparql-results+json"
_PAUSE_S = 0.25
_MOST_PAUSE_S = 5.0
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_BROKEN = (OSError, http.client.HTTPException)


class Endpoint:
    """A graph that is asked over HTTP, by the SPARQL 1.1 protocol.

    Args:
        url: Of the endpoint: `http://host:port/sparql`. Where it asks for a password, ~/.netrc has it.
        timeout_s: For one try, from connecting to the last byte.
        retries: How often a query is asked again where the endpoint is away, slow or broken; each pause is
            twice the one before.
        concurrency: Queries under way at one time, over all processes that are forked from this one.

    Raises:
        InvalidOptions: The URL is none, or has a password in it.
    """

    def __init__(self, url: str, timeout_s: float = 10.0, retries: int = 3, concurrency: int = 8) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise InvalidOptions(f"the endpoint {url!r} is no URL: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidOptions(f"the endpoint {url!r} is no URL such as http://localhost:7878/query")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port = parts.hostname, port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Accept": _RESULTS, "Content-Type": "application/x-www-form-urlencoded"}
        if parts.username is not None:
            raise InvalidOptions(
                "a password in the endpoint's URL would show among the settings: put it into ~/.netrc, as "
                f"`machine {parts.hostname} login … password …`"
            )
        secret = _secret(parts.hostname)
        if secret:
            self._headers["Authorization"] = "Basic " + base64.b64encode(secret.encode()).decode()
        self._shown = f"{parts.scheme}://{parts.hostname}{f':{port}' if port else ''}{parts.path}"
        self._timeout_s = timeout_s
        self._tries = 1 + retries
        self._slots = Slots(concurrency)
        self._kept: tuple[int, http.client.HTTPConnection] | None = None

    def __str__(self) -> str:
        """Return the URL, without its query."""
        return self._shown

    def select(self, query: str) -> list[Row]:
        """Return the solutions; see `Store`."""
        body = urlencode({"query": query}).encode()
        with self._slots.one():
            return _rows(self._ask(body), self._shown)

    def close(self) -> None:
        """Close the connection."""
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == os.getpid():
            kept[1].close()

    # -- trying -------------------------------------------------------------------------------------

    def _ask(self, body: bytes) -> bytes:
        """Ask until there is an answer, or the tries are used up."""
        pause = _PAUSE_S
        for left in reversed(range(self._tries)):
            try:
                return self._try(body)
            except StoreError:
                self.close()
                if not left:
                    raise
            except (
                BaseException
            ):  # the step's time is up amid a response: the connection is of no use any more
                self.close()
                raise
            time.sleep(min(pause, _MOST_PAUSE_S))
            pause *= 2
        raise AssertionError("there is at least one try")

    def _try(self, body: bytes) -> bytes:
        deadline = time.monotonic() + self._timeout_s
        try:
            response = self._request(body)
            text = self._read(response, deadline)
        except _BROKEN as error:
            raise StoreError(
                f"the endpoint {self._shown} did not answer: {type(error).__name__}: {error}"
            ) from error
        if response.status == 200:
            state = response.headers.get("X-SQL-State")
            if state:  # Virtuoso gave up after its own limit of time, and sent what it had
                raise StoreError(f"the endpoint {self._shown} sent a part of the answer: {state}")
            return text
        said = f"the endpoint {self._shown} answered {response.status} {response.reason}: {_excerpt(text)}"
        if response.status in _AGAIN:
            raise StoreError(said)
        raise QueryRefused(said)

    def _request(self, body: bytes) -> http.client.HTTPResponse:
        """Send on the kept connection; where the server has closed it meanwhile, on a new one."""
        kept = self._kept is not None and self._kept[0] == os.getpid()
        try:
            return self._send(body)
        except _BROKEN:
            self.close()
            if not kept:
                raise
            return self._send(body)

    def _send(self, body: bytes) -> http.client.HTTPResponse:
        if self._kept is None or self._kept[0] != os.getpid():
            self._kept = os.getpid(), self._kind(self._host, self._port, timeout=self._timeout_s)
        connection = self._kept[1]
        connection.request("POST", self._path, body, self._headers)
        return connection.getresponse()

    def _read(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        """Read a response; in parts, so that one that trickles in has its limit, too."""
        parts: list[bytes] = []
        total = 0
        while True:
            part: bytes = response.read1(1 << 16)  # type: ignore[no-untyped-call,unused-ignore]
            if not part:
                response.close()  # the connection is free for the next query
                return b"".join(parts)
            parts.append(part)
            total += len(part)
            if total > MOST_BYTES:
                raise StoreError(f"the endpoint {self._shown} sent more than {MOST_BYTES >> 20} MB")
            if time.monotonic() > deadline:
                raise StoreError(f"the endpoint {self._shown} took longer than {self._timeout_s:g} s")


def _secret(host: str) -> str:
    """Return "user:password" for a host, of ~/.netrc; empty if it has none."""
    try:
        found = netrc.netrc().authenticators(host)
    except FileNotFoundError:
        return ""
    except (OSError, netrc.NetrcParseError) as error:
        raise InvalidOptions(f"~/.netrc can't be read: {error}") from None
    return f"{found[0]}:{found[2]}" if found else ""


def _rows(body: bytes, shown: str) -> list[Row]:
    try:
        results = json.loads(body)
        names = results["head"]["vars"]
        solutions = results["results"]["bindings"]
        if not names or any(solution.keys() - set(names) for solution in solutions):
            raise ValueError("the answer to another query: none of ours is without a variable")
        rows = [tuple(_node(solution.get(name)) for name in names) for solution in solutions]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"the endpoint {shown} sent no results in JSON: {_excerpt(body)}") from error
    return [row for row in rows if None not in row]  # type: ignore[misc]


def _node(term: Any) -> Node | None:
    if term is None or term["type"] == "bnode":
        return None
    if not isinstance(term["value"], str):
        raise TypeError("a value is a text")
    if term["type"] == "uri":
        return Iri(term["value"])
    with contextlib.suppress(KeyError):
        return Literal(term["value"], term["datatype"])
    return Literal(term["value"], language=term.get("xml:lang", ""))


def _excerpt(body: bytes) -> str:
    return " ".join(body[:500].decode("utf-8", "replace").split())[:200] or "nothing"
