"""CREATE, ALTER, DROP, RENAME and TRUNCATE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .catalog import BLOBS, TEXTS, ColumnType, Key, StoredTable, TableColumn, column_type
from .changes import Running, default
from .compiling import Compiler, sizes_of, syntax
from .contract import Result
from .errors import DatabaseError
from .parsing import Words
from .queries import query
from .sources import missing, refused, stored
from .storing import fitted, implicit, type_for
from .types import NULL

NAMES = {
    "UINT": "int", "UBIGINT": "bigint", "USMALLINT": "smallint", "UTINYINT": "tinyint",
    "UMEDIUMINT": "mediumint",
    "UDECIMAL": "decimal", "UDOUBLE": "double", "TIMESTAMPTZ": "timestamp", "TIMESTAMPLTZ": "timestamp",
    "NVARCHAR": "varchar",
    "NCHAR": "char", "BPCHAR": "char", "SERIAL": "bigint",
}  # fmt: skip


def declared(node: Any) -> ColumnType:
    """The type of a column definition."""
    if not isinstance(node, exp.DataType) or node.this is None or not hasattr(node.this, "name"):
        raise syntax(node if node is not None else "")
    name = node.this.name
    sizes = sizes_of(node)
    values = [str(one.this) for one in node.expressions if isinstance(one, exp.Literal)]
    if name in ("VARCHAR", "VARBINARY") and not sizes:
        raise syntax(node, ")")
    return column_type(NAMES.get(name, name.lower()), sizes, name in NAMES and name.startswith("U"), values)


def _constant(db: Running, c: Compiler, node: Any, column: TableColumn) -> Any:
    from .compiling import Place
    from .scope import Scope

    value = c.expression(node, Place(Scope(), "field list"))
    return fitted(db.rows(f"SELECT {value.sql}")[0][0], value.type, column, db.settings.strict)


def _column(db: Running, c: Compiler, table: StoredTable, node: exp.ColumnDef, place: str) -> TableColumn:
    column = TableColumn(node.name, place, declared(node.args.get("kind")))
    if not node.name.strip():
        raise DatabaseError(1166, f"Incorrect column name '{node.name}'")
    for one in node.args.get("constraints") or []:
        kind = one.args.get("kind")
        if isinstance(kind, exp.NotNullColumnConstraint):
            column.nullable = bool(kind.args.get("allow_null"))
            column.has_default = column.nullable or column.default is not None
        elif isinstance(kind, exp.AutoIncrementColumnConstraint):
            column.counts, column.nullable = True, False
        elif isinstance(kind, exp.PrimaryKeyColumnConstraint):
            _indexable(column)
            _add_key(table, Key("PRIMARY", [column.name], True))
            column.nullable = False
            column.has_default = column.default is not None
        elif isinstance(kind, exp.UniqueColumnConstraint):
            _indexable(column)
            _add_key(table, Key(_key_name(table, column.name), [column.name], True))
        elif isinstance(kind, exp.DefaultColumnConstraint):
            if isinstance(kind.this, exp.CurrentTimestamp):
                column.now = True
            elif isinstance(kind.this, exp.Null):
                column.has_default = True
            else:
                if column.type.name in ("text", "blob", "json", "longtext", "mediumtext") and isinstance(
                    kind.this, exp.Literal
                ):
                    raise DatabaseError(
                        1101,
                        f"BLOB, TEXT, GEOMETRY or JSON column '{column.name}' can't have a default value",
                    )
                column.default, column.has_default = _constant(db, c, kind.this, column), True
        elif isinstance(kind, exp.CommentColumnConstraint):
            column.comment = str(kind.this.this)
        elif not isinstance(
            kind,
            (
                exp.CollateColumnConstraint,
                exp.CharacterSetColumnConstraint,
                exp.OnUpdateColumnConstraint,
                exp.CheckColumnConstraint,
                exp.ZeroFillColumnConstraint,
            ),
        ):
            raise syntax(one)
    return column


# -- keys -----------------------------------------------------------------------------------------------


def _key_name(table: StoredTable, wanted: str) -> str:
    names = {key.name.lower() for key in table.keys}
    name, place = wanted, 2
    while name.lower() in names:
        name, place = f"{wanted}_{place}", place + 1
    return name


def _add_key(table: StoredTable, key: Key) -> None:
    if key.primary and table.primary is not None:
        raise DatabaseError(1068, "Multiple primary key defined")
    if any(one.name.lower() == key.name.lower() for one in table.keys):
        raise DatabaseError(1061, f"Duplicate key name '{key.name}'")
    table.keys.append(key)


def _parts(table: StoredTable, nodes: list[Any]) -> list[str]:
    """The columns of a key; a text without an end needs a length: `a(10)`."""
    names = []
    for one in nodes:
        inner = one.this if isinstance(one, exp.Ordered) else one
        bounded = isinstance(inner, (exp.ColumnPrefix, exp.Anonymous))
        if isinstance(inner, exp.Anonymous):
            name = str(inner.this)
        else:
            name = inner.this.name if isinstance(inner, exp.ColumnPrefix) else inner.name
        column = table.column(name)
        if column is not None and not bounded:
            _indexable(column)
        names.append(name)
    return names


def _indexable(column: TableColumn) -> None:
    if column.type.name in TEXTS or column.type.name in BLOBS:
        raise DatabaseError(
            1170, f"BLOB/TEXT column '{column.name}' used in key specification without a key length"
        )


def _key(table: StoredTable, node: Any, name: str = "") -> Key | None:
    """A key that a definition declares; None where it declares something that has no effect here."""
    if isinstance(node, exp.Constraint):
        return _key(table, node.expressions[0], node.name)
    if isinstance(node, exp.PrimaryKey):
        return Key("PRIMARY", _parts(table, node.expressions), True)
    if isinstance(node, exp.UniqueColumnConstraint):
        inner = node.this
        parts = _parts(table, inner.expressions) if isinstance(inner, exp.Schema) else [inner.name]
        given = inner.this.name if isinstance(inner, exp.Schema) and inner.this is not None else ""
        return Key(name or given or _key_name(table, parts[0]), parts, True)
    if isinstance(node, exp.IndexColumnConstraint):
        parts = _parts(table, node.expressions)
        return Key(node.name or name or _key_name(table, parts[0]), parts)
    if isinstance(node, (exp.ForeignKey, exp.CheckColumnConstraint)):
        return None
    raise syntax(node)


def _settle(db: Running, table: StoredTable, key: Key) -> None:
    """Check a key's columns and, in a table with rows, that it holds."""
    columns = []
    for name in key.columns:
        column = table.column(name)
        if column is None:
            raise DatabaseError(1072, f"Key column '{name}' doesn't exist in table")
        if key.primary:
            column.nullable = False
            column.has_default = column.default is not None
        columns.append(column)
    if not key.unique:
        return
    by = ", ".join(f"{one.place}{' COLLATE ci' if one.type.type.kind == 'string' else ''}" for one in columns)
    test = " AND ".join(f"{one.place} IS NOT NULL" for one in columns)
    twice = db.rows(
        f"SELECT {', '.join(one.place for one in columns)} FROM {table.place} WHERE {test} GROUP BY {by} "
        f"HAVING COUNT(*) > 1 LIMIT 1"
    )
    if twice:
        values = "-".join(map(str, twice[0]))
        raise DatabaseError(1062, f"Duplicate entry '{values}' for key '{table.name}.{key.name}'")


