"""Rules for calls of functions, and for those with a grammar of their own."""

from __future__ import annotations

from typing import Any, Callable

from sqlglot import exp

from . import aggregated
from .catalog import check_decimal
from .compiling import (
    Compiler,
    Place,
    Typed,
    converted,
    number,
    quoted,
    rule,
    sizes_of,
    syntax,
    text,
)
from .date_formats import kind_of
from .dates import COMPOUND
from .errors import DatabaseError
from .functions import FUNCTIONS, SAME
from .operators import chosen, compared, modulo, shifted, together, whole
from .types import (
    DATE,
    DATETIME,
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
    TIME,
    Type,
    as_number,
    decimal_type,
)  # fmt: skip

Call = Callable[[Compiler, list[Typed], exp.Anonymous, Place], Typed]


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


def plain(name: str, arguments: list[Typed]) -> Typed:
    """A call of a function that depends on nothing but values."""
    function = FUNCTIONS[name]
    letters = function.signature.replace("?", "")
    last = letters.rstrip("*")[-1:] or "d"
    parts = []
    for place, one in enumerate(arguments):
        letter = (letters[place] if place < len(letters) and letters[place] != "*" else last).lower()
        parts.append(text(one) if letter == "s" else number(one) if letter in "in" else one.sql)
    return Typed(f"f_{name.lower()}({', '.join(parts)})", function.result)


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


