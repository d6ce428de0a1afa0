"""Databases with MySQL's behaviour: what an engine is, and the embedded one.

An `Engine` opens databases, one an episode. `EmbeddedEngine` keeps each in the memory of this process; an
engine on a real server has the same two protocols, so that the task never asks which one it plays on.

    engine = EmbeddedEngine()
    database = engine.open([Table("races", [Column("Year"), Column("Winner")], [("1987", "Fuji")])])
    database.execute("SELECT Winner FROM races WHERE Year > 1986").rows  # [("Fuji",)]
"""

from __future__ import annotations

from .contract import Column, Database, Engine, Result, Settings, Table
from .embedded import EmbeddedEngine
from .errors import DatabaseError
from .limits import Limits

__all__ = [
    "Column",
    "Database",
    "DatabaseError",
    "EmbeddedEngine",
    "Engine",
    "Limits",
    "Result",
    "Settings",
    "Table",
]
