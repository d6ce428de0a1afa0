"""What an agent's statement must not do: reach files, run for ever, take all memory."""

import sqlite3
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_db.engine import DatabaseError, Limits

SHORT = Limits(seconds=0.3, database_bytes=2_000_000)
CROSS = ", ".join(f"races {name}" for name in "abcdefghijklmnopqrst")


def numbered(database: Any, sql: str) -> int:
    """The number of the error of a statement; the database must answer afterwards."""
    with pytest.raises(DatabaseError) as caught:
        database.execute(sql)
    assert database.execute("SELECT 1").rows == [(1,)]
    return caught.value.number


ENDLESS = {
    f"SELECT COUNT(*) FROM {CROSS}": 3024,
    f"SELECT COUNT(*) FROM (SELECT a.Name FROM {CROSS} ORDER BY a.Year, l.Year) x": 3024,
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n": 3024,
    "SELECT REPEAT('a', 60) REGEXP '^(a+)+$b'": 3699,
    "SELECT REGEXP_REPLACE(REPEAT('ab', 1000000), '(a|b)*c', 'x')": 3699,
    "SELECT REPEAT('a', 3000000) REGEXP 'a*b'": 3699,
    "SELECT REGEXP_REPLACE(REPEAT('ab', 2000000), 'a', '')": 3024,
    "SELECT SLEEP(100)": 3024,
}


@pytest.mark.parametrize("sql", ENDLESS)
def test_a_statement_that_would_not_end_is_ended(open_races: Callable[..., Any], sql: str) -> None:
    assert numbered(open_races(SHORT), sql) == ENDLESS[sql]


@pytest.mark.parametrize("sql", ["INSERT INTO races SELECT a.* FROM", "CREATE TABLE t AS SELECT a.Name FROM"])
def test_more_rows_than_a_result_may_have_are_not_stored_either(
    open_races: Callable[..., Any], sql: str
) -> None:
    database = open_races(Limits(seconds=60.0, result_rows=5_000))
    assert numbered(database, f"{sql} {CROSS}") == 3170
    assert (database.tables(), len(database.table_rows("races"))) == (["races"], 4)


def test_a_result_is_measured_row_by_row(open_races: Callable[..., Any]) -> None:
    database = open_races(Limits(seconds=60.0))
    tracemalloc.start()
    try:
        assert numbered(database, f"SELECT REPEAT('a', 3000000) FROM {CROSS}") == 3170
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def test_a_number_of_millions_of_digits_is_the_largest_at_once(open_races: Callable[..., Any]) -> None:
    found = open_races(Limits(seconds=60.0)).execute("SELECT CONV(REPEAT('9', 4000000), 10, 16)")
    assert found.rows == [("F" * 16,)]


LARGE = {
    "SELECT REPEAT('a', 1000000000)": 1301,
    "SELECT LPAD('a', 1000000000, 'b')": 1301,
    "SELECT CONCAT(" + ",".join(["REPEAT('a', 3000000)"] * 50) + ")": 1301,
    "SELECT REPLACE(REPEAT('a', 3000000), 'a', REPEAT('b', 3000000))": 1301,
    "SELECT REGEXP_REPLACE(REPEAT('a', 3000000), 'a', REPEAT('b', 3000000))": 1301,
    "SELECT GROUP_CONCAT(REPEAT('a', 3000000)) FROM races a, races b": 1301,
    "SELECT REPEAT('a', 3000000) FROM races a, races b": 3170,
    "SELECT '" + "a" * 200_000 + "'": 1153,
}


@pytest.mark.parametrize("sql", LARGE, ids=range(len(LARGE)))
def test_values_and_results_have_a_size(open_races: Callable[..., Any], sql: str) -> None:
    assert numbered(open_races(), sql) == LARGE[sql]


def test_a_database_has_a_size(open_races: Callable[..., Any]) -> None:
    database = open_races(SHORT._replace(seconds=60.0))
    database.execute("CREATE TABLE t (a LONGTEXT)")
    database.execute("INSERT INTO t VALUES (REPEAT('x', 900000))")
    assert numbered(database, "INSERT INTO t VALUES (REPEAT('x', 1900000))") == 1114
    assert database.execute("SELECT COUNT(*), MAX(LENGTH(a)) FROM t").rows == [(1, 900000)]
    assert len(database.table_rows("races")) == 4


