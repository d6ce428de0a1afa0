"""The HTTP face of the hub: API v1, its stream, its schema, its limits.

`create_app` composes one ASGI application from small ones: a gate (token, body limit, request id), the
lane for steps, and a FastAPI application for everything else.
"""

from envhub.server._app import create_app
from envhub.server._hub import Hub, HubSettings
from envhub.server._logs import LIFE, set_up_logs
from envhub.server._protocol import http_protocol
from envhub.server._tokens import Role, Token, Tokens, append_token, read_tokens

__all__ = [
    "LIFE",
    "Hub",
    "HubSettings",
    "Role",
    "Token",
    "Tokens",
    "append_token",
    "create_app",
    "http_protocol",
    "read_tokens",
    "set_up_logs",
]
