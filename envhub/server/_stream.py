"""The stream: one WebSocket that drives any number of sessions, replies as they become ready.

Each message is `{"id": n, "op": …, …}` with the fields of the operation's HTTP call; each reply carries
the same `id`. Sessions belong to the hub, not to the connection: they outlive it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import Any

import msgspec
from starlette.types import Message, Receive, Scope, Send

from envhub.server._gate import log_error
from envhub.server._http import decode
from envhub.server._hub import Hub
from envhub.session import CALLER, Answer, HubError, Sink
from envhub_sdk import _wire as wire

MAX_UNDER_WAY = 4096
"""Requests of one connection that may be unanswered; beyond it nothing more is read."""

_message = msgspec.json.Decoder(wire.StreamMessage)
_encode = msgspec.json.Encoder().encode

_Long = wire.StreamOpen | wire.StreamSnapshot | wire.StreamRestore | wire.StreamFork
_Quick = wire.StreamClose | wire.StreamKeepalive | wire.StreamState | wire.StreamTrajectory


class _Numbered(msgspec.Struct):
    id: int | None = None


async def serve_stream(hub: Hub, scope: Scope, receive: Receive, send: Send) -> None:
    """Serves one connection until it closes."""
    await receive()  # websocket.connect
    await send({"type": "websocket.accept"})
    connection = _Connection(hub, send, scope["request_id"])
    tasks = [asyncio.create_task(connection.read(receive)), asyncio.create_task(connection.write())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        with contextlib.suppress(OSError):  # the writer's way to say that the client is gone
            done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connection.drop()


class _Connection:
    """One connection: what is under way on it and what is ready to be sent."""

    def __init__(self, hub: Hub, send: Send, request_id: str) -> None:
        self._request_id = request_id
        self._hub = hub
        self._sessions = hub.sessions
        self._caller = CALLER.get()
        self._send = send
        self._ready: list[Message] = []
        self._something_ready = asyncio.Event()
        self._under_way = 0
        self._room = asyncio.Event()
        self._room.set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def read(self, receive: Receive) -> None:
        """Takes messages until the connection closes."""
        while (message := await receive())["type"] != "websocket.disconnect":
            await self._take(message)

    async def _take(self, message: Message) -> None:
        """Starts what one message asks for."""
        as_text = message.get("text") is not None
        body: bytes = message["text"].encode("utf-8", "replace") if as_text else message["bytes"]
        self._under_way += 1
        if self._under_way >= MAX_UNDER_WAY:
            self._room.clear()
        try:
            if self._caller is not None:
                self._caller.spend()
            request = decode(_message, body)
        except HubError as error:
            self._reply(as_text, _number_of(body), error)
        else:
            self._start(request, functools.partial(self._reply, as_text, request.id))
        await self._room.wait()

    def _start(self, request: wire.StreamMessage, reply: Sink) -> None:
        if isinstance(request, wire.StreamStep):
            self._sessions.step(request.session_id, request, False, reply)
        elif isinstance(request, wire.StreamReset):
            self._sessions.reset(request.session_id, request, reply)
        elif isinstance(request, _Long):
            task = asyncio.create_task(self._answer(request, reply))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            try:
                reply(_encode(self._about_session(request)))
            except HubError as error:
                reply(error)

    async def _answer(self, request: _Long, reply: Sink) -> None:
        """Does what takes time, and replies when it is done."""
        sessions = self._sessions
        try:
            match request:
                case wire.StreamOpen():
                    reply(await sessions.openings.open(request.env, request))
                case wire.StreamSnapshot():
                    reply(await sessions.points.snapshot(request.session_id))
                case wire.StreamRestore():
                    session_id, point, number = request.session_id, request.snapshot_id, request.start_index
                    reply(await sessions.points.restore(session_id, point, number))
                case wire.StreamFork():
                    reply(await sessions.points.fork(request.session_id, request))
        except HubError as error:
            reply(error)

    def _about_session(self, request: _Quick) -> Any:
        """Does what takes no time: closing, renewing, looking."""
        sessions, session_id = self._sessions, request.session_id
        match request:
            case wire.StreamClose():
                sessions.close(session_id)
                return wire.Closed(session_id)
            case wire.StreamKeepalive():
                return wire.Keepalive(sessions.expires_at(sessions.find(session_id)))
            case wire.StreamState():
                state = sessions.find(session_id).state(sessions.clock_offset)
                return {"session": state}  # inside, since both the state and the reply have an `id`
            case wire.StreamTrajectory():
                return sessions.find(session_id).trajectory()

    # -- replies ------------------------------------------------------------------------------------

    def _reply(self, as_text: bool, number: int | None, answer: Answer) -> None:
        if isinstance(answer, HubError) and answer.status >= 500:
            log_error(f"stream message {number}", self._request_id, answer)
        body = answer.encode() if isinstance(answer, HubError) else answer
        head = b'{"id":null,' if number is None else b'{"id":%d,' % number
        reply = head + body[1:]
        if as_text:
            self._ready.append({"type": "websocket.send", "text": reply.decode()})
        else:
            self._ready.append({"type": "websocket.send", "bytes": reply})
        self._something_ready.set()

    async def write(self) -> None:
        """Sends replies as they become ready; a slow client holds up only itself."""
        while True:
            await self._something_ready.wait()
            self._something_ready.clear()
            ready, self._ready = self._ready, []
            self._sessions.written()
            for message in ready:
                await self._send(message)
            self._under_way -= len(ready)
            if self._under_way < MAX_UNDER_WAY:
                self._room.set()

    def drop(self) -> None:
        """The connection is closed: nobody waits for its replies any more."""
        for task in self._tasks:
            task.cancel()


def _number_of(body: bytes) -> int | None:
    """The id of a message that is wrong otherwise, if it has one."""
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(body, type=_Numbered).id
    return None
