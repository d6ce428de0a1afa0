"""Requests that open sessions: one that is sent again gets the sessions that it has opened already."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator

REMEMBERED_FAILURES = 10_000


class Requests:
    """Names sessions after the request that opens them, where the client has named that.

    A client whose answer was lost sends its request again. Since the sessions' ids follow from the request's
    id, they are found, also by the hub after one that died; no replica is held for nobody.
    """

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Event] = {}
        self._failures: OrderedDict[str, int] = OrderedDict()

    @contextlib.asynccontextmanager
    async def turn(self, request_id: str | None) -> AsyncIterator[None]:
        """Let requests of the same id follow each other."""
        if request_id is None:
            yield
            return
        while request_id in self._under_way:
            await self._under_way[request_id].wait()
        over = self._under_way[request_id] = asyncio.Event()
        try:
            yield
        finally:
            del self._under_way[request_id]
            over.set()

    def ids(self, request_id: str | None, about: tuple[str | None, ...], count: int) -> list[str]:
        """Return ids for the sessions of a request.

        Args:
            request_id: The client's name of it; None: the ids are drawn.
            about: Who asks for what; the same name in another mouth means something else.
            count: How many sessions it opens.
        """
        if request_id is None:
            return [f"s-{secrets.token_hex(12)}" for _ in range(count)]
        known = repr((request_id, about, count, self._failures.get(request_id, 0)))
        return [f"s-{_digest(known, number)}" for number in range(count)]

    def failed(self, request_id: str | None) -> None:
        """Note that what a request had opened was closed again: a repeat opens others."""
        if request_id is None:
            return
        self._failures[request_id] = self._failures.pop(request_id, 0) + 1
        if len(self._failures) > REMEMBERED_FAILURES:
            self._failures.popitem(last=False)


def _digest(known: str, number: int) -> str:
    salt = number.to_bytes(8)
    return hashlib.blake2b(known.encode("utf-8", "surrogatepass"), digest_size=12, salt=salt).hexdigest()