def _interval_of(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
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


# -- dates ----------------------------------------------------------------------------------------------


def _now(kind: Type, sql: str) -> Call:
    def emit(c: Compiler, arguments: list[Typed], node: Any, at: Place) -> Typed:
        return Typed(sql, kind)

    return emit


def _date(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return Typed(f"m_date({arguments[0].sql})", T_DATE)


def _time(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return Typed(f"m_time({arguments[0].sql})", T_TIME)


def _timestamp(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    sql = f"m_datetime({arguments[0].sql})"
    return Typed(f"m_shift_clock({sql}, {arguments[1].sql}, 1)" if len(arguments) == 2 else sql, T_DATETIME)


def _str_to_date(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    pattern = arguments[1].literal
    kind = kind_of(pattern) if isinstance(pattern, str) else DATETIME
    return Typed(f"m_str_to_date({text(arguments[0])}, {text(arguments[1])}, '{kind}')", Type(kind))


def _add(sign: int) -> Call:
    def emit(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
        value, step = c.expression(node.expressions[0], at), node.expressions[1]
        if isinstance(step, exp.Interval):
            return shifted(c, value, step, sign, at)
        if str(node.this).upper() not in ("ADDDATE", "SUBDATE"):
            raise syntax(node)
        return shifted(c, value, exp.Interval(this=step.copy(), unit=exp.var("DAY")), sign, at)

    return emit


def _add_clock(sign: int) -> Call:
    def emit(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
        kind = arguments[0].type.kind
        result = T_TIME if kind == TIME else T_DATETIME if kind in (DATE, DATETIME) else T_STRING
        return Typed(f"m_shift_clock({arguments[0].sql}, {arguments[1].sql}, {sign})", result)

    return emit


def _unit(node: Any) -> str:
    unit = str(node.name or node.this).upper()
    return unit[8:] if unit.startswith("SQL_TSI_") else unit


UNITS = ("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def _timestamp_diff(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    unit = _unit(node.expressions[0])
    if unit not in UNITS:
        raise syntax(node)
    first, second = (c.expression(one, at) for one in node.expressions[1:])
    return Typed(f"m_difference({first.sql}, {second.sql}, '{unit}')", T_INT)


def _timestamp_add(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    unit = _unit(node.expressions[0])
    if unit not in UNITS:
        raise syntax(node)
    step = exp.Interval(this=node.expressions[1].copy(), unit=exp.var(unit))
    return shifted(c, c.expression(node.expressions[2], at), step, 1, at)


def _unix_timestamp(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    return Typed(f"f_unix_timestamp({arguments[0].sql if arguments else 'm_now()'})", T_INT)


def _from_unixtime(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    if len(arguments) == 2:
        return plain("FROM_UNIXTIME_FORMAT", arguments)
    return plain("FROM_UNIXTIME", arguments)


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
    "INTERVAL": (2, NEVER, _interval_of, False),
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
    "LOAD_FILE": (1, 1, _now(T_STRING, "NULL"), False),
    "SLEEP": (1, 1, _sleep, False),
    "BENCHMARK": (2, 2, _now(T_INT, "0"), False),
    "ELT": (2, NEVER, _elt, False),
    "NOW": (0, 1, _now(T_DATETIME, "m_now()"), False),
    "UTC_TIMESTAMP": (0, 1, _now(T_DATETIME, "m_now()"), False),
    "CURDATE": (0, 0, _now(T_DATE, "m_date(m_now())"), False),
    "UTC_DATE": (0, 0, _now(T_DATE, "m_date(m_now())"), False),
    "CURTIME": (0, 1, _now(T_TIME, "m_time(m_now())"), False),
    "UTC_TIME": (0, 1, _now(T_TIME, "m_time(m_now())"), False),
    "DATE": (1, 1, _date, False),
    "TIME": (1, 1, _time, False),
    "TIMESTAMP": (1, 2, _timestamp, False),
    "STR_TO_DATE": (2, 2, _str_to_date, False),
    "DATE_ADD": (2, 2, _add(1), True),
    "DATE_SUB": (2, 2, _add(-1), True),
    "ADDTIME": (2, 2, _add_clock(1), False),
    "SUBTIME": (2, 2, _add_clock(-1), False),
    "TIMESTAMPDIFF": (3, 3, _timestamp_diff, True),
    "TIMESTAMPADD": (3, 3, _timestamp_add, True),
    "UNIX_TIMESTAMP": (0, 1, _unix_timestamp, False),
    "FROM_UNIXTIME": (1, 2, _from_unixtime, False),
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


# -- functions with a grammar of their own ------------------------------------------------------------------


@rule(exp.Cast, exp.Convert)
def cast(c: Compiler, node: exp.Cast, at: Place) -> Typed:
    """CAST, CONVERT and BINARY."""
    value = c.expression(node.this, at)
    to = node.args["to"]
    name = to.this.name if isinstance(to, exp.DataType) and to.this is not None else ""
    sizes = sizes_of(to)
    if name in ("BIGINT", "UBIGINT"):
        unsigned = name == "UBIGINT"
        flag = int(unsigned)
        if value.type.kind == INT and value.type.unsigned == unsigned:
            return value
        inner = value.sql if value.type.kind in (STRING, INT, NULL) else number(value)
        return Typed(f"m_whole({inner}, {flag})", Type(INT, unsigned=unsigned))
    if name in ("DECIMAL", "UDECIMAL"):
        digits = sizes[0] if sizes else 10
        scale = sizes[1] if len(sizes) > 1 else 0
        check_decimal(digits, scale, "")
        inner = value.sql if value.type.kind == STRING else number(value)
        return Typed(f"m_decimal({inner}, {digits}, {scale})", decimal_type(scale))
    if name in ("DOUBLE", "FLOAT"):
        return Typed(f"CAST({number(value)} AS REAL)", T_DOUBLE)
    if name in ("CHAR", "NCHAR", "CHARACTER_SET"):
        sql = text(value)
        return Typed(f"f_left({sql}, {sizes[0]})" if sizes else sql, T_STRING)
    if name in ("BINARY", "VARBINARY"):
        return Typed(text(value), Type(STRING, exact=True, raw=True))
    if name == "DATE":
        return Typed(value.sql if value.type.kind == DATE else f"m_date({value.sql})", T_DATE)
    if name in ("DATETIME", "TIMESTAMP"):
        return Typed(
            f"m_datetime({value.sql}, {sizes[0] if sizes else 0})", Type(DATETIME, sizes[0] if sizes else 0)
        )
    if name == "TIME":
        return Typed(f"m_time({value.sql}, {sizes[0] if sizes else 0})", Type(TIME, sizes[0] if sizes else 0))
    if name == "YEAR":
        return Typed(f"m_whole({number(value)}, 0)", T_INT)
    if name == "JSON":
        return Typed(text(value), T_STRING)
    raise syntax(to, str(to.sql("mysql")))


@rule(exp.Interval)
def which(c: Compiler, node: exp.Interval, at: Place) -> Typed:
    """INTERVAL(value, …), which looks like an interval to a grammar."""
    inner = node.this
    if node.args.get("unit") is not None or not isinstance(inner, exp.Tuple):
        raise syntax(node)
    return _interval_of(
        c, [c.expression(one, at) for one in inner.expressions], exp.Anonymous(this="INTERVAL"), at
    )


@rule(exp.Extract)
def extract(c: Compiler, node: exp.Extract, at: Place) -> Typed:
    """EXTRACT(unit FROM value)."""
    unit = str(node.this.name or node.this).upper()
    if unit not in COMPOUND and unit not in UNITS:
        raise syntax(node, unit)
    return Typed(f"m_extract({c.expression(node.expression, at).sql}, {quoted(unit)})", T_INT)


@rule(exp.Substring)
def substring(c: Compiler, node: exp.Substring, at: Place) -> Typed:
    """SUBSTRING, also with FROM and FOR."""
    parts = [node.this, node.args.get("start"), node.args.get("length")]
    if parts[0] is None or parts[1] is None:
        raise syntax(node, ")")
    return plain("SUBSTRING", [c.expression(one, at) for one in parts if one is not None])


@rule(exp.Trim)
def trim(c: Compiler, node: exp.Trim, at: Place) -> Typed:
    """TRIM, also of other marks and of one side."""
    value, mark = node.this, node.args.get("expression")
    side = str(node.args.get("position") or "BOTH").upper()
    found = text(c.expression(mark, at)) if mark is not None else "' '"
    return Typed(f"m_trim({text(c.expression(value, at))}, {found}, '{side}')", T_STRING)


@rule(exp.StrPosition)
def position(c: Compiler, node: exp.StrPosition, at: Place) -> Typed:
    """POSITION(part IN text)."""
    parts = [node.args["substr"], node.this, node.args.get("position")]
    return plain("LOCATE", [c.expression(one, at) for one in parts if one is not None])


@rule(exp.MatchAgainst)
def match_against(c: Compiler, node: exp.MatchAgainst, at: Place) -> Typed:
    """MATCH … AGAINST, for which there is no index."""
    for one in node.expressions:
        c.expression(one, at)
    raise DatabaseError(1191, "Can't find FULLTEXT index matching the column list")


@rule(exp.Chr)
def char(c: Compiler, node: exp.Chr, at: Place) -> Typed:
    """CHAR(65, 66 USING utf8mb4): bytes where no USING stands."""
    parts = ", ".join(c.expression(one, at).sql for one in node.expressions)
    raw = not node.args.get("charset")
    return Typed(f"m_char({parts})", Type(STRING, exact=raw, raw=raw))
