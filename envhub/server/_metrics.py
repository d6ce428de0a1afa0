"""Prometheus metrics, collected when asked for: counting costs the hot path a few integers.

docs/monitoring.md says what each is good for; a test holds it against what is here.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from envhub.pool import BOUNDS_S, Pool, PoolStatus, Times, private_bytes
from envhub.server._hub import Hub
from envhub.session import HubError

OUTCOMES = ("terminated", "truncated", "failed", "abandoned")
"""How an episode may end."""
READY = "1 while /readyz has nothing against the environment."
_BOUNDS = [str(bound) for bound in BOUNDS_S]

_COUNTS: list[tuple[str, str, Callable[[Pool], int]]] = [
    ("envhub_replays", "Episodes brought to another worker, or to this hub.", lambda pool: pool.replays),
    ("envhub_replay_divergences", "Replays that differed from the record.", lambda pool: pool.divergences),
    ("envhub_step_repeats", "Steps asked for again and executed once.", lambda pool: pool.repeats),
]
_GAUGES: list[tuple[str, str, Callable[[PoolStatus], int]]] = [
    ("envhub_queued", "Callers that wait for replicas.", lambda pool: pool.queued),
    ("envhub_workers", "Workers there are to be.", lambda pool: pool.workers),
    ("envhub_workers_ready", "Workers that are up and answer.", lambda pool: pool.ready_workers),
]


def render_metrics(hub: Hub) -> tuple[bytes, str]:
    """The hub's metrics as Prometheus text, and its content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_HubCollector(hub))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _HubCollector(Collector):
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def collect(self) -> Iterator[Metric]:
        yield from self._sessions()
        yield from self._pools()
        yield from self._workers()
        errors = CounterMetricFamily("envhub_errors", "Errors told to clients, by code.", labels=["code"])
        for code, number in HubError.told.items():
            errors.add_metric([code], number)
        yield errors
        dropped = CounterMetricFamily("envhub_record_dropped_bytes", "Bytes of the record that are lost.")
        recorder = self._hub.sessions.recorder
        dropped.add_metric([], recorder.dropped if recorder is not None else 0)
        yield dropped
        waiting = GaugeMetricFamily("envhub_record_waiting_bytes", "Bytes of the record the disk refuses.")
        waiting.add_metric([], recorder.waiting if recorder is not None else 0)
        yield waiting
        memory = GaugeMetricFamily("envhub_hub_memory_bytes", "Memory of the hub's own process.")
        memory.add_metric([], private_bytes(os.getpid()) or 0)
        yield memory

    def _sessions(self) -> Iterator[Metric]:
        counts, envs = self._hub.sessions.counts, list(self._hub.pools)
        for name, help_text, counter in (
            ("envhub_steps", "Steps asked for.", counts.steps),
            ("envhub_resets", "Resets: asked for, or following a last step by themselves.", counts.resets),
            ("envhub_sessions_opened", "Sessions opened.", counts.opened),
            ("envhub_sessions_resumed", "Sessions of the hub before that go on.", counts.resumed),
        ):
            family = CounterMetricFamily(name, help_text, labels=["env"])
            for env in envs:
                family.add_metric([env], counter[env])
            yield family
        opened = self._hub.sessions.open_by_env()
        sessions = GaugeMetricFamily("envhub_sessions", "Sessions that are open.", labels=["env"])
        for env in envs:
            sessions.add_metric([env], opened[env])
        yield sessions
        ended = CounterMetricFamily(
            "envhub_sessions_ended", "Sessions ended, by reason.", labels=["env", "reason"]
        )
        for (env, reason), number in counts.ended.items():
            ended.add_metric([env, reason], number)
        yield ended
        episodes = CounterMetricFamily(
            "envhub_episodes", "Episodes that ended, by how.", labels=["env", "outcome"]
        )
        for env in envs:
            for outcome in OUTCOMES:
                episodes.add_metric([env, outcome], counts.episodes[env, outcome])
        yield episodes
        points = CounterMetricFamily(
            "envhub_points", "Snapshots, restores and forks, by kind.", labels=["env", "kind"]
        )
        for env in envs:
            for kind in ("snapshot", "restore", "fork"):
                points.add_metric([env, kind], counts.points[env, kind])
        yield points
        kept = GaugeMetricFamily("envhub_snapshots_kept", "Snapshots that can be restored.")
        kept.add_metric([], len(self._hub.sessions.points.kept))
        yield kept

    def _pools(self) -> Iterator[Metric]:
        pools = {env: (pool, pool.status()) for env, pool in self._hub.pools.items()}
        for name, help_text, value in _GAUGES:
            gauge = GaugeMetricFamily(name, help_text, labels=["env"])
            for env, (_, status) in pools.items():
                gauge.add_metric([env], value(status))
            yield gauge
        for name, help_text, count in _COUNTS:
            counter = CounterMetricFamily(name, help_text, labels=["env"])
            for env, (pool, _) in pools.items():
                counter.add_metric([env], count(pool))
            yield counter
        ready, missing = GaugeMetricFamily("envhub_ready", READY, labels=["env"]), self._hub.missing()
        for env in pools:
            ready.add_metric([env], int(env not in missing))
        yield ready
        replicas = GaugeMetricFamily("envhub_replicas", "Replicas, by state.", labels=["env", "state"])
        for env, (_, status) in pools.items():
            replicas.add_metric([env, "free"], status.free)
            replicas.add_metric([env, "leased"], status.leased)
            replicas.add_metric([env, "total"], status.total)
        yield replicas

    def _workers(self) -> Iterator[Metric]:
        restarts = CounterMetricFamily(
            "envhub_worker_restarts", "Workers started again, by reason.", labels=["env", "reason"]
        )
        memory = GaugeMetricFamily(
            "envhub_worker_memory_bytes", "Memory a worker shares with nobody.", labels=["env", "worker"]
        )
        seconds = HistogramMetricFamily(
            "envhub_step_seconds",
            "Steps that were executed: in the environment, and in all from leaving the hub to the answer.",
            labels=["env", "phase"],
        )
        for env, pool in self._hub.pools.items():
            for reason, number in pool.deaths.items():
                restarts.add_metric([env, reason], number)
            for worker, held in pool.memory().items():
                memory.add_metric([env, str(worker)], held)
            for phase, times in (("environment", pool.environment_times), ("total", pool.step_times)):
                seconds.add_metric([env, phase], _buckets(times), times.seconds)
        yield from (restarts, memory, seconds)


def _buckets(times: Times) -> list[tuple[str, float]]:
    return list(zip([*_BOUNDS, "+Inf"], itertools.accumulate(times.counts), strict=True))
