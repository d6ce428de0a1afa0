"""A bare Starlette handler: parses a step and says it back. The least that Python can do per request."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


async def step(request: Request) -> JSONResponse:
    """Answers in the shape of the hub's step."""
    body = await request.json()
    return JSONResponse(
        {
            "observation": body["action"],
            "reward": 0.0,
            "terminated": False,
            "truncated": False,
            "info": {},
            "step_index": body["step_index"],
        }
    )


def main() -> None:
    app = Starlette(routes=[Route("/v1/sessions/{session_id}/step", step, methods=["POST"])])
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        # The hub's own settings (envhub/cli/_serving.py).
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http="httptools",
            lifespan="off",
            access_log=False,
            log_level="warning",
            server_header=False,
            date_header=False,
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
