-- Looking around
SHOW FULL TABLES
SHOW TABLES LIKE '%a%'
SHOW FIELDS FROM {t}
SHOW COLUMNS FROM {t} LIKE '%a%'
SELECT * FROM {t} LIMIT 1;
SELECT * FROM {t} LIMIT 100
SELECT COUNT(1) AS `row count` FROM {t};
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = {ts} ORDER BY ordinal_position
SELECT COUNT(*) FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = {ts}
SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
SELECT DISTINCT {a}, {b} FROM {t} LIMIT 12
SELECT ALL {c} FROM {t} LIMIT 3
SELECT {t}.{a}, {t}.{last} FROM {t} LIMIT 5
select {a} , {b} from {t} limit 6 offset 4
SELECT 1
SELECT 1 FROM DUAL
SELECT 'text' AS label, 3 AS n, 2.50 AS d, NULL AS nothing
SELECT * FROM {t} WHERE 1 = 0
SELECT * FROM {t} WHERE TRUE LIMIT 2
SELECT {a} FROM {t} LIMIT 0
USE nowhere
SHOW INDEX FROM {t}
SHOW KEYS FROM {t}
-- One row by its value
SELECT {c} FROM {t} WHERE {a} = {va};
SELECT {a}, {c} FROM {t} WHERE {b} = {vb}
SELECT {last} FROM {t} WHERE {a} LIKE '%{wa_lower}%'
SELECT {a} FROM {t} WHERE UPPER({a}) = UPPER({va})
SELECT {a} FROM {t} WHERE {a} LIKE {va}
SELECT {b} FROM {t} WHERE {a} = TRIM('  {va_raw} ')
SELECT {a} FROM {t} WHERE {b} LIKE '%{wb}%' AND {a} NOT LIKE '%{wa}%'
SELECT * FROM {t} WHERE ({a} = {va} OR {a} = {va2}) AND {b} <> ''
SELECT {b} FROM {t} WHERE {a} != {va} AND {b} != {vb} LIMIT 3
SELECT {b} FROM {t} WHERE {a} <=> {va}
SELECT {b} FROM {t} WHERE {a} = BINARY {va}
SELECT {a} FROM {t} WHERE LOWER({b}) LIKE LOWER('%{wb_upper}%')
SELECT {a} FROM {t} WHERE CONCAT({a}, {b}) = CONCAT({va}, {vb})
SELECT {a} FROM {t} WHERE INSTR({a}, '{wa}') > 0
SELECT {a} FROM {t} WHERE LOCATE('{wa_lower}', {a}) = 1
SELECT {a} FROM {t} WHERE {a} RLIKE '{wa}$'
SELECT {a} FROM {t} WHERE {a} NOT REGEXP '[a-z]'
SELECT {a} FROM {t} WHERE REPLACE({a}, ' ', '') = REPLACE({va}, ' ', '')
SELECT {a} FROM {t} WHERE LEFT({a}, 3) = LEFT({va}, 3)
SELECT {b} FROM {t} WHERE {a} > {va} ORDER BY {a}, {b} LIMIT 3
SELECT {a} FROM {t} WHERE ({a}, {b}) = ({va}, {vb})
SELECT {a} FROM {t} WHERE {a} BETWEEN 'a' AND 'm' ORDER BY {a}
SELECT {a} FROM {t} WHERE {c} = {vc} AND {n} = {vn}
SELECT {a} FROM {t} WHERE {a} LIKE '%\%%'
SELECT {a} FROM {t} WHERE {a} = 'it\'s'
-- Counting
SELECT COUNT({b}) FROM {t} WHERE {b} = {vb} AND {a} = {va};
SELECT COUNT(*) FROM {t} WHERE {n} > {vn} AND {m} < {vm};
SELECT COUNT(*) FROM {t} WHERE {n} >= 2 AND {n} <= 8
SELECT COUNT(DISTINCT {b}) AS kinds FROM {t} WHERE {n} <> 1
SELECT {c}, COUNT({a}) FROM {t} GROUP BY {c} ORDER BY {c}
SELECT {b} AS k, COUNT(*) c FROM {t} GROUP BY k ORDER BY c DESC, k ASC LIMIT 4
SELECT COUNT(*) FROM (SELECT DISTINCT {b}, {c} FROM {t}) AS pairs
SELECT SUM(IF({n} > {vn}, 1, 0)) FROM {t}
SELECT SUM({a} LIKE '%e%') AS e, SUM({a} NOT LIKE '%e%') AS no_e FROM {t}
SELECT COUNT(CASE WHEN {b} = {vb} THEN 1 END) FROM {t}
SELECT COUNT(NULLIF({b}, '')) FROM {t}
SELECT {b}, COUNT(DISTINCT {a}) AS n FROM {t} GROUP BY {b} HAVING n > 1 ORDER BY n DESC, {b}
SELECT COUNT(*) * 100 / (SELECT COUNT(*) FROM {t}) FROM {t} WHERE {n} > 3
SELECT ROUND(100 * SUM({n} > 3) / COUNT(*), 1) AS pct FROM {t}
SELECT COUNT(*) FROM {t} WHERE LENGTH({a}) > 10
SELECT COUNT(*) FROM {t} GROUP BY LEFT({a}, 1) ORDER BY 1 DESC LIMIT 3
-- Numbers in text columns
SELECT {a} FROM {t} WHERE {n} > 5.5
SELECT {a}, {m} FROM {t} WHERE {m} < 50 AND {n} > 2 ORDER BY {a}
SELECT {a} FROM {t} WHERE CAST({n} AS DECIMAL(10,2)) = {vn}
SELECT {a} FROM {t} WHERE CAST(REPLACE({n}, ',', '') AS SIGNED) > 1000
SELECT {a} FROM {t} WHERE CONVERT({n}, UNSIGNED) < 20
SELECT {a} FROM {t} WHERE {n} NOT BETWEEN 2 AND 20
SELECT {a} FROM {t} WHERE {n} NOT IN (1, 2, 3)
SELECT {a} FROM {t} WHERE {n} = {vn} + 0
SELECT {a} FROM {t} WHERE {n} > {m}
SELECT {a} FROM {t} WHERE {n} = {m}
SELECT {a} FROM {t} WHERE -{n} < -5
SELECT {a}, ABS({n} - {m}) AS diff FROM {t} ORDER BY diff DESC, {a} LIMIT 4
SELECT ({n} + {m}) / 2 AS mid FROM {t} LIMIT 6
SELECT {n} * 0.1, {n} + 1.25 FROM {t} LIMIT 4
SELECT POW({n}, 2), SQRT({n}) FROM {t} LIMIT 4
SELECT CAST({n} AS UNSIGNED) + 1, CAST({n} AS UNSIGNED) / 4 FROM {t} LIMIT 5
SELECT CAST({n} AS CHAR), CONCAT({n} + 0, '!') FROM {t} LIMIT 5
SELECT GREATEST({n} + 0, 5), LEAST({n} + 0, 5) FROM {t} LIMIT 5
SELECT ROUND({n}), FLOOR({n}), CEILING({n}) FROM {t} LIMIT 7
SELECT 3 + 4 * 2, (3 + 4) * 2, -5 % 3, 5.5 % 2, 1e3, 0.1 + 0.2
SELECT 100 / 3, ROUND(100 / 3, 2), 22 / 7 * 2, CAST(7 / 2 AS SIGNED)
SELECT 1 = '1', 1 = '1abc', 'a' = 0, NULL = NULL, NULL <=> NULL, 2 > NULL
SELECT TRUE, FALSE, NOT 1, !0, 1 XOR 1, 1 AND 0, 0 OR 2, 3 || 0, 1 && 1
SELECT CAST('3.7' AS SIGNED), CAST(3.7 AS SIGNED), CAST('abc' AS SIGNED), CAST('12.345' AS DECIMAL(5,1)), CAST('' AS UNSIGNED)
-- Ranking
SELECT {a}, {b} FROM {t} ORDER BY {n} + 0 DESC, {a}, {b} LIMIT 1
SELECT {a} FROM {t} ORDER BY CAST({n} AS SIGNED) ASC, {a} LIMIT 1
SELECT {a} FROM {t} WHERE {n} IS NOT NULL AND {n} != '' ORDER BY CAST({n} AS DECIMAL(10,2)) DESC, {a} LIMIT 3
SELECT {b} FROM {t} ORDER BY {b} ASC LIMIT 10
SELECT {c} FROM {t} ORDER BY {c} DESC
SELECT {a} FROM {t} ORDER BY {n}, {a}
SELECT {a} FROM {t} ORDER BY {n} DESC, {a} DESC LIMIT 6
SELECT {a}, {n} FROM {t} ORDER BY CONVERT({n}, SIGNED) DESC, {a} ASC LIMIT 2
SELECT {a} FROM {t} WHERE {n} + 0 = (SELECT MAX({n} + 0) FROM {t})
SELECT {a} FROM {t} WHERE {n} = (SELECT MIN({n}) FROM {t} WHERE {n} > 0)
SELECT {a}, {n} FROM {t} WHERE {n} >= ALL (SELECT {n} FROM {t})
SELECT {b}, MAX({n} + 0) AS top FROM {t} GROUP BY {b} ORDER BY top DESC, {b} LIMIT 3
SELECT {a} FROM {t} GROUP BY {a} ORDER BY SUM({n}) DESC, {a} LIMIT 2
SELECT {a} FROM {t} ORDER BY CHAR_LENGTH({a}), {a} LIMIT 4
SELECT {a} FROM {t} ORDER BY RIGHT({a}, 1), {a} LIMIT 5
SELECT {a} FROM {t} ORDER BY {b} IS NULL, {b} = '', {a} LIMIT 5
SELECT DISTINCT {b} FROM {t} WHERE {b} <> '' ORDER BY LENGTH({b}) DESC, {b} LIMIT 2
SELECT {a} FROM {t} ORDER BY FIELD({a}, {va2}, {va}) DESC, {a} LIMIT 3
SELECT COUNT(*) + 1 FROM {t} WHERE {n} + 0 > (SELECT MAX({n} + 0) FROM {t} WHERE {a} = {va})
-- Aggregates
SELECT SUM({n}) AS total FROM {t} WHERE {a} = {va}
SELECT AVG({n}) FROM {t} WHERE {n} > 0
SELECT MIN({n}) FROM {t} WHERE {b} = {vb}
SELECT MAX({n} + 0) FROM {t}
SELECT MIN(CAST({n} AS UNSIGNED)), MAX(CAST({m} AS UNSIGNED)) FROM {t}
SELECT MAX(CAST({n} AS DECIMAL(10,2))) - MIN(CAST({n} AS DECIMAL(10,2))) FROM {t}
SELECT SUM(CAST({n} AS DECIMAL(10,1))) / COUNT(*) FROM {t}
SELECT AVG(CAST(REPLACE({n}, ',', '') AS UNSIGNED)) AS mean FROM {t}
SELECT SUM({n} * {m}) FROM {t}
SELECT SUM(DISTINCT {n}) FROM {t}
SELECT {b}, SUM(CAST({n} AS SIGNED)) AS s FROM {t} GROUP BY {b} HAVING s > 5 ORDER BY s DESC, {b}
SELECT {b}, AVG(CAST({n} AS DECIMAL(8,2))) FROM {t} GROUP BY {b} ORDER BY 2 DESC, 1 LIMIT 3
SELECT {b}, MIN({a}), MAX({a}) FROM {t} GROUP BY {b} ORDER BY {b} LIMIT 6
SELECT MIN({b}), MAX({c}) FROM {t}
SELECT COUNT(*), MAX({n}) FROM {t} WHERE {a} = 'nobody at all'
SELECT SUM(CHAR_LENGTH({a})) FROM {t}
SELECT ROUND(SUM({n}), 1), FORMAT(SUM({n}), 0) FROM {t}
SELECT GROUP_CONCAT({a} ORDER BY {a} DESC SEPARATOR '|') FROM {t} WHERE {n} > {vn}
SELECT {b}, GROUP_CONCAT({a} ORDER BY {a}) FROM {t} GROUP BY {b} ORDER BY {b} LIMIT 4
SELECT {b}, COUNT(*) FROM {t} GROUP BY {b} WITH ROLLUP
SELECT SUM(CASE WHEN {b} = {vb} THEN {n} ELSE 0 END) FROM {t}
SELECT STDDEV({n}), AVG({n} * {n}) FROM {t}
SELECT AVG(x) FROM (SELECT CAST({n} AS SIGNED) AS x FROM {t}) AS numbers
-- Text
SELECT CONCAT('<', {a}, '>') AS tagged FROM {t} LIMIT 4
SELECT MID({a}, 2, 3), SUBSTR({a}, -3), SUBSTRING({a} FROM 2 FOR 2) FROM {t} LIMIT 6
SELECT SUBSTRING_INDEX(SUBSTRING_INDEX({d}, ' ', 2), ' ', -1) FROM {t}
SELECT {a} FROM {t} WHERE SUBSTRING_INDEX({a}, ' ', -1) = '{wa}'
SELECT UCASE({a}), LCASE({a}) FROM {t} LIMIT 5
SELECT REPEAT('ab', 3), SPACE(2), INSERT('Quadratic', 3, 4, 'What'), ELT(2, 'a', 'b'), FIELD('b', 'a', 'b')
SELECT TRIM(LEADING '0' FROM '0012'), TRIM(BOTH 'x' FROM 'xxaxx'), LTRIM('  a'), RTRIM('a  ')
SELECT POSITION('b' IN 'abc'), FIND_IN_SET('b', 'a,b,c'), STRCMP('a', 'b'), REVERSE('abc')
SELECT {a} FROM {t} WHERE {n} REGEXP '[^0-9]' LIMIT 5
SELECT {a} FROM {t} WHERE {d} REGEXP '[0-9]{4}$'
SELECT REGEXP_SUBSTR({d}, '[0-9]+') FROM {t} LIMIT 8
SELECT {a} FROM {t} WHERE {a} REGEXP '(a|e)n'
SELECT REGEXP_REPLACE({a}, '[aeiou]', '*') FROM {t} LIMIT 5
SELECT IF({a} = {va}, {b}, {n}) FROM {t} LIMIT 10
SELECT IFNULL(NULL, 3), IF(NULL, 1, 2), NULLIF(1, 1), COALESCE(NULL, NULL, 'z'), ISNULL(NULL)
SELECT CASE {a} WHEN {va} THEN 'this' ELSE 'other' END FROM {t} LIMIT 6
SELECT CASE WHEN {n} = '' THEN NULL ELSE {n} END FROM {t} LIMIT 6
SELECT LENGTH('héllo'), CHAR_LENGTH('héllo'), UPPER('héllo'), 'STRASSE' = 'straße', 'Å' = 'a'
SELECT {a} FROM {t} WHERE {a} LIKE '%é%' OR {a} LIKE '%ö%'
SELECT 'a\\b', 'per\%cent', "it's", 'say ""hi""', 'nul', '\Z' IS NULL
SELECT 'one' 'two', CONCAT(1, 2), CONCAT('a', NULL), 'a' + 'b'
-- Dates
SELECT STR_TO_DATE('August 15, 2000', '%M %d, %Y'), STR_TO_DATE('15/08/2000', '%d/%m/%Y'), STR_TO_DATE('junk', '%Y-%m-%d')
SELECT {a}, STR_TO_DATE({d}, '%M %d, %Y') AS dt FROM {t} ORDER BY dt, {a} LIMIT 5
SELECT {d} FROM {t} WHERE YEAR(STR_TO_DATE({d}, '%d %M %Y')) > 1950
SELECT MAX(STR_TO_DATE({d}, '%d %M %Y')), MIN(STR_TO_DATE({d}, '%M %d, %Y')) FROM {t}
SELECT DATE_FORMAT(STR_TO_DATE({d}, '%d %M %Y'), '%Y-%m') FROM {t} LIMIT 6
SELECT {d} FROM {t} WHERE {d} BETWEEN '1990' AND '2000' ORDER BY {d} LIMIT 6
SELECT {d} FROM {t} WHERE RIGHT({d}, 4) > 1980 LIMIT 8
SELECT CAST(RIGHT({d}, 4) AS UNSIGNED) AS y, COUNT(*) FROM {t} GROUP BY y ORDER BY y
SELECT DATE('2021-03-04') + INTERVAL 10 DAY, '2021-01-31' + INTERVAL 1 MONTH, DATE_SUB('2021-03-31', INTERVAL 1 MONTH)
SELECT DAYOFWEEK('2021-03-04'), WEEKDAY('2021-03-04'), DAYOFYEAR('2021-03-04'), WEEK('2021-03-04'), QUARTER('2021-03-04')
SELECT HOUR('10:11:12'), MINUTE('10:11:12'), SECOND('10:11:12'), TIME('2021-03-04 10:11:12'), TIME_TO_SEC('01:00:01'), SEC_TO_TIME(3661)
SELECT TO_DAYS('2021-03-04'), FROM_DAYS(738000), MAKEDATE(2021, 60), TIMESTAMPDIFF(DAY, '2021-01-01', '2021-03-04'), DATE('not a date')
-- Inserting
INSERT INTO {t} ({a}, {b}, {c}) VALUES ('v1', 'v2', 'v3');
INSERT INTO {t} ({cols_bare}) VALUES ({newrow})
INSERT {t} ({a}) VALUES ('without into')
INSERT INTO {t} ({a}, {b}) VALUES ('x', 'y'), ('z', 'w'); 
INSERT INTO {t} ({a}, {n}) VALUES ('Zürich – Köln', 1000000), ('emoji 😀', -3)
INSERT INTO {t} ({a}, {n}, {m}) VALUES ('dates', 20.0, DATE('2020-01-01'))
INSERT INTO {t} ({a}, {b}) VALUES (CONCAT('a', 'b'), UPPER('up'))
INSERT INTO {t} ({a}, {n}) SELECT {a}, {n} + 1 FROM {t} WHERE {n} > {vn}
INSERT INTO {t} ({a}, {b}) VALUES ((SELECT 'sub'), DEFAULT)
INSERT INTO {t} ({a}, {b}) VALUES ('a', 'b', 'c')
INSERT INTO {t} ({a}, {a}) VALUES ('twice', 'twice')
INSERT INTO {t} ({a}) VALUES (TRUE), (1 > 2), (3.10), (1e2), (10/4)
INSERT INTO {t} ({a}) VALUES ('a "quoted" one'), ("and 'this'"), ('50% \% done_')
INSERT INTO {t} () VALUES ()
INSERT INTO {t} VALUES {newrow}
REPLACE INTO {t} ({a}, {b}) VALUES ('replaced', 'in')
-- Updating
UPDATE {t} SET {a} = 'Renamed' WHERE {a} = {va};
UPDATE {t} SET {c} = 'c', {b} = 'b' WHERE {n} = {vn} OR {a} = {va}
UPDATE {t} SET {n} = 0 WHERE {n} = '' OR {n} IS NULL
UPDATE {t} SET {n} = {n} - 1 WHERE {n} > 1
UPDATE {t} SET {n} = {n} + 0.5
UPDATE {t} SET {n} = ROUND({n} * 1.1, 1) WHERE {a} = {va}
UPDATE {t} SET {n} = CAST({n} AS UNSIGNED) + 1 WHERE {n} > 0
UPDATE {t} SET {b} = TRIM({b}), {c} = LOWER({c})
UPDATE {t} SET {b} = REPLACE({b}, 'a', 'A') WHERE {b} LIKE '%a%'
UPDATE {t} SET {b} = 'High' WHERE {n} > (SELECT 5)
UPDATE {t} SET {b} = 'x' WHERE {a} = (SELECT MAX({a}) FROM {t})
UPDATE {t} SET {b} = 'x' WHERE {a} = (SELECT m FROM (SELECT MAX({a}) AS m FROM {t}) AS best)
UPDATE {t} SET {b} = IF({n} > 5, 'more', 'less'), {n} = {n} + 1
UPDATE {t} SET {b} = 'Top' ORDER BY {n} + 0 DESC, {a} LIMIT 3
UPDATE {t} SET {t}.{b} = 'Qualified' WHERE {t}.{a} = {va}
UPDATE {t} x JOIN (SELECT {a}, COUNT(*) AS k FROM {t} GROUP BY {a}) y ON x.{a} = y.{a} SET x.{b} = y.k WHERE y.k > 1
UPDATE missing_table SET a = 1
UPDATE {t} SET {b} = 'x' WHERE nothing = 2
UPDATE {t} SET {b} = {va}, {c} = NULL WHERE {a} LIKE '{wa}%' AND {b} IS NOT NULL
-- Deleting
DELETE FROM {t} WHERE {a} = {va} AND {b} = {vb};
DELETE FROM {t} WHERE {a} IN ({va}, {va2}) OR {n} < 2
DELETE FROM {t} WHERE {n} + 0 = (SELECT 1)
DELETE FROM {t} WHERE {b} = '' ORDER BY {n} LIMIT 1
DELETE FROM {t} WHERE nothing = 1
DELETE {a} FROM {t}
DELETE x FROM {t} x WHERE x.{a} = {va}
-- Tables
CREATE TABLE IF NOT EXISTS people (id INT NOT NULL, name VARCHAR(5), score FLOAT, born DATETIME, PRIMARY KEY (id)) ;; INSERT INTO people VALUES (1, 'Annabella', 1.5, '2001-02-03 04:05:06'), (2, NULL, '7', '2001-02-03') ;; SELECT * FROM people ;; INSERT INTO people VALUES (2, 'Bo', 0, NULL) ;; INSERT INTO people (id, name) VALUES (2, 'Cy') ON DUPLICATE KEY UPDATE name = VALUES(name), score = score + 1 ;; SELECT name, score, YEAR(born), born > '2001-02-03' FROM people ORDER BY id ;; REPLACE INTO people (id, name) VALUES (1, 'New') ;; SELECT COUNT(*), AVG(score) FROM people ;; DROP TABLE people
CREATE TABLE money (amount DECIMAL(6,2), qty INT) ;; INSERT INTO money VALUES (10.005, 3), ('2.5', '4'), (NULL, NULL) ;; SELECT amount, amount * qty, SUM(amount * qty) OVER () FROM money ;; SELECT SUM(amount * qty), AVG(qty), MAX(amount) FROM money
ALTER TABLE {t} MODIFY COLUMN {b} VARCHAR(200) ;; DESCRIBE {t}
ALTER TABLE {t} CHANGE {a} changed TEXT ;; SELECT changed FROM {t} LIMIT 2
ALTER TABLE {t} ADD UNIQUE KEY k (nothing)
ALTER TABLE {t} DROP COLUMN nothing
ALTER TABLE {t} ADD {a} TEXT
ALTER TABLE {t} RENAME TO renamed_table ;; SELECT COUNT(*) FROM renamed_table ;; SELECT COUNT(*) FROM {t}
RENAME TABLE {t} TO other_name ;; SHOW TABLES
CREATE TABLE likewise LIKE {t} ;; INSERT INTO likewise SELECT * FROM {t} LIMIT 2 ;; SELECT COUNT(*) FROM likewise
CREATE TEMPORARY TABLE tmp SELECT {a}, {n} + 0 AS v FROM {t} ;; SELECT MAX(v) FROM tmp ;; SHOW TABLES
CREATE VIEW seen AS SELECT {a} FROM {t} WHERE {n} > 2 ;; SELECT COUNT(*) FROM seen
CREATE TABLE broken (id INT, id TEXT)
DROP TABLE {t} ;; SELECT * FROM {t}
-- Joins, subqueries, windows
SELECT x.{a}, y.{a} FROM {t} AS x INNER JOIN {t} AS y ON x.{b} = y.{b} AND x.{a} < y.{a} ORDER BY 1, 2 LIMIT 5
SELECT COUNT(*) FROM {t} x CROSS JOIN {t} y
SELECT x.{a}, COUNT(y.{a}) FROM {t} x LEFT JOIN {t} y ON y.{n} + 0 > x.{n} + 0 GROUP BY x.{a} ORDER BY 2, 1 LIMIT 5
SELECT COUNT(*) FROM {t} x JOIN {t} y USING ({a})
SELECT {a} FROM {t} WHERE {a} NOT IN (SELECT {b} FROM {t} WHERE {b} IS NOT NULL) ORDER BY {a} LIMIT 3
SELECT {a}, (SELECT COUNT(*) FROM {t} y WHERE y.{b} = x.{b}) AS same FROM {t} x ORDER BY same DESC, {a} LIMIT 3
SELECT * FROM (SELECT {a}, {n} FROM {t} ORDER BY {n} + 0 DESC, {a} LIMIT 3) AS top ORDER BY {a}
WITH ranked AS (SELECT {a}, {n}, DENSE_RANK() OVER (ORDER BY {n} + 0 DESC) AS r FROM {t}) SELECT {a} FROM ranked WHERE r = 2 ORDER BY {a}
WITH RECURSIVE k AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM k WHERE i < 5) SELECT SUM(i) FROM k
SELECT {b} FROM {t} UNION ALL SELECT {b} FROM {t} ORDER BY 1 LIMIT 6
(SELECT {a} FROM {t} ORDER BY {a} LIMIT 1) UNION ALL (SELECT {a} FROM {t} ORDER BY {a} DESC LIMIT 1)
SELECT {a}, LAG({a}) OVER (ORDER BY {a}, {b}), LEAD({n}, 1, 0) OVER (ORDER BY {a}, {b}) FROM {t} ORDER BY {a}, {b} LIMIT 5
SELECT {b}, {a}, ROW_NUMBER() OVER (PARTITION BY {b} ORDER BY {a}, {n}) AS k FROM {t} ORDER BY {b}, k LIMIT 7
SELECT {a}, COUNT(*) OVER (), SUM({n} + 0) OVER (ORDER BY {a}, {b}) FROM {t} ORDER BY {a}, {b} LIMIT 4
-- What goes wrong
SELECT {a}, nothing FROM {t}
SELECT z.{a} FROM {t}
SELECT {a} FROM {t} GROUP BY nothing
SELECT MAX({a}), {b} FROM {t}
SELECT {b}, MAX({n}), {c} FROM {t} GROUP BY {b}
SELECT {a} FROM {t} WHERE {n} = MAX({n})
SELECT {a} FROM {t} HAVING COUNT(*) > 1
SELECT {a} FROM {t} WHERE {a} IN (SELECT {a}, {b} FROM {t})
SELECT * FROM {t} LIMIT 2 WHERE {a} = {va}
SELECT * FROM {t} ORDER {a}
SELECT {a} FROM {t} LIMIT -1
SELECT COUNT(* FROM {t}
SELECT ROUND() FROM {t}
SELECT CONCAT() FROM {t}
SELECT {a} FROM {t} x, {t} x
SELECT {a} FROM {t}, missing_table
SELECT * FROM nowhere.{t}
INSERT INTO {t} VALUES
UPDATE {t} SET WHERE {a} = {va}
DELETE {t} WHERE {a} = {va}
CREATE TABLE ()
DROP COLUMN {a} FROM {t}
SHOW TABLE
hello
SELECT {a} FROM {t} WHERE {a} == {va}
SELECT {a} FROM {t} WHERE {a} = {va}; DROP TABLE {t}
-- A connection that is kept
SET @r = 0 ;; SELECT @r := @r + 1 AS r, {a} FROM {t} LIMIT 3 ;; SELECT @nothing
SET @top = (SELECT MAX({n} + 0) FROM {t}) ;; SELECT {a} FROM {t} WHERE {n} + 0 = @top ORDER BY {a}
START TRANSACTION ;; INSERT INTO {t} ({a}) VALUES ('gone') ;; ROLLBACK ;; SELECT COUNT(*) FROM {t} WHERE {a} = 'gone'
SET autocommit = 0 ;; DELETE FROM {t} WHERE {a} = {va} ;; ROLLBACK ;; SELECT COUNT(*) FROM {t} WHERE {a} = {va}
