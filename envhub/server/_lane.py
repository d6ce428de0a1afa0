"""The lane for steps: the two calls that trainers make all day, in plain ASGI.

`POST /v1/sessions/{id}/step` and `POST /v1/step` skip routing and validation layers: one decode into the
wire's structs, one hop to the worker, and the environment's own bytes back. `_schema` describes them
with the rest.
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from envhub.server._http import decode, read_body, send_json
from envhub.session import HubError, Sessions
from envhub_sdk._wire import BatchStep, StepRequest

_step = msgspec.json.Decoder(StepRequest)
_batch = msgspec.json.Decoder(BatchStep)

_PREFIX = "/v1/sessions/"
_SUFFIX = "/step"


class StepLane:
    """Answers steps; hands everything else on.

    Args:
        app: Whatever else there is.
        sessions: The open sessions.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app = app
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection event."""
        if scope["type"] == "http" and scope["method"] == "POST":
            path: str = scope["path"]
            if path == "/v1/step":
                batch = decode(_batch, await read_body(receive))
                await send_json(send, await self._sessions.step_batch(batch))
                return
            if path.endswith(_SUFFIX) and path.startswith(_PREFIX):
                session_id = path[len(_PREFIX) : -len(_SUFFIX)]
                if "/" not in session_id:
                    step = decode(_step, await read_body(receive))
                    await send_json(send, await self._one(session_id, step))
                    return
        await self._app(scope, receive, send)

    async def _one(self, session_id: str, step: StepRequest) -> bytes:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def answered(answer: bytes | HubError) -> None:
            if future.done():  # the client left meanwhile; the session has the record
                return
            if isinstance(answer, HubError):
                future.set_exception(answer)
            else:
                future.set_result(answer)

        self._sessions.step(session_id, step, False, answered)
        return await future