# -- CREATE -----------------------------------------------------------------------------------------------


def make(db: Running, table: StoredTable) -> None:
    """Make a table's place in SQLite.

    A single whole-number primary key is SQLite's row id, and so rows lie in its order.
    """
    primary = table.primary
    first = table.column(primary.columns[0]) if primary is not None and len(primary.columns) == 1 else None
    ordered = first if first is not None and first.type.type.kind == "int" else None
    columns = ", ".join(
        f"{one.place} INTEGER PRIMARY KEY" if one is ordered else one.place for one in table.columns
    )
    db.change(f"CREATE TABLE {table.place} ({columns or 'nothing'})")


def rebuild(db: Running, table: StoredTable) -> None:
    """Make a table's place anew after its keys changed."""
    columns = ", ".join(one.place for one in table.columns)
    db.change(f"ALTER TABLE {table.place} RENAME TO old_{table.place}")
    make(db, table)
    db.change(f"INSERT INTO {table.place} ({columns}) SELECT {columns} FROM old_{table.place} ORDER BY rowid")
    db.change(f"DROP TABLE old_{table.place}")


def _temporary(node: exp.Create) -> bool:
    properties = node.args.get("properties")
    return properties is not None and any(
        isinstance(one, exp.TemporaryProperty) for one in properties.expressions
    )


