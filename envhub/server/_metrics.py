"""Prometheus metrics, collected when asked for: counting costs the hot path one integer."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from envhub.server._hub import Hub


def render_metrics(hub: Hub) -> tuple[bytes, str]:
    """The hub's metrics as Prometheus text, and its content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_HubCollector(hub))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _HubCollector(Collector):
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def collect(self) -> Iterator[Metric]:
        counts = self._hub.sessions.counts
        for name, help_text, counter in (
            ("envhub_steps", "Steps asked for.", counts.steps),
            ("envhub_resets", "Resets asked for.", counts.resets),
            ("envhub_sessions_opened", "Sessions opened.", counts.opened),
        ):
            family = CounterMetricFamily(name, help_text, labels=["env"])
            for env in self._hub.pools:
                family.add_metric([env], counter[env])
            yield family
        ended = CounterMetricFamily(
            "envhub_sessions_ended", "Sessions ended, by reason.", labels=["env", "reason"]
        )
        for (env, reason), number in counts.ended.items():
            ended.add_metric([env, reason], number)
        yield ended
        yield from self._pools()

    def _pools(self) -> Iterator[Metric]:
        replicas = GaugeMetricFamily("envhub_replicas", "Replicas, by state.", labels=["env", "state"])
        queued = GaugeMetricFamily("envhub_queued", "Callers that wait for replicas.", labels=["env"])
        workers = GaugeMetricFamily("envhub_workers_ready", "Workers that are up.", labels=["env"])
        restarts = CounterMetricFamily("envhub_worker_restarts", "Workers started again.", labels=["env"])
        for env, pool in self._hub.pools.items():
            status = pool.status()
            replicas.add_metric([env, "free"], status.free)
            replicas.add_metric([env, "total"], status.total)
            queued.add_metric([env], status.queued)
            workers.add_metric([env], status.ready_workers)
            restarts.add_metric([env], status.restarts)
        yield from (replicas, queued, workers, restarts)
