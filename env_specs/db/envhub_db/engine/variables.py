"""System variables, and SET."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .compiling import Compiler, Place, Session, syntax
from .contract import Result, Settings
from .errors import DatabaseError
from .scope import Scope
from .types import NULL, T_STRING

MODES = ("NO_ZERO_IN_DATE", "NO_ZERO_DATE", "ERROR_FOR_DIVISION_BY_ZERO", "NO_ENGINE_SUBSTITUTION")
VARIABLES: dict[str, Any] = {
    "autocommit": 1,
    "character_set_client": "utf8mb4",
    "character_set_connection": "utf8mb4",
    "character_set_results": "utf8mb4",
    "collation_connection": "utf8mb4_0900_ai_ci",
    "collation_database": "utf8mb4_0900_ai_ci",
    "foreign_key_checks": 1,
    "group_concat_max_len": 1024,
    "lower_case_table_names": 0,
    "max_allowed_packet": 67108864,
    "max_execution_time": 0,
    "sql_mode": "",
    "sql_safe_updates": 0,
    "time_zone": "SYSTEM",
    "transaction_isolation": "REPEATABLE-READ",
    "unique_checks": 1,
    "version": "8.0.36",
    "version_comment": "EnvHub",
}
"""Those that statements may read."""
SWITCHES = ("autocommit", "foreign_key_checks", "sql_safe_updates", "unique_checks")
READ_ONLY = frozenset(("version", "version_comment", "lower_case_table_names"))


def mode(settings: Settings) -> str:
    """`sql_mode` by the settings."""
    first = ["ONLY_FULL_GROUP_BY"] if settings.only_full_group_by else []
    return ",".join([*first, *(["STRICT_TRANS_TABLES"] if settings.strict else []), *MODES])


def settings_for(mode_text: str, settings: Settings) -> Settings:
    """The settings that a `sql_mode` asks for."""
    names = {name.strip().upper() for name in mode_text.split(",")}
    strict = bool(names & {"STRICT_TRANS_TABLES", "STRICT_ALL_TABLES", "TRADITIONAL"})
    return settings._replace(strict=strict, only_full_group_by=bool(names & {"ONLY_FULL_GROUP_BY", "ANSI"}))


def system_value(c: Compiler, name: str) -> Any:
    """The value of `@@name`."""
    key = name.lower()
    if key == "sql_mode":
        return mode(c.settings)
    if key == "autocommit":
        return int(c.session.autocommit)
    if key in c.session.system:
        return c.session.system[key]
    if key not in VARIABLES:
        raise DatabaseError(1193, f"Unknown system variable '{name}'")
    return VARIABLES[key]


def assign(db: Any, c: Compiler, node: exp.Set) -> Result:
    """SET: user variables, and what a session may set of the system's."""
    session: Session = c.session
    for item in node.expressions:
        inner = item.this
        if not isinstance(inner, exp.EQ):
            if str(item.args.get("kind") or "").upper() in ("NAMES", "CHARACTER SET", "TRANSACTION"):
                continue
            raise syntax(node)
        if str(item.args.get("kind") or "").upper() in ("GLOBAL", "PERSIST", "PERSIST_ONLY"):
            raise DatabaseError(
                1227,
                "Access denied; you need (at least one of) the SUPER or SYSTEM_VARIABLES_ADMIN "
                "privilege(s) for this operation",
            )
        right = inner.expression
        if isinstance(inner.this, exp.Parameter):
            value = c.expression(right, Place(Scope(), "field list"))
            name = inner.this.name.lower()
            session.values[name] = db.rows(f"SELECT {value.sql}")[0][0]
            session.types[name] = value.type if value.type.kind != NULL else T_STRING
            continue
        _set_system(db, c, inner.this.name.lower(), right)
    return Result()


def _set_system(db: Any, c: Compiler, name: str, right: Any) -> None:
    if name not in VARIABLES:
        raise DatabaseError(1193, f"Unknown system variable '{name}'")
    if name in READ_ONLY:
        raise DatabaseError(1238, f"Variable '{name}' is a read only variable")
    if isinstance(right, (exp.Column, exp.Var)):
        value: Any = {"ON": 1, "OFF": 0}.get(right.name.upper(), right.name)
    else:
        typed = c.expression(right, Place(Scope(), "field list"))
        value = db.rows(f"SELECT {typed.sql}")[0][0]
    if isinstance(VARIABLES[name], int) and not isinstance(value, int):
        raise DatabaseError(1232, f"Incorrect argument type to variable '{name}'")
    if name == "autocommit":
        db.set_autocommit(bool(value))
    elif name == "sql_mode":
        db.settings = settings_for(str(value), db.settings)
    else:
        c.session.system[name] = value
