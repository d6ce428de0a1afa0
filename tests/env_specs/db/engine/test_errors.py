"""Numbers and texts of MySQL's errors."""

from collections.abc import Callable
from typing import Any

import pytest

TEXTS = {
    "SELECT * FROM nothing": "1146 (42S02): Table 'db.nothing' doesn't exist",
    "SELECT * FROM Races": "1146 (42S02): Table 'db.Races' doesn't exist",
    "SELECT nothing FROM races": "1054 (42S22): Unknown column 'nothing' in 'field list'",
    "SELECT Name FROM races WHERE x.a = 1": "1054 (42S22): Unknown column 'x.a' in 'where clause'",
    "SELECT Name FROM races ORDER BY nothing": "1054 (42S22): Unknown column 'nothing' in 'order clause'",
    "SELECT a.Name FROM races a JOIN races b ON Year = 1": (
        "1052 (23000): Column 'Year' in on clause is ambiguous"
    ),
    "SELECT foo(Name) FROM races": "1305 (42000): FUNCTION db.foo does not exist",
    "SELECT LOCATE(Name) FROM races": (
        "1582 (42000): Incorrect parameter count in the call to native function 'LOCATE'"
    ),
    "SELECT Name FROM races WHERE COUNT(*) > 1": "1111 (HY000): Invalid use of group function",
    "SELECT * FROM (SELECT 1)": "1248 (42000): Every derived table must have its own alias",
    "SELECT Name FROM races WHERE Name = (SELECT Name FROM races)": (
        "1242 (21000): Subquery returns more than 1 row"
    ),
    "SELECT (SELECT Name, Year FROM races LIMIT 1)": "1241 (21000): Operand should contain 1 column(s)",
    "SELECT 1 UNION SELECT 1, 2": (
        "1222 (21000): The used SELECT statements have a different number of columns"
    ),
    "INSERT INTO races (Name) VALUES ('a', 'b')": (
        "1136 (21S01): Column count doesn't match value count at row 1"
    ),
    "INSERT INTO races (Nope) VALUES (1)": "1054 (42S22): Unknown column 'Nope' in 'field list'",
    "UPDATE races SET Name = 'x' WHERE Year = (SELECT MAX(Year) FROM races)": (
        "1093 (HY000): You can't specify target table 'races' for update in FROM clause"
    ),
    "DROP TABLE nothing": "1051 (42S02): Unknown table 'db.nothing'",
    "CREATE TABLE races (a INT)": "1050 (42S01): Table 'races' already exists",
    "ALTER TABLE races ADD name TEXT": "1060 (42S21): Duplicate column name 'name'",
    "ALTER TABLE races DROP nothing": ("1091 (42000): Can't DROP 'nothing'; check that column/key exists"),
    "SELECT CAST(3 AS UNSIGNED) - CAST(5 AS UNSIGNED)": (
        "1690 (22003): BIGINT UNSIGNED value is out of range in 'CAST(3 AS UNSIGNED) - CAST(5 AS UNSIGNED)'"
    ),
    "CREATE DATABASE other": "1044 (42000): Access denied for user 'agent'@'localhost' to database 'other'",
    "": "1065 (42000): Query was empty",
}


@pytest.mark.parametrize("sql", TEXTS)
def test_an_error_has_mysqls_words(
    open_races: Callable[..., Any], said: Callable[..., str], sql: str
) -> None:
    assert said(open_races(), sql) == TEXTS[sql]


SYNTAX = [
    "SELEC * FROM races",
    "SELECT * FROM races LIMIT 2 WHERE Year = 1",
    "SELECT Name FROM races WHERE Name == 'a'",
    "SELECT Name FROM races WHERE Name = 'unclosed",
    "SELECT Name, FROM races",
    "SELECT Name FROM 'races'",
    "SELECT Name FROM races WHERE Year > 5)",
    "SELECT TOP 5 * FROM races",
    "SELECT Name::text FROM races",
    "SELECT Name FROM races WHERE Name ILIKE 'a'",
    "SELECT Name FROM races ORDER BY Year NULLS LAST",
    "SELECT rank FROM races",
    "SELECT CAST(Year AS INT) FROM races",
    "SELECT Name FROM races LIMIT -1",
    "INSERT INTO races (Name VALUES ('x')",
    "INSERT INTO races VALUES",
    "UPDATE races WHERE Name = 'a' SET Year = 1",
    "DELETE * FROM races",
    "SELECT 1; SELECT 2",
    "hello",
]


@pytest.mark.parametrize("sql", SYNTAX)
def test_what_is_not_mysqls_is_a_syntax_error(
    open_races: Callable[..., Any], said: Callable[..., str], sql: str
) -> None:
    assert said(open_races(), sql).startswith(
        "1064 (42000): You have an error in your SQL syntax; check the manual"
    )


def test_a_syntax_error_shows_where(open_races: Callable[..., Any], said: Callable[..., str]) -> None:
    assert said(open_races(), "SELECT * FROM races LIMIT 2 WHERE 1").endswith("near 'WHERE 1' at line 1")
    assert said(open_races(), "SELECT *\nFROM races\nWHERE ORDER BY 1").endswith(" at line 3")


def test_grouping_is_checked_where_it_is_set(
    open_races: Callable[..., Any], said: Callable[..., str]
) -> None:
    loose = open_races(only_full_group_by=False)
    assert loose.execute("SELECT Name, COUNT(*) FROM races").rows == [("José", 4)]
    assert loose.execute("SELECT Name, Year FROM races GROUP BY Name ORDER BY Name LIMIT 2").rows == [
        ("Anna", "2001"),
        ("José", "1987"),
    ]
    full = open_races()
    assert said(full, "SELECT Name, COUNT(*) FROM races").startswith("1140 (42000): In aggregated query")
    assert said(full, "SELECT Name, Year FROM races GROUP BY Name").startswith("1055 (42000): Expression #1")
    full.execute("SET sql_mode = ''")
    assert full.execute("SELECT Name, COUNT(*) FROM races").rows == [("José", 4)]


def test_two_columns_of_one_name_cannot_be_made() -> None:
    from envhub_db.engine import Column, DatabaseError, EmbeddedEngine, Table

    with pytest.raises(DatabaseError, match="1060") as caught:
        EmbeddedEngine().open([Table("t", [Column("a"), Column("A")], [])])
    assert caught.value.number == 1060
    with pytest.raises(DatabaseError, match="1166"):
        EmbeddedEngine().open([Table("t", [Column("")], [])])
