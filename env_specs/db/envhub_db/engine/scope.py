"""Which names a query sees: its tables and their columns, and those of the queries around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .errors import DatabaseError
from .types import Type


class Field(NamedTuple):
    """A column of a source; a hidden one is only seen by its table, since USING merged it."""

    name: str
    sql: str
    type: Type
    source: str
    hidden: bool = False


@dataclass
class Source:
    """A table, derived table or common table expression in a FROM clause."""

    alias: str
    fields: list[Field]
    table: Any = None
    database: str = ""


@dataclass
class Scope:
    """The sources of one query, within those of the query around it.

    Attributes:
        sources: The tables of FROM.
        parent: The scope of the query around, for correlated subqueries.
        aliases: The select list by alias: compiled on use.
        keys: The SQL of what is grouped by; None in a query that does not group.
        ctes: Common table expressions that can be named here.
        grouped: The query groups.
        determined: Every column hangs on what is grouped by.
        windows: The WINDOW clause by name.
        listed: The columns of the select list, which HAVING sees.
    """

    sources: list[Source] = field(default_factory=list)
    parent: Scope | None = None
    aliases: dict[str, Any] = field(default_factory=dict)
    keys: list[str] | None = None
    grouped: bool = False
    determined: bool = False
    ctes: dict[str, Any] = field(default_factory=dict)
    windows: dict[str, Any] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)

    def cte(self, name: str) -> Any:
        """A common table expression by name, from here outwards."""
        at: Scope | None = self
        while at is not None:
            if name.lower() in at.ctes:
                return at.ctes[name.lower()]
            at = at.parent
        return None

    def parent_for_derived(self) -> Scope:
        """The scope that a derived table sees: common table expressions, and the queries around."""
        return Scope(parent=self.parent, ctes=self.ctes)

    def local(self, name: str, table: str, clause: str) -> Field | None:
        """A column of this query's own tables; None where there is none.

        Raises:
            DatabaseError: 1052: there are two.
        """
        wanted = name.lower()
        found = [
            one
            for source in self.sources
            if not table or source.alias == table
            for one in source.fields
            if one.name.lower() == wanted and not (one.hidden and not table)
        ]
        if len(found) > 1 and len({one.sql for one in found}) > 1:
            shown = f"{table}.{name}" if table else name
            raise DatabaseError(1052, f"Column '{shown}' in {clause} is ambiguous")
        return found[0] if found else None

    def find(self, name: str, table: str, clause: str) -> tuple[Field, Scope]:
        """A column by name, from this query outwards, and the scope it was found in.

        Raises:
            DatabaseError: 1054: nobody has it.
        """
        at: Scope | None = self
        while at is not None:
            found = at.local(name, table, clause)
            if found is not None:
                return found, at
            at = at.parent
        shown = f"{table}.{name}" if table else name
        raise DatabaseError(1054, f"Unknown column '{shown}' in '{clause}'")
