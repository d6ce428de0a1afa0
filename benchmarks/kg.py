"""The KG environment without the hub: how fast tools answer, graphs load, episodes are kept and taken up.

    python benchmarks/kg.py [--triples N] [--questions N] [--replicas N] [--json FILE]

Plays the embedded test questions by their own actions, and questions about a made-up graph of N triples on
disk, which it loads first. A tool call is a step of the environment, text in and text out. Each graph is
measured in a process of its own; times are of the wall clock, memory is the proportional set size. Exits with
1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "env_specs" / "kg"))

from envhub_kg import KGEnv

from envhub.spec import load

SPEC = Path(__file__).resolve().parent.parent / "env_specs" / "kg"
NAMESPACE = "http://example.org/"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
RELATIONS, HUBS, ATTRIBUTES = 60, 12, 10
"""Relations of the made-up graph, how many of these lead to a few hundred entities only, and attributes."""

BARS = {
    ("embedded", "tool call, median, ms"): 2.0,
    ("on disk", "tool call, median, ms"): 5.0,
    ("embedded", "snapshot, median, ms"): 0.1,
    ("embedded", "take up, median, ms"): 0.1,
    ("embedded", "further replicas, MB"): 50.0,
}
"""What has to be below."""


def made_up(triples: int, folder: Path) -> None:
    """Write a graph in which popular entities are much more popular than others, and questions about it."""
    rng = random.Random(0)
    entities = max(triples // 10, 100)
    with (folder / "graph.nt").open("w", encoding="utf-8") as file:
        for number in range(triples):
            if number % 10 == 0:
                attribute, value = rng.randrange(ATTRIBUTES), rng.randrange(10**6)
                start, end = number // 10, f'"{value}"^^<{INTEGER}>'
                file.write(f"<{NAMESPACE}e{start}> <{NAMESPACE}value{attribute}> {end} .\n")
            else:
                relation = rng.randrange(RELATIONS)
                goal = rng.randrange(300 if relation < HUBS else entities)
                start = rng.randrange(entities)
                file.write(f"<{NAMESPACE}e{start}> <{NAMESPACE}r{relation}> <{NAMESPACE}e{goal}> .\n")
    chosen = [rng.randrange(entities) for _ in range(1000)]
    asked = [{"question": "?", "entities": {"it": f"e{one}"}, "answer": ["none"]} for one in chosen]
    (folder / "questions.json").write_text(json.dumps(asked), encoding="utf-8")


def replayed(env: KGEnv, count: int) -> dict[str, list[float]]:
    """Play embedded questions by their own actions; return how long the tools took."""
    times: dict[str, list[float]] = defaultdict(list)
    for task in list(env.tasks("test"))[:count]:
        _, info = env.reset(options={"task": task})
        over = False
        while not over:
            begun = time.perf_counter()
            _, _, over, _, after = env.step(info["expert_action"])
            times[after["used"][0] if after["used"] else "final answer"].append(time.perf_counter() - begun)
            info = after
        assert info["success"], task
    return times


def wandered(env: KGEnv, count: int) -> dict[str, list[float]]:
    """Play questions by chance: three hops, back and forth, with counts and extremes."""
    times: dict[str, list[float]] = defaultdict(list)
    rng = random.Random(1)

    def call(action: str) -> list[str]:
        begun = time.perf_counter()
        said, _, _, _, info = env.step(action)
        times[info["used"][0] if info["used"] else "final answer"].append(time.perf_counter() - begun)
        return said[len("Observation: [") : -1].split(", ") if said.startswith("Observation: [") else []

    for task in list(env.tasks("train"))[:count]:
        env.reset(options={"task": task})
        subject, made = "it", -1
        for _ in range(3):
            found = [name for name in call(f"get_relations({subject})") if name]
            if not found:
                break
            call(f"get_neighbors({subject}, {rng.choice(found)})")
            made += 1
            subject = f"#{made}"
        if made >= 0:
            attributes = [name for name in call(f"get_attributes({subject})") if name]
            if attributes:
                call(f"argmax({subject}, {rng.choice(attributes)})")
                made += 1
            call(f"count({subject})")
            call(f"Final Answer: #{made}")
    return times


def kept(make: Any) -> dict[str, float]:
    """Measure a snapshot in the middle of an episode, and taking it up in another replica."""
    env, other = make(), make()
    _, info = env.reset(options={"split": "test"}, seed=3)
    for _ in range(4):
        _, _, over, _, info = env.step(info["expert_action"])
        assert not over
    saved, taken = [], []
    for _ in range(1000):
        begun = time.perf_counter()
        state = env.get_state()
        saved.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        other.set_state(state)
        taken.append(time.perf_counter() - begun)
    size = len(json.dumps(state))
    return {"snapshot": median(saved), "take up": median(taken), "snapshot, bytes": size}


def further(make: Any, count: int) -> float:
    """Return what further replicas hold, in bytes, each in the middle of an episode."""
    replicas = [make()]
    replicas[0].reset(seed=0)
    before = proportional()
    for seed in range(1, count):
        env = make()
        _, info = env.reset(seed=seed)
        for _ in range(2):
            _, _, _, _, info = env.step(info["expert_action"])
        replicas.append(env)
    return proportional() - before


def proportional() -> float:
    """The proportional set size of this process, in bytes."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def worst(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[int(len(values) * 0.95)]


