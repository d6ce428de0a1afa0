"""The lane for steps: the two calls that trainers make all day, in plain ASGI.

`POST /v1/sessions/{id}/step` and `POST /v1/step` skip routing and validation layers: one decode into the
wire's structs, one hop to the worker, and the environment's own bytes back. `_schema` describes them
with the rest.
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from envhub.server._http import decode, read_body, send_error, send_json
from envhub.session import Answer, HubError, Sessions
from envhub_sdk._wire import BatchStep, StepRequest

_step = msgspec.json.Decoder(StepRequest)
_batch = msgspec.json.Decoder(BatchStep)

_BATCH = "/v1/step"
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
        path: str = scope.get("path", "")
        if scope["type"] != "http" or not path.endswith(_SUFFIX):
            await self._app(scope, receive, send)
            return
        session_id = path[len(_PREFIX) : -len(_SUFFIX)] if path.startswith(_PREFIX) else ""
        if path != _BATCH and (not session_id or "/" in session_id):
            await self._app(scope, receive, send)
            return
        if scope["method"] != "POST":
            raise HubError(
                "method_not_allowed", f"{path} takes POST, not {scope['method']}", {"allowed": "POST"}
            )
        if path == _BATCH:
            batch = decode(_batch, await read_body(receive))
            await send_json(send, await self._sessions.step_batch(batch))
            return
        answer = await self._one(session_id, decode(_step, await read_body(receive)))
        if isinstance(answer, HubError):
            await send_error(send, answer)
        else:
            await send_json(send, answer)

    async def _one(self, session_id: str, step: StepRequest) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def answered(answer: Answer) -> None:
            if not future.done():  # else the client left meanwhile; the session has the record
                future.set_result(answer)

        self._sessions.step(session_id, step, False, answered)
        return await future
