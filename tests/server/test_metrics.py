"""What /metrics says is what happened, and docs/monitoring.md lists all of it."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from envhub.pool import KINDS, _keeper

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "monitoring.md").read_text()


@pytest.fixture
def server(make_server: Any, make_plan: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A hub of its own, whose workers report all the time."""
    monkeypatch.setattr(_keeper, "PING_S", 0.01)
    monkeypatch.setattr(_keeper, "WATCH_S", 0.01)
    monkeypatch.setattr(_keeper, "WEIGH_S", 0.01)
    yield make_server(make_plan("echo", 4, fail_on="fail"))


def families(client: httpx.Client) -> dict[str, Metric]:
    return {one.name: one for one in text_string_to_metric_families(client.get("/metrics").text)}


def value(client: httpx.Client, name: str, **labels: str) -> float:
    """The sample of that name and labels; 0 when there is none yet."""
    for family in families(client).values():
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return float(sample.value)
    return 0.0


def listed() -> dict[str, set[str]]:
    """The metrics of the guide's table with their labels."""
    rows = re.findall(r"^\| `(envhub_\w+)` \|([^|]*)\|", GUIDE, re.M)
    return {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def opened(client: httpx.Client, count: int = 1) -> list[str]:
    answer = client.post("/v1/envs/echo/sessions", json={"count": count})
    return [one["id"] for one in answer.json()["sessions"]]


def step(client: httpx.Client, session: str, action: str = "a", **more: object) -> httpx.Response:
    return client.post(f"/v1/sessions/{session}/step", json={"action": action, **more})


def test_the_guide_lists_every_metric_with_its_labels(server: Any, wait_until: Any) -> None:
    with server.client() as client:
        (session,) = opened(client)
        step(client, session)
        step(client, session, "fail")
        client.delete(f"/v1/sessions/{session}")
        os.kill(server.do(lambda: server.hub.pools["echo"]._workers[0].pid), signal.SIGKILL)
        wait_until(lambda: value(client, "envhub_worker_restarts_total", env="echo", reason="signal"))
        wait_until(lambda: value(client, "envhub_worker_memory_bytes", env="echo", worker="0"))
        found: dict[str, set[str]] = {}
        for family in families(client).values():
            name = family.name + ("_total" if family.type == "counter" else "")
            assert family.samples, f"{name} was never seen"
            found[name] = set(family.samples[0].labels) - {"le"}
            assert family.documentation
    assert listed() == found


def test_the_guide_lists_every_reason_of_a_restart() -> None:
    reasons = re.findall(r"^\|.*\| `(\w+)` \|$", GUIDE, re.M)
    assert set(reasons) == {*KINDS, "not_started"}


def test_alerts_ask_for_metrics_that_exist() -> None:
    asked = set(re.findall(r"envhub_\w+", GUIDE.partition("groups:")[2].partition("```")[0]))
    assert len(asked) >= 6
    assert {re.sub("_bucket$", "", name) for name in asked} <= set(listed())


def test_every_metric_that_any_page_names_exists() -> None:
    for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        named = set(
            re.findall(
                r"\benvhub_[a-z_]+_(?:total|seconds(?:_bucket|_count|_sum)?|bytes)\b", page.read_text()
            )
        )
        assert {re.sub("_(bucket|count|sum)$", "", name) for name in named} <= set(listed()), page.name


def test_steps_are_counted_and_timed_in_both_phases(server: Any, wait_until: Any) -> None:
    with server.client() as client:
        sessions = opened(client, 4)
        for _ in range(5):
            client.post("/v1/step", json={"steps": [{"session_id": one, "action": "a"} for one in sessions]})
        assert value(client, "envhub_steps_total", env="echo") == 20
        assert value(client, "envhub_step_seconds_count", env="echo", phase="total") == 20
        environment = {"env": "echo", "phase": "environment"}
        wait_until(lambda: value(client, "envhub_step_seconds_count", **environment) == 20)
        assert value(client, "envhub_step_seconds_bucket", le="+Inf", **environment) == 20
        assert 0 < value(client, "envhub_step_seconds_sum", **environment)
        total = value(client, "envhub_step_seconds_sum", env="echo", phase="total")
        assert value(client, "envhub_step_seconds_sum", **environment) < total
        assert value(client, "envhub_replicas", env="echo", state="leased") == 4
        assert value(client, "envhub_sessions", env="echo") == 4
        assert value(client, "envhub_resets_total", env="echo") == 4


def test_a_replay_counts_no_step_again(server: Any, wait_until: Any) -> None:
    with server.client() as client:
        (session,) = opened(client)
        for _ in range(5):
            step(client, session)
        environment = {"env": "echo", "phase": "environment"}
        wait_until(lambda: value(client, "envhub_step_seconds_count", **environment) == 5)
        os.kill(server.do(lambda: server.hub.pools["echo"]._workers[0].pid), signal.SIGKILL)
        assert step(client, session).json()["step_index"] == 5
        assert value(client, "envhub_replays_total", env="echo") >= 1
        assert value(client, "envhub_steps_total", env="echo") == 6
        assert value(client, "envhub_step_seconds_count", env="echo", phase="total") == 6
        wait_until(lambda: value(client, "envhub_step_seconds_count", **environment) == 6)


def test_each_episode_is_counted_once_by_how_it_ended(make_server: Any, make_plan: Any) -> None:
    server = make_server(make_plan("echo", 6, fail_on="fail", length=2, max_episode_steps=3))

    def ended(client: httpx.Client) -> dict[str, int]:
        outcomes = ("terminated", "truncated", "failed", "abandoned")
        return {one: int(value(client, "envhub_episodes_total", env="echo", outcome=one)) for one in outcomes}

    with server.client() as client:
        first, second, third, closed = opened(client, 4)
        assert set(ended(client).values()) == {0}
        step(client, first)
        step(client, first)
        assert ended(client) == {"terminated": 1, "truncated": 0, "failed": 0, "abandoned": 0}
        client.post(f"/v1/sessions/{first}/reset", json={})
        client.post(f"/v1/sessions/{first}/reset", json={})
        assert ended(client)["abandoned"] == 1
        step(client, second, "fail")
        assert step(client, second).status_code == 409
        client.post(f"/v1/sessions/{second}/reset", json={})
        assert ended(client) == {"terminated": 1, "truncated": 0, "failed": 1, "abandoned": 1}
        point = client.post(f"/v1/sessions/{third}/snapshot").json()["snapshot_id"]
        client.post(f"/v1/sessions/{third}/restore", json={"snapshot_id": point})
        client.delete(f"/v1/sessions/{closed}")
        client.delete(f"/v1/sessions/{closed}")
        assert ended(client) == {"terminated": 1, "truncated": 0, "failed": 1, "abandoned": 3}


def test_a_truncated_episode_and_the_reset_that_follows_by_itself(make_server: Any, make_plan: Any) -> None:
    server = make_server(make_plan("echo", 1, max_episode_steps=1))
    with server.client() as client:
        (session,) = opened(client)
        for _ in range(3):
            item = {"session_id": session, "action": "a"}
            (answer,) = client.post("/v1/step", json={"steps": [item], "autoreset": True}).json()["results"]
            assert answer["truncated"] and answer["reset"]["step_index"] == 0
        assert value(client, "envhub_episodes_total", env="echo", outcome="truncated") == 3
        assert value(client, "envhub_resets_total", env="echo") == 4


def test_a_lost_session_fails_its_episode(
    make_server: Any, make_plan: Any, write_spec: Any, wait_until: Any
) -> None:
    source = (
        "class Env:\n    def reset(self, *, seed=None, options=None):\n        return 'start', {}\n"
        "    def step(self, action):\n        return action, 0.0, False, False, {}\n"
    )
    server = make_server(make_plan(write_spec(source, "replayable = false\n"), 1))
    with server.client() as client:
        client.post("/v1/envs/probe/sessions", json={})
        os.kill(server.do(lambda: server.hub.pools["probe"]._workers[0].pid), signal.SIGKILL)
        wait_until(lambda: value(client, "envhub_sessions_ended_total", env="probe", reason="session_lost"))
        assert value(client, "envhub_episodes_total", env="probe", outcome="failed") == 1


def test_a_slow_step_is_in_a_late_bucket(make_server: Any, make_plan: Any, wait_until: Any) -> None:
    server = make_server(make_plan("echo", 1, delay_s=0.06))
    with server.client() as client:
        (session,) = opened(client)
        step(client, session)
        for phase in ("environment", "total"):
            labels = {"env": "echo", "phase": phase}
            wait_until(lambda labels=labels: value(client, "envhub_step_seconds_count", **labels))
            assert value(client, "envhub_step_seconds_bucket", le="0.05", **labels) == 0
            assert value(client, "envhub_step_seconds_bucket", le="10.0", **labels) == 1


def test_each_promise_is_counted(server: Any, wait_until: Any) -> None:
    with server.client() as client:
        refused = value(client, "envhub_errors_total", code="step_index_conflict")
        (session,) = opened(client)
        first = step(client, session, step_index=0)
        assert step(client, session, step_index=0).content == first.content
        assert step(client, session, step_index=7).status_code == 409
        client.post(f"/v1/sessions/{session}/snapshot")
        forks = client.post(f"/v1/sessions/{session}/fork", json={"count": 2}).json()["sessions"]
        assert len(forks) == 2
        os.kill(server.do(lambda: server.hub.pools["echo"]._workers[0].pid), signal.SIGKILL)
        assert step(client, session).status_code == 200
        assert value(client, "envhub_step_repeats_total", env="echo") == 1
        assert value(client, "envhub_errors_total", code="step_index_conflict") == refused + 1
        assert value(client, "envhub_points_total", env="echo", kind="snapshot") == 1
        assert value(client, "envhub_points_total", env="echo", kind="fork") == 2
        assert value(client, "envhub_snapshots_kept") == 1
        wait_until(lambda: value(client, "envhub_replays_total", env="echo") == 3)
        assert value(client, "envhub_worker_restarts_total", env="echo", reason="signal") == 1
        assert value(client, "envhub_replay_divergences_total", env="echo") == 0
        assert value(client, "envhub_ready", env="echo") == 1


def test_a_hub_that_drains_is_not_ready(server: Any) -> None:
    with server.client() as client:
        assert value(client, "envhub_ready", env="echo") == 1
        server.do(lambda: setattr(server.hub.sessions, "draining", True))
        assert client.get("/readyz").status_code == 503
        assert value(client, "envhub_ready", env="echo") == 0


def test_not_ready_says_why_and_is_counted(server: Any, wait_until: Any) -> None:
    with server.client() as client:
        worker = server.do(lambda: server.hub.pools["echo"]._workers[0])
        os.kill(worker.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: client.get("/readyz").status_code == 503)
            assert "0 of 1 worker is up" in client.get("/readyz").json()["error"]["message"]
            assert value(client, "envhub_ready", env="echo") == 0
            assert value(client, "envhub_workers_ready", env="echo") == 0
        finally:
            os.kill(worker.pid, signal.SIGCONT)
        wait_until(lambda: client.get("/readyz").status_code == 200)
