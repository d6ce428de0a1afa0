"""From a statement's text to what does it."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Protocol, Union

from sqlglot import exp

from . import calls, choices, columns, comparisons, forms, operators, queries, schema  # noqa: F401 - rules
from .altering import alter
from .changes import Delete, Update
from .compiling import Compiler, syntax
from .contract import Result
from .errors import DatabaseError
from .inserts import Insert
from .parsing import Parsed
from .plain import Words
from .show import describe_words, show
from .types import Type
from .variables import assign

QUERIES = (exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery)


class Select(NamedTuple):
    """A compiled query."""

    sql: str
    names: list[str]
    types: list[Type]


class Change(Protocol):
    """A compiled change of rows."""

    def run(self, db: Any) -> Result:
        """Do it."""


class Direct(NamedTuple):
    """Something done at once by Python; `commits`: it ends a transaction, as what changes tables does."""

    run: Callable[[Any], Result]
    commits: bool = False


Plan = Union[Select, Change, Direct]


def _explained(c: Compiler, tree: exp.Expression) -> Plan:
    if isinstance(tree, QUERIES):
        queries.query(c, tree, None)
    heads = (
        "id",
        "select_type",
        "table",
        "partitions",
        "type",
        "possible_keys",
        "key",
        "key_len",
        "ref",
        "rows",
        "filtered",
        "Extra",
    )
    tables: list[Any] = [one.alias or one.name for one in tree.find_all(exp.Table)] or [None]
    rows: list[tuple[Any, ...]] = [
        (
            1,
            "SIMPLE",
            table,
            None,
            "ALL" if table else None,
            None,
            None,
            None,
            None,
            None,
            None,
            None if table else "No tables used",
        )
        for table in tables
    ]
    return Direct(lambda db: Result(heads, rows))


def _words(c: Compiler, words: Words) -> Plan:
    first = words.any(
        "SHOW",
        "DESCRIBE",
        "DESC",
        "EXPLAIN",
        "USE",
        "BEGIN",
        "START",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT",
        "RELEASE",
        "RENAME",
        "LOCK",
        "UNLOCK",
    )
    if first == "SHOW":
        return Direct(lambda db: show(c, words.again_after(1)))
    if first in ("DESCRIBE", "DESC", "EXPLAIN"):
        return Direct(lambda db: describe_words(c, words.again_after(1)))
    if first == "RENAME":
        return Direct(lambda db: schema.rename_tables(db, c, words.again_after(1)), commits=True)
    if first == "USE":
        name = words.name()
        words.end()
        if name != c.database and name.lower() != "information_schema":
            raise DatabaseError(1044, f"Access denied for user 'agent'@'localhost' to database '{name}'")
        return Direct(lambda db: Result())
    if first in ("LOCK", "UNLOCK"):
        return Direct(lambda db: Result(), commits=True)
    return Direct(_transaction(first, words))


def _transaction(first: str, words: Words) -> Callable[[Any], Result]:
    if first == "START":
        if not words.take("TRANSACTION"):
            raise words.wrong()
        while not words.done:
            words.name()
        return lambda db: db.begin()
    if first in ("SAVEPOINT", "RELEASE") or (first == "ROLLBACK" and words.any("TO")):
        words.take("SAVEPOINT")
        name = words.name()
        words.end()
        return lambda db: db.savepoint(first, name)
    words.any("WORK")
    words.end()
    return lambda db: db.begin() if first == "BEGIN" else db.commit() if first == "COMMIT" else db.rollback()


def plan(c: Compiler, tree: Parsed) -> Plan:
    """Compile a statement.

    Raises:
        DatabaseError: it makes no sense here.
    """
    if isinstance(tree, Words):
        return _words(c, tree.again())
    if tree.meta.get("explained"):
        return _explained(c, tree)
    if isinstance(tree, QUERIES):
        found = queries.query(c, tree, None)
        return Select(found.sql, found.names, found.types)
    if isinstance(tree, exp.Insert):
        return Insert(c, tree)
    if isinstance(tree, exp.Update):
        return Update(c, tree)
    if isinstance(tree, exp.Delete):
        return Delete(c, tree)
    kinds: dict[Any, Callable[..., Result]] = {
        exp.Create: schema.create,
        exp.Alter: alter,
        exp.Drop: schema.drop,
        exp.TruncateTable: schema.truncate,
    }
    act: Callable[..., Result] | None = kinds.get(type(tree))
    if act is not None:
        chosen = act
        return Direct(lambda db: chosen(db, c, tree), commits=True)
    if isinstance(tree, exp.Set):
        return Direct(lambda db: assign(db, c, tree))
    if isinstance(tree, exp.Analyze):
        return Direct(lambda db: Result())
    raise syntax(tree, str(tree.meta.get("sql") or ""))
