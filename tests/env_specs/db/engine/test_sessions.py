"""What a connection remembers, and the whole of a database: snapshots and forks."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from envhub_db.engine import EmbeddedEngine, Settings


def test_variables_have_values_and_types(open_races: Callable[..., Any]) -> None:
    db = open_races()
    db.execute("SET @n = 5, @text = 'x'")
    assert db.execute("SELECT @n + 1, @text, @nothing").rows == [(6, "x", None)]
    assert db.execute("SELECT @n := @n + 1, Name FROM races LIMIT 2").rows == [(6, "José"), (7, "jose")]
    db.reconnect()
    assert db.execute("SELECT @n").rows == [(None,)]


def test_transactions_are_mysqls_own_where_statements_are_not_committed(
    open_races: Callable[..., Any],
) -> None:
    db = open_races(commit_each=False)
    db.execute("START TRANSACTION")
    db.execute("INSERT INTO races (Name) VALUES ('t')")
    db.execute("SAVEPOINT s")
    db.execute("DELETE FROM races")
    db.execute("ROLLBACK TO s")
    db.execute("COMMIT")
    assert len(db.table_rows("races")) == 5
    db.execute("SET autocommit = 0")
    db.execute("DELETE FROM races")
    db.execute("ROLLBACK")
    assert len(db.table_rows("races")) == 5
    db.execute("DELETE FROM races")
    db.reconnect()
    assert len(db.table_rows("races")) == 5, "what was not committed is gone with the connection"


def test_by_default_each_statement_is_committed(open_races: Callable[..., Any]) -> None:
    db = open_races()
    for sql in ("BEGIN", "DELETE FROM races", "ROLLBACK"):
        db.execute(sql)
    assert db.table_rows("races") == []


def test_temporary_tables_hide_others_and_end_with_the_connection(open_races: Callable[..., Any]) -> None:
    db = open_races()
    db.execute("CREATE TEMPORARY TABLE races (a INT)")
    assert db.execute("SELECT COUNT(*) FROM races").rows == [(0,)]
    db.reconnect()
    assert db.execute("SELECT COUNT(*) FROM races").rows == [(4,)]


def test_the_clock_and_chance_are_the_settings(open_races: Callable[..., Any]) -> None:
    noon = datetime.datetime(2020, 2, 2, 12)
    one, other = open_races(now=noon, seed=3), open_races(now=noon, seed=3)
    assert one.execute("SELECT NOW()").rows == [(noon,)]
    sql = "SELECT RAND(), UUID(), RAND(4) FROM races"
    assert one.execute(sql).rows == other.execute(sql).rows
    sql = "SELECT RAND()"
    assert one.execute(sql).rows != open_races(seed=4).execute(sql).rows


@pytest.mark.parametrize("begun", [False, True])
def test_a_snapshot_holds_all_of_it(open_races: Callable[..., Any], begun: bool) -> None:
    db = open_races(commit_each=False)
    db.execute("SET @v = 2.50, sql_mode = ''")
    db.execute("CREATE TEMPORARY TABLE q (id INT AUTO_INCREMENT PRIMARY KEY)")
    db.execute("INSERT INTO q VALUES (NULL), (NULL)")
    db.execute("ALTER TABLE races ADD extra INT FIRST")
    if begun:
        db.execute("BEGIN")
        db.execute("DELETE FROM races WHERE Name = 'Anna'")
    saved, rows = db.snapshot(), db.table_rows("races")
    db.execute("DROP TABLE races")
    other = EmbeddedEngine(Settings(commit_each=False)).open([])
    for restored in (db, other):
        restored.restore(saved)
        assert restored.table_rows("races") == rows
        restored.execute("INSERT INTO q VALUES (NULL)")
        assert restored.execute("SELECT MAX(id), @v FROM q").rows[0][0] == 3
        assert str(restored.execute("SELECT @v").rows) == "[(Decimal('2.50'),)]"
        assert restored.execute("SELECT Name, COUNT(*) FROM races").rows[0][0] == "José"
    assert db.execute("SELECT RAND()").rows == other.execute("SELECT RAND()").rows


def test_a_fork_goes_its_own_way(open_races: Callable[..., Any]) -> None:
    db = open_races()
    fork = db.fork()
    fork.execute("DELETE FROM races WHERE Name = 'Anna'")
    db.execute("INSERT INTO races (Name) VALUES ('new')")
    assert (len(db.table_rows("races")), len(fork.table_rows("races"))) == (5, 3)
    fork.close()
    fork.close()
    assert len(db.table_rows("races")) == 5


def test_databases_share_compiled_statements_and_nothing_else(open_races: Callable[..., Any]) -> None:
    one, other = open_races(), open_races()
    sql = "SELECT Name FROM races WHERE Year > 1995"
    assert one.execute(sql).rows == other.execute(sql).rows == [("Anna",)]
    one.execute("UPDATE races SET Year = 1")
    assert one.execute(sql).rows == []
    one.execute("ALTER TABLE races RENAME COLUMN Year TO y")
    one.execute("ALTER TABLE races RENAME COLUMN Name TO Year")
    one.execute("ALTER TABLE races RENAME COLUMN y TO Name")
    assert one.execute(sql).rows == []
    assert other.execute(sql).rows == [("Anna",)]
