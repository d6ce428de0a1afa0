"""How fast the two engines of the DB environment are, and what the embedded one takes in memory.

    python benchmarks/db.py [--data ../shared/data/agentbench/data/dbbench/dev.jsonl] [--rounds 5]

Without `--data` the tables are those of the embedded tasks. Each table is opened, queried, changed, saved,
restored and forked on the embedded engine and on a MariaDB that is started here, with its data in memory.
Times are wall-clock; this process's CPU time stands beside them, since a busy machine lengthens the one and
hardly the other. Exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "env_specs" / "db")]

from db_parity import bindings, dbbench_tables, filled, own_tables  # noqa: E402
from db_server import missing, server  # noqa: E402
from envhub_db.engine import EmbeddedEngine, Table  # noqa: E402
from envhub_db.server import ServerEngine  # noqa: E402

SELECTS = (
    "SELECT * FROM {t}",
    "SELECT {b} FROM {t} WHERE {a} = {va}",
    "SELECT {a} FROM {t} WHERE {n} > {vn} ORDER BY {a}",
    "SELECT {b}, COUNT(*) FROM {t} GROUP BY {b} ORDER BY COUNT(*) DESC, {b} LIMIT 3",
    "SELECT SUM({n}), AVG({n}) FROM {t}",
)
CHANGES = (
    "INSERT INTO {t} VALUES ({newrow})",
    "UPDATE {t} SET {b} = 'Changed' WHERE {a} = {va}",
    "DELETE FROM {t} WHERE {a} = {va}",
)
REPLICAS = 64
BARS = {"reset": 2.0, "SELECT": 1.0, "snapshot": 2.0, "restore": 2.0, "fork": 2.0}
"""Milliseconds that half of the embedded engine's calls may take."""
MEMORY_BAR_MB = 100.0


@dataclasses.dataclass
class Times:
    """How long the calls of one kind took, in milliseconds."""

    wall: list[float] = dataclasses.field(default_factory=list)
    cpu: list[float] = dataclasses.field(default_factory=list)

    def call(self, function: Callable[[], Any]) -> Any:
        """Do it and keep how long it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = function()
        self.cpu.append((time.process_time() - cpu) * 1000)
        self.wall.append((time.perf_counter() - wall) * 1000)
        return result

    @property
    def median(self) -> float:
        """Half of the calls took no longer."""
        return statistics.median(self.wall)


def played(engine: Any, tables: Sequence[Table], rounds: int) -> dict[str, Times]:
    """Time an engine on all tables."""
    times = {
        name: Times() for name in ("reset", "first SELECT", "SELECT", "change", "snapshot", "restore", "fork")
    }
    for seed in range(rounds):
        for table in tables:
            values = bindings(table, seed)
            database = times["reset"].call(lambda table=table: engine.open([table]))
            for script in SELECTS:
                (sql,) = filled(script, values)
                for kind in ("first SELECT", "SELECT", "SELECT"):
                    times[kind].call(lambda sql=sql, database=database: database.execute(sql))
            for script in CHANGES:
                (sql,) = filled(script, values)
                times["change"].call(lambda sql=sql, database=database: database.execute(sql))
            saved = times["snapshot"].call(database.snapshot)
            times["restore"].call(lambda saved=saved, database=database: database.restore(saved))
            times["fork"].call(database.fork).close()
            database.close()
    return times


def memory(count: int, data: str) -> float:
    """Megabytes of a process that holds so many databases, each of which has answered statements."""
    script = (
        "import sys; sys.path[:0] = [sys.argv[1]]\nimport db\nprint(db.hold(int(sys.argv[2]), sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", script, str(ROOT / "benchmarks"), str(count), data]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def hold(count: int, data: str) -> float:
    """Open so many databases, use them, and say how many megabytes this process takes."""
    tables = dbbench_tables(Path(data)) if data else own_tables()
    engine, held = EmbeddedEngine(), []
    for place in range(count):
        table = tables[place % len(tables)]
        database = engine.open([table])
        for script in (*SELECTS, *CHANGES):
            database.execute(filled(script, bindings(table, place))[0])
        held.append(database)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def report(name: str, times: dict[str, Times]) -> Iterator[str]:
    """Print an engine's times; what missed its bar."""
    print(f"\n{name:<14}{'p50 ms':>10}{'p95 ms':>10}{'CPU p50':>10}{'calls':>8}")
    for kind, found in times.items():
        late = statistics.quantiles(found.wall, n=20)[-1]
        cpu = statistics.median(found.cpu)
        print(f"  {kind:<12}{found.median:>10.3f}{late:>10.3f}{cpu:>10.3f}{len(found.wall):>8}")
        bar = BARS.get(kind) if name == "embedded" else None
        if bar is not None and found.median > bar:
            yield f"{kind}: {found.median:.2f} ms, over {bar} ms"


def main() -> int:
    """Measure both engines and print what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="", help="a file of DBBench's; else the embedded tasks' tables")
    parser.add_argument("--rounds", type=int, default=5, help="times that each table is played")
    parser.add_argument("--json", type=Path, help="write the medians to a file")
    options = parser.parse_args()
    tables = dbbench_tables(Path(options.data)) if options.data else own_tables()
    rows = statistics.median(len(table.rows) for table in tables)
    print(f"{len(tables)} tables, {rows:.0f} rows in the median")
    measured = {"embedded": played(EmbeddedEngine(), tables, options.rounds)}
    missed = list(report("embedded", measured["embedded"]))
    one, many = memory(1, options.data), memory(REPLICAS, options.data)
    print(f"  {REPLICAS} databases take {many - one:.1f} MB beyond one ({one:.1f} MB with the interpreter)")
    if many - one > MEMORY_BAR_MB:
        missed.append(f"memory: {many - one:.0f} MB, over {MEMORY_BAR_MB:.0f} MB")
    if missing():
        print(f"\nMariaDB: not measured, {missing()}")
    else:
        with server() as socket:
            engine = ServerEngine(f"mysql://root@localhost/?unix_socket={socket}")
            measured["MariaDB"] = played(engine, tables, 1)
            engine.close()
        missed += list(report("MariaDB", measured["MariaDB"]))
    if options.json:
        medians = {
            name: {kind: found.median for kind, found in times.items()} for name, times in measured.items()
        }
        options.json.write_text(json.dumps({**medians, "megabytes": many - one}, indent=1))
    print("\n" + ("missed: " + "; ".join(missed) if missed else "every bar is met"))
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
