"""What tables there are: MySQL's names and types, and where in SQLite their values lie.

SQLite sees tables `t1`, `t2`, … with columns `c1`, `c2`, …; names, order and types are kept here alone. So no
name an agent may think of is ever an identifier of SQLite's, and renaming or moving a column moves no data.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any

from .errors import DatabaseError
from .types import DATE, DATETIME, DECIMAL, DOUBLE, INT, STRING, TIME, Type

INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
TEXTS = {"tinytext": 255, "text": 65_535, "mediumtext": 16_777_215, "longtext": 4_294_967_295}
BLOBS = {"tinyblob": 255, "blob": 65_535, "mediumblob": 16_777_215, "longblob": 4_294_967_295}
ALIASES = {
    "integer": "int", "int1": "tinyint", "int2": "smallint", "int4": "int", "int8": "bigint",
    "bool": "tinyint(1)",
    "boolean": "tinyint(1)", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "real": "double",
    "double precision": "double", "character": "char", "nchar": "char", "nvarchar": "varchar",
    "character varying": "varchar",
    "serial": "bigint",
}  # fmt: skip


@dataclass
class ColumnType:
    """A column's declared type.

    Attributes:
        name: The type's name, such as `varchar`.
        size: Characters, digits, or digits of a second; None where none are said.
        scale: Digits behind the point.
        unsigned: It takes no negative number.
        values: What an `ENUM` or a `SET` may be.
    """

    name: str
    size: int | None = None
    scale: int = 0
    unsigned: bool = False
    values: list[str] = field(default_factory=list)

    @property
    def type(self) -> Type:
        """The type that expressions see."""
        if self.name in INTEGERS or self.name in ("year", "bit"):
            return Type(INT, unsigned=self.unsigned)
        if self.name == "decimal":
            return Type(DECIMAL, self.scale)
        if self.name in ("float", "double"):
            return Type(DOUBLE, exact=self.name == "float")
        if self.name in (DATE,):
            return Type(DATE)
        if self.name in (DATETIME, "timestamp"):
            return Type(DATETIME, self.size or 0)
        if self.name == TIME:
            return Type(TIME, self.size or 0)
        raw = self.name in BLOBS or self.name in ("binary", "varbinary")
        return Type(STRING, exact=raw or self.name == "json", raw=raw)

    def text(self) -> str:
        """The type as `DESCRIBE` shows it."""
        if self.values:
            listed = ",".join("'" + one.replace("'", "''") + "'" for one in self.values)
            return f"{self.name}({listed})"
        if self.name == "decimal":
            shown = f"decimal({self.size},{self.scale})"
        elif (
            self.size is not None
            and self.name not in ("float", "double")
            and not (self.name in INTEGERS and self.size != 1)
        ):
            shown = f"{self.name}({self.size})"
        else:
            shown = self.name
        return shown + (" unsigned" if self.unsigned else "")


SPELLED = re.compile(
    r"([a-z][a-z0-9 ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*((?:unsigned|signed|zerofill)?)\s*", re.I
)


def check_decimal(digits: int, scale: int, name: str) -> None:
    """Refuse a `DECIMAL` that MySQL has not.

    Raises:
        DatabaseError: 1425, 1426, 1427.
    """
    if scale > 30:
        raise DatabaseError(1425, f"Too big scale {scale} specified for column '{name}'. Maximum is 30.")
    if digits > 65:
        raise DatabaseError(1426, f"Too-big precision {digits} specified for '{name}'. Maximum is 65.")
    if scale > digits:
        raise DatabaseError(
            1427, f"For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}')."
        )


def column_type(
    name: str, sizes: list[int], unsigned: bool = False, values: list[str] | None = None
) -> ColumnType:
    """A declared type of its parts.

    Raises:
        DatabaseError: 1064: there is no type of that name.
    """
    known = ALIASES.get(name.lower(), name.lower())
    if known == "tinyint(1)":
        known, sizes = "tinyint", [1]
    if known == "decimal":
        digits, scale = sizes[0] if sizes and sizes[0] else 10, sizes[1] if len(sizes) > 1 else 0
        check_decimal(digits, scale, name)
        return ColumnType(known, digits, scale, unsigned)
    if known in ("enum", "set"):
        return ColumnType(known, values=values or [])
    others = (
        "float",
        "double",
        "year",
        "bit",
        DATE,
        DATETIME,
        "timestamp",
        TIME,
        "char",
        "varchar",
        "binary",
        "varbinary",
        "json",
    )
    if known not in INTEGERS and known not in TEXTS and known not in BLOBS and known not in others:
        raise DatabaseError(1064, f"You have an error in your SQL syntax near '{name}'")
    if known in ("char", "binary", "bit") and not sizes:
        sizes = [1]
    return ColumnType(known, sizes[0] if sizes else None, unsigned=unsigned)


def parse_type(text: str) -> ColumnType:
    """A declared type as `CREATE TABLE` takes it, such as `DECIMAL(10,2)`."""
    found = SPELLED.fullmatch(text.strip())
    if not found:
        raise DatabaseError(1064, f"You have an error in your SQL syntax near '{text}'")
    sizes = [int(one) for one in found.groups()[1:3] if one]
    return column_type(found[1], sizes, found[4].lower() == "unsigned")


@dataclass
class TableColumn:
    """A column: its name, the name of SQLite's column, its type, and what it holds by default."""

    name: str
    place: str
    type: ColumnType
    nullable: bool = True
    default: Any = None
    has_default: bool = True
    counts: bool = False
    now: bool = False
    comment: str = ""