def measure(which: str, folder: Path, questions: int, replicas: int) -> dict[str, Any]:
    """Load a graph and measure it."""
    settings: dict[str, object] = {"expert": True}
    if which == "on disk":
        settings = {"store": str(folder / "graph.nt"), "data_dir": str(folder / "questions.json")}
    config = load(SPEC).resolve(settings).config
    begun = time.perf_counter()
    shared = KGEnv.load_shared(config)
    found: dict[str, Any] = {"load, s": time.perf_counter() - begun}

    def make() -> KGEnv:
        return KGEnv(shared=shared, **config)

    if which == "embedded":
        found["further replicas, MB"] = further(make, replicas) / 1e6
    times = (wandered if which == "on disk" else replayed)(make(), questions)
    found["times"] = {name: (median(values), worst(values)) for name, values in sorted(times.items())}
    tools = [value for name, values in times.items() if name != "final answer" for value in values]
    found["tool call, median, ms"] = median(tools) * 1e3
    found["tool call, 95 %, ms"] = worst(tools) * 1e3
    if which == "embedded":
        kept_ = kept(make)
        found["snapshot, median, ms"] = kept_["snapshot"] * 1e3
        found["take up, median, ms"] = kept_["take up"] * 1e3
        found["snapshot, bytes"] = kept_["snapshot, bytes"]
    found["memory, MB"] = proportional() / 1e6
    return found


def load_rate(triples: int, folder: Path) -> float:
    """Return how many triples a second a new graph of a file takes, indexed and all."""
    from envhub_kg.store.files import folder_of

    begun = time.perf_counter()
    folder_of(folder / "graph.nt")
    return triples / (time.perf_counter() - begun)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--triples", type=int, default=1_000_000, help="of the graph on disk")
    parser.add_argument("--questions", type=int, default=349, help="that are played of each graph")
    parser.add_argument("--replicas", type=int, default=64, help="that are weighed")
    parser.add_argument("--json", type=Path, help="keep the numbers there")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        which, folder = json.loads(asked.measure)
        if which == "load":
            print(json.dumps(load_rate(asked.triples, Path(folder))))
        else:
            print(json.dumps(measure(which, Path(folder), asked.questions, asked.replicas)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        made_up(asked.triples, Path(folder))

        def run(which: str) -> Any:
            order = ["--measure", json.dumps([which, folder]), *sys.argv[1:]]
            environment = {"XDG_CACHE_HOME": folder, "PATH": "", "PYTHONPATH": ":".join(sys.path)}
            done = subprocess.run(
                [sys.executable, __file__, *order], stdout=subprocess.PIPE, check=True, env=environment
            )
            return json.loads(done.stdout)

        rate = run("load")
        found = {which: run(which) for which in ("embedded", "on disk")}
    if asked.json:
        asked.json.write_text(json.dumps({"triples a second": rate, **found}, indent=1), encoding="utf-8")
    return report(found, rate, asked.triples, Console(width=None if sys.stdout.isatty() else 110))


def report(found: dict[str, dict[str, Any]], rate: float, triples: int, console: Console) -> int:
    """Print what was measured beside its bars; 1 when one is missed."""
    table = Table("ms, median and 95 %", *found)
    for name in sorted({name for one in found.values() for name in one["times"]}):
        cells = [one["times"].get(name) for one in found.values()]
        table.add_row(name, *(f"{c[0] * 1e3:.2f}  {c[1] * 1e3:.2f}" if c else "" for c in cells))
    console.print(table)
    missed = 0
    table = Table("", *found)
    for name in dict.fromkeys(name for one in found.values() for name in one if name != "times"):
        cells = []
        for which, one in found.items():
            bar = BARS.get((which, name))
            value = one.get(name)
            passed = bar is None or value is None or value < bar
            missed += not passed
            said = "" if value is None else f"{value:,.3f}"
            cells.append(said if bar is None else f"{said} ({'below' if passed else 'MISSED'} {bar:g})")
        table.add_row(name, *cells)
    console.print(table)
    console.print(f"{triples:,} triples loaded onto the disk at {rate:,.0f} a second")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
