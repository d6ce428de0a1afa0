"""Every call of API v1 but the steps: thin handlers over the hub."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response
from starlette.requests import ClientDisconnect

from envhub import __version__
from envhub.server._http import decode
from envhub.server._hub import Hub
from envhub.server._metrics import render_metrics
from envhub.session import Answer, HubError
from envhub.worker import frames
from envhub_sdk._wire import (
    About,
    BatchClose,
    BatchReset,
    Closed,
    EnvList,
    ForkRequest,
    Keepalive,
    OpenRequest,
    ResetRequest,
    RestoreRequest,
    SessionList,
)

_open = msgspec.json.Decoder(OpenRequest)
_reset = msgspec.json.Decoder(ResetRequest)
_restore = msgspec.json.Decoder(RestoreRequest)
_fork = msgspec.json.Decoder(ForkRequest)
_resets = msgspec.json.Decoder(BatchReset)
_closes = msgspec.json.Decoder(BatchClose)
_encode = msgspec.json.Encoder().encode

MAX_TASKS = 1000
MAX_OFFSET = 2**53


def json_response(value: Any, status: int = 200) -> Response:
    """A JSON response of a wire struct, or of bytes that are JSON already."""
    body = value if isinstance(value, bytes) else _encode(value)
    return Response(body, status, media_type="application/json")


def create_router(hub: Hub) -> APIRouter:
    """The calls, bound to a hub."""
    router = APIRouter()
    sessions = hub.sessions

    @router.get("/")
    async def about() -> Response:
        return json_response(About("EnvHub", __version__, list(hub.pools), "/docs"))

    @router.get("/healthz")
    async def healthz() -> Response:
        return json_response({"status": "alive"})

    @router.get("/readyz")
    async def readyz() -> Response:
        missing = hub.missing()
        if missing:
            what = "; ".join(f"{env}: {reason}" for env, reason in missing.items())
            raise HubError("not_ready", what, {"missing": missing})
        return json_response({"status": "ready"})

    @router.get("/metrics")
    async def metrics() -> Response:
        body, content_type = render_metrics(hub)
        return Response(body, headers={"content-type": content_type})

    @router.get("/v1/envs")
    async def list_envs() -> Response:
        return json_response(EnvList([hub.env_info(name) for name in hub.pools]))

    @router.get("/v1/envs/{env}")
    async def show_env(env: str) -> Response:
        return json_response(hub.env_info(env))

    @router.get("/v1/envs/{env}/tasks")
    async def list_tasks(
        env: str,
        split: str | None = None,
        offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
        limit: Annotated[int, Query(ge=0, le=MAX_TASKS)] = 100,
    ) -> Response:
        return json_response(await hub.tasks(env, split, offset, limit))

    @router.post("/v1/envs/{env}/sessions")
    async def open_sessions(env: str, request: Request) -> Response:
        wanted = decode(_open, await request.body() or b"{}")
        return json_response(await _while_connected(request, sessions.openings.open(env, wanted)))

    @router.get("/v1/sessions")
    async def list_sessions() -> Response:
        return json_response(SessionList([one.state(sessions.clock_offset) for one in sessions.all()]))

    @router.get("/v1/sessions/{session_id}")
    async def show_session(session_id: str) -> Response:
        return json_response(sessions.find(session_id).state(sessions.clock_offset))

    @router.post("/v1/sessions/{session_id}/reset")
    async def reset_session(session_id: str, request: Request) -> Response:
        reset = decode(_reset, await request.body() or b"{}")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        sessions.reset(session_id, reset, lambda answer: None if future.done() else future.set_result(answer))
        answer = await future
        if isinstance(answer, HubError):
            raise answer.copy()
        return json_response(answer)

    @router.post("/v1/sessions/{session_id}/keepalive")
    async def keep_alive(session_id: str) -> Response:
        return json_response(Keepalive(sessions.expires_at(sessions.find(session_id))))

    @router.get("/v1/sessions/{session_id}/trajectory")
    async def show_trajectory(session_id: str) -> Response:
        return json_response(sessions.find(session_id).trajectory())

    @router.get("/v1/sessions/{session_id}/render")
    async def render_session(session_id: str) -> Response:
        kind, picture = await sessions.find(session_id).render()
        return Response(picture, media_type="image/png" if kind == frames.PNG else "text/plain")

    @router.delete("/v1/sessions/{session_id}", status_code=204)
    async def close_session(session_id: str) -> Response:
        sessions.close(session_id)
        sessions.written()
        return Response(status_code=204)

    @router.post("/v1/sessions/{session_id}/snapshot")
    async def take_snapshot(session_id: str) -> Response:
        return json_response(await sessions.points.snapshot(session_id))

    @router.post("/v1/sessions/{session_id}/restore")
    async def restore_session(session_id: str, request: Request) -> Response:
        wanted = decode(_restore, await request.body())
        return json_response(
            await sessions.points.restore(session_id, wanted.snapshot_id, wanted.start_index)
        )

    @router.post("/v1/sessions/{session_id}/fork")
    async def fork_session(session_id: str, request: Request) -> Response:
        wanted = decode(_fork, await request.body() or b"{}")
        return json_response(await _while_connected(request, sessions.points.fork(session_id, wanted)))

    @router.post("/v1/reset")
    async def reset_batch(request: Request) -> Response:
        return json_response(await sessions.reset_batch(decode(_resets, await request.body())))

    @router.post("/v1/close")
    async def close_batch(request: Request) -> Response:
        batch = decode(_closes, await request.body())
        for session_id in batch.session_ids:
            sessions.close(session_id)
        sessions.written()
        return json_response({"results": [Closed(session_id) for session_id in batch.session_ids]})

    return router


async def _while_connected(request: Request, work: Coroutine[Any, Any, bytes]) -> bytes:
    """Does the work unless the client leaves first: nobody would close what is opened for it."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
