"""The contestants' protocols: each client owns one session and steps it.

Every answer is parsed and its echo checked, as a client that acts on it would; a wrong one ends the load.
This module also runs in OpenEnv's own virtual environment, so it imports nothing of the hub.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from load.connections import HttpConnection, ServerError, WebSocketConnection

ACTION = "hello"
BATCH = 64


class Client(Protocol):
    """One client of a server."""

    async def step(self) -> None:
        """One request and its answer."""

    async def close(self) -> None:
        """Gives the session back and hangs up."""


Connect = Callable[[str, int], Awaitable[list[Client]]]
"""Takes a server's URL and how many clients are wanted; their sessions are reset already."""


def _check(observation: Any) -> None:
    if observation != ACTION:
        raise ServerError(f"the observation is {observation!r}, not the echo of {ACTION!r}")


# -- the hub ----------------------------------------------------------------------------------------


class HubStep:
    """One request a step."""

    def __init__(self, http: HttpConnection, session: str) -> None:
        self._http, self._path, self._index = http, f"/v1/sessions/{session}", itertools.count()

    @classmethod
    async def connect(cls, url: str, count: int) -> list[Client]:
        """Opens one connection and one session a client."""
        return [await cls._one(url) for _ in range(count)]

    @classmethod
    async def _one(cls, url: str) -> HubStep:
        http = await HttpConnection.connect(url)
        opened = json.loads(await http.request("POST", "/v1/envs/echo/sessions", b"{}"))
        return cls(http, opened["sessions"][0]["id"])

    async def step(self) -> None:
        """Steps, with the step's index as the SDK sends it."""
        body = json.dumps({"action": ACTION, "step_index": next(self._index)}).encode()
        _check(json.loads(await self._http.request("POST", self._path + "/step", body))["observation"])

    async def close(self) -> None:
        """Closes the session."""
        await self._http.request("DELETE", self._path)
        self._http.close()


class HubBatch:
    """One request for a step of each of `BATCH` sessions."""

    def __init__(self, http: HttpConnection, sessions: list[str]) -> None:
        self._http, self._sessions, self._index = http, sessions, itertools.count()

    @classmethod
    async def connect(cls, url: str, count: int) -> list[Client]:
        """Opens one connection and `BATCH` sessions a client."""
        return [await cls._one(url) for _ in range(count)]

    @classmethod
    async def _one(cls, url: str) -> HubBatch:
        http = await HttpConnection.connect(url)
        body = json.dumps({"count": BATCH}).encode()
        opened = json.loads(await http.request("POST", "/v1/envs/echo/sessions", body))
        return cls(http, [session["id"] for session in opened["sessions"]])

    async def step(self) -> None:
        """Steps all sessions."""
        index = next(self._index)
        steps = [{"session_id": one, "action": ACTION, "step_index": index} for one in self._sessions]
        body = json.dumps({"steps": steps}).encode()
        answer = json.loads(await self._http.request("POST", "/v1/step", body))
        for result in answer["results"]:
            _check(result["observation"])
        if len(answer["results"]) != BATCH:
            raise ServerError(f"{len(answer['results'])} results for {BATCH} steps")

    async def close(self) -> None:
        """Closes the sessions."""
        await self._http.request("POST", "/v1/close", json.dumps({"session_ids": self._sessions}).encode())
        self._http.close()


