-- Looking around
SHOW TABLES
SHOW TABLES;
DESCRIBE {t}
DESC {t};
SHOW COLUMNS FROM {t}
EXPLAIN {t}
SHOW DATABASES
SELECT DATABASE()
SELECT * FROM {t} LIMIT 5
SELECT * FROM {t};
SELECT COUNT(*) FROM {t}
SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = {ts} ORDER BY ORDINAL_POSITION
SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()
SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {ts} ORDER BY ORDINAL_POSITION
SELECT DISTINCT {a} FROM {t}
SELECT {a}, {b} FROM {t} LIMIT 10
SELECT * FROM {t} LIMIT 3, 4
SELECT * FROM {t} LIMIT 4 OFFSET 2
SELECT t.* FROM {t} t LIMIT 2
SELECT {a} AS name, {n} AS `the number` FROM {t} LIMIT 7
-- One row by its value
SELECT {b} FROM {t} WHERE {a} = {va}
SELECT {b} FROM {t} WHERE {a} = {va} AND {b} = {vb}
SELECT {b} FROM {t} WHERE {a} = {va_lower}
SELECT {b} FROM {t} WHERE {a} LIKE '%{wa}%'
SELECT * FROM {t} WHERE {a} LIKE '{wa}%'
SELECT {a} FROM {t} WHERE {a} LIKE '%{wa_upper}%'
SELECT {a} FROM {t} WHERE LOWER({a}) = LOWER({va})
SELECT {a} FROM {t} WHERE {a} IN ({va}, {va2})
SELECT {a} FROM {t} WHERE {a} NOT IN ({va}, {va2}) LIMIT 5
SELECT {b} FROM {t} WHERE TRIM({a}) = {va}
SELECT {b} FROM {t} WHERE {a} <> {va} LIMIT 4
SELECT {b} FROM {t} WHERE {a} = "{va_raw}"
SELECT {a} FROM {t} WHERE {b} IS NULL
SELECT {a} FROM {t} WHERE {b} IS NOT NULL LIMIT 3
SELECT {a} FROM {t} WHERE {b} = '' OR {b} IS NULL
SELECT {a} FROM {t} WHERE {a} REGEXP '^{wa}'
SELECT {a}, {last} FROM {t} WHERE {last} = {vlast}
SELECT {n} FROM {t} WHERE {a} = {va} LIMIT 1
-- Counting
SELECT COUNT(*) FROM {t} WHERE {a} = {va}
SELECT COUNT(*) AS total FROM {t} WHERE {a} LIKE '%{wa}%'
SELECT COUNT(DISTINCT {a}) FROM {t}
SELECT COUNT({n}) FROM {t} WHERE {n} > 10
SELECT COUNT(*) FROM {t} WHERE {n} = {vn}
SELECT {a}, COUNT(*) FROM {t} GROUP BY {a}
SELECT {b}, COUNT(*) AS cnt FROM {t} GROUP BY {b} HAVING cnt > 1
SELECT {b}, COUNT(*) FROM {t} GROUP BY {b} HAVING COUNT(*) >= 2 ORDER BY COUNT(*) DESC, {b}
SELECT COUNT(*), COUNT({a}), COUNT(DISTINCT {b}) FROM {t}
SELECT COUNT(DISTINCT {a}, {b}) FROM {t}
SELECT SUM({a} = {va}) FROM {t}
SELECT SUM(CASE WHEN {n} > 5 THEN 1 ELSE 0 END) AS big FROM {t}
SELECT COUNT(IF({a} = {va}, 1, NULL)) FROM {t}
SELECT COUNT(*) FROM {t} WHERE {a} LIKE '{wa}%' AND {n} < 100
SELECT COUNT(*) FROM {t} WHERE NOT {a} = {va}
SELECT COUNT(*) > 3 FROM {t}
-- Numbers in text columns
SELECT {a}, {n} FROM {t} WHERE {n} > {vn}
SELECT {a} FROM {t} WHERE {n} < {vn} AND {m} >= {vm}
SELECT {a} FROM {t} WHERE {n} >= {vn} OR {m} = {vm}
SELECT {a} FROM {t} WHERE {n} BETWEEN 1 AND {vn}
SELECT {a} FROM {t} WHERE {n} = '{vn}'
SELECT {a} FROM {t} WHERE {n} > '{vn}'
SELECT {a} FROM {t} WHERE CAST({n} AS UNSIGNED) > {vn}
SELECT {a} FROM {t} WHERE CAST({n} AS SIGNED) <= {vn}
SELECT {a}, CAST({n} AS DECIMAL(10,2)) FROM {t} LIMIT 8
SELECT {a}, CAST(REPLACE({n}, ',', '') AS UNSIGNED) AS v FROM {t} LIMIT 8
SELECT {a}, {n} + 0 FROM {t} LIMIT 10
SELECT {a}, {n} * 2, {n} - {m}, {n} / {m} FROM {t} LIMIT 6
SELECT {a} FROM {t} WHERE {n} + {m} > {vn}
SELECT {a} FROM {t} WHERE {n} <> 0
SELECT {a} FROM {t} WHERE {n} LIMIT 5
SELECT {a}, ROUND({n} / 3, 2) FROM {t} LIMIT 9
SELECT {n} DIV 2, {n} % 3, MOD({m}, 2) FROM {t} LIMIT 5
SELECT {a} FROM {t} WHERE {n} IN (1, 2, {vn})
SELECT 10 / 4, 7 DIV 2, 7 MOD 3, 2 * 3.50, 1 / 3, 5 / 0
SELECT ROUND(2.5), ROUND(-2.5), ROUND(1.005, 2), FLOOR(-1.5), CEIL(1.2), TRUNCATE(1.999, 1)
SELECT '12abc' + 1, 'abc' + 1, '3.5' * 2, '-7x' + 0, '1,234' + 0
-- Ranking
SELECT {a} FROM {t} ORDER BY {n} DESC LIMIT 1
SELECT {a}, {n} FROM {t} ORDER BY CAST({n} AS UNSIGNED) DESC LIMIT 3
SELECT {a}, {n} FROM {t} ORDER BY CAST(REPLACE({n}, ',', '') AS DECIMAL(12,2)) DESC, {a} LIMIT 5
SELECT {a} FROM {t} ORDER BY {a}
SELECT DISTINCT {b} FROM {t} ORDER BY {b} DESC
SELECT {a} FROM {t} ORDER BY {n} + 0 ASC, {a} ASC LIMIT 4
SELECT {a} FROM {t} ORDER BY {n} * 1 DESC LIMIT 1
SELECT {a}, {n} FROM {t} WHERE {n} = (SELECT MAX({n}) FROM {t})
SELECT {a} FROM {t} WHERE CAST({n} AS UNSIGNED) = (SELECT MIN(CAST({n} AS UNSIGNED)) FROM {t})
SELECT {a} FROM {t} ORDER BY LENGTH({a}) DESC, {a} LIMIT 3
SELECT {a}, COUNT(*) AS c FROM {t} GROUP BY {a} ORDER BY c DESC, {a} LIMIT 5
SELECT {b} FROM {t} GROUP BY {b} ORDER BY COUNT(*) DESC, {b} ASC LIMIT 1
SELECT {a}, {b} FROM {t} ORDER BY 2, 1 LIMIT 6
SELECT {a} FROM {t} WHERE {n} > (SELECT AVG({n}) FROM {t}) ORDER BY {a}
SELECT {a} AS x FROM {t} ORDER BY x LIMIT 3
-- Aggregates
SELECT SUM({n}) FROM {t}
SELECT AVG({n}) FROM {t}
SELECT MAX({n}), MIN({n}) FROM {t}
SELECT MAX(CAST({n} AS UNSIGNED)) FROM {t}
SELECT MIN(CAST({n} AS DECIMAL(10,2))) FROM {t} WHERE {a} <> {va}
SELECT SUM(CAST({n} AS UNSIGNED)) FROM {t}
SELECT SUM(CAST({n} AS SIGNED)), AVG(CAST({n} AS SIGNED)) FROM {t}
SELECT AVG(CAST({n} AS DECIMAL(10,2))) FROM {t}
SELECT SUM(CAST(REPLACE({n}, ',', '') AS DECIMAL(10,2))) AS total FROM {t}
SELECT SUM(REPLACE({n}, ',', '')) FROM {t}
SELECT {b}, SUM({n}) FROM {t} GROUP BY {b} ORDER BY {b}
SELECT {b}, AVG({n}), MAX({m}) FROM {t} GROUP BY {b} ORDER BY {b} LIMIT 5
SELECT SUM({n}) FROM {t} WHERE {a} = 'no such thing'
SELECT COUNT(*), SUM({n}), AVG({n}), MIN({n}), MAX({n}) FROM {t} WHERE {n} > 3
SELECT ROUND(AVG({n}), 2) FROM {t}
SELECT SUM({n}) / COUNT(*) FROM {t}
SELECT MAX({a}) FROM {t}
SELECT GROUP_CONCAT({a} SEPARATOR '; ') FROM (SELECT {a} FROM {t} LIMIT 5) s
SELECT GROUP_CONCAT(DISTINCT {b} ORDER BY {b} SEPARATOR ', ') FROM {t}
SELECT GROUP_CONCAT({a}) FROM {t} WHERE {n} > {vn}
SELECT STD({n}), VARIANCE({n}) FROM {t}
SELECT IFNULL(SUM({n}), 0) FROM {t} WHERE {a} = {va}
SELECT COALESCE(MAX({n}), 'none') FROM {t} WHERE {n} > 100000000
-- Text
SELECT CONCAT({a}, ' - ', {b}) FROM {t} LIMIT 5
SELECT CONCAT_WS(',', {a}, NULL, {b}) FROM {t} LIMIT 4
SELECT SUBSTRING({a}, 1, 3), LEFT({a}, 2), RIGHT({a}, 2) FROM {t} LIMIT 6
SELECT SUBSTRING_INDEX({a}, ' ', 1), SUBSTRING_INDEX({a}, ' ', -1) FROM {t}
SELECT UPPER({a}), LOWER({b}), LENGTH({a}), CHAR_LENGTH({a}) FROM {t} LIMIT 10
SELECT REPLACE({a}, ' ', '_') FROM {t} LIMIT 5
SELECT LOCATE(' ', {a}), INSTR({a}, 'A') FROM {t} LIMIT 8
SELECT TRIM({a}), REVERSE({a}) FROM {t} LIMIT 3
SELECT LPAD({n}, 8, '0'), RPAD({n}, 6, '.') FROM {t} LIMIT 4
SELECT {a} FROM {t} WHERE {a} REGEXP '[0-9]+'
SELECT {a} FROM {t} WHERE {n} REGEXP '^[0-9]+$' ORDER BY {n} + 0, {a}
SELECT {a} FROM {t} WHERE {a} NOT LIKE '%a%'
SELECT {a} FROM {t} WHERE {a} LIKE '_{wa2}%'
SELECT REGEXP_REPLACE({n}, '[^0-9]', '') FROM {t} LIMIT 6
SELECT FORMAT({n}, 2) FROM {t} LIMIT 5
SELECT CASE WHEN {n} > 10 THEN 'high' WHEN {n} > 5 THEN 'mid' ELSE 'low' END AS lvl, COUNT(*) FROM {t} GROUP BY lvl ORDER BY lvl
SELECT IF({n} > 5, 'yes', 'no') FROM {t} LIMIT 6
SELECT NULLIF({n}, ''), IFNULL({b}, 'x'), COALESCE(NULL, {a}) FROM {t} LIMIT 4
SELECT 'it''s', "double \"quoted\"", 'back\\slash', 'tab\tend', 'a\'b'
SELECT 'abc' = 'ABC', 'a' < 'B', 'é' = 'e', 'a ' = 'a', 'ß' = 'ss'
SELECT BINARY 'abc' = 'ABC'
SELECT MD5('abc'), SHA1('abc'), HEX('abc'), ASCII('a'), CHAR(65, 66)
-- Dates
SELECT STR_TO_DATE({d}, '%M %d, %Y') FROM {t}
SELECT STR_TO_DATE({d}, '%d %M %Y') FROM {t} LIMIT 10
SELECT {a} FROM {t} ORDER BY STR_TO_DATE({d}, '%M %e, %Y') DESC, {a} LIMIT 3
SELECT {d} FROM {t} WHERE {d} LIKE '%1990%'
SELECT YEAR(STR_TO_DATE({d}, '%d %M %Y')) AS y, COUNT(*) FROM {t} GROUP BY y ORDER BY y
SELECT {d} FROM {t} WHERE STR_TO_DATE({d}, '%M %d, %Y') > '1990-01-01'
SELECT YEAR('2020-05-17'), MONTH('2020-05-17'), DAY('2020-05-17'), DAYNAME('2020-05-17'), MONTHNAME('2020-05-17')
SELECT DATE_FORMAT('2020-05-07', '%d/%m/%Y'), DATE_FORMAT('2020-05-07', '%M %e, %Y'), DATE_FORMAT('2020-05-07 13:04:05', '%W %h:%i %p')
SELECT DATEDIFF('2020-05-17', '2020-01-01'), DATE_ADD('2020-01-31', INTERVAL 1 MONTH), DATE_SUB('2020-03-01', INTERVAL 1 DAY)
SELECT CAST('2020-02-30' AS DATE), DATE('2020-05-17 10:11:12'), CAST('2020-05-17' AS DATE)
SELECT TIMESTAMPDIFF(YEAR, '1990-06-15', '2020-06-14'), EXTRACT(YEAR FROM '2020-05-17'), LAST_DAY('2020-02-03')
SELECT YEAR({d}) FROM {t} LIMIT 5
-- Inserting
INSERT INTO {t} ({a}, {b}) VALUES ('New one', 'New two')
INSERT INTO {t} ({cols}) VALUES ({newrow})
INSERT INTO {t} VALUES ({newrow})
INSERT INTO {t} VALUES ({newrow}), ({newrow2});
INSERT INTO {t} ({a}, {n}) VALUES ('O''Brien', 42)
INSERT INTO {t} SET {a} = 'Set one', {b} = 'Set two'
INSERT INTO {t} ({a}) VALUES ("quoted \"name\"")
INSERT INTO {t} ({a}, {n}) VALUES ('number', 1.50), ('half', 0.5), ('expr', 1 + 2)
INSERT INTO {t} ({a}, {b}) SELECT {b}, {a} FROM {t} LIMIT 3
INSERT INTO {t} ({a}, {b}) VALUES ('only one')
INSERT INTO {t} VALUES ('too', 'few')
INSERT INTO {t} ({a}, `No such column`) VALUES ('x', 'y')
INSERT INTO {t} ({a}) VALUES (NULL), ('') ;; SELECT {a} FROM {t} WHERE {a} IS NULL OR {a} = ''
INSERT INTO {t} ({a}, {b}) VALUES ('back\\slash', 'line\nbreak') ;; SELECT COUNT(*) FROM {t}
INSERT IGNORE INTO {t} ({a}) VALUES ('ignored')
INSERT INTO missing_table VALUES (1)
-- Updating
UPDATE {t} SET {b} = 'Changed' WHERE {a} = {va}
UPDATE {t} SET {b} = 'Changed', {n} = 99 WHERE {a} = {va} AND {b} = {vb}
UPDATE {t} SET {n} = {n} + 1 WHERE {a} = {va}
UPDATE {t} SET {b} = CONCAT({b}, ' (x)') WHERE {a} LIKE '%{wa}%'
UPDATE {t} SET {b} = 'All'
UPDATE {t} SET {b} = NULL WHERE {n} > {vn}
UPDATE {t} SET {b} = 'First' ORDER BY {a} LIMIT 1
UPDATE {t} SET {b} = 'Two' LIMIT 2
UPDATE {t} SET {n} = {vn} WHERE {n} = {vn}
UPDATE {t} SET {b} = UPPER({b}) WHERE {a} IN ({va}, {va2})
UPDATE {t} SET {n} = REPLACE({n}, ',', '')
UPDATE {t} SET {b} = (SELECT 'sub') WHERE {a} = {va}
UPDATE {t} SET {b} = CASE WHEN {n} > 5 THEN 'big' ELSE 'small' END
UPDATE {t} SET `No such column` = 1 WHERE {a} = {va}
UPDATE {t} t SET t.{b} = 'Aliased' WHERE t.{a} = {va}
UPDATE {t} SET {n} = {n} * 1.5 WHERE {n} > 0
UPDATE {t} SET {n} = {n} / 2 WHERE {a} <> {va}
UPDATE {t} SET {b} = {a}, {a} = {b} WHERE {a} = {va}
-- Deleting
DELETE FROM {t} WHERE {a} = {va}
DELETE FROM {t} WHERE {n} > {vn}
DELETE FROM {t} ORDER BY {a} DESC LIMIT 2
DELETE FROM {t} LIMIT 3
DELETE FROM {t} WHERE {a} LIKE '%{wa}%' OR {b} = {vb}
DELETE FROM {t}
TRUNCATE TABLE {t}
-- Tables
CREATE TABLE notes (id INT PRIMARY KEY AUTO_INCREMENT, body VARCHAR(50), price DECIMAL(8,2), made DATE) ;; INSERT INTO notes (body, price, made) VALUES ('one', 3.456, '2020-01-02'), ('two', 10, NULL) ;; SELECT * FROM notes ;; DESCRIBE notes ;; INSERT INTO notes (id, body) VALUES (1, 'again') ;; SELECT SUM(price), AVG(price), MAX(made) FROM notes ;; DROP TABLE notes
ALTER TABLE {t} ADD COLUMN extra INT ;; UPDATE {t} SET extra = 3 WHERE {a} = {va} ;; SELECT extra, extra + 1, extra / 2 FROM {t} WHERE {a} = {va} ;; DESCRIBE {t}
ALTER TABLE {t} DROP COLUMN {b} ;; SELECT * FROM {t} LIMIT 2
ALTER TABLE {t} ADD COLUMN first_one VARCHAR(10) DEFAULT 'd' FIRST ;; SELECT * FROM {t} LIMIT 2
ALTER TABLE {t} ADD COLUMN `after` TEXT AFTER {a} ;; SELECT * FROM {t} LIMIT 2
ALTER TABLE {t} RENAME COLUMN {a} TO renamed ;; SELECT renamed FROM {t} LIMIT 2
CREATE TABLE copy AS SELECT * FROM {t} WHERE {n} > {vn} ;; SELECT COUNT(*) FROM copy ;; SHOW TABLES
CREATE TABLE {t} (x INT)
DROP TABLE IF EXISTS nothing
DROP TABLE nothing
-- Joins, subqueries, windows
SELECT x.{a}, y.{b} FROM {t} x JOIN {t} y ON x.{a} = y.{a} WHERE x.{a} = {va}
SELECT COUNT(*) FROM {t} x, {t} y WHERE x.{n} < y.{n}
SELECT x.{a} FROM {t} x LEFT JOIN {t} y ON x.{a} = y.{b} WHERE y.{a} IS NULL ORDER BY x.{a} LIMIT 5
SELECT {a} FROM {t} WHERE {b} IN (SELECT {b} FROM {t} GROUP BY {b} HAVING COUNT(*) > 1)
SELECT {a} FROM {t} x WHERE EXISTS (SELECT 1 FROM {t} y WHERE y.{b} = x.{b} AND y.{a} <> x.{a})
SELECT MAX(c) FROM (SELECT {b}, COUNT(*) AS c FROM {t} GROUP BY {b}) AS counts
WITH s AS (SELECT {a}, {n} FROM {t} WHERE {n} > 1) SELECT COUNT(*) FROM s
SELECT {a} FROM {t} WHERE {a} = {va} UNION SELECT {b} FROM {t} WHERE {a} = {va}
SELECT {a}, ROW_NUMBER() OVER (ORDER BY {n} + 0 DESC, {a}, {b}) AS rn FROM {t} ORDER BY rn LIMIT 5
SELECT {a}, RANK() OVER (ORDER BY CAST({n} AS SIGNED) DESC) AS r FROM {t} ORDER BY r, {a} LIMIT 8
SELECT {b}, SUM({n}) OVER (PARTITION BY {b}) FROM {t} ORDER BY {b}, {a} LIMIT 5
-- What goes wrong
SELECT nothing FROM {t}
SELECT * FROM missing_table
SELECT {a} FROM {t} WHERE nothing = 1
SELECT FROM {t}
SELECT {a} {t} FROM WHERE
SELEC * FROM {t}
SELECT {a}, COUNT(*) FROM {t}
SELECT {a}, {b}, COUNT(*) FROM {t} GROUP BY {a}
SELECT {a} FROM {t} WHERE COUNT(*) > 1
SELECT NO_SUCH_FUNCTION({a}) FROM {t}
SELECT {a} FROM {t} ORDER BY nothing
SELECT x.{a} FROM {t} x JOIN {t} y ON x.{a} = y.{a} WHERE {b} = 'z'
SELECT * FROM (SELECT {a} FROM {t})
SELECT {a} FROM {t} WHERE {a} = (SELECT {a} FROM {t})
SELECT {a} FROM {t} UNION SELECT {a}, {b} FROM {t}
SELECT {a} FROM {t} WHERE {a} = 'unclosed
SELECT * FROM {t} WHERE {a} = {va} AND
INSERT INTO {t} ({a} VALUES ('x')
UPDATE {t} {a} = 'x'
-- A connection that is kept
SET @n = 5 ;; SELECT @n, @n + 1 ;; SELECT {a} FROM {t} WHERE {n} > @n ORDER BY {a}
BEGIN ;; DELETE FROM {t} ;; SELECT COUNT(*) FROM {t} ;; ROLLBACK ;; SELECT COUNT(*) FROM {t}
START TRANSACTION ;; UPDATE {t} SET {b} = 'kept' WHERE {a} = {va} ;; COMMIT ;; SELECT COUNT(*) FROM {t} WHERE {b} = 'kept'
