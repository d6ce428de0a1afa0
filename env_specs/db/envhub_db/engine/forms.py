"""Rules for functions with a grammar of their own, such as CAST and TRIM."""

from __future__ import annotations

from sqlglot import exp

from .calls import interval_of
from .catalog import check_decimal
from .compiling import (
    Compiler,
    Place,
    Typed,
    number,
    quoted,
    rule,
    sizes_of,
    syntax,
    text,
)
from .date_calls import UNITS
from .dates import COMPOUND
from .errors import DatabaseError
from .simple_calls import plain
from .types import (
    DATE,
    DATETIME,
    INT,
    NULL,
    STRING,
    T_DATE,
    T_DOUBLE,
    T_INT,
    T_STRING,
    TIME,
    Type,
    decimal_type,
)  # fmt: skip


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
    return interval_of(
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
