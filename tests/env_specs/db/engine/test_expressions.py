"""Expressions: values, and the types in which a connector returns them."""

# ruff: noqa: E501 - statements on one line

import datetime
from decimal import Decimal
from typing import Any

import pytest
from envhub_db.engine import Column, EmbeddedEngine, Limits, Table

D = Decimal
day = datetime.date
moment = datetime.datetime
span = datetime.timedelta

EXPRESSIONS: dict[str, tuple[Any, ...]] = {
    # numbers
    "1.5 + 1, 1.50 * 2.5, 3 / 2.0, 7 / 3 * 3, 1e2 + 1, -1.5": (
        D("2.5"), D("3.750"), D("1.5000"), D("7.0000"), 101.0, D("-1.5"),
    ),
    "10 / 4, 7 DIV 2, 7 MOD 3, 5 / 0, 5 % 3.5, 0.1 + 0.2 = 0.3": (D("2.5000"), 3, 1, None, D("1.5"), 1),
    "ROUND(2.567, 1), ROUND(1234.567, -2), ROUND('2.5'), ROUND(-1.5), ROUND(5, 2), ROUND(2.5e0)": (
        D("2.6"), D("1200"), 2.0, D("-2"), 5, 2.0,
    ),
    "TRUNCATE(-2.567, 1), FLOOR(-2.5), CEIL('2.1'), FORMAT(1234567.891, 2), FORMAT('1234.5', 0)": (
        D("-2.5"), -3, 3.0, "1,234,567.89", "1,234",
    ),
    "CAST(2.5 AS UNSIGNED), CAST('1.5e3' AS SIGNED), CAST('abc' AS DECIMAL(5,2)), CAST(-1 AS UNSIGNED)": (
        3, 1, D("0.00"), 18446744073709551615,
    ),
    "'12abc' + 1, 'abc' + 1, '-7x' + 0, '1,234' + 0, -'3'": (13.0, 1.0, -7.0, 1.0, -3.0),
    "5 & 3, 5 | 3, 5 ^ 3, 1 << 3, ~5": (1, 7, 6, 8, 18446744073709551610),
    "PI(), POW(2, 10), SQRT(-1), LOG(2, 8), SIGN(-3), ABS(-2.50)": (3.141593, 1024.0, None, 3.0, -1, D("2.50")),
    # truth
    "1 AND NULL, 0 AND NULL, NOT NULL, 1 XOR 1, NULL <=> NULL, !1, 'a' OR 1, 3 || 0": (None, 0, None, 0, 1, 0, 1, 1),
    "1 = '1', 1 = '1abc', 'a' = 0, NULL = NULL, 2 IN (1, '2'), 3 NOT BETWEEN 1 AND 2": (1, 1, 1, None, 1, 1),
    "(1, 'a') = (1, 'A'), (1, 2) IN ((1, 2)), 1 IS TRUE, NULL IS UNKNOWN, 2 IS NOT TRUE": (1, 1, 1, 1, 0),
    # text
    "'abc' = 'ABC', 'é' = 'e', 'ß' = 'ss', 'æ' = 'ae', 'a ' = 'a', BINARY 'a' = 'A', 'a' < 'B'": (1, 1, 1, 1, 0, 0, 1),
    "'it''s', \"say \\\"hi\\\"\", 'back\\\\slash', 'tab\\tend', 'one' 'two', 'per\\%cent'": (
        "it's", 'say "hi"', "back\\slash", "tab\tend", "onetwo", "per\\%cent",
    ),
    "CONCAT('a', 1, 2.50, 1e3), CONCAT('a', NULL), CONCAT_WS(',', 'a', NULL, 'b'), CONCAT(0.1e0 + 0.2e0)": (
        "a12.501000", None, "a,b", "0.30000000000000004",
    ),
    "SUBSTRING('hello', -3, 2), LEFT('hello', 2), SUBSTRING_INDEX('a.b.c', '.', -2), MID('hello', 2)": (
        "ll", "he", "b.c", "ello",
    ),
    "LOCATE('É', 'café'), INSTR('abc', 'B'), FIELD('a', 'b', 'A'), FIND_IN_SET('b', 'a,b'), ELT(2, 'a', 'b')": (
        4, 2, 2, 2, "b",
    ),
    "LPAD('5', 3, '0'), TRIM(LEADING '0' FROM '0012'), REPLACE('aAa', 'a', 'x'), REVERSE('añb'), UPPER('ß')": (
        "005", "12", "xAx", "bña", "ß",
    ),
    "LENGTH('é'), CHAR_LENGTH('é'), HEX('é'), HEX(255), MD5(''), ASCII('a')": (
        2, 1, "C3A9", "FF", "d41d8cd98f00b204e9800998ecf8427e", 97,
    ),
    "'a%c' LIKE 'a\\%c', 'abc' LIKE 'a_C', 'ab' LIKE 'b%', 'aXbXc' LIKE '%x%c', 'ab' LIKE 'a|_' ESCAPE '|'": (
        1, 1, 0, 1, 0,
    ),
    "'abc' REGEXP '^A', 'a1' RLIKE '[[:digit:]]', REGEXP_REPLACE('a1b22', '[0-9]+', '#'), REGEXP_SUBSTR('x', 'y')": (
        1, 1, "a#b#", None,
    ),
    # choices
    "IF(1, 2, 'a'), IF(0, 1, NULL), IFNULL(NULL, 1.5), COALESCE(NULL, 2, 'x'), NULLIF('a', 'A')": (
        "2", None, D("1.5"), "2", None,
    ),
    "CASE 'A' WHEN 'a' THEN 1 ELSE 0 END, CASE WHEN 0 THEN 'a' END, GREATEST(1, 2.5), LEAST('b', 'C')": (
        1, None, D("2.5"), "b",
    ),
    # dates
    "DATE('2020-05-06') + INTERVAL 1 DAY, DATE_ADD('2020-01-31', INTERVAL 1 MONTH), LAST_DAY('2020-02-03')": (
        day(2020, 5, 7), "2020-02-29", day(2020, 2, 29),
    ),
    "STR_TO_DATE('May 6, 2020', '%M %d, %Y'), STR_TO_DATE('10:11', '%H:%i'), STR_TO_DATE('junk', '%Y')": (
        day(2020, 5, 6), span(hours=10, minutes=11), None,
    ),
    "CAST('2020-05-06 07:08:09' AS DATETIME), CAST('2020-02-30' AS DATE), TIME('2021-03-04 10:11:12')": (
        moment(2020, 5, 6, 7, 8, 9), None, span(hours=10, minutes=11, seconds=12),
    ),
    "DATE_FORMAT('2020-05-07 13:04:05', '%W %e %b %h:%i %p'), YEAR('2020-05-07'), DAYNAME('2020-05-07')": (
        "Thursday 7 May 01:04 PM", 2020, "Thursday",
    ),
    "DATEDIFF('2020-05-17', '2020-01-01'), TIMESTAMPDIFF(YEAR, '1990-06-15', '2020-06-14'), QUARTER('2020-05-07')": (
        137, 29, 2,
    ),
    "WEEK('2020-01-01'), WEEK('2021-01-01', 3), WEEK('2016-01-03', 5), WEEK('2016-01-01', 7), YEARWEEK('2021-01-01')": (
        0, 53, 0, 52, 202052,
    ),
    "DATE('2020-05-06') > '2020-5-5', DATE('2020-05-06') = 20200506, EXTRACT(YEAR_MONTH FROM '2020-05-06')": (
        1, 1, 202005,
    ),
    "NOW(), CURDATE(), DATABASE()": (moment(2024, 1, 1, 12), day(2024, 1, 1), "db"),
}  # fmt: skip


