"""A connection of SQLite's: in memory, with MySQL's functions, and with nothing that leads out of it."""

from __future__ import annotations

import contextlib
import math
import random
import sqlite3
import time
from collections.abc import Iterator
from typing import Any, Callable

from . import aggregates, dates, numbers, patterns, texts, types
from .collation import compare, sort_key
from .date_formats import read
from .errors import DatabaseError
from .functions import FUNCTIONS, prepared
from .group_concat import GroupConcat
from .limits import Limits
from .running import guarded, running

PAGE = 4096
STEPS = 2_000
"""Instructions of SQLite's between two looks at the clock."""
ALLOWED = frozenset(
    (
        sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT,
        sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_ALTER_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_REINDEX,
    )
)  # fmt: skip
"""What SQLite may do here: no ATTACH, no PRAGMA, no view, trigger or virtual table."""
REFUSED_FUNCTIONS = frozenset(
    ("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "randomblob", "zeroblob")
)
_heap_bounded = False


def _authorize(action: int, first: Any, second: Any, database: Any, trigger: Any) -> int:
    if action not in ALLOWED or (
        action == sqlite3.SQLITE_FUNCTION and str(second).lower() in REFUSED_FUNCTIONS
    ):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _late() -> int:
    return int(time.monotonic() > running.deadline)


# -- helpers that compiled statements call ----------------------------------------------------------------


def _tuple(*values: Any) -> Any:
    return None if None in values else repr(values)


def _row(*values: Any) -> str:
    return repr(values)


def _big(value: Any, unsigned: int) -> Any:
    return None if value is None else float(value + (1 << 64)) if unsigned and value < 0 else value


def _seconds(value: Any) -> Any:
    return dates.duration(value)


def _ceiling(value: Any, whole: int) -> Any:
    return None if value is None else math.ceil(value) if whole else float(math.ceil(value))


def _floor(value: Any, whole: int) -> Any:
    return None if value is None else math.floor(value) if whole else float(math.floor(value))


def _text(function: Callable[[Any], str]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else function(value)


def _decimal_text(value: Any, scale: int) -> Any:
    return None if value is None else types.decimal_text(value, scale)


def _double_text(value: Any) -> Any:
    return None if value is None else types.double_text(float(value))


def _float_text(value: Any) -> Any:
    return None if value is None else types.double_text(types.single(value))


def _unsigned_text(value: Any) -> Any:
    return None if value is None else str(value + (1 << 64) if value < 0 else value)


def _format(value: Any, digits: Any, scale: int) -> Any:
    return None if value is None or digits is None else texts.format_number(value, digits, scale)


def _trim(text: Any, mark: Any, side: str) -> Any:
    return None if text is None or mark is None else texts.trim(text, mark, side)


def _moment(value: Any) -> Any:
    return value if value is None else dates.like_moment(value)


def _shift_clock(value: Any, by: Any, sign: int) -> Any:
    step = dates.duration(by)
    if value is None or step is None:
        return None
    found = dates.moment(value)
    if found and found[1]:
        import datetime

        return dates.datetime_text(found[0] + datetime.timedelta(microseconds=sign * step))
    total = dates.duration(value)
    return None if total is None else dates.duration_text(total + sign * step)


def _sleep(seconds: Any) -> int:
    """Nobody waits: 0 at once, or the error of a statement that takes too long."""
    if seconds is not None and seconds > running.limits.seconds:
        raise DatabaseError(
            3024, "Query execution was interrupted, maximum statement execution time exceeded"
        )
    return 0


def _variable(name: str) -> Any:
    return running.variables.get(name)


def _set_variable(name: str, value: Any) -> Any:
    running.variables[name] = value
    return value


HELPERS: dict[str, tuple[int, Callable[..., Any], bool]] = {
    "m_num": (1, numbers.number, True),
    "m_dnum": (1, numbers.moment_number, True),
    "m_whole": (2, numbers.whole, True),
    "m_decimal": (3, numbers.to_decimal, True),
    "m_rd": (2, numbers.round_decimal, True),
    "m_round": (3, numbers.round_number, True),
    "m_truncate": (3, numbers.truncate, True),
    "m_div": (3, numbers.divide, True),
    "m_idiv": (2, numbers.divide_whole, True),
    "m_mod": (2, numbers.remainder, True),
    "m_dmod": (2, numbers.remainder_decimal, True),
    "m_bounds": (3, numbers.in_bounds, True),
    "m_big": (2, _big, True),
    "m_ceil": (2, _ceiling, True),
    "m_floor": (2, _floor, True),
    "m_format": (3, _format, True),
    "m_dectext": (2, _decimal_text, True),
    "m_dbltext": (1, _double_text, True),
    "m_flttext": (1, _float_text, True),
    "m_uint": (1, _unsigned_text, True),
    "m_key": (1, _text(sort_key), True),
    "m_tuple": (-1, _tuple, True),
    "m_row": (-1, _row, True),
    "m_like": (4, patterns.like, True),
    "m_regexp": (3, patterns.matches, True),
    "m_trim": (3, _trim, True),
    "m_char": (-1, texts.char, True),
    "m_date": (1, dates.to_date, True),
    "m_time": (-1, dates.to_time, True),
    "m_datetime": (-1, dates.to_datetime, True),
    "m_moment": (1, _moment, True),
    "m_seconds": (1, _seconds, True),
    "m_extract": (2, dates.extract, True),
    "m_shift": (5, dates.shift, True),
    "m_shift_clock": (3, _shift_clock, True),
    "m_difference": (3, dates.difference, True),
    "m_str_to_date": (3, read, True),
    "m_sleep": (1, _sleep, False),
    "m_var": (1, _variable, False),
    "m_set": (2, _set_variable, False),
}
AGGREGATES: dict[str, tuple[int, Any]] = {
    "m_first": (1, aggregates.First),
    "m_single": (1, aggregates.Single),
    "m_sum": (2, aggregates.Sum),
    "m_avg": (2, aggregates.Average),
    "m_esum": (3, aggregates.ExactSum),
    "m_eavg": (3, aggregates.ExactAverage),
    "m_spread": (2, aggregates.Variance),
    "m_bits": (2, aggregates.Bits),
    "m_group_concat": (-1, GroupConcat),
}


def _aggregate(kind: Any) -> Any:
    step = guarded(kind.step)

    class Guarded(kind):  # type: ignore[misc]
        def step(self, *arguments: Any) -> None:
            step(self, *arguments)

    return Guarded


_HELPERS = [(name, count, guarded(function), fixed) for name, (count, function, fixed) in HELPERS.items()]
_FUNCTIONS = [(f"f_{name.lower()}", guarded(prepared(function))) for name, function in FUNCTIONS.items()]
_AGGREGATES = [(name, count, _aggregate(kind)) for name, (count, kind) in AGGREGATES.items()]


@contextlib.contextmanager
def unguarded(connection: sqlite3.Connection) -> Iterator[None]:
    """Let SQLite do what it needs for an image of the database; no statement of an agent's runs meanwhile."""
    connection.set_authorizer(lambda *_: sqlite3.SQLITE_OK)
    try:
        yield
    finally:
        connection.set_authorizer(_authorize)


def connect(limits: Limits, generator: random.Random, now: Callable[[], str]) -> sqlite3.Connection:
    """A new, empty database in memory."""
    global _heap_bounded
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, cached_statements=64
    )
    connection.execute(f"PRAGMA page_size = {PAGE}")
    connection.execute(f"PRAGMA max_page_count = {max(16, limits.database_bytes // PAGE)}")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA automatic_index = OFF")  # it does not find text that only a collation equals
    if not _heap_bounded:
        connection.execute(f"PRAGMA hard_heap_limit = {limits.process_bytes}")
        _heap_bounded = True
    if hasattr(connection, "setlimit"):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(limits.value_bytes * 4, 1_000_000))
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.create_collation("ci", compare)
    for name, count, function, fixed in _HELPERS:
        connection.create_function(name, count, function, deterministic=fixed)
    for name, call in _FUNCTIONS:
        connection.create_function(name, -1, call, deterministic=True)
    for name, count, kind in _AGGREGATES:
        connection.create_aggregate(name, count, kind)
    connection.create_function("m_now", 0, now)
    connection.create_function("m_rand", -1, guarded(_random(generator)))
    connection.create_function("m_uuid", 0, lambda: _uuid(generator))
    connection.set_progress_handler(_late, STEPS)
    connection.set_authorizer(_authorize)
    return connection


def _random(generator: random.Random) -> Callable[..., float]:
    return lambda *seed: random.Random(seed[0] or 0).random() if seed else generator.random()


def _uuid(generator: random.Random) -> str:
    digits = f"{generator.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], "1" + digits[13:16], "8" + digits[17:20], digits[20:]))
