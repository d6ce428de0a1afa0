"""The application: composes the gate, the step lane, the stream and the routes."""

from __future__ import annotations

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from envhub import __version__
from envhub.server._gate import DOCS_PREFIX, Gate
from envhub.server._http import error_headers
from envhub.server._hub import Hub
from envhub.server._lane import StepLane
from envhub.server._routes import create_router
from envhub.server._schema import build_schema
from envhub.server._stream import serve_stream
from envhub.server._traces import traced
from envhub.session import HubError


def create_app(hub: Hub) -> ASGIApp:
    """Makes the ASGI application of a hub; the caller starts and stops the hub."""
    app = FastAPIOffline(
        title="EnvHub",
        version=__version__,
        redoc_url=None,
        static_url=f"{DOCS_PREFIX}assets",
        redirect_slashes=False,
    )
    app.openapi = lambda: build_schema(app.title, app.version)  # type: ignore[method-assign]
    app.include_router(create_router(hub))

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await serve_stream(hub, scope, receive, send)

    app.router.routes.append(WebSocketRoute("/v1/stream", _Endpoint(stream)))
    app.add_exception_handler(HubError, _hub_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _defect)
    lane = StepLane(app, hub.sessions)
    settings = hub.settings
    gate = Gate(lane, settings.token, settings.max_body_bytes, settings.tokens, settings.host)
    return traced(gate)


class _Endpoint:
    """Marks a plain ASGI callable as one for Starlette, which would otherwise wrap a function."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _respond(error: HubError) -> Response:
    headers = {name.decode(): value.decode() for name, value in error_headers(error)}
    return Response(error.encode(), error.status, headers, media_type="application/json")


async def _hub_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HubError)
    return _respond(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        return _respond(
            HubError(
                "method_not_allowed",
                f"{request.url.path} takes {allowed}, not {request.method}",
                {"allowed": allowed},
            )
        )
    return _respond(
        HubError("not_found", f"no route {request.method} {request.url.path}; /docs lists what there is")
    )


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
    return _respond(HubError("malformed_request", "; ".join(problems)))


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # nobody is there to read it


async def _defect(request: Request, error: Exception) -> Response:
    return _respond(HubError("internal_error", "the hub has a defect; its log has the details"))
