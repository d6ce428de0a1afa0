"""How far the embedded engine and a real MariaDB agree on statements that agents write.

    python benchmarks/db_parity.py [--data …/dbbench/dev.jsonl] [--half developed] [--tables 5] [--show 20]

The corpus in `benchmarks/db_corpus` has a line for each script: statements with placeholders for a table, its
columns and values of theirs, with ` ;; ` between those that belong together. Each script runs on each table,
on fresh copies in both engines. What is compared: every result with its Python types, every error's number,
and what the tables hold afterwards.

Where results differ, the script runs on MariaDB once more with the table's rows in another order. If MariaDB
then says something else as well, SQL leaves the answer open (ties, LIMIT without ORDER BY); the order of rows
is not compared where it is open, and answers that are open altogether are counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "env_specs" / "db")]

from db_server import missing, server  # noqa: E402
from envhub_db.engine import Column, DatabaseError, EmbeddedEngine, Limits, Settings, Table  # noqa: E402

CORPUS = ROOT / "benchmarks" / "db_corpus"
HALVES = ("developed", "held")
NUMBER = re.compile(r"\s*-?[\d,]*\.?\d+")
MODE = "ONLY_FULL_GROUP_BY,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
READING = re.compile(r"\s*\(?\s*(SELECT|SHOW|DESC|DESCRIBE|EXPLAIN|WITH)\b(?!.*(:=|;;))", re.I | re.S)


# -- scripts ------------------------------------------------------------------------------------------


def scripts(half: str) -> list[str]:
    """The lines of one half of the corpus."""
    lines = (CORPUS / f"{half}.sql").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("--")]


def dbbench_tables(file: Path) -> list[Table]:
    """The tables of a file of DBBench's, all columns TEXT, without those that cannot be created."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        table = json.loads(line)["table"]
        names = [column["name"] for column in table["table_info"]["columns"]]
        if all(name.strip() for name in names) and len({name.lower() for name in names}) == len(names):
            rows = [tuple(str(cell) for cell in row) for row in table["table_info"]["rows"]]
            found.append(Table(table["table_name"], [Column(name) for name in names], rows))
    return found


def own_tables() -> list[Table]:
    """The tables of the embedded tasks of the split `test`, each once."""
    from envhub_db import own

    found: dict[str, Table] = {}
    for entry in own.library(1, (1,)).split("test"):
        for table in entry.make().tables:
            found.setdefault(table.name, table)
    return list(found.values())


def quoted(text: str) -> str:
    """Text as a literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def named(name: str) -> str:
    """A name in back quotes."""
    return "`" + name.replace("`", "``") + "`"


def bindings(table: Table, seed: int) -> dict[str, str]:
    """What the placeholders of a script stand for on a table; values by the seed."""
    draw = random.Random(seed)
    names = [column.name for column in table.columns]
    cells = [[str(row[place] or "") for row in table.rows] for place in range(len(names))]
    numeric = sorted(
        range(len(names)), key=lambda place: -sum(bool(NUMBER.match(cell)) for cell in cells[place])
    )
    n, m = numeric[0], numeric[1 % len(numeric)]
    dated = [p for p, name in enumerate(names) if re.search("date|year|born|season|time", name, re.I)]
    others = [place for place in range(len(names)) if place != n] or [n]
    a, b, c = others[0], others[1 % len(others)], others[2 % len(others)]
    d = dated[0] if dated else len(names) - 1
    row, other = draw.sample(range(len(table.rows)), 2) if len(table.rows) > 1 else (0, 0)

    def figure(place: int) -> str:
        found = NUMBER.match(cells[place][row])
        return found.group().strip().replace(",", "") if found else "5"

    def word(text: str, at: int = 0) -> str:
        words = re.findall(r"[^\W_]+", text)
        return words[min(at, len(words) - 1)] if words else "a"

    value, second = cells[a][row], cells[b][row]
    new = [cells[place][row] if place != a else "New " + cells[place][other] for place in range(len(names))]
    bare = [name if re.fullmatch(r"[A-Za-z_]\w*", name) else named(name) for name in names]
    first = word(value)
    return {
        "t": named(table.name), "ts": quoted(table.name), "a": named(names[a]), "b": named(names[b]),
        "c": named(names[c]),
        "n": named(names[n]), "m": named(names[m]), "d": named(names[d]), "last": named(names[-1]),
        "va": quoted(value), "va2": quoted(cells[a][other]), "va_lower": quoted(value.lower()),
        "vb": quoted(second),
        "va_raw": value.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"'),
        "vc": quoted(cells[c][row]),
        "vlast": quoted(cells[-1][row]), "vn": figure(n), "vm": figure(m), "wa": first,
        "wa2": first[1:] or "a",
        "wa_lower": first.lower(), "wa_upper": first.upper(), "wb": word(second),
        "wb_upper": word(second).upper(),
        "cols": ", ".join(map(named, names)), "cols_bare": ", ".join(bare), "newrow": ", ".join(map(quoted,
        new)),
        "newrow2": ", ".join(map(quoted, reversed(new))),
    }  # fmt: skip


def filled(script: str, values: dict[str, str]) -> list[str]:
    """A script's statements on a table."""
    text = re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), script)
    return text.split(" ;; ")


