"""A whole database as bytes: SQLite's own image of it."""

from __future__ import annotations

import os
import sqlite3
import tempfile

from .connection import unguarded


def image_of(connection: sqlite3.Connection) -> bytes:
    """SQLite's own image of a database in memory."""
    if hasattr(connection, "serialize"):
        with unguarded(connection):
            return bytes(connection.serialize())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image")
        copy = sqlite3.connect(path, isolation_level=None)
        _copy(connection, copy)
        copy.close()
        with open(path, "rb") as file:
            return file.read()


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy tables row by row: SQLite's backup waits for the end of a transaction on the source."""
    target.execute("BEGIN")
    for name, sql in source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
        target.execute(sql)
        rows = source.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
        if rows:
            target.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    target.execute("COMMIT")


def load(connection: sqlite3.Connection, image: bytes) -> None:
    """Fill a database from an image."""
    if hasattr(connection, "deserialize"):
        source = sqlite3.connect(":memory:")
        source.deserialize(image)
        source.backup(connection)
        source.close()
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image")
        with open(path, "wb") as file:
            file.write(image)
        source = sqlite3.connect(path)
        source.backup(connection)
        source.close()