DEEP = {
    "parentheses": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "signs": "SELECT " + "- " * 5000 + "1",
    "nots": "SELECT " + "NOT " * 5000 + "1",
    "cases": "SELECT " + "CASE WHEN 1 THEN " * 1000 + "1" + " END" * 1000,
    "a sum": "SELECT " + "+".join(["1"] * 9000),
    "unions": " UNION ALL ".join(["SELECT 1"] * 2000),
}


@pytest.mark.parametrize("what", DEEP)
def test_statements_cannot_be_nested_for_ever(open_races: Callable[..., Any], what: str) -> None:
    assert numbered(open_races(), DEEP[what]) == 1436


def test_long_lists_of_conditions_are_no_nesting(open_races: Callable[..., Any]) -> None:
    database = open_races()
    many = " OR ".join(f"Year = {year}" for year in range(1000, 2500))
    assert database.execute(f"SELECT COUNT(*) FROM races WHERE {many}").rows == [(3,)]
    listed = ", ".join(map(str, range(1000, 2500)))
    assert database.execute(f"SELECT COUNT(*) FROM races WHERE Year IN ({listed})").rows == [(3,)]


FILES = {
    "ATTACH DATABASE '{}' AS y": 1064,
    "DETACH DATABASE main": 1064,
    "VACUUM INTO '{}'": 1064,
    "PRAGMA table_info(t1)": 1064,
    "SELECT load_extension('{}')": 1305,
    "SELECT readfile('/etc/hostname')": 1305,
    "SELECT writefile('{}', 'x')": 1305,
    "SELECT * FROM sqlite_master": 1146,
    "SELECT rowid FROM races": 1054,
    "SELECT Name FROM races INTO OUTFILE '{}'": 1045,
    "SELECT Name INTO DUMPFILE '{}' FROM races": 1045,
    "LOAD DATA INFILE '/etc/hostname' INTO TABLE races": 1045,
    "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE races": 1045,
    "CREATE USER x": 1227,
    "GRANT ALL ON *.* TO x": 1044,
    "SET GLOBAL max_connections = 1": 1227,
    "USE mysql": 1044,
    "SELECT * FROM mysql.user": 1142,
}


@pytest.mark.parametrize("sql", FILES)
def test_nothing_leads_out_of_the_database(open_races: Callable[..., Any], tmp_path: Path, sql: str) -> None:
    target = tmp_path / "out"
    assert numbered(open_races(), sql.format(target)) == FILES[sql]
    assert not target.exists()
    assert open_races().execute("SELECT LOAD_FILE('/etc/hostname')").rows == [(None,)]


def test_sqlite_itself_would_refuse(open_races: Callable[..., Any], tmp_path: Path) -> None:
    """The second wall: whatever SQL came through, SQLite asks before each kind of action."""
    database = open_races()
    for sql in (
        f"ATTACH '{tmp_path / 'x'}' AS y",
        f"VACUUM INTO '{tmp_path / 'x'}'",
        "PRAGMA database_list",
        "PRAGMA writable_schema = 1",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "CREATE TRIGGER t AFTER INSERT ON t1 BEGIN SELECT 1; END",
        "SELECT load_extension('x')",
        "SELECT randomblob(1000000000)",
    ):
        with pytest.raises(sqlite3.Error):
            database.change(sql)
    assert not (tmp_path / "x").exists()


def test_in_a_thread_a_slow_expression_is_refused(open_races: Callable[..., Any]) -> None:
    database, numbers = open_races(), []
    run = threading.Thread(
        target=lambda: numbers.append(numbered(database, "SELECT REPEAT('a', 60) RLIKE '(a+)+b'"))
    )
    run.start()
    run.join()
    assert numbers == [3699]


def test_patterns_of_like_don_t_go_back(open_races: Callable[..., Any]) -> None:
    sql = "SELECT REPEAT('a', 100000) LIKE '%a%a%a%a%a%a%a%a%a%a%b'"
    assert open_races().execute(sql).rows == [(0,)]


def test_text_that_is_no_unicode_is_refused(open_races: Callable[..., Any]) -> None:
    assert numbered(open_races(), "SELECT '\ud800'") == 1300
    assert open_races().execute("SELECT LENGTH('a\0b')").rows == [(3,)]