# -- engines ------------------------------------------------------------------------------------------


class MariaDB:
    """Databases on a server, one after the other, with a user that has no other rights."""

    def __init__(self, socket: Path) -> None:
        import pymysql

        decoders = {**pymysql.converters.decoders, **dict.fromkeys((7, 10, 12), self._moment)}
        where = {
            "unix_socket": str(socket),
            "charset": "utf8mb4",
            "conv": {**pymysql.converters.encoders, **decoders},
        }
        self._connect = lambda **more: pymysql.connect(**where, **more)
        self._root = self._connect(user="root", autocommit=True)
        with self._root.cursor() as cursor:
            cursor.execute("CREATE USER agent@localhost")
            cursor.execute("GRANT ALL ON `db`.* TO agent@localhost")
        self._connection: Any = None

    @staticmethod
    def _moment(text: str) -> Any:
        """A date as MySQL's own connector has it: None where Python has no such date."""
        import pymysql.converters

        found = (
            pymysql.converters.convert_datetime(text)
            if len(text) > 10
            else pymysql.converters.convert_date(text)
        )
        return None if isinstance(found, str) else found

    def open(self, table: Table) -> None:
        """Begin anew with one table."""
        self.close()
        marks = ", ".join(["%s"] * len(table.columns))
        columns = ", ".join(f"{named(column.name)} {column.type}" for column in table.columns)
        with self._root.cursor() as cursor:
            cursor.execute("DROP DATABASE IF EXISTS db")
            cursor.execute("CREATE DATABASE db COLLATE utf8mb4_unicode_520_nopad_ci")
            cursor.execute("USE db")
            cursor.execute(f"SET sql_mode = '{MODE}'")
            cursor.execute("SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_nopad_ci")
            cursor.execute(f"CREATE TABLE {named(table.name)} ({columns})")
            if table.rows:
                cursor.executemany(
                    f"INSERT INTO {named(table.name).replace('%', '%%')} VALUES ({marks})", table.rows
                )
        self._connection = self._connect(user="agent", database="db", autocommit=True)
        with self._connection.cursor() as cursor:
            cursor.execute(f"SET sql_mode = '{MODE}'")
            cursor.execute("SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_nopad_ci")

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        import pymysql

        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall()) if cursor.description else []
        except pymysql.MySQLError as error:
            raise DatabaseError(error.args[0], str(error.args[-1])) from None

    def close(self) -> None:
        """End the agent's connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def leave(self) -> None:
        """Leave nothing behind."""
        self.close()
        with self._root.cursor() as cursor:
            cursor.execute("DROP DATABASE IF EXISTS db")
            cursor.execute("DROP USER agent@localhost")
        self._root.close()


class Embedded:
    """The embedded engine, in the same form."""

    def __init__(self) -> None:
        self._engine = EmbeddedEngine(Settings(commit_each=False), Limits(seconds=60.0))
        self._database: Any = None

    def open(self, table: Table) -> None:
        """Begin anew with one table."""
        if self._database is not None:
            self._database.close()
        self._database = self._engine.open([table])

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        return list(self._database.execute(sql).rows)


# -- comparing ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcome:
    """What a script gave: rows or an error's number for each statement, and the table's digest in the end."""

    results: list[Any]
    digest: str
    texts: list[str]


def digest(rows: Sequence[tuple[Any, ...]]) -> str:
    """AgentBench's hash of a table's rows."""
    marks = sorted(
        hashlib.md5(",".join(str(v) for v in row if v is not None).encode()).hexdigest()[:5] for row in rows
    )
    return hashlib.md5(",".join(marks).encode()).hexdigest()


def outcome(engine: Any, statements: Sequence[str], table: Table, fresh: bool) -> Outcome:
    """Run a script."""
    if fresh:
        engine.open(table)
    results: list[Any] = []
    texts = []
    for sql in statements:
        try:
            rows = engine.execute(sql)
            results.append([tuple(shown(value) for value in row) for row in rows])
            texts.append(str(rows))
        except DatabaseError as error:
            results.append(error.number)
            texts.append(str(error))
    try:
        held = digest(engine.execute(f"SELECT * FROM {named(table.name)}"))
    except DatabaseError as error:
        held = str(error.number)
    return Outcome(results, held, texts)


def shown(value: Any) -> str:
    """A value with its type, as it is compared: doubles without the last of their digits."""
    return f"float {value:.14g}" if isinstance(value, float) else repr(value)


def unordered(results: list[Any]) -> list[Any]:
    """Results without the order of their rows."""
    return [sorted(result) if isinstance(result, list) else result for result in results]


WIDTH = re.compile(r"\b((?:tiny|small|medium|big)?int)\((?!1\))\d+\)")
ROWS = -1
DOCUMENTED = (
    (r"\bFROM\s*\(", 1248, 1064, "a derived table without an alias"),
    (r"", 3593, 4015, "a window function where none may be"),
    (r"\bHAVING\b", ROWS, 1463, "HAVING in a query that does not group"),
    (r"\bGROUP\s+BY\b", ROWS, 1055, "columns that hang on a primary key"),
    (r"\bAS\s+(INT|INTEGER|VARCHAR)\b", 1064, ROWS, "CAST to INT or VARCHAR"),
    (r"\bFETCH\s+FIRST\b", 1064, ROWS, "FETCH FIRST"),
    (r"\bREGEXP_SUBSTR\b", ROWS, ROWS, "REGEXP_SUBSTR without a match is NULL"),
    (r"\bANY_VALUE\b", ROWS, 1305, "ANY_VALUE"),
    (r"\bDELETE\s+FROM\b", ROWS, 1064, "an alias in DELETE"),
)
"""What MySQL 8 documents otherwise than MariaDB does: where it is written, MySQL's error (or rows),
MariaDB's, and what."""


