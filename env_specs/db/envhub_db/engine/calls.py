"""Rules for calls of functions by name."""

from __future__ import annotations

from typing import Any, Callable

from sqlglot import exp

from . import aggregated
from .choices import chosen, together
from .comparisons import compared
from .compiling import (
    Compiler,
    Place,
    Typed,
    converted,
    number,
    quoted,
    rule,
    syntax,
    text,
)
from .date_calls import (
    add,
    add_clock,
    date,
    from_unixtime,
    now,
    str_to_date,
    time_of_day,
    timestamp,
    timestamp_add,
    timestamp_diff,
    unix_timestamp,
)
from .errors import DatabaseError
from .functions import FUNCTIONS, SAME
from .operators import modulo, whole
from .simple_calls import Call, plain
from .types import (
    DECIMAL,
    DOUBLE,
    INT,
    NULL,
    NUMBERS,
    STRING,
    T_DATE,
    T_DATETIME,
    T_DOUBLE,
    T_INT,
    T_STRING,
    T_TIME,
    Type,
    as_number,
    decimal_type,
)  # fmt: skip

IN_GRAMMAR = frozenset(
    "ADDDATE ASCII COALESCE CURDATE CURTIME DATABASE DATE DATE_ADD DATE_SUB DAY FORMAT HOUR IF INSERT "
    "LEFT MICROSECOND "
    "MINUTE MOD MONTH NOW QUARTER REPEAT REPLACE REVERSE RIGHT SECOND SUBDATE SYSDATE TIME TIMESTAMP "
    "TIMESTAMPADD "
    "TIMESTAMPDIFF TRUNCATE USER WEEK YEAR".split()
)
"""Functions whose arguments MySQL's grammar counts."""


def wrong_count(name: str, node: exp.Anonymous) -> DatabaseError:
    """MySQL's error 1582, or 1064 where its grammar counts."""
    if name.upper() in IN_GRAMMAR:
        return syntax(node, ")")
    return DatabaseError(1582, f"Incorrect parameter count in the call to native function '{name}'")


@rule(exp.Anonymous)
def call(c: Compiler, node: exp.Anonymous, at: Place) -> Typed:
    """A call by name."""
    written = str(node.this.name if isinstance(node.this, exp.Identifier) else node.this)
    name = SAME.get(written.upper(), written.upper())
    if name in aggregated.AGGREGATES:
        return aggregated.aggregate(c, node, at)
    if name in aggregated.WINDOWS:
        raise syntax(node, ")")
    if name == "VALUES":
        return _values(c, node, at)
    special = SPECIAL.get(name)
    if special is not None:
        fewest, most, emit, raw = special
        if not fewest <= len(node.expressions) <= most:
            raise wrong_count(written, node)
        arguments = [] if raw else [c.expression(one, at) for one in node.expressions]
        return emit(c, arguments, node, at)
    function = FUNCTIONS.get(name)
    if function is None:
        raise DatabaseError(1305, f"FUNCTION {c.database}.{written} does not exist")
    if not function.fewest <= len(node.expressions) <= function.most:
        raise wrong_count(written, node)
    return plain(name, [c.expression(one, at) for one in node.expressions])


def _values(c: Compiler, node: exp.Anonymous, at: Place) -> Typed:
    new = at.scope.aliases.get("new row")
    name = node.expressions[0].name if node.expressions else ""
    if new is None:
        raise syntax(node)
    found = new.get(name.lower())
    if found is None:
        raise DatabaseError(1054, f"Unknown column '{name}' in 'field list'")
    return found  # type: ignore[no-any-return]


# -- functions whose type depends on their arguments ------------------------------------------------------


