"""What a client was told is in the log by then: the hub may die the moment after."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from envhub.record import Log, Recorder
from envhub.server import Hub, create_app


@pytest.mark.parametrize("how", ["alone", "in a batch"])
async def test_a_close_is_written_before_it_is_answered(make_plan: Any, tmp_path: Path, how: str) -> None:
    hub = Hub([make_plan("echo", 1)], recorder=Recorder(state=Log(tmp_path)))
    written = ""

    async def looked_at(scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            nonlocal written
            written = "".join(file.read_text() for file in sorted(tmp_path.glob("*.jsonl")))
            await send(message)

        await app(scope, receive, sending)

    await hub.start()
    try:
        app = create_app(hub)
        transport = httpx.ASGITransport(looked_at)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            opened = await client.post("/v1/envs/echo/sessions", json={})
            session = opened.json()["sessions"][0]["id"]
            if how == "alone":
                assert (await client.delete(f"/v1/sessions/{session}")).status_code == 204
            else:
                await client.post("/v1/close", json={"session_ids": [session]})
        last = json.loads(written.splitlines()[-1])
        assert (last["event"], last["session"]) == ("ended", session)
    finally:
        await hub.stop()
        assert hub.sessions.recorder is not None
        hub.sessions.recorder.close()
