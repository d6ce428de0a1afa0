from collections.abc import Callable
from typing import Any

import pytest
from envhub_db.engine import Column, DatabaseError, EmbeddedEngine, Limits, Settings, Table

RACES = Table(
    "races",
    [Column("Name"), Column("Year"), Column("Points")],
    [("José", "1987", "3.5"), ("jose", "1990", "12"), ("Anna", "2001", "1,200"), ("Zed", None, "")],
)


PATIENT = Limits(seconds=60.0)
"""A machine may stall for some seconds; only tests of the limit have a short one."""


@pytest.fixture
def open_races() -> Callable[..., Any]:
    """Open a database with one table, `races`."""

    def make(limits: Limits | None = None, **settings: Any) -> Any:
        return EmbeddedEngine(Settings(**settings), limits or PATIENT).open([RACES])

    return make


@pytest.fixture
def said() -> Callable[[Any, str], str]:
    """What MySQL's connector says of a statement that fails."""

    def text(database: Any, sql: str) -> str:
        with pytest.raises(DatabaseError) as caught:
            database.execute(sql)
        return str(caught.value)

    return text
