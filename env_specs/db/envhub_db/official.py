"""DBBench's own data: files of AgentBench's repository (data/dbbench), read where they lie.

    standard.jsonl    test
    dev.jsonl         validation
    any other         train, such as db_out_new.jsonl, or a file of one's own in the same format

A file has an entry on each line (`.jsonl`), or a list of entries (`.json`). Tasks are called by file and
position: `dev-0`, `dev-1` and so on. An entry whose tables MySQL can't create is left out.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from envhub_db.engine import Column, Table
from envhub_db.errors import DataError
from envhub_db.library import Entry, Library
from envhub_db.task import CHANGES, Answer, Change, Goal, Task

_SPLITS = {"standard": "test", "dev": "validation"}
_DIGEST = re.compile(r"\[\('([0-9a-f]{32})',\)\]|([0-9a-f]{32}(?:_[0-9a-f]{32})*)")
_LONGEST_NAME = 64


def load(path: Path, as_published: str = "fc") -> Library:
    """Read the tasks of a file, or of all `.jsonl` files of a folder (else of its `data/dbbench`).

    Args:
        path: File or folder.
        as_published: The generation whose setup is taken: "fc" stores all cells as texts, "classic" as they
            are.

    Raises:
        DataError: There is no file, or an entry can't be used; says which file, line and key.
    """
    entries: list[Entry] = []
    left_out: dict[str, str] = {}
    digest = hashlib.sha256(as_published.encode())
    for file in _files(path):
        split = _SPLITS.get(file.stem, "train")
        for position, (place, entry) in enumerate(_lines(file)):
            name = f"{file.stem}-{position}"
            reader = _Reader(f"{file}, {place}", as_published)
            task = reader.task(name, entry)
            digest.update(repr(task).encode())
            problem = next(filter(None, map(_problem, task.tables)), "")
            if problem:
                left_out[name] = problem
            else:
                entries.append(Entry(name, split, task.type, 0, functools.partial(_same, task)))
    return Library(path.name, f"sha256:{digest.hexdigest()}", entries, left_out)


def _same(task: Task) -> Task:
    return task


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    for folder in (path, path / "data" / "dbbench"):
        found = sorted(folder.glob("*.jsonl"))
        if found:
            return found
    raise DataError(
        f"{path} has no tasks of DBBench: it needs a file such as dev.jsonl, or a folder with some "
        "(data/dbbench of AgentBench's repository)"
    )


def _lines(file: Path) -> list[tuple[str, Any]]:
    """Return what errors are to call each entry, and the entry."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"{file} can't be read: {error}") from None
    if file.suffix == ".json":
        return [(f"entry {number}", entry) for number, entry in enumerate(_parsed(text, str(file)))]
    return [
        (f"line {number}", _parsed(line, f"{file}, line {number}"))
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip()
    ]


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is no JSON: {error}") from None


def _problem(table: Table) -> str:
    """Say why MySQL can't create a table; nothing where it can."""
    seen: set[str] = set()
    for what, name in [("table", table.name), *(("column", column.name) for column in table.columns)]:
        if not name or name != name.rstrip():
            return f"a {what} of {table.name!r} is called {name!r}, which MySQL does not allow"
        if len(name) > _LONGEST_NAME:
            return f"the name of the {what} {name!r} is longer than {_LONGEST_NAME} characters"
        if what == "column" and name.lower() in seen:
            return f"{table.name!r} has two columns {name!r}"
        if what == "column":
            seen.add(name.lower())
    return ""


class _Reader:
    """Reads one entry.

    Args:
        place: What to call it in errors.
        as_published: See `load`.
    """

    def __init__(self, place: str, as_published: str) -> None:
        self._place = place
        self._as_texts = as_published == "fc"

    def task(self, name: str, entry: Any) -> Task:
        entry = self._is(entry, dict, "the entry")
        types = self._is(entry.get("type"), list, "type")
        if not types or not isinstance(types[0], str):
            raise self._wrong("type", "a list that begins with a text", types)
        tables = entry.get("table")
        tables = tables if isinstance(tables, list) and tables else [tables]
        numbered = [(f"table[{n}]" if len(tables) > 1 else "table", table) for n, table in enumerate(tables)]
        change = types[0] in CHANGES
        return Task(
            id=name,
            type=types[0],
            question=self._is(entry.get("description"), str, "description"),
            tables=tuple(self._table(table, key) for key, table in numbered),
            goal=self._change(entry) if change else Answer(self._labels(entry)),
            about=self._is(entry.get("add_description") or "", str, "add_description"),
            evidence=self._is(entry.get("evidence") or "", str, "evidence"),
            reference=self._reference(entry) if change else (),
        )

    def _table(self, table: Any, key: str) -> Table:
        table = self._is(table, dict, key)
        name = self._is(table.get("table_name"), str, f"{key}.table_name")
        content = self._is(table.get("table_info"), dict, f"{key}.table_info")
        listed = self._is(content.get("columns"), list, f"{key}.table_info.columns")
        columns = [
            self._is(
                self._is(column, dict, f"{key}.table_info.columns[{n}]").get("name"),
                str,
                f"{key}.table_info.columns[{n}].name",
            )
            for n, column in enumerate(listed)
        ]
        if not columns:
            raise self._wrong(f"{key}.table_info.columns", "a list with a column at least", columns)
        rows = []
        for n, row in enumerate(self._is(content.get("rows"), list, f"{key}.table_info.rows")):
            row = self._is(row, list, f"{key}.table_info.rows[{n}]")
            if len(row) != len(columns):
                raise self._wrong(f"{key}.table_info.rows[{n}]", f"a list of {len(columns)} values", row)
            rows.append(tuple(self._cell(cell, f"{key}.table_info.rows[{n}]") for cell in row))
        return Table(name, tuple(map(Column, columns)), tuple(rows))

    def _cell(self, cell: Any, key: str) -> Any:
        if isinstance(cell, (list, dict)):
            raise self._wrong(key, "a list of texts and numbers", cell)
        return str(cell) if self._as_texts else cell

    def _labels(self, entry: dict[str, Any]) -> tuple[str, ...]:
        labels = self._is(entry.get("label"), list, "label")
        for label in labels:
            if isinstance(label, (list, dict)):
                raise self._wrong("label", "a list of texts", labels)
        return tuple(map(str, labels))

    def _change(self, entry: dict[str, Any]) -> Goal:
        given = self._is(entry.get("answer_md5"), str, "answer_md5")
        if not given:
            if not self._reference(entry):
                raise self._wrong(
                    "answer_md5", "a digest, where there is no sql.query to take it from", given
                )
            return Change()
        match = _DIGEST.fullmatch(given)
        if match is None:
            raise self._wrong("answer_md5", "a text such as [('<32 hexadecimal digits>',)]", given)
        return Change(match[1] or match[2])

    def _reference(self, entry: dict[str, Any]) -> tuple[str, ...]:
        """Return the statement that makes the change: `sql.query`, else the label."""
        sql = entry.get("sql")
        query = sql.get("query") if isinstance(sql, dict) else None
        if not query and isinstance(entry.get("label"), list) and entry["label"]:
            query = entry["label"][0]
        return (query,) if isinstance(query, str) and query else ()

    def _is(self, value: Any, kind: type[Any], key: str) -> Any:
        if not isinstance(value, kind):
            wanted = "a text" if kind is str else "a list" if kind is list else "an object"
            raise self._wrong(key, wanted, value)
        return value

    def _wrong(self, key: str, wanted: str, found: Any) -> DataError:
        return DataError(f"{self._place}: {key} must be {wanted}, not {found!r:.80}")
