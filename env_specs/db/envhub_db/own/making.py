"""Kinds of tasks: functions that make one from the tables of a domain, and what comes out of them.

A function draws; where what it drew asks for nothing, for too much or for something that is not clear, it
gives None and is asked again. The reference then says what the right answer is, on the embedded engine.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from envhub_db.engine import Database, EmbeddedEngine
from envhub_db.own.draw import Draw
from envhub_db.own.tables import Sheets
from envhub_db.task import CHANGES, Answer, Change, Task

MOST_LABELS = 8
_TRIES = 400


@dataclass(frozen=True)
class Made:
    """What a kind makes.

    Attributes:
        type: See `Task`.
        question: What is asked.
        sql: The reference statement.
        joined: Whether both tables are needed.
    """

    type: str
    question: str
    sql: str
    joined: bool = False


Maker = Callable[[Sheets, Draw], "Made | None"]


@dataclass(frozen=True)
class Kind:
    """A kind of tasks.

    Attributes:
        name: What it is called.
        type: See `Task`.
        level: 1 to 3.
        make: Makes one, or None.
    """

    name: str
    type: str
    level: int
    make: Maker


class Kinds:
    """The kinds of a module, in the order in which they are written."""

    def __init__(self) -> None:
        self.all: list[Kind] = []

    def kind(self, type_: str, level: int) -> Callable[[Maker], Maker]:
        """Make a kind of a function; its name is the function's."""

        def add(make: Maker) -> Maker:
            self.all.append(Kind(make.__name__.replace("_", "-"), type_, level, make))
            return make

        return add


def task(name: str, kind: Kind, sheets: Sheets) -> Task:
    """Make a task of a kind from tables; the same one each time."""
    engine = EmbeddedEngine()
    database = engine.open(sheets.tables(), "dbbench")
    try:
        for number in range(_TRIES):
            made = kind.make(sheets, Draw(f"{name} {number}"))
            goal = None if made is None else _goal(made, database)
            if made is not None and goal is not None:
                return Task(
                    id=name,
                    type=kind.type,
                    question=made.question,
                    tables=sheets.tables(),
                    goal=goal,
                    about=_about(kind, made, sheets),
                    reference=(made.sql,),
                )
    finally:
        database.close()
        engine.close()
    raise AssertionError(f"{name}: none of {_TRIES} drawn tasks is clear")


def _goal(made: Made, database: Database) -> Answer | Change | None:
    """Return what the reference leads to; None where that is no good task."""
    result = database.execute(made.sql)
    if made.type in CHANGES:
        return Change() if result.affected else None
    labels = [label(value) for row in result.rows for value in row]
    if not 1 <= len(labels) <= MOST_LABELS or len(set(labels)) < len(labels):
        return None
    if any(not one or one in ("0", "1") or one.lower() in made.question.lower() for one in labels):
        return None
    return Answer(tuple(labels))


def label(value: Any) -> str:
    """Write a value of a result as an answer."""
    if value is None:
        return ""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _about(kind: Kind, made: Made, sheets: Sheets) -> str:
    """Say what an agent is told of the tables: the higher the level, the less."""
    if made.joined:
        return f"The tables are called {sheets.many.name} and {sheets.one.name}."
    sheet = sheets.one if f" {sheets.one.quoted} " in f" {made.sql} " else sheets.many
    about = f"The table is called {sheet.name}"
    if kind.level == 1:
        return f"{about}, and its columns are {', '.join(sheet.columns)}."
    return f"{about}."
