"""ALTER TABLE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .catalog import StoredTable, TableColumn
from .compiling import Compiler, syntax
from .contract import Result
from .definitions import column_of, constant
from .errors import DatabaseError
from .keys import add_key, declared_key, drop_key, settle
from .places import rebuild
from .rows import Running, default
from .schema import rename
from .sources import stored
from .storing import fitted, implicit


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
            key = declared_key(table, one)
            if key is not None:
                settle(db, table, key)
                add_key(table, key)
                rebuild(db, table) if key.primary else None
    elif isinstance(action, exp.DropPrimaryKey):
        drop_key(db, table, "PRIMARY")
    elif isinstance(action, exp.Drop):
        if not action.args.get("tables") and action.this is None:
            raise syntax("")
        named = action.args["tables"][0].name if action.args.get("tables") else action.this.name
        if str(action.args.get("kind")).upper() == "COLUMN":
            _drop_column(db, table, named, bool(action.args.get("exists")))
        else:
            drop_key(db, table, named)
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
    column = column_of(db, c, table, node, table.new_place())
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
        settle(db, table, key)
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
    new = column_of(db, c, table, node, column.place)
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
        settle(db, table, key)


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


def _set_default(db: Running, c: Compiler, table: StoredTable, action: exp.AlterColumn) -> None:
    column = table.column(action.name)
    if column is None:
        raise DatabaseError(1054, f"Unknown column '{action.name}' in '{table.name}'")
    value = action.args.get("default")
    column.default = constant(db, c, value, column) if value is not None else None
    column.has_default = value is not None or column.nullable
