from typing import Any

import httpx
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from envhub.server._traces import traced


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"{}"})


async def spans_of(*requests: tuple[str, str]) -> list[Any]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    transport = httpx.ASGITransport(traced(app, provider))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for method, path in requests:
            assert (await client.request(method, path)).status_code == 200
    return list(exporter.get_finished_spans())


async def test_a_request_is_one_span_named_by_its_route() -> None:
    spans = await spans_of(
        ("POST", "/v1/sessions/s-1/step"), ("GET", "/v1/envs/webshop"), ("POST", "/v1/step")
    )
    assert [span.name for span in spans] == [
        "POST /v1/sessions/{session}/step",
        "GET /v1/envs/{env}",
        "POST /v1/step",
    ]
    assert spans[0].attributes["envhub.session"] == "s-1"
    assert spans[1].attributes["envhub.env"] == "webshop"


def test_where_nobody_collects_nothing_is_wrapped() -> None:
    assert traced(app) is app