def known(statements: Sequence[str], ours: Outcome, theirs: Outcome) -> bool:
    """Whether all that differs is documented so, `int` for `int(11)`, or follows from error 1093."""
    if 1093 in ours.results:  # a change may not read its own table in a subquery
        return True
    if ours.digest != theirs.digest and not re.search(r"\bDELETE\b", statements[0], re.I):
        return False
    for sql, one, other in zip(statements, ours.results, theirs.results, strict=True):
        if isinstance(other, list):
            other = [tuple(WIDTH.sub(r"\1", value) for value in row) for row in other]
        if one == other:
            continue
        forms = (one if isinstance(one, int) else ROWS, other if isinstance(other, int) else ROWS)
        if "REGEXP_SUBSTR" in sql.upper() and forms == (ROWS, ROWS):
            if one != [tuple("None" if value == "''" else value for value in row) for row in other]:
                return False
            continue
        if not any(
            forms == (mine, its) and re.search(where, sql, re.I) for where, mine, its, _ in DOCUMENTED
        ):
            return False
    return True


class Comparison:
    """Both engines on one table after the other."""

    def __init__(self, reference: MariaDB) -> None:
        self.reference = reference
        self.embedded = Embedded()
        self._fresh = True
        self._table: Table | None = None

    def compare(self, script: str, table: Table, seed: int) -> tuple[str, list[str], Outcome, Outcome]:
        """Run a script on a table: how it compares, its statements, and both outcomes."""
        statements = filled(script, bindings(table, seed))
        fresh = self._fresh or table is not self._table
        theirs = outcome(self.reference, statements, table, fresh)
        ours = outcome(self.embedded, statements, table, fresh)
        self._table, self._fresh = table, not all(READING.match(one) for one in statements)
        if (ours.results, ours.digest) == (theirs.results, theirs.digest):
            return "exact", statements, ours, theirs
        return self._judge(statements, table, ours, theirs), statements, ours, theirs

    def _judge(self, statements: list[str], table: Table, ours: Outcome, theirs: Outcome) -> str:
        self._fresh = True
        same_rows = ours.digest == theirs.digest and unordered(ours.results) == unordered(theirs.results)
        if same_rows and not any(re.search(r"\bORDER\b", one, re.I) for one in statements):
            return "order"
        if known(statements, ours, theirs):
            return "MySQL 8"
        verdict = "differs"
        for order in (list(reversed(table.rows)), random.Random(1).sample(list(table.rows), len(table.rows))):
            again = outcome(self.reference, statements, table._replace(rows=order), True)
            if same_rows and again.results != theirs.results:
                return "order"
            if again.digest != theirs.digest or unordered(again.results) != unordered(theirs.results):
                verdict = "open"
        return verdict