def _like(node: exp.Create) -> Any:
    properties = node.args.get("properties")
    for one in properties.expressions if properties is not None else []:
        if isinstance(one, exp.LikeProperty):
            return one.this
    return None


def create(db: Running, c: Compiler, node: exp.Create) -> Result:
    """CREATE TABLE, VIEW and INDEX; databases are refused."""
    kind = str(node.args.get("kind") or "").upper()
    if kind in ("DATABASE", "SCHEMA"):
        raise refused(c, node.this.name)
    if kind == "INDEX":
        return _create_index(db, c, node)
    if kind == "VIEW":
        return _create_view(db, c, node)
    if kind != "TABLE":
        raise DatabaseError(1044, f"Access denied for user 'agent'@'localhost' to database '{c.database}'")
    schema = node.this
    named = schema.this if isinstance(schema, exp.Schema) else schema
    if not isinstance(named, exp.Table):
        raise syntax(node)
    if named.db and named.db != c.database:
        raise DatabaseError(
            1142, f"CREATE command denied to user 'agent'@'localhost' for table '{named.name}'"
        )
    temporary = _temporary(node)
    known = db.catalog.get(named.name)
    if known is not None and (known.temporary or not temporary):
        if node.args.get("exists"):
            return Result()
        raise DatabaseError(1050, f"Table '{named.name}' already exists")
    table = StoredTable(named.name, db.catalog.new_place(), [], temporary=temporary)
    like = _like(node)
    if like is not None:
        _copy_shape(table, stored(c, like))
    if isinstance(schema, exp.Schema):
        _define(db, c, table, schema.expressions)
    found = query(c, node.expression, None) if node.expression is not None else None
    if found is not None:
        _add_selected(table, found.names, found.types)
    if not table.columns:
        raise (
            DatabaseError(1113, "A table must have at least 1 column")
            if not isinstance(schema, exp.Schema)
            else syntax(")")
        )
    make(db, table)
    for key in table.keys:
        _settle(db, table, key)
    affected = _fill(db, table, found) if found is not None else 0
    db.catalog.add(table)
    return Result(affected=affected)


def _define(db: Running, c: Compiler, table: StoredTable, nodes: list[Any]) -> None:
    keys = []
    for one in nodes:
        if isinstance(one, exp.ColumnDef):
            _append(table, _column(db, c, table, one, table.new_place()))
        elif isinstance(one, (exp.Identifier, exp.Column)):
            raise syntax(one, ")")
        else:
            keys.append(one)
    for one in keys:
        key = _key(table, one)
        if key is not None:
            _add_key(table, key)
    if sum(one.counts for one in table.columns) > 1 or any(
        one.counts and not any(key.columns[0].lower() == one.name.lower() for key in table.keys)
        for one in table.columns
    ):
        raise DatabaseError(
            1075,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        )


def _append(table: StoredTable, column: TableColumn) -> None:
    if table.column(column.name) is not None:
        raise DatabaseError(1060, f"Duplicate column name '{column.name}'")
    table.columns.append(column)


def _copy_shape(table: StoredTable, other: StoredTable) -> None:
    for one in other.columns:
        table.columns.append(TableColumn(**{**vars(one), "place": table.new_place()}))
    table.keys = [Key(key.name, list(key.columns), key.unique) for key in other.keys]


