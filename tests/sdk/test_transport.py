from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from envhub_sdk._transport import WideTransport

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"
GIVE_UP_S = 30.0


@pytest_asyncio.fixture
async def url() -> AsyncIterator[str]:
    """A server whose answers come in two pieces."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(ANSWER)
                await writer.drain()
                await asyncio.sleep(0)
                writer.write(b"ok")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.parametrize("warm", [False, True])
async def test_a_request_that_is_cancelled_at_any_moment_leaves_the_next_one_a_connection(
    url: str, warm: bool
) -> None:
    """Cancelled after each number of turns of the event loop, up to one that is enough for an answer."""
    for turns in range(1, 1000):
        async with httpx.AsyncClient(transport=WideTransport(), timeout=None) as client:
            if warm:
                await client.get(url)
            first = asyncio.create_task(client.get(url))
            for _ in range(turns):
                await asyncio.sleep(0)
            finished = first.done()
            first.cancel()
            await asyncio.wait([first])
            answer = await asyncio.wait_for(client.get(url), GIVE_UP_S)
            assert answer.text == "ok", f"after {turns} turns"
        if finished:
            assert turns > 3
            return
    pytest.fail("no request was ever answered")


async def test_a_connection_is_used_again(url: str) -> None:
    transport = WideTransport()
    async with httpx.AsyncClient(transport=transport) as client:
        for _ in range(3):
            await client.get(url)
        await asyncio.gather(*(client.get(url) for _ in range(3)))
        assert len(transport._idle) == 3


async def test_a_connection_that_was_in_use_when_its_transport_was_closed_is_closed_too(url: str) -> None:
    transport = WideTransport()
    request = httpx.Request("GET", url, extensions={"timeout": {}})
    asking = asyncio.create_task(transport.handle_async_request(request))
    await asyncio.sleep(0)
    await transport.aclose()
    assert (await asking).status_code == 200
    assert transport._idle == []