@contextlib.contextmanager
def comparison(socket: Path) -> Iterator[Comparison]:
    """Compare with the server on a socket, and leave nothing on it."""
    reference = MariaDB(socket)
    try:
        yield Comparison(reference)
    finally:
        reference.leave()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the shares of agreement; 1 where they are under the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a file of DBBench's; else the embedded tasks' tables")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both")
    parser.add_argument("--tables", type=int, default=0, help="only so many tables")
    parser.add_argument("--show", type=int, default=0, help="print so many differing scripts")
    parser.add_argument("--only", default="", help="only scripts that contain this")
    options = parser.parse_args(arguments)
    why = missing()
    if why:
        print(f"no comparison: {why}")
        return 2
    tables = dbbench_tables(options.data) if options.data else own_tables()
    tables = tables[: options.tables or None]
    bars = {"developed": 0.99, "held": 0.97}
    low = False
    with server() as socket, comparison(socket) as both:
        for half in HALVES if options.half == "both" else (options.half,):
            lines = [line for line in scripts(half) if options.only in line]
            share = report(both, half, lines, tables, options.show)
            low = low or share < bars[half]
    return int(low)


def report(both: Comparison, half: str, lines: list[str], tables: list[Table], show: int) -> float:
    """Run a half and print what came out."""
    counts: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    examples: dict[str, tuple[list[str], Outcome, Outcome]] = {}
    begun = time.monotonic()
    for place, table in enumerate(tables):
        for at, line in enumerate(lines):
            verdict, statements, ours, theirs = both.compare(line, table, place * 1000 + at)
            counts[verdict] += 1
            if verdict == "differs":
                differing[line] += 1
                examples.setdefault(line, (statements, ours, theirs))
    judged = counts.total() - counts["open"]
    share = (counts["exact"] + counts["order"] + counts["MySQL 8"]) / max(1, judged)
    print(
        f"{half}: {len(lines)} scripts x {len(tables)} tables = {counts.total()}: {share:.2%} agree "
        f"({counts['exact']} exactly, {counts['order']} but for an order that is open, "
        f"{counts['MySQL 8']} where MySQL 8 "
        f"differs from MariaDB; {counts['differs']} differ; {counts['open']} more are left open by SQL) "
        f"in {time.monotonic() - begun:.0f} s"
    )
    for line, count in differing.most_common(show):
        statements, ours, theirs = examples[line]
        print(f"\n{count} x {line}")
        for sql, one, other in zip(statements, ours.texts, theirs.texts, strict=True):
            if one != other:
                print(f"  {sql[:300]}\n    embedded {one[:300]}\n    MariaDB  {other[:300]}")
        if ours.digest != theirs.digest:
            print(f"    digests {ours.digest} and {theirs.digest}")
    return share


if __name__ == "__main__":
    raise SystemExit(main())