def _add_selected(table: StoredTable, names: list[str], types: list[Any]) -> None:
    for name, kind in zip(names, types):
        if table.column(name) is None:
            table.columns.append(
                TableColumn(
                    name, table.new_place(), ColumnType("varchar", 0) if kind.kind == NULL else type_for(kind)
                )
            )
        elif not any(one.name.lower() == name.lower() for one in table.columns):
            raise DatabaseError(1060, f"Duplicate column name '{name}'")


def _fill(db: Running, table: StoredTable, found: Any) -> int:
    columns = [table.column(name) for name in found.names]
    places = ", ".join(column.place for column in columns if column is not None)
    marks = ", ".join("?" * len(columns))
    rows = db.rows(found.sql)
    for at, row in enumerate(rows, 1):
        values = [
            fitted(value, kind, column, db.settings.strict, at)
            for value, kind, column in zip(row, found.types, columns)
            if column is not None
        ]
        db.change(f"INSERT INTO {table.place} ({places}) VALUES ({marks})", values)
    return len(rows)


def _create_view(db: Running, c: Compiler, node: exp.Create) -> Result:
    named = node.this.this if isinstance(node.this, exp.Schema) else node.this
    known = db.catalog.get(named.name)
    if known is not None and not (node.args.get("replace") and known.view):
        raise DatabaseError(1050, f"Table '{named.name}' already exists")
    found = query(c, node.expression, None)
    names = [one.name for one in node.this.expressions] if isinstance(node.this, exp.Schema) else found.names
    table = StoredTable(named.name, db.catalog.new_place(), [], view=node.expression.sql("mysql"))
    for name, kind in zip(names, found.types):
        _append(table, TableColumn(name, table.new_place(), type_for(kind)))
    if known is not None:
        db.catalog.remove(named.name)
    db.catalog.add(table)
    return Result()


def _create_index(db: Running, c: Compiler, node: exp.Create) -> Result:
    index = node.this
    table = stored(c, index.args["table"])
    names = _parts(table, index.args["params"].args.get("columns") or [])
    key = Key(index.name, names, bool(node.args.get("unique")))
    _settle(db, table, key)
    _add_key(table, key)
    db.catalog.changed()
    return Result()


# -- ALTER ------------------------------------------------------------------------------------------------


def alter(db: Running, c: Compiler, node: exp.Alter) -> Result:
    """ALTER TABLE, one action after the other."""
    if str(node.args.get("kind") or "").upper() != "TABLE":
        raise DatabaseError(1044, f"Access denied for user 'agent'@'localhost' to database '{c.database}'")
    table = stored(c, node.this)
    if table.view:
        raise DatabaseError(1347, f"'{c.database}.{table.name}' is not BASE TABLE")
    for action in node.args.get("actions") or []:
        _act(db, c, table, action)
        db.catalog.changed()
    return Result()


def _place_of(table: StoredTable, column: TableColumn, position: Any) -> None:
    if position is None:
        return
    if position.this is not None and table.column(position.this.name) is None:
        raise DatabaseError(1054, f"Unknown column '{position.this.name}' in '{table.name}'")
    table.columns.remove(column)
    after = table.column(position.this.name) if position.this is not None else None
    table.columns.insert(table.columns.index(after) + 1 if after is not None else 0, column)