@pytest.mark.parametrize("sql", EXPRESSIONS)
def test_an_expression_has_the_value_and_type_that_mysql_gives_it(sql: str) -> None:
    database = EmbeddedEngine(limits=Limits(seconds=60.0)).open([])
    (row,) = database.execute(f"SELECT {sql}").rows
    assert list(map(repr, row)) == list(map(repr, EXPRESSIONS[sql]))


ROWS = [
    ("José", "1987", "3.5"),
    ("jose", "1990", "12"),
    ("Anna", "2001", "1,200"),
    ("Zed", None, ""),
    ("Ångström", "12", "-4"),
]
QUERIES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT Name FROM `t 1` WHERE Year > 1988 ORDER BY Name": [("Anna",), ("jose",)],
    "SELECT Name FROM `t 1` WHERE Name = 'JOSE' AND Points = 12": [("jose",)],
    "SELECT Name FROM `t 1` ORDER BY Year LIMIT 2": [("Zed",), ("Ångström",)],
    "SELECT Name FROM `t 1` ORDER BY Name": [("Ångström",), ("Anna",), ("José",), ("jose",), ("Zed",)],
    "SELECT Name, COUNT(*) AS n FROM `t 1` GROUP BY Name HAVING n > 1": [("José", 2)],
    "SELECT SUM(Points), AVG(Year), MAX(Name), COUNT(Year) FROM `t 1`": [(12.5, 1497.5, "Zed", 4)],
    "SELECT SUM(CAST(Year AS SIGNED)), AVG(CAST(Year AS SIGNED)) FROM `t 1`": [(D("5990"), D("1497.5000"))],
    "SELECT COUNT(DISTINCT Name), COUNT(DISTINCT Name, Year) FROM `t 1`": [(4, 4)],
    "SELECT GROUP_CONCAT(DISTINCT LEFT(Name, 1) ORDER BY Name DESC SEPARATOR '/') FROM `t 1`": [("Z/J/A",)],
    "SELECT MAX(c) FROM (SELECT Name, COUNT(*) c FROM `t 1` GROUP BY Name) x": [(2,)],
    "SELECT Name, ROW_NUMBER() OVER (ORDER BY Points + 0 DESC) r FROM `t 1` ORDER BY r LIMIT 1": [("jose", 1)],
    "WITH RECURSIVE k AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM k WHERE i < 4) SELECT SUM(i) FROM k": [(D("10"),)],
    "SELECT Name FROM `t 1` WHERE Year = 12 UNION SELECT 'x' UNION SELECT 'X'": [("Ångström",), ("x",)],
    "SELECT a.Name FROM `t 1` a LEFT JOIN `t 1` b ON a.Year < b.Year WHERE b.Year IS NULL ORDER BY 1": [
        ("Anna",), ("Zed",),
    ],
    "SELECT Name FROM `t 1` WHERE Year >= ALL (SELECT Year FROM `t 1` WHERE Year IS NOT NULL)": [("Anna",)],
    "SELECT Year, COUNT(*) FROM `t 1` WHERE Year > 1000 GROUP BY Year WITH ROLLUP": [
        ("1987", 1), ("1990", 1), ("2001", 1), (None, 3),
    ],
}  # fmt: skip


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_gives_what_mysql_gives(sql: str) -> None:
    columns = [Column("Name"), Column("Year"), Column("Points")]
    database = EmbeddedEngine(limits=Limits(seconds=60.0)).open([Table("t 1", columns, ROWS)])
    for _ in range(2):  # the second time the compiled statement is kept
        assert database.execute(sql).rows == QUERIES[sql]


def test_large_numbers_without_a_sign_are_large() -> None:
    database = EmbeddedEngine(limits=Limits(seconds=60.0)).open(
        [Table("t", [Column("a")], [("-1",), ("5",), ("0",)])]
    )
    sql = "SELECT CAST(a AS UNSIGNED) AS u FROM t WHERE CAST(a AS UNSIGNED) > 0 ORDER BY u DESC"
    assert database.execute(sql).rows == [(18446744073709551615,), (5,)]
