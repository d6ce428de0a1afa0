"""DBBench's own data: read, refused where it is wrong, and scored as published on both engines."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from envhub_db import digests, official
from envhub_db.engine import Engine
from envhub_db.errors import DataError, InvalidOptions, UnknownTask
from envhub_db.judge import Judge, digest_after
from envhub_db.task import Answer, Change

ENTRY: dict[str, Any] = {
    "description": "How many?",
    "label": ["2"],
    "table": {
        "table_name": "Races",
        "table_info": {
            "columns": [{"name": "Year", "type": "INT"}, {"name": "Winner", "type": "TEXT"}],
            "rows": [[1987, "Fuji"]],
        },
    },
    "add_description": "The name of this table is Races.",
    "type": ["counting"],
}
INSERT = {
    **ENTRY,
    "type": ["INSERT"],
    "label": ["INSERT INTO Races VALUES ('1988', 'Eno')"],
    "answer_md5": "",
}


def written(folder: Path, *entries: Any, name: str = "dev.jsonl") -> Path:
    file = folder / name
    file.write_text("\n".join(json.dumps(entry) for entry in entries) + "\n")
    return file


def test_files_are_splits(tmp_path: Path) -> None:
    for name in ("dev.jsonl", "standard.jsonl", "db_out_new.jsonl"):
        written(tmp_path, ENTRY, name=name)
    library = official.load(tmp_path)
    assert [library.split(split)[0].id for split in ("train", "validation", "test")] == [
        "db_out_new-0",
        "dev-0",
        "standard-0",
    ]
    assert official.load(tmp_path / "dev.jsonl").split("test") == []
    below = tmp_path / "data" / "dbbench"
    below.mkdir(parents=True)
    (tmp_path / "dev.jsonl").rename(below / "dev.jsonl")
    for name in ("standard", "db_out_new"):
        (tmp_path / f"{name}.jsonl").unlink()
    assert official.load(tmp_path).split("validation")[0].id == "dev-0"
    (tmp_path / "mine.json").write_text(json.dumps([ENTRY]))
    assert official.load(tmp_path / "mine.json").split("train")[0].id == "mine-0"


def test_what_is_told_of_a_task_is_not_its_answer(tmp_path: Path) -> None:
    entry = official.load(written(tmp_path, ENTRY)).find({"id": "dev-0"})
    assert entry.listed() == {"id": "dev-0", "split": "validation", "type": "counting"}


def without(entry: dict[str, Any], *keys: str, **others: Any) -> dict[str, Any]:
    return {**{key: value for key, value in entry.items() if key not in keys}, **others}


def table(**others: Any) -> dict[str, Any]:
    content = {**ENTRY["table"]["table_info"], **others}
    return {**ENTRY, "table": {"table_name": "Races", "table_info": content}}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (5, "the entry must be an object, not 5"),
        (without(ENTRY, "description"), "description must be a text, not None"),
        (without(ENTRY, "type"), "type must be a list"),
        (without(ENTRY, type=[]), "type must be a list that begins with a text"),
        (without(ENTRY, "label"), "label must be a list"),
        (without(ENTRY, label=[["x"]]), "label must be a list of texts"),
        (without(ENTRY, "table"), "table must be an object, not None"),
        (without(ENTRY, table=[ENTRY["table"], 5]), r"table\[1\] must be an object, not 5"),
        (table(columns=[]), r"table.table_info.columns must be a list with a column at least"),
        (table(columns=[{"type": "INT"}]), r"table.table_info.columns\[0\].name must be a text"),
        (table(rows=[["1987", "Fuji"], ["1988"]]), r"table.table_info.rows\[1\] must be a list of 2 values"),
        (table(rows=[[{}, "Fuji"]]), r"table.table_info.rows\[0\] must be a list of texts and numbers"),
        (without(INSERT, "answer_md5"), "answer_md5 must be a text, not None"),
        (without(INSERT, answer_md5="[('xyz',)]"), "answer_md5 must be a text such as"),
        (without(INSERT, label=[]), "answer_md5 must be a digest, where there is no sql.query"),
    ],
)
def test_a_wrong_entry_is_named_with_line_and_key(tmp_path: Path, entry: Any, said: str) -> None:
    file = written(tmp_path, ENTRY, entry)
    with pytest.raises(DataError, match=rf"dev.jsonl, line 2: {said}"):
        official.load(file)


def test_what_is_no_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no tasks of DBBench"):
        official.load(tmp_path)
    file = tmp_path / "dev.jsonl"
    file.write_text(json.dumps(ENTRY) + "\n\n{")
    with pytest.raises(DataError, match="line 3 is no JSON"):
        official.load(file)
    file.write_bytes(b"\xff")
    with pytest.raises(DataError, match="can't be read"):
        official.load(file)


def test_tables_that_mysql_can_not_create_are_left_out(tmp_path: Path) -> None:
    wrong = [
        table(columns=[{"name": ""}, {"name": "b"}]),
        table(columns=[{"name": "a"}, {"name": "A"}]),
        table(columns=[{"name": "a"}, {"name": "b" * 65}]),
    ]
    library = official.load(written(tmp_path, ENTRY, *wrong))
    assert len(library) == 1 and list(library.left_out) == ["dev-1", "dev-2", "dev-3"]
    with pytest.raises(UnknownTask, match=r"'dev-2' can't be played: .* has two columns 'A'"):
        library.find({"id": "dev-2"})
    with pytest.raises(UnknownTask, match="did you mean 'dev-0'"):
        library.find({"id": "dev-01"})
    with pytest.raises(InvalidOptions, match="has no task here; there are: validation"):
        library.draw("test", 0)


def test_a_change_without_a_digest_is_judged_by_its_reference(tmp_path: Path, engine: Engine) -> None:
    task = official.load(written(tmp_path, INSERT)).find({"id": "dev-0"}).make()
    assert task.goal == Change(None)
    database = engine.open(task.tables, "dbbench")
    judge = Judge("fc", faithful=False)
    assert not judge.reached(task, "done", database, engine)
    database.execute("INSERT INTO Races (Winner, Year) VALUES ('Eno', '1988')")
    assert judge.reached(task, None, database, engine)
    database.execute("ALTER TABLE Races ADD COLUMN more TEXT")
    assert judge.reached(task, None, database, engine)  # only the columns that there were count
    database.execute("ALTER TABLE Races DROP COLUMN Year")
    assert not judge.reached(task, None, database, engine)
    database.close()


def test_a_table_without_rows_has_a_digest(tmp_path: Path, engine: Engine) -> None:
    delete = without(ENTRY, type=["DELETE"], label=["DELETE FROM Races"], answer_md5="")
    task = official.load(written(tmp_path, delete)).find({"id": "dev-0"}).make()
    assert digest_after(task, engine) == digests.NO_ROWS


def test_several_tables_have_one_digest(tmp_path: Path, engine: Engine) -> None:
    other = {"table_name": "Teams", "table_info": {"columns": [{"name": "Name"}], "rows": [["Zubr"]]}}
    task = (
        official.load(written(tmp_path, without(INSERT, table=[ENTRY["table"], other])))
        .find({"id": "dev-0"})
        .make()
    )
    races, teams = digest_after(task, engine).split("_")
    assert len(races) == len(teams) == 32 and races < teams


@pytest.mark.parametrize("generation", ["fc", "classic"])
def test_dev_is_solved_by_its_labels_and_by_nothing_else(
    dbbench: Path, engine: Engine, generation: str
) -> None:
    """All 59 tasks whose tables can be created, on each engine; of 60 dev-5 has a column without a name."""
    library = official.load(dbbench, generation)
    assert list(library.left_out) == ["dev-5"] and len(library) == 59
    judges = [Judge(scoring, faithful) for scoring in ("fc", "classic") for faithful in (False, True)]
    types: Counter[str] = Counter()
    for entry in library.split("validation"):
        task = entry.make()
        types["changes" if isinstance(task.goal, Change) else "questions"] += 1
        database = engine.open(task.tables, "dbbench")
        wrong = ["nothing of the kind"]
        assert not any(judge.reached(task, wrong, database, engine) for judge in judges), entry.id
        for sql in task.reference:
            database.execute(sql)
        right = json.dumps(list(task.goal.labels)) if isinstance(task.goal, Answer) else "done"
        assert all(judge.reached(task, right, database, engine) for judge in judges), entry.id
        database.close()
    assert types == {"changes": 40, "questions": 19}


def test_one_file_of_the_labels_is_scored_alike_by_both_generations(dbbench: Path, tmp_path: Path) -> None:
    """All 60 entries, also the one that can't be created: of its 20 questions each, and of its labels, one
    answer."""
    entries = [json.loads(line) for line in (dbbench / "dev.jsonl").read_text("utf-8").splitlines()]
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps([json.dumps(entry["label"]) for entry in entries]))
    for scoring in ("classic", "fc"):
        right: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for entry, answer in zip(entries, json.loads(answers.read_text()), strict=True):
            kind = entry["type"][0] if entry["type"][0] in ("INSERT", "UPDATE") else "SELECT"
            total[kind] += 1
            if kind == "SELECT":
                compare = Judge(scoring, faithful=True)._compare
                right[kind] += compare(answer, entry["label"], True)
        assert total == {"SELECT": 20, "INSERT": 20, "UPDATE": 20}
        assert right["SELECT"] == 20
