"""OpenTelemetry traces of the requests, where its packages are there and somebody collects.

Install the extra `otel` and start the hub under `opentelemetry-instrument`, which sets up the exporter from
the usual `OTEL_…` variables; then each request and each stream is a span, named by its route.
"""

from __future__ import annotations

import re
from typing import Any

from starlette.types import ASGIApp, Scope

_IDS = re.compile(r"^/v1/(sessions|envs)/([^/]+)")


def traced(app: ASGIApp, provider: Any = None) -> ASGIApp:
    """Wraps an application in spans; gives it back as it is where nobody would see them.

    Args:
        app: The application.
        provider: Makes the tracers; by default the process's own, if one was set up.
    """
    try:
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
        from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider
    except ImportError:
        return app
    if provider is None and isinstance(get_tracer_provider(), ProxyTracerProvider):
        return app
    wrapped: ASGIApp = OpenTelemetryMiddleware(
        app, tracer_provider=provider, default_span_details=_details, exclude_spans=["receive", "send"]
    )
    return wrapped


def _details(scope: Scope) -> tuple[str, dict[str, Any]]:
    """A span's name and attributes: the route, and which session or environment it is about."""
    path = str(scope.get("path", ""))
    method = str(scope.get("method", "STREAM"))
    found = _IDS.match(path)
    if found is None:
        return f"{method} {path}", {}
    kind = found[1].removesuffix("s")
    route = f"/v1/{found[1]}/{{{kind}}}{path[found.end() :]}"
    return f"{method} {route}", {f"envhub.{kind}": found[2], "http.route": route}
