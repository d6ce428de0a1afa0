"""From measurements to a table, ratios and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median

from rich.console import Console
from rich.table import Table

from load.contestants import Load
from load.drive import Measurement


@dataclass(frozen=True)
class Row:
    """The medians of one load at one number of clients, over all rounds."""

    protocol: str
    label: str
    clients: int
    steps_per_s: float
    steps_per_cpu_s: float
    p50_ms: float
    p99_ms: float
    spread: float
    """Median over rounds of p99 / p50."""
    server_cpu: float
    """Cores the server kept busy."""
    load_cpu: float
    """Cores the load kept busy; near 1.0 the load is the bottleneck of steps/s, not of steps/CPU-s."""


@dataclass(frozen=True)
class Verdict:
    """A ratio beside its bar."""

    what: str
    clients: int
    ratio: float
    bar: float
    at_least: bool

    @property
    def passed(self) -> bool:
        """Whether the bar is met."""
        return self.ratio >= self.bar if self.at_least else self.ratio < self.bar


class Results:
    """All measurements: of each load and number of clients, one a round.

    Args:
        loads: The loads that are measured.
    """

    def __init__(self, loads: Sequence[Load]) -> None:
        self._loads = {load.protocol: load for load in loads}
        self._rounds: dict[tuple[str, int], list[Measurement]] = {}

    def add(self, protocol: str, clients: int, measurement: Measurement) -> None:
        """Adds the measurement of one round."""
        self._rounds.setdefault((protocol, clients), []).append(measurement)

    def rounds(self) -> list[dict[str, object]]:
        """Every measurement, for a file."""
        return [
            {"protocol": protocol, "clients": clients, "rounds": [asdict(one) for one in rounds]}
            for (protocol, clients), rounds in self._rounds.items()
        ]

    def rows(self) -> list[Row]:
        """One row a load and number of clients."""
        return [self._row(protocol, clients) for protocol, clients in sorted(self._rounds, key=self._place)]

    def _place(self, key: tuple[str, int]) -> tuple[int, int]:
        return list(self._loads).index(key[0]), key[1]

    def _row(self, protocol: str, clients: int) -> Row:
        load, rounds = self._loads[protocol], self._rounds[protocol, clients]
        return Row(
            protocol=protocol,
            label=load.label,
            clients=clients,
            steps_per_s=median(one.requests * load.steps / one.seconds for one in rounds),
            steps_per_cpu_s=median(self._efficiency(protocol, clients)),
            p50_ms=median(one.p50_ms for one in rounds),
            p99_ms=median(one.p99_ms for one in rounds),
            spread=median(one.p99_ms / one.p50_ms for one in rounds),
            server_cpu=median(one.server_cpu_s / one.seconds for one in rounds),
            load_cpu=median(one.load_cpu_s / one.seconds for one in rounds),
        )

    def _efficiency(self, protocol: str, clients: int) -> list[float]:
        """Steps per CPU-second of the server, round by round."""
        steps = self._loads[protocol].steps
        return [one.requests * steps / one.server_cpu_s for one in self._rounds[protocol, clients]]

    def _ratio(self, protocol: str, clients: int, other: str, others_clients: int) -> float:
        """The median of the ratios of the rounds: what slows a whole round down cancels out."""
        pairs = zip(self._efficiency(protocol, clients), self._efficiency(other, others_clients), strict=True)
        return median(ours / theirs for ours, theirs in pairs)

    def verdicts(self) -> list[Verdict]:
        """Every bar, at every number of clients."""
        found = []
        counts = sorted({clients for protocol, clients in self._rounds if protocol == "hub-step"})
        for what, ours, theirs, bar in (
            ("one request a step / OpenEnv HTTP", "hub-step", "openenv-step", 3.0),
            ("one request a step / bare handler", "hub-step", "bare-step", 0.4),
            ("stream / OpenEnv WebSocket client", "hub-stream", "openenv-client", 2.5),
        ):
            found += [Verdict(what, n, self._ratio(ours, n, theirs, n), bar, True) for n in counts]
        best = max(
            (key for key in self._rounds if key[0].startswith("openenv-")),
            key=lambda key: median(self._efficiency(*key)),
        )
        what = f"batches of 64 / OpenEnv's best ({self._loads[best[0]].label}, {best[1]} clients)"
        found.append(Verdict(what, 1, self._ratio("hub-batch", 1, *best), 20.0, True))
        for row in self.rows():
            if row.protocol in ("hub-step", "hub-stream") and row.clients == counts[-1]:
                found.append(Verdict(f"{row.label}: p99 / p50", row.clients, row.spread, 5.0, False))
        return found


def show(console: Console, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
    """Prints the table and the verdicts."""
    table = Table(title="Load on loopback, medians over rounds")
    table.add_column("load")
    for title in ("clients", "steps/s", "steps/server-CPU-s", "p50 ms", "p99 ms", "server CPUs", "load CPUs"):
        table.add_column(title, justify="right")
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        table.add_row(
            row.label,
            str(row.clients),
            f"{row.steps_per_s:,.0f}",
            f"{row.steps_per_cpu_s:,.0f}",
            f"{row.p50_ms:.2f}",
            f"{row.p99_ms:.2f}",
            f"{row.server_cpu:.2f}",
            f"{row.load_cpu:.2f}",
            end_section=following is None or following.protocol != row.protocol,
        )
    console.print(table)
    bars = Table(title="Ratios of steps per server-CPU-second, and of latencies, beside their bars")
    bars.add_column("ratio")
    for title in ("clients", "measured", "bar", ""):
        bars.add_column(title, justify="right")
    for verdict in verdicts:
        bars.add_row(
            verdict.what,
            str(verdict.clients),
            f"{verdict.ratio:.2f}",
            f"{'>=' if verdict.at_least else '<'} {verdict.bar:g}",
            "[green]PASS[/]" if verdict.passed else "[red]FAIL[/]",
        )
    console.print(bars)
