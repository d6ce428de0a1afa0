"""INSERT, REPLACE, UPDATE, DELETE, and what changes tables."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any


def test_a_text_column_keeps_numbers_as_mysql_writes_them(open_races: Callable[..., Any]) -> None:
    db = open_races()
    added = db.execute(
        "INSERT INTO races (Name) VALUES (1), (2.50), (1e3), (1/3), (TRUE), (DATE('2020-01-02'))"
    )
    assert added.affected == 6
    assert [row[0] for row in db.table_rows("races")[4:]] == [
        "1",
        "2.50",
        "1000",
        "0.333333333",
        "1",
        "2020-01-02",
    ]
    db.execute("UPDATE races SET Points = Points * 1.1 WHERE Name = 'Anna' OR Name = 'José'")
    assert [row[2] for row in db.table_rows("races")[:3]] == [
        "3.8500000000000005",
        "13.200000000000001",
        "1.1",
    ]


def test_assignments_see_each_other_from_left_to_right(open_races: Callable[..., Any]) -> None:
    db = open_races()
    db.execute("UPDATE races SET Year = Year + 1, Points = Year WHERE Name = 'Anna'")
    assert db.table_rows("races")[2] == ("Anna", "2002", "2002")


def test_an_update_and_a_delete_may_be_ordered_and_limited(open_races: Callable[..., Any]) -> None:
    db = open_races()
    assert db.execute("UPDATE races SET Points = 'x' ORDER BY Name LIMIT 1").affected == 1
    assert db.execute("SELECT Name FROM races WHERE Points = 'x'").rows == [("Anna",)]
    assert db.execute("UPDATE races SET Points = 'x' WHERE Name = 'Anna'").affected == 0, "it was so already"
    assert db.execute("DELETE FROM races ORDER BY Name DESC LIMIT 2").affected == 2
    assert [row[0] for row in db.table_rows("races")] == ["jose", "Anna"], "the first of two alike is deleted"


def test_rows_come_from_a_query_or_from_set(open_races: Callable[..., Any]) -> None:
    db = open_races()
    db.execute(
        "INSERT INTO races (Name, Year) SELECT Name, COUNT(*) FROM races GROUP BY Name HAVING COUNT(*) > 1"
    )
    db.execute("INSERT INTO races SET Name = 'Set', Points = 5 + 5")
    assert db.table_rows("races")[4:] == [("José", "2", None), ("Set", None, "10")]


def test_joined_tables_are_changed_by_their_alias(open_races: Callable[..., Any]) -> None:
    db = open_races()
    db.execute("UPDATE races r JOIN (SELECT 'Anna' AS n) x ON r.Name = x.n SET r.Year = '7'")
    assert db.table_rows("races")[2] == ("Anna", "7", "1,200")
    db.execute("DELETE a FROM races a JOIN races b ON a.Name = b.Name AND a.Year > b.Year")
    assert [row[0] for row in db.table_rows("races")] == ["José", "Anna", "Zed"]


def test_keys_are_kept(open_races: Callable[..., Any], said: Callable[..., str]) -> None:
    db = open_races()
    db.execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n VARCHAR(10) NOT NULL, u INT UNIQUE)")
    db.execute("INSERT INTO t (n, u) VALUES ('a', 1), ('b', 2)")
    assert (
        said(db, "INSERT INTO t (n, u) VALUES ('c', 2)") == "1062 (23000): Duplicate entry '2' for key 't.u'"
    )
    assert (
        said(db, "INSERT INTO t VALUES (1, 'c', 9)")
        == "1062 (23000): Duplicate entry '1' for key 't.PRIMARY'"
    )
    assert said(db, "INSERT INTO t (n) VALUES (NULL)") == "1048 (23000): Column 'n' cannot be null"
    assert said(db, "UPDATE t SET u = 1 WHERE n = 'b'") == "1062 (23000): Duplicate entry '1' for key 't.u'"
    assert db.execute("INSERT IGNORE INTO t (n, u) VALUES ('c', 2)").affected == 0
    update = "INSERT INTO t (n, u) VALUES ('z', 2) ON DUPLICATE KEY UPDATE n = CONCAT(n, VALUES(n))"
    assert db.execute(update).affected == 2
    assert db.execute("REPLACE INTO t (id, n, u) VALUES (1, 'r', 7)").affected == 2
    assert db.execute("SELECT id, n, u FROM t ORDER BY id").rows == [(1, "r", 7), (2, "bz", 2)]


def test_a_statement_that_fails_changes_nothing(
    open_races: Callable[..., Any], said: Callable[..., str]
) -> None:
    db = open_races()
    db.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    said(db, "INSERT INTO t VALUES (1), (2), (1)")
    assert db.table_rows("t") == []


def test_values_are_bent_to_fit_unless_strict(
    open_races: Callable[..., Any], said: Callable[..., str]
) -> None:
    table = (
        "CREATE TABLE t (a INT, b VARCHAR(3), c DATE, d DECIMAL(5,2), e ENUM('x','y'), f TINYINT UNSIGNED)"
    )
    row = "INSERT INTO t VALUES ('12abc', 'abcdef', '2020-13-01', '1234.567', 'z', -1)"
    loose, strict = open_races(), open_races(strict=True)
    loose.execute(table)
    loose.execute(row)
    assert loose.table_rows("t") == [(12, "abc", None, Decimal("999.99"), "", 0)]
    strict.execute(table)
    assert said(strict, row).startswith("1265 (01000): Data truncated for column 'a' at row 1")
    assert said(strict, "INSERT INTO t (b) VALUES ('abcd')").startswith(
        "1406 (22001): Data too long for column 'b'"
    )
    assert said(strict, "INSERT INTO t (c) VALUES ('x')").startswith(
        "1292 (22007): Incorrect date value: 'x'"
    )
    assert said(strict, "INSERT INTO t (f) VALUES (300)").startswith("1264 (22003): Out of range value")
    assert strict.table_rows("t") == []


def test_columns_are_added_moved_renamed_and_dropped(open_races: Callable[..., Any]) -> None:
    db = open_races()
    db.execute("ALTER TABLE races ADD COLUMN z INT NOT NULL, ADD w VARCHAR(5) DEFAULT 'q' AFTER Name")
    assert db.execute("SELECT * FROM races LIMIT 1").rows == [("José", "q", "1987", "3.5", 0)]
    db.execute("ALTER TABLE races CHANGE Points Score DECIMAL(6,1) FIRST, DROP w")
    result = db.execute("SELECT * FROM races LIMIT 2")
    assert result.columns == ("Score", "Name", "Year", "z")
    assert result.rows == [(Decimal("3.5"), "José", "1987", 0), (Decimal("12.0"), "jose", "1990", 0)]
    db.execute("ALTER TABLE races RENAME COLUMN Name TO `the name`, RENAME TO runs")
    assert db.execute("DESCRIBE runs").rows == [
        ("Score", "decimal(6,1)", "YES", "", None, ""),
        ("the name", "text", "YES", "", None, ""),
        ("Year", "text", "YES", "", None, ""),
        ("z", "int", "NO", "", None, ""),
    ]
    assert db.tables() == ["runs"]


def test_tables_are_made_of_queries_and_of_each_other(open_races: Callable[..., Any]) -> None:
    db = open_races()
    db.execute("CREATE TABLE t SELECT Name, Year + 0 AS y FROM races WHERE Year > 1988")
    assert db.table_rows("t") == [("jose", 1990.0), ("Anna", 2001.0)]
    db.execute("CREATE TABLE u LIKE races")
    db.execute("CREATE VIEW v AS SELECT Name FROM races WHERE Year > 2000")
    assert db.execute("SELECT * FROM v").rows == [("Anna",)]
    assert db.execute("SHOW FULL TABLES").rows == [
        ("races", "BASE TABLE"),
        ("t", "BASE TABLE"),
        ("u", "BASE TABLE"),
        ("v", "VIEW"),
    ]


def test_what_there_is_can_be_looked_up(open_races: Callable[..., Any]) -> None:
    db = open_races()
    assert db.execute("SHOW TABLES").rows == [("races",)]
    assert db.execute("SHOW COLUMNS FROM races LIKE 'n%'").rows == [("Name", "text", "YES", "", None, "")]
    assert db.execute("SHOW DATABASES").rows == [("db",), ("information_schema",)]
    names = (
        "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.columns WHERE TABLE_NAME = 'races' ORDER BY 1"
    )
    assert db.execute(names).rows == [("Name", "text"), ("Points", "text"), ("Year", "text")]
    text = "CREATE TABLE `races` (\n  `Name` text,\n  `Year` text,\n  `Points` text\n) ENGINE=InnoDB"
    assert db.execute("SHOW CREATE TABLE races").rows[0][1].startswith(text)