@dataclass
class Key:
    """A key: PRIMARY, unique or not."""

    name: str
    columns: list[str]
    unique: bool = False

    @property
    def primary(self) -> bool:
        """Whether it is the table's primary key."""
        return self.name == "PRIMARY"


@dataclass
class StoredTable:
    """A table, or a view with its query."""

    name: str
    place: str
    columns: list[TableColumn]
    keys: list[Key] = field(default_factory=list)
    temporary: bool = False
    next_number: int = 1
    next_place: int = 1
    view: str = ""

    def column(self, name: str) -> TableColumn | None:
        """A column by its name, in any case."""
        wanted = name.lower()
        return next((one for one in self.columns if one.name.lower() == wanted), None)

    def new_place(self) -> str:
        """A name for one more of SQLite's columns."""
        self.next_place += 1
        return f"c{self.next_place - 1}"

    @property
    def primary(self) -> Key | None:
        """The primary key."""
        return next((one for one in self.keys if one.primary), None)


class Catalog:
    """Every table of a database by name; names differ by case, as on Linux."""

    def __init__(self) -> None:
        self.tables: dict[str, StoredTable] = {}
        self.hidden: dict[str, StoredTable] = {}
        self.version = 0
        self.next_place = 1

    def new_place(self) -> str:
        """A name for one more of SQLite's tables."""
        self.next_place += 1
        return f"t{self.next_place - 1}"

    def get(self, name: str) -> StoredTable | None:
        """A table by name."""
        return self.tables.get(name)

    def add(self, table: StoredTable) -> None:
        """Take in a table; a temporary one hides one of the same name."""
        hidden = self.tables.get(table.name)
        if hidden is not None and table.temporary:
            self.hidden[table.name] = hidden
        self.tables[table.name] = table
        self.changed()

    def remove(self, name: str) -> StoredTable:
        """Forget a table; one that it hid shows again."""
        gone = self.tables.pop(name)
        if gone.temporary and name in self.hidden:
            self.tables[name] = self.hidden.pop(name)
        self.changed()
        return gone

    def changed(self) -> None:
        """Statements compiled before are no longer what they were."""
        self.version += 1

    def shape(self) -> str:
        """A text that is the same for catalogs in which a statement means the same."""
        return repr(
            [
                (one.name, one.place, one.temporary, one.view, one.keys, one.columns)
                for one in self.tables.values()
            ]
        )

    def save(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "next_place": self.next_place,
            "tables": [asdict(one) for one in self.tables.values()],
            "hidden": [asdict(one) for one in self.hidden.values()],
        }

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Catalog:
        """The catalog that `save` gave."""
        catalog = cls()
        catalog.next_place = saved["next_place"]
        for group, into in (("tables", catalog.tables), ("hidden", catalog.hidden)):
            for one in saved[group]:
                columns = [
                    TableColumn(**{**column, "type": ColumnType(**column["type"])})
                    for column in one["columns"]
                ]
                keys = [Key(**key) for key in one["keys"]]
                into[one["name"]] = StoredTable(**{**one, "columns": columns, "keys": keys})
        return catalog