def _act(db: Running, c: Compiler, table: StoredTable, action: Any) -> None:
    if isinstance(action, exp.ColumnDef):
        _add_column(db, c, table, action)
    elif isinstance(action, exp.Schema):
        for one in action.expressions:
            _act(db, c, table, one)
    elif isinstance(action, exp.ModifyColumn):
        _modify(db, c, table, action)
    elif isinstance(action, exp.RenameColumn):
        _rename_column(table, action.this.name, action.args["to"].name)
    elif isinstance(action, exp.AlterRename):
        rename(db, c, table.name, action.this.name)
    elif isinstance(action, exp.AddConstraint):
        for one in action.expressions:
            key = _key(table, one)
            if key is not None:
                _settle(db, table, key)
                _add_key(table, key)
                rebuild(db, table) if key.primary else None
    elif isinstance(action, exp.DropPrimaryKey):
        _drop_key(db, table, "PRIMARY")
    elif isinstance(action, exp.Drop):
        if not action.args.get("tables") and action.this is None:
            raise syntax("")
        named = action.args["tables"][0].name if action.args.get("tables") else action.this.name
        if str(action.args.get("kind")).upper() == "COLUMN":
            _drop_column(db, table, named, bool(action.args.get("exists")))
        else:
            _drop_key(db, table, named)
    elif isinstance(action, exp.AlterColumn):
        _set_default(db, c, table, action)
    elif not isinstance(
        action, (exp.EngineProperty, exp.CharacterSetProperty, exp.CollateProperty, exp.AutoIncrementProperty)
    ):
        raise syntax(action)


def _add_column(db: Running, c: Compiler, table: StoredTable, node: exp.ColumnDef) -> None:
    if table.column(node.name) is not None:
        raise DatabaseError(1060, f"Duplicate column name '{node.name}'")
    before = len(table.keys)
    column = _column(db, c, table, node, table.new_place())
    position = node.args.get("position")
    if position is not None and position.this is not None and table.column(position.this.name) is None:
        raise DatabaseError(1054, f"Unknown column '{position.this.name}' in '{table.name}'")
    table.columns.append(column)
    _place_of(table, column, position)
    db.change(f"ALTER TABLE {table.place} ADD COLUMN {column.place}")
    if column.counts:
        for number, (rowid,) in enumerate(db.rows(f"SELECT rowid FROM {table.place} ORDER BY rowid"), 1):
            db.change(f"UPDATE {table.place} SET {column.place} = ? WHERE rowid = ?", (number, rowid))
            table.next_number = number + 1
    else:
        value = default(db, column)
        if value is not None:
            db.change(f"UPDATE {table.place} SET {column.place} = ?", (value,))
    for key in table.keys[before:]:
        _settle(db, table, key)
        rebuild(db, table) if key.primary else None


def _modify(db: Running, c: Compiler, table: StoredTable, action: exp.ModifyColumn) -> None:
    node = action.this
    old_name = action.args["rename_from"].name if action.args.get("rename_from") is not None else node.name
    column = table.column(old_name)
    if column is None:
        raise DatabaseError(1054, f"Unknown column '{old_name}' in '{table.name}'")
    if old_name.lower() != node.name.lower() and table.column(node.name) is not None:
        raise DatabaseError(1060, f"Duplicate column name '{node.name}'")
    before = len(table.keys)
    new = _column(db, c, table, node, column.place)
    rows = db.rows(f"SELECT rowid, {column.place} FROM {table.place}")
    for at, (rowid, value) in enumerate(rows, 1):
        fit = fitted(value, column.type.type, new, db.settings.strict, at)
        if fit is None and not new.nullable and not db.settings.strict:
            fit = implicit(new)
        if fit is None and not new.nullable:
            raise DatabaseError(1265, f"Data truncated for column '{new.name}' at row {at}")
        db.change(f"UPDATE {table.place} SET {column.place} = ? WHERE rowid = ?", (fit, rowid))
    for key in table.keys:
        key.columns = [node.name if one.lower() == old_name.lower() else one for one in key.columns]
    column.__dict__.update(vars(new))
    _place_of(table, column, node.args.get("position"))
    for key in table.keys[before:]:
        _settle(db, table, key)


def _rename_column(table: StoredTable, old: str, new: str) -> None:
    column = table.column(old)
    if column is None:
        raise DatabaseError(1054, f"Unknown column '{old}' in '{table.name}'")
    other = table.column(new)
    if other is not None and other is not column:
        raise DatabaseError(1060, f"Duplicate column name '{new}'")
    for key in table.keys:
        key.columns = [new if one.lower() == old.lower() else one for one in key.columns]
    column.name = new


