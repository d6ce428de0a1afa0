"""AgentBench's own data: what is read, and what its tasks score."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_os import OSEnv, official
from envhub_os.errors import DataError
from envhub_os.library import Library
from envhub_os.task import Answer, Chain, Script, Task

Play = Callable[[OSEnv, str], float]

UNWINNABLE = {"dev-001-dev-00008"}
"""The reference says 4.0K, which the published comparison of sizes can't read."""


@pytest.fixture(scope="module")
def library(agentbench: Path) -> Library:
    """The tasks of dev and of groups 1 to 3."""
    return official.load(agentbench)


@pytest.fixture(scope="module")
def tasks(library: Library) -> list[Task]:
    """The same in a row."""
    return [entry.make() for split in ("validation", "test") for entry in library.split(split)]


def load(folder: Path) -> list[Task]:
    library = official.load(folder)
    return [entry.make() for split in ("train", "validation", "test") for entry in library.split(split)]


def test_names_and_splits_are_the_published_ones(library: Library) -> None:
    assert len(library) == 44 and len(library.split("validation")) == 26
    assert [entry.id for entry in library.split("test")][::7] == [
        "std-001-stock-00000",
        "std-002-environment-00000",
        "std-003-ac-00002",
    ]
    assert library.split("validation")[0].id == "dev-001-dev-00000"
    listed = library.split("test")[11].listed()
    assert listed == {"id": "std-002-environment-00004", "split": "test", "labels": ["environment"]}


def test_published_comparisons_are_known_and_run_on_the_host(tasks: list[Task]) -> None:
    checks = Counter(
        check if check is None or isinstance(check, str) else "script"
        for task in tasks
        if isinstance(task.goal, Chain)
        for check in task.goal.checks
    )
    assert checks == {None: 36, "integer": 27, "string": 8, "size": 1, "script": 3}


def test_every_field_is_read(tasks: list[Task]) -> None:
    by_id = {task.id: task for task in tasks}
    first = by_id["dev-001-dev-00000"]
    assert first.goal == Answer("1")
    assert first.setup.start is not None and first.setup.start.startswith("python3 -c")
    path = by_id["std-002-environment-00004"]
    assert [script.language for script in path.setup.scripts] == ["bash", "bash"]
    assert path.setup.scripts[0].code.startswith("#!/bin/bash")
    assert by_id["dev-001-dev-00010"].setup.scripts == ()  # its `create` is a list, which means nothing


def entry(**fields: Any) -> dict[str, Any]:
    return {"description": "Say yes.", "evaluation": {"match": "yes"}, **fields}


def write(folder: Path, *entries: Any, name: str = "data/1/made.json") -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(entries[0] if len(entries) == 1 else entries), encoding="utf-8")
    return folder


def test_a_file_may_hold_one_entry(tmp_path: Path) -> None:
    assert [task.id for task in load(write(tmp_path, entry()))] == ["std-001-made-00000"]


def test_train_is_where_the_repository_has_it(tmp_path: Path) -> None:
    library = official.load(write(tmp_path, entry(), name="train_0317/training.json"))
    assert [task.id for task in library.split("train")] == ["train-0223-training-00000"]


@pytest.mark.parametrize(
    ("match", "goal"),
    [
        ({"answer": " a ", "strip": False}, Answer(" a ", "exact", strip=False)),
        ({"regex": "^a", "strip": True}, Answer("^a", "regex", strip=True)),
        ({"answer": "a"}, Answer("a", "exact", strip=False)),
    ],
)
def test_the_forms_of_match(tmp_path: Path, match: dict[str, Any], goal: Answer) -> None:
    (task,) = load(write(tmp_path, entry(evaluation={"match": match})))
    assert task.goal == goal


def test_a_checker_of_ones_own_stays_a_script(tmp_path: Path) -> None:
    check = {"language": "python", "file": "check/integer-match.py"}
    (tmp_path / "scripts" / "1" / "check").mkdir(parents=True)
    (tmp_path / "scripts" / "1" / "check" / "integer-match.py").write_text("exit(0)")
    (task,) = load(write(tmp_path, entry(evaluation={"check": [check]})))
    assert task.goal == Chain((Script("exit(0)", "python"),))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("text", "the entry must be an object"),
        ({"evaluation": {"match": "a"}}, "description must be a text"),
        (entry(evaluation=[]), "evaluation must be an object"),
        (entry(evaluation={}), "neither match nor check"),
        (entry(evaluation={"match": 3}), "evaluation.match must be"),
        (entry(evaluation={"check": [None]}), "evaluation.example, which is missing"),
        (entry(evaluation={"check": [3]}), "evaluation.check must be a text or an object"),
        (entry(evaluation={"check": {"language": "c", "code": ""}}), "language must be bash or python"),
        (entry(evaluation={"check": {"file": "none.sh"}}), "none.sh, which can't be read"),
        (entry(evaluation={"check": {"file": "../../data/1/made.json"}}), "outside of"),
        (entry(evaluation={"check": {}}), "code must be a text"),
        (entry(labels="file"), "labels must be a list"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, wrong: Any, words: str) -> None:
    with pytest.raises(DataError, match=r"made\.json, entry 1: ") as raised:
        official.load(write(tmp_path, entry(), wrong))
    assert words in str(raised.value)


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data/dev\.json"):
        OSEnv(data_dir=str(tmp_path))
    write(tmp_path, entry())
    (tmp_path / "data" / "1" / "made.json").write_text("[")
    with pytest.raises(DataError, match="can't be read"):
        OSEnv(data_dir=str(tmp_path))


@pytest.mark.parametrize(("mode", "every"), [("fixed", 2), ("faithful", 4)])
def test_the_reference_wins(
    machine: None, agentbench: Path, tasks: list[Task], solve: Play, mode: str, every: int
) -> None:
    env = OSEnv(data_dir=str(agentbench), mode=mode, expert=True)
    chosen = {task.id for task in tasks[::every]} | UNWINNABLE
    try:
        lost = {task for task in chosen if solve(env, task) != 1.0}
    finally:
        env.close()
    assert lost == (UNWINNABLE if mode == "faithful" else set())


def test_a_wrong_answer_loses(machine: None, agentbench: Path, tasks: list[Task], fail: Play) -> None:
    env = OSEnv(data_dir=str(agentbench))
    try:
        won = {task.id for task in tasks[::3] if fail(env, task.id) != 0.0}
    finally:
        env.close()
    assert won == set()