class HubStream:
    """The hub's stream: a message a step."""

    def __init__(self, socket: WebSocketConnection, session: str, numbers: Iterator[int]) -> None:
        self._socket, self._session, self._numbers = socket, session, numbers
        self._index = itertools.count()

    @classmethod
    async def connect(cls, url: str, count: int) -> list[Client]:
        """Opens one connection and one session a client."""
        return [client for _ in range(count) for client in await cls.connect_shared(url, 1)]

    @classmethod
    async def connect_shared(cls, url: str, count: int) -> list[Client]:
        """Opens one connection for all clients."""
        socket = await WebSocketConnection.connect(url + "/v1/stream")
        numbers = itertools.count(1)
        number = next(numbers)
        opened = await socket.ask({"id": number, "op": "open", "env": "echo", "count": count}, number)
        return [cls(socket, session["id"], numbers) for session in opened["sessions"]]

    async def step(self) -> None:
        """Steps, with the step's index as the SDK sends it."""
        answer = await self._ask({"op": "step", "action": ACTION, "step_index": next(self._index)})
        _check(answer.get("observation"))

    async def close(self) -> None:
        """Closes the session; the connection ends with the load."""
        await self._ask({"op": "close"})

    async def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        return await self._socket.ask({"id": number, "session_id": self._session, **message}, number)


# -- OpenEnv ----------------------------------------------------------------------------------------


class OpenEnvStep:
    """OpenEnv's POST /step, which makes an environment, steps it and closes it."""

    def __init__(self, http: HttpConnection) -> None:
        self._http = http

    @classmethod
    async def connect(cls, url: str, count: int) -> list[Client]:
        """Opens one connection a client."""
        return [cls(await HttpConnection.connect(url)) for _ in range(count)]

    async def step(self) -> None:
        """Steps."""
        body = json.dumps({"action": {"message": ACTION}}).encode()
        _check(json.loads(await self._http.request("POST", "/step", body))["observation"]["message"])

    async def close(self) -> None:
        """Hangs up."""
        self._http.close()


class OpenEnvFrames:
    """OpenEnv's /ws, spoken directly: a connection is a session."""

    def __init__(self, socket: WebSocketConnection) -> None:
        self._socket = socket

    @classmethod
    async def connect(cls, url: str, count: int) -> list[Client]:
        """Opens one connection a client and resets its session."""
        sockets = [await WebSocketConnection.connect(url + "/ws") for _ in range(count)]
        for socket in sockets:
            await socket.ask({"type": "reset", "data": {}})
        return [cls(socket) for socket in sockets]

    async def step(self) -> None:
        """Steps."""
        reply = await self._socket.ask({"type": "step", "data": {"message": ACTION}})
        _check(reply["data"]["observation"]["message"])

    async def close(self) -> None:
        """Hangs up."""
        self._socket.close()


class OpenEnvClient:
    """OpenEnv's own client, unmodified; only in its virtual environment."""

    def __init__(self, env: Any) -> None:
        self._env = env

    @classmethod
    async def connect(cls, url: str, count: int) -> list[Client]:
        """Opens one connection a client and resets its session."""
        from openenv.core.generic_client import GenericEnvClient

        envs = [GenericEnvClient(base_url=url) for _ in range(count)]
        for env in envs:
            await env.connect()
            await env.reset()
        return [cls(env) for env in envs]

    async def step(self) -> None:
        """Steps."""
        _check((await self._env.step({"message": ACTION})).observation["message"])

    async def close(self) -> None:
        """Closes the session."""
        await self._env.close()


# -- the bare handler -------------------------------------------------------------------------------


class BareStep(HubStep):
    """The hub's one-request step, asked of a handler that keeps no sessions."""

    @classmethod
    async def connect(cls, url: str, count: int) -> list[Client]:
        """Opens one connection a client."""
        return [cls(await HttpConnection.connect(url), "bare") for _ in range(count)]

    async def close(self) -> None:
        """Hangs up."""
        self._http.close()


CONNECT: dict[str, Connect] = {
    "hub-step": HubStep.connect,
    "hub-stream": HubStream.connect,
    "hub-stream-shared": HubStream.connect_shared,
    "hub-batch": HubBatch.connect,
    "openenv-step": OpenEnvStep.connect,
    "openenv-client": OpenEnvClient.connect,
    "openenv-frames": OpenEnvFrames.connect,
    "bare-step": BareStep.connect,
}
"""How to connect the clients of each protocol."""
