"""Rules for columns, literals and variables."""

from __future__ import annotations

import re

from sqlglot import exp

from .compiling import (
    NOTHING,
    Compiler,
    Place,
    Typed,
    quoted,
    rule,
    syntax,
    text,
)
from .errors import DatabaseError
from .scope import Field, Scope
from .types import (
    INT,
    NULL,
    STRING,
    T_DOUBLE,
    T_INT,
    T_STRING,
    Type,
    decimal_type,
)

CLAUSE_NAMES = {
    "field list": "SELECT list",
    "order clause": "ORDER BY clause",
    "having clause": "HAVING clause",
}


@rule(exp.Column)
def column(c: Compiler, node: exp.Column, at: Place) -> Typed:
    """A column by name: this query's, or one's around it."""
    if isinstance(node.this, exp.Star):
        raise syntax(node)
    if node.args.get("db") and node.args["db"].name != c.database:
        raise DatabaseError(1054, f"Unknown column '{node.sql('mysql').replace('`', '')}' in '{at.clause}'")
    name, table = node.name, node.table
    if (
        not table
        and at.scope.aliases
        and at.clause == "having clause"
        and at.scope.local(name, "", at.clause) is None
    ):
        return alias(c, name, at) or _found(c, name, table, at)
    return _found(c, name, table, at)


def alias(c: Compiler, name: str, at: Place) -> Typed | None:
    """What an alias of the select list stands for; None where there is none of the name."""
    target = at.scope.aliases.get(name.lower())
    if target is None:
        return None
    return c.expression(target, at._replace(clause="field list"))


def _found(c: Compiler, name: str, table: str, at: Place) -> Typed:
    field, scope = at.scope.find(name, table, at.clause)
    if at.clause == "having clause" and not at.inside and scope is at.scope:
        _check_having(field, scope, f"{table}.{name}" if table else name)
    if not scope.grouped or (at.inside and scope is at.scope) or scope is not at.scope:
        return Typed(field.sql, field.type)
    if field.sql not in (scope.keys or ()) and c.settings.only_full_group_by and not scope.determined:
        full = f"{c.database}.{field.source}.{field.name}"
        if scope.keys:
            raise DatabaseError(
                1055,
                f"Expression #1 of {CLAUSE_NAMES.get(at.clause, at.clause)} "
                f"is not in GROUP BY clause and "
                f"contains nonaggregated column '{full}' which is not functionally dependent on columns "
                f"in GROUP BY "
                "clause; this is incompatible with sql_mode=only_full_group_by",
            )
        raise DatabaseError(
            1140,
            f"In aggregated query without GROUP BY, expression #1 of SELECT list contains nonaggregated "
            f"column '{full}'; "
            "this is incompatible with sql_mode=only_full_group_by",
        )
    return Typed(f"m_first({field.sql})", field.type)


def _check_having(field: Field, scope: Scope, shown: str) -> None:
    if field.sql not in (scope.keys or ()) and field.name.lower() not in scope.listed:
        raise DatabaseError(1054, f"Unknown column '{shown}' in 'having clause'")


@rule(exp.Literal)
def literal(c: Compiler, node: exp.Literal, at: Place) -> Typed:
    """A number or a text as written."""
    value = str(node.this)
    if node.args.get("is_string"):
        return Typed(quoted(value), T_STRING, value)
    if re.fullmatch(r"\d+", value):
        size = int(value)
        if size < 1 << 63:
            return Typed(str(size), T_INT, size)
        if size < 1 << 64:
            return Typed(str(size - (1 << 64)), Type(INT, unsigned=True), size)
        return Typed(f"{value}.0", decimal_type(0), float(size))
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value):
        raise DatabaseError(1054, f"Unknown column '{value}' in '{at.clause}'")
    if "e" in value.lower():
        return Typed(repr(float(value)), T_DOUBLE, float(value))
    return Typed(repr(float(value)), decimal_type(len(value.partition(".")[2])), float(value))


@rule(exp.Null)
def null(c: Compiler, node: exp.Null, at: Place) -> Typed:
    """NULL."""
    return NOTHING


@rule(exp.Boolean)
def boolean(c: Compiler, node: exp.Boolean, at: Place) -> Typed:
    """TRUE is 1."""
    value = int(bool(node.this))
    return Typed(str(value), T_INT, value)


@rule(exp.HexString)
def hexadecimal(c: Compiler, node: exp.HexString, at: Place) -> Typed:
    """x'4D' and 0x4D: bytes."""
    digits = str(node.this)
    value = bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits).decode("utf-8", "replace")
    return Typed(quoted(value), Type(STRING, exact=True, raw=True), value)


@rule(exp.BitString)
def bits(c: Compiler, node: exp.BitString, at: Place) -> Typed:
    """b'101': bytes as well."""
    value = int(str(node.this) or "0", 2)
    text = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big").decode("utf-8", "replace")
    return Typed(quoted(text), Type(STRING, exact=True, raw=True), text)


@rule(exp.National)
def national(c: Compiler, node: exp.National, at: Place) -> Typed:
    """N'text'."""
    return Typed(quoted(str(node.this)), T_STRING, str(node.this))


@rule(exp.Introducer)
def introducer(c: Compiler, node: exp.Introducer, at: Place) -> Typed:
    """_utf8mb4'text'."""
    return c.expression(node.expression, at)


@rule(exp.Concat)
def adjacent(c: Compiler, node: exp.Concat, at: Place) -> Typed:
    """'one' 'two' is one text."""
    value = "".join(str(part.this) for part in node.expressions)
    return Typed(quoted(value), T_STRING, value)


@rule(exp.Paren)
def parenthesis(c: Compiler, node: exp.Paren, at: Place) -> Typed:
    """What stands in parentheses."""
    inner = c.expression(node.this, at)
    return inner._replace(sql=f"({inner.sql})")


@rule(exp.Alias)
def aliased(c: Compiler, node: exp.Alias, at: Place) -> Typed:
    """An alias where none may be."""
    raise syntax(node)


@rule(exp.Collate)
def collate(c: Compiler, node: exp.Collate, at: Place) -> Typed:
    """COLLATE: a collation that ends in _bin compares code points."""
    value = c.expression(node.this, at)
    name = node.expression.name.lower()
    if not re.match(r"utf8|binary|latin1|ascii", name):
        raise DatabaseError(1273, f"Unknown collation: '{name}'")
    return Typed(text(value), Type(STRING, exact=name.endswith("_bin") or name == "binary"))


@rule(exp.Parameter)
def variable(c: Compiler, node: exp.Parameter, at: Place) -> Typed:
    """@name."""
    c.kept = False
    name = node.name.lower()
    return Typed(f"m_var({quoted(name)})", c.session.types.get(name, NOTHING.type))


@rule(exp.PropertyEQ)
def assignment(c: Compiler, node: exp.PropertyEQ, at: Place) -> Typed:
    """@name := value."""
    if not isinstance(node.this, exp.Parameter):
        raise syntax(node)
    c.kept = False
    value = c.expression(node.expression, at)
    name = node.this.name.lower()
    c.session.types[name] = value.type if value.type.kind != NULL else T_STRING
    return Typed(f"m_set({quoted(name)}, {value.sql})", value.type)


@rule(exp.SessionParameter)
def system_variable(c: Compiler, node: exp.SessionParameter, at: Place) -> Typed:
    """@@name."""
    from .variables import system_value

    c.kept = False
    value = system_value(c, node.name)
    return (
        Typed(str(value), T_INT, value) if isinstance(value, int) else Typed(quoted(value), T_STRING, value)
    )