def _coalesce(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    if len(arguments) == 1:
        return arguments[0]
    kind = together(arguments)
    return Typed(f"COALESCE({', '.join(converted(one, kind) for one in arguments)})", kind)


def _nullif(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    first, second = arguments
    return Typed(f"(CASE WHEN {compared(first, second, '=')} THEN NULL ELSE {first.sql} END)", first.type)


def _extreme(name: str) -> Call:
    def emit(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
        kinds = {one.type.kind for one in arguments} - {NULL}
        if STRING in kinds and kinds & NUMBERS:
            values, kind = [number(one) for one in arguments], T_DOUBLE
        else:
            kind = together(arguments)
            values = [converted(one, kind) for one in arguments]
        if kind.kind == STRING and not kind.exact:
            return Typed(f"{name}({', '.join(f'{one} COLLATE ci' for one in values)})", kind)
        return Typed(f"{name}({', '.join(values)})", kind)

    return emit


def interval_of(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`INTERVAL(value, …)`: which of the others the value is below."""
    tests = [f"({number(arguments[0])} < {number(one)})" for one in arguments[1:]]
    parts = " ".join(f"WHEN {test} THEN {place}" for place, test in enumerate(tests))
    first = arguments[0].sql
    return Typed(f"(CASE WHEN {first} IS NULL THEN -1 {parts} ELSE {len(tests)} END)", T_INT)


def _digits(c: Compiler, arguments: list[Typed], at: Place) -> tuple[str, int | None]:
    if len(arguments) < 2:
        return "0", 0
    literal = arguments[1].literal
    return whole(arguments[1]), literal if isinstance(literal, int) else None


def _round(function: str) -> Call:
    def emit(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
        kind = as_number(arguments[0].type)
        digits, known = _digits(c, arguments, at)
        exact = int(kind.kind != DOUBLE)
        result = kind
        if kind.kind == DECIMAL:
            result = decimal_type(kind.scale if known is None else max(0, known))
        elif kind.kind == DOUBLE:
            result = Type(DOUBLE, max(0, min(30, known or 0)))
        return Typed(f"{function}({number(arguments[0])}, {digits}, {exact})", result)

    return emit


def _step(function: str) -> Call:
    def emit(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
        kind = as_number(arguments[0].type)
        result = T_DOUBLE if kind.kind == DOUBLE else kind if kind.kind == INT else T_INT
        return Typed(f"{function}({number(arguments[0])}, {int(result.kind == INT)})", result)

    return emit


def _abs(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    kind = as_number(arguments[0].type)
    return Typed(f"ABS({number(arguments[0])})", kind)


def _mod(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return modulo(*arguments)


def _format(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    kind = as_number(arguments[0].type)
    scale = -1 if kind.kind == DOUBLE else kind.scale
    return Typed(f"m_format({number(arguments[0])}, {whole(arguments[1])}, {scale})", T_STRING)


def _hex(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    value = arguments[0]
    return Typed(f"f_hex({whole(value) if value.type.kind in NUMBERS else value.sql})", T_STRING)


def _rand(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return Typed(f"m_rand({number(arguments[0]) if arguments else ''})", T_DOUBLE)


def _elt(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return Typed(f"f_elt({number(arguments[0])}, {', '.join(map(text, arguments[1:]))})", T_STRING)


def _sleep(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return Typed(f"m_sleep({number(arguments[0])})", T_INT)


def _uuid(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return Typed("m_uuid()", T_STRING)


# -- the session ------------------------------------------------------------------------------------------


def _constant(value: Callable[[Compiler], Any], kind: Type = T_STRING) -> Call:
    def emit(c: Compiler, arguments: list[Typed], node: Any, at: Place) -> Typed:
        c.kept = False
        found = value(c)
        return Typed(
            "NULL" if found is None else str(found) if isinstance(found, int) else quoted(found), kind
        )

    return emit


def _if(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    from .compiling import truth

    return chosen([truth(arguments[0])], arguments[1:])


NEVER = 1 << 30
SPECIAL: dict[str, tuple[int, int, Call, bool]] = {
    "IF": (3, 3, _if, False),
    "IFNULL": (2, 2, _coalesce, False),
    "COALESCE": (1, NEVER, _coalesce, False),
    "NULLIF": (2, 2, _nullif, False),
    "GREATEST": (2, NEVER, _extreme("MAX"), False),
    "LEAST": (2, NEVER, _extreme("MIN"), False),
    "INTERVAL": (2, NEVER, interval_of, False),
    "ROUND": (1, 2, _round("m_round"), False),
    "TRUNCATE": (2, 2, _round("m_truncate"), False),
    "CEIL": (1, 1, _step("m_ceil"), False),
    "FLOOR": (1, 1, _step("m_floor"), False),
    "ABS": (1, 1, _abs, False),
    "MOD": (2, 2, _mod, False),
    "FORMAT": (2, 3, _format, False),
    "HEX": (1, 1, _hex, False),
    "RAND": (0, 1, _rand, False),
    "UUID": (0, 0, _uuid, False),
    "LOAD_FILE": (1, 1, now(T_STRING, "NULL"), False),
    "SLEEP": (1, 1, _sleep, False),
    "BENCHMARK": (2, 2, now(T_INT, "0"), False),
    "ELT": (2, NEVER, _elt, False),
    "NOW": (0, 1, now(T_DATETIME, "m_now()"), False),
    "UTC_TIMESTAMP": (0, 1, now(T_DATETIME, "m_now()"), False),
    "CURDATE": (0, 0, now(T_DATE, "m_date(m_now())"), False),
    "UTC_DATE": (0, 0, now(T_DATE, "m_date(m_now())"), False),
    "CURTIME": (0, 1, now(T_TIME, "m_time(m_now())"), False),
    "UTC_TIME": (0, 1, now(T_TIME, "m_time(m_now())"), False),
    "DATE": (1, 1, date, False),
    "TIME": (1, 1, time_of_day, False),
    "TIMESTAMP": (1, 2, timestamp, False),
    "STR_TO_DATE": (2, 2, str_to_date, False),
    "DATE_ADD": (2, 2, add(1), True),
    "DATE_SUB": (2, 2, add(-1), True),
    "ADDTIME": (2, 2, add_clock(1), False),
    "SUBTIME": (2, 2, add_clock(-1), False),
    "TIMESTAMPDIFF": (3, 3, timestamp_diff, True),
    "TIMESTAMPADD": (3, 3, timestamp_add, True),
    "UNIX_TIMESTAMP": (0, 1, unix_timestamp, False),
    "FROM_UNIXTIME": (1, 2, from_unixtime, False),
    "DATABASE": (0, 0, _constant(lambda c: c.database), False),
    "VERSION": (0, 0, _constant(lambda c: "8.0.36"), False),
    "USER": (0, 0, _constant(lambda c: "agent@localhost"), False),
    "CONNECTION_ID": (0, 0, _constant(lambda c: 8, T_INT), False),
    "ROW_COUNT": (0, 0, _constant(lambda c: c.session.affected, T_INT), False),
    "LAST_INSERT_ID": (0, 0, _constant(lambda c: c.session.last_id, T_INT), False),
    "FOUND_ROWS": (0, 0, _constant(lambda c: c.session.found, T_INT), False),
}
"""Functions with a rule of their own: fewest and most arguments, the rule, and whether it compiles them
itself."""


def _bare(name: str) -> Callable[[Compiler, Any, Place], Typed]:
    return lambda c, node, at: SPECIAL[name][2](c, [], node, at)


rule(exp.CurrentDate)(_bare("CURDATE"))
rule(exp.CurrentTime)(_bare("CURTIME"))
rule(exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtime, exp.Localtimestamp)(_bare("NOW"))
rule(exp.CurrentUser)(_bare("USER"))