def _drop_column(db: Running, table: StoredTable, name: str, if_exists: bool) -> None:
    column = table.column(name)
    if column is None:
        raise DatabaseError(1091, f"Can't DROP '{name}'; check that column/key exists")
    if len(table.columns) == 1:
        raise DatabaseError(1090, "You can't delete all columns with ALTER TABLE; use DROP TABLE instead")
    table.columns.remove(column)
    for key in list(table.keys):
        key.columns = [one for one in key.columns if one.lower() != name.lower()]
        if not key.columns:
            table.keys.remove(key)
    rebuild(db, table)


def _drop_key(db: Running, table: StoredTable, name: str) -> None:
    key = next((one for one in table.keys if one.name.lower() == name.lower()), None)
    if key is None:
        raise DatabaseError(1091, f"Can't DROP '{name}'; check that column/key exists")
    table.keys.remove(key)
    if key.primary:
        rebuild(db, table)


def _set_default(db: Running, c: Compiler, table: StoredTable, action: exp.AlterColumn) -> None:
    column = table.column(action.name)
    if column is None:
        raise DatabaseError(1054, f"Unknown column '{action.name}' in '{table.name}'")
    value = action.args.get("default")
    column.default = _constant(db, c, value, column) if value is not None else None
    column.has_default = value is not None or column.nullable


# -- DROP, RENAME, TRUNCATE


def drop(db: Running, c: Compiler, node: exp.Drop) -> Result:
    """DROP TABLE, VIEW and INDEX."""
    kind = str(node.args.get("kind") or "").upper()
    named = node.args.get("tables") or ([node.this] if node.this is not None else [])
    if kind in ("DATABASE", "SCHEMA"):
        raise refused(c, named[0].name)
    if kind == "INDEX":
        owner = node.args.get("cluster")
        if owner is None:
            raise syntax("")
        table = stored(c, owner.this)
        _drop_key(db, table, named[0].name)
        db.catalog.changed()
        return Result()
    if kind not in ("TABLE", "VIEW") or not named:
        raise syntax(node, kind)
    tables: list[StoredTable] = []
    unknown = []
    for one in named:
        found = db.catalog.get(one.name) if not one.db or one.db == c.database else None
        if (
            found is None
            or bool(found.view) != (kind == "VIEW")
            or (node.args.get("temporary") and not found.temporary)
        ):
            unknown.append(f"{one.db or c.database}.{one.name}")
        else:
            tables.append(found)
    if unknown and not node.args.get("exists"):
        raise DatabaseError(1051, f"Unknown table '{','.join(unknown)}'")
    for table in tables:
        remove(db, table.name)
    return Result()


def remove(db: Running, name: str) -> None:
    """Drop a table."""
    table = db.catalog.remove(name)
    if not table.view:
        db.change(f"DROP TABLE {table.place}")


def rename(db: Running, c: Compiler, old: str, new: str) -> None:
    """Give a table another name."""
    table = db.catalog.get(old)
    if table is None:
        raise missing(c.database, old)
    if db.catalog.get(new) is not None:
        raise DatabaseError(1050, f"Table '{new}' already exists")
    names: dict[str, StoredTable] = {}
    for name, one in db.catalog.tables.items():
        names[new if name == old else name] = one
    table.name = new
    db.catalog.tables = names
    db.catalog.changed()


def rename_tables(db: Running, c: Compiler, words: Words) -> Result:
    """RENAME TABLE a TO b, c TO d."""
    if not words.any("TABLE", "TABLES"):
        raise words.wrong()
    pairs: list[tuple[str, str]] = []
    while True:
        old = words.name()
        if not words.take("TO"):
            raise words.wrong()
        pairs.append((old, words.name()))
        if not words.take(","):
            break
    words.end()
    for old, new in pairs:
        rename(db, c, old, new)
    return Result()


def truncate(db: Running, c: Compiler, node: exp.TruncateTable) -> Result:
    """TRUNCATE TABLE."""
    for one in node.expressions:
        table = stored(c, one)
        db.change(f"DELETE FROM {table.place}")
        table.next_number = 1
    return Result()
