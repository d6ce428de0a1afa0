"""Rules for aggregates and window functions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .choices import together
from .compiling import (
    Compiler,
    Place,
    Typed,
    collated,
    converted,
    keyed,
    number,
    quoted,
    rule,
    syntax,
    text,
)
from .errors import DatabaseError
from .types import DOUBLE, INT, STRING, T_DOUBLE, T_INT, T_STRING, Type, as_number, decimal_type

SPREADS = {
    "STD": "std_pop", "STDDEV": "std_pop", "STDDEV_POP": "std_pop", "STDDEV_SAMP": "std_samp",
    "VARIANCE": "var_pop", "VAR_POP": "var_pop", "VAR_SAMP": "var_samp",
}  # fmt: skip
BITS = {"BIT_AND": "and", "BIT_OR": "or", "BIT_XOR": "xor"}
AGGREGATES = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX", "ANY_VALUE", "GROUP_CONCAT", *SPREADS, *BITS))
WINDOWS = frozenset(
    "ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD FIRST_VALUE LAST_VALUE "
    "NTH_VALUE".split()
)


def aggregates_in(node: Any) -> bool:
    """Whether an expression aggregates rows of its own query."""
    if isinstance(node, exp.GroupConcat):
        return True
    if isinstance(node, exp.Anonymous) and str(node.this).upper() in AGGREGATES:
        return True
    if isinstance(node, (exp.Select, exp.Subquery, exp.Union)):
        return False
    if isinstance(node, exp.Window):
        parts: list[Any] = list(node.this.iter_expressions()) if isinstance(node.this, exp.Expression) else []
        parts += node.args.get("partition_by") or []
        order = node.args.get("order")
        return any(map(aggregates_in, parts + (list(order.expressions) if order else [])))
    return any(aggregates_in(child) for child in node.iter_expressions())


def _arguments(c: Compiler, node: exp.Anonymous, at: Place) -> tuple[list[Typed], bool]:
    distinct, nodes = False, list(node.expressions)
    if len(nodes) == 1 and isinstance(nodes[0], exp.Distinct):
        distinct, nodes = True, nodes[0].expressions
    inside = at._replace(aggregates=False, inside=True, windows=False)
    return [c.expression(one, inside) for one in nodes], distinct


def _one(name: str, arguments: list[Typed]) -> Typed:
    if len(arguments) != 1:
        raise syntax(name, ")")
    return arguments[0]


def aggregate(c: Compiler, node: exp.Anonymous, at: Place) -> Typed:
    """A call of an aggregate over the rows of a group."""
    name = str(node.this).upper()
    if not at.aggregates:
        raise DatabaseError(1111, "Invalid use of group function")
    if name == "COUNT" and len(node.expressions) == 1 and isinstance(node.expressions[0], exp.Star):
        return Typed("COUNT(*)", T_INT)
    arguments, distinct = _arguments(c, node, at)
    if name == "COUNT":
        return Typed(_count(arguments, distinct), T_INT)
    value = _one(name, arguments)
    if name in ("MIN", "MAX"):
        return Typed(f"{name}({collated(value)})", value.type)
    if name == "ANY_VALUE":
        return Typed(f"m_first({value.sql})", value.type)
    if name in SPREADS:
        return Typed(f"m_spread({number(value)}, '{SPREADS[name]}')", T_DOUBLE)
    if name in BITS:
        return Typed(f"m_bits({number(value)}, '{BITS[name]}')", Type(INT, unsigned=True))
    kind = as_number(value.type)
    if kind.kind == DOUBLE:
        return Typed(f"{'m_sum' if name == 'SUM' else 'm_avg'}({number(value)}, {int(distinct)})", T_DOUBLE)
    result = decimal_type(kind.scale if name == "SUM" else kind.scale + 4)
    call = "m_esum" if name == "SUM" else "m_eavg"
    return Typed(f"{call}({number(value)}, {kind.scale}, {int(distinct)})", result)


def _count(arguments: list[Typed], distinct: bool) -> str:
    if not arguments or (len(arguments) > 1 and not distinct):
        raise syntax("COUNT", ")")
    if len(arguments) == 1:
        return f"COUNT({'DISTINCT ' if distinct else ''}{collated(arguments[0])})"
    keys = ", ".join(f"m_key({one.sql})" if one.type.kind == STRING else one.sql for one in arguments)
    return f"COUNT(DISTINCT m_tuple({keys}))"


@rule(exp.GroupConcat)
def group_concat(c: Compiler, node: exp.GroupConcat, at: Place) -> Typed:
    """GROUP_CONCAT, cut at `group_concat_max_len`."""
    if not at.aggregates:
        raise DatabaseError(1111, "Invalid use of group function")
    inside = at._replace(aggregates=False, inside=True, windows=False)
    inner, order = node.this, []
    if isinstance(inner, exp.Order):
        inner, order = inner.this, inner.expressions
    distinct = isinstance(inner, exp.Distinct)
    nodes = inner.expressions if distinct else [inner]
    if len(nodes) == 1 and isinstance(nodes[0], exp.Concat):
        nodes = nodes[0].expressions
    values = [c.expression(one, inside) for one in nodes]
    separator = node.args.get("separator")
    mark = quoted(str(separator.this)) if separator is not None else "','"
    keys: list[str] = []
    for one in order:
        chosen = one.this
        if (
            isinstance(chosen, exp.Literal)
            and not chosen.args.get("is_string")
            and str(chosen.this).isdigit()
        ):
            place = int(str(chosen.this))
            if not 1 <= place <= len(values):
                raise DatabaseError(1054, f"Unknown column '{place}' in 'order clause'")
            key = values[place - 1]
        else:
            key = c.expression(chosen, inside)
        keys += [
            f"m_key({key.sql})" if key.type.kind == STRING and not key.type.exact else key.sql,
            str(int(bool(one.args.get("desc")))),
        ]
    joined = text(values[0]) if len(values) == 1 else f"f_concat({', '.join(map(text, values))})"
    limit = int(c.session.system.get("group_concat_max_len", 1024))
    parts = [joined, mark, str(int(distinct)), str(limit), *keys]
    return Typed(f"m_group_concat({', '.join(parts)})", T_STRING)


# -- windows --------------------------------------------------------------------------------------------


def _side(c: Compiler, value: Any, side: Any, at: Place) -> str:
    if value in ("UNBOUNDED", "CURRENT ROW"):
        return f"{value} {side or ''}".strip()
    if not isinstance(value, exp.Literal) or value.args.get("is_string"):
        raise DatabaseError(1235, "This version of MySQL doesn't yet support 'such a window frame'")
    return f"{value.this} {side}"


def _definition(c: Compiler, node: exp.Window, at: Place) -> str:
    parts = []
    partition = node.args.get("partition_by") or []
    if partition:
        parts.append("PARTITION BY " + ", ".join(collated(c.expression(one, at)) for one in partition))
    order = node.args.get("order")
    if order is not None:
        keys = []
        for one in order.expressions:
            keys.append(keyed(c.expression(one.this, at)) + (" DESC" if one.args.get("desc") else ""))
        parts.append("ORDER BY " + ", ".join(keys))
    spec = node.args.get("spec")
    if spec is not None:
        start = _side(c, spec.args.get("start"), spec.args.get("start_side"), at)
        end = spec.args.get("end")
        frame = (
            f"BETWEEN {start} AND {_side(c, end, spec.args.get('end_side'), at)}"
            if end is not None
            else start
        )
        parts.append(f"{spec.args.get('kind')} {frame}")
    return " ".join(parts)


@rule(exp.Window)
def window(c: Compiler, node: exp.Window, at: Place) -> Typed:
    """A function OVER a window."""
    function = node.this
    if not isinstance(function, exp.Anonymous):
        raise syntax(node)
    name = str(function.this).upper()
    if name not in AGGREGATES and name not in WINDOWS:
        raise syntax(node)
    if not at.windows:
        raise DatabaseError(3593, f"You cannot use the window function '{name.lower()}' in this context.")
    inside = at._replace(windows=False)
    named = node.args.get("alias")
    if named is not None:
        known = at.scope.windows.get(named.name.lower())
        if known is None:
            raise DatabaseError(3579, f"Window name '{named.name}' is not defined.")
        over = f"OVER ({_definition(c, known, inside)})"
    else:
        over = f"OVER ({_definition(c, node, inside)})"
    if name == "COUNT" and len(function.expressions) == 1 and isinstance(function.expressions[0], exp.Star):
        return Typed(f"COUNT(*) {over}", T_INT)
    if any(isinstance(one, exp.Distinct) for one in function.expressions):
        raise DatabaseError(
            1235, "This version of MySQL doesn't yet support '<window function>(DISTINCT ..)'"
        )
    arguments = [c.expression(one, inside) for one in function.expressions]
    return _ranked(name, arguments, over) if name in WINDOWS else _running(name, arguments, over)


def _running(name: str, arguments: list[Typed], over: str) -> Typed:
    value = _one(name, arguments)
    if name == "COUNT":
        return Typed(f"COUNT({value.sql}) {over}", T_INT)
    if name in ("MIN", "MAX"):
        return Typed(f"{name}({collated(value)}) {over}", value.type)
    if name not in ("SUM", "AVG"):
        raise DatabaseError(1235, f"This version of MySQL doesn't yet support '{name} as window function'")
    kind = as_number(value.type)
    if kind.kind == DOUBLE:
        return Typed(f"{name}({number(value)}) {over}", T_DOUBLE)
    total = f"SUM({number(value)}) {over}"
    if name == "SUM":
        return Typed(f"m_rd({total}, {kind.scale})" if kind.scale else total, decimal_type(kind.scale))
    return Typed(f"m_div({total}, COUNT({value.sql}) {over}, {kind.scale + 4})", decimal_type(kind.scale + 4))


def _ranked(name: str, arguments: list[Typed], over: str) -> Typed:
    counts: dict[str, tuple[int, int]] = {
        "NTILE": (1, 1),
        "LAG": (1, 3),
        "LEAD": (1, 3),
        "FIRST_VALUE": (1, 1),
        "LAST_VALUE": (1, 1),
        "NTH_VALUE": (2, 2),
    }
    fewest, most = counts.get(name, (0, 0))
    if not fewest <= len(arguments) <= most:
        raise syntax(name, ")")
    if name in ("LAG", "LEAD") and len(arguments) == 3:
        kind = together([arguments[0], arguments[2]])
        parts = [converted(arguments[0], kind), arguments[1].sql, converted(arguments[2], kind)]
        return Typed(f"{name}({', '.join(parts)}) {over}", kind)
    sql = f"{name}({', '.join(one.sql for one in arguments)}) {over}"
    if name in ("PERCENT_RANK", "CUME_DIST"):
        return Typed(sql, T_DOUBLE)
    return Typed(sql, arguments[0].type if arguments and name != "NTILE" else T_INT)
