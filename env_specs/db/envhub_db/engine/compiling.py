"""From MySQL's statements to SQLite's: what the compiler's parts share.

An expression becomes a `Typed`: SQL for SQLite and MySQL's type of it. What may stand where is said by a
`Place`.
`Compiler.expression` finds the rule for a node by its class; the rules are functions in `operators`, `calls`,
`aggregated` and `queries`, which put themselves into `RULES`.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, TypeVar

from sqlglot import exp

from .catalog import Catalog
from .contract import Settings
from .errors import DatabaseError
from .scope import Scope
from .types import DATE, DATETIME, DECIMAL, DOUBLE, INT, NULL, NUMBERS, STRING, T_NULL, TEMPORAL, TIME, Type


class Typed(NamedTuple):
    """An expression for SQLite with its type for MySQL, and its value where it is a literal."""

    sql: str
    type: Type
    literal: Any = None


NOTHING = Typed("NULL", T_NULL)


class Place(NamedTuple):
    """Where an expression stands.

    Attributes:
        scope: The names it sees.
        clause: As MySQL's errors name it, such as `where clause`.
        aggregates: Aggregates may stand here.
        inside: It is an argument of an aggregate.
        windows: Window functions may stand here.
    """

    scope: Scope
    clause: str
    aggregates: bool = False
    inside: bool = False
    windows: bool = False


class Query(NamedTuple):
    """A compiled SELECT: its SQL gives columns named c1, c2 and so on."""

    sql: str
    names: list[str]
    types: list[Type]
    limited: bool = False
    single: bool = False


class Session:
    """What a connection remembers: variables with their types, and settings that statements read or set."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.types: dict[str, Type] = {}
        self.autocommit = True
        self.affected = 0
        self.last_id = 0
        self.found = 0
        self.system: dict[str, Any] = {}


Rule = Callable[["Compiler", Any, Place], Typed]
RULES: dict[type[exp.Expression], Rule] = {}
F = TypeVar("F", bound=Rule)


def rule(*kinds: type[exp.Expression]) -> Callable[[F], F]:
    """Make a function the rule for these nodes."""

    def put(function: F) -> F:
        for kind in kinds:
            RULES[kind] = function
        return function

    return put


def quoted(text: str) -> str:
    """Text as a literal of SQLite's."""
    if "\0" in text:
        return f"CAST(x'{text.encode('utf-8', 'surrogatepass').hex()}' AS TEXT)"
    return "'" + text.replace("'", "''") + "'"


def syntax(node: Any, text: str = "") -> DatabaseError:
    """MySQL's error 1064 for a node that is not MySQL's."""
    near = text or (node.sql("mysql") if isinstance(node, exp.Expression) else str(node))
    return DatabaseError(
        1064,
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server "
        "version for the "
        f"right syntax to use near '{near[:80]}' at line 1",
    )


def sizes_of(node: Any) -> list[int]:
    """The numbers in a type's parentheses."""
    found = []
    for one in node.expressions:
        if isinstance(one, exp.DataTypeParam):
            text = str(one.this.this if isinstance(one.this, exp.Literal) else "")
            if not text.isdigit():
                raise syntax(node)
            found.append(int(text))
    return found


# -- conversions ----------------------------------------------------------------------------------------


def number(value: Typed) -> str:
    """An expression as a number."""
    kind = value.type.kind
    if kind == STRING:
        return f"m_num({value.sql})"
    return f"m_dnum({value.sql})" if kind in TEMPORAL else value.sql


def text(value: Typed) -> str:
    """An expression as text."""
    kind = value.type.kind
    if kind == INT:
        return f"m_uint({value.sql})" if value.type.unsigned else f"CAST({value.sql} AS TEXT)"
    if kind == DECIMAL:
        return f"m_dectext({value.sql}, {value.type.scale})"
    if kind == DOUBLE:
        return _double_text(value)
    return value.sql


def _double_text(value: Typed) -> str:
    if value.type.exact:
        return f"m_flttext({value.sql})"
    return f"m_dectext({value.sql}, {value.type.scale})" if value.type.scale else f"m_dbltext({value.sql})"


def truth(value: Typed) -> str:
    """An expression as a condition."""
    kind = value.type.kind
    if kind in (INT, NULL):
        return value.sql
    return f"({number(value)} <> 0)"


def moment(value: Typed) -> str:
    """An expression as text that compares as dates with times do."""
    return value.sql if value.type.kind == DATETIME and not value.type.scale else f"m_moment({value.sql})"


def collated(value: Typed) -> str:
    """An expression as something to group, sort or compare by: text with its collation."""
    return f"{value.sql} COLLATE ci" if value.type.kind == STRING and not value.type.exact else value.sql


def keyed(value: Typed) -> str:
    """An expression as something to sort or group by: SQLite takes a bare number for a column's place."""
    bare = value.sql.strip("()+- ").isdigit()
    return f"CAST({value.sql} AS INTEGER)" if bare else collated(value)


def converted(value: Typed, kind: Type) -> str:
    """An expression as a value of another type."""
    if value.type.kind == NULL or value.type.kind == kind.kind:
        return value.sql
    if kind.kind == STRING:
        return text(value)
    if kind.kind == DOUBLE:
        return f"CAST({number(value)} AS REAL)"
    if kind.kind in NUMBERS:
        return number(value)
    if kind.kind == DATETIME:
        return f"m_datetime({value.sql})"
    if kind.kind == DATE:
        return f"m_date({value.sql})"
    return f"m_time({value.sql})" if kind.kind == TIME else value.sql


class Compiler:
    """Compiles one statement, by the tables there are, the settings and the session."""

    def __init__(self, catalog: Catalog, settings: Settings, session: Session, database: str) -> None:
        self.catalog = catalog
        self.settings = settings
        self.session = session
        self.database = database
        self.kept = True
        self._names = 0

    def name(self, prefix: str) -> str:
        """A new name for something in SQLite's statement."""
        self._names += 1
        return f"{prefix}{self._names}"

    def expression(self, node: Any, at: Place) -> Typed:
        """Compile an expression.

        Raises:
            DatabaseError: a name or function is not known, or nothing of the kind may stand here.
        """
        found = RULES.get(type(node))
        if found is None:
            raise syntax(node)
        scope = at.scope
        if scope.grouped and scope.keys and not at.inside and not isinstance(node, (exp.Column, exp.Literal)):
            grouped = self.grouped(node, at)
            if grouped is not None:
                return grouped
        return found(self, node, at)

    def grouped(self, node: Any, at: Place) -> Typed | None:
        """A whole expression that the query groups by, as its group's value."""
        scope = at.scope
        if not any("(" in key for key in scope.keys or ()):
            return None
        scope.grouped = False
        names = self._names
        try:
            plain = RULES[type(node)](self, node, at._replace(aggregates=False, clause="field list"))
        except DatabaseError:
            return None
        finally:
            scope.grouped = True
            self._names = names
        if plain.sql in (scope.keys or ()) and "m_first(" not in plain.sql:
            return Typed(f"m_first({plain.sql})", plain.type)
        return None
