"""The embedded tasks, as they are made."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from envhub_os import OSEnv, own
from envhub_os.compare import COMPARISONS
from envhub_os.errors import InvalidOptions, UnknownTask
from envhub_os.library import Entry
from envhub_os.task import Answer, State, Task

SPEC = Path(own.__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    """The embedded tasks, as they are listed."""
    library = own.library(4, own.LEVELS)
    return [entry for split in ("train", "validation", "test") for entry in library.split(split)]


@pytest.fixture(scope="module")
def tasks(entries: list[Entry]) -> list[Task]:
    """The same, made."""
    return [entry.make() for entry in entries]


def test_there_are_enough_of_every_kind(entries: list[Entry]) -> None:
    splits = Counter(entry.split for entry in entries)
    assert splits["train"] >= 150 and splits["validation"] >= 50 and splits["test"] >= 50
    kinds = set("archives files git logs permissions processes services text users".split())
    for split in ("train", "validation", "test"):
        assert {entry.level for entry in entries if entry.split == split} == {1, 2, 3}
        assert {label for entry in entries if entry.split == split for label in entry.labels} == kinds


def test_test_has_kinds_that_train_does_not_have(entries: list[Entry]) -> None:
    train, test = (
        {entry.id.rpartition("-")[0] for entry in entries if entry.split == split}
        for split in ("train", "test")
    )
    assert train < test and len(test - train) == 9


def test_names_are_unique_and_stay_when_there_are_more(entries: list[Entry], tasks: list[Task]) -> None:
    more = own.library(6, own.LEVELS)
    assert len(more) > len(entries) == len({entry.id for entry in entries})
    for entry, task in zip(entries, tasks, strict=True):
        other = more.find({"id": entry.id})
        assert other.listed() == entry.listed() and other.make() == task


def test_any_process_makes_the_same(tasks: list[Task]) -> None:
    program = (
        "from envhub_os import own\nlibrary = own.library(4, own.LEVELS)\n"
        "entries = [entry for split in ('train', 'validation', 'test') for entry in library.split(split)]\n"
        "print([entry.make() for entry in entries[::3]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(SPEC), "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(tasks[::3])


def test_a_list_says_nothing_of_the_answers(entries: list[Entry], tasks: list[Task]) -> None:
    listed = [entry.listed() for entry in entries]
    assert all(set(entry) == {"id", "split", "labels", "level"} for entry in listed)
    text = json.dumps(listed)
    for task in tasks:
        if isinstance(task.goal, Answer):
            assert f'"{task.goal.expected}"' not in text
            assert task.goal.expected not in task.description


def test_no_constant_answers_a_task(tasks: list[Task]) -> None:
    guesses = [str(number) for number in range(100)] + [
        "",
        "yes",
        "no",
        "none",
        "None",
        "root",
        "/",
        "done",
        "unknown",
    ]
    goals = [task.goal for task in tasks if isinstance(task.goal, Answer)]
    assert len(goals) > 100
    for goal in goals:
        assert not any(COMPARISONS[goal.compare](guess, goal.expected) for guess in guesses)
    answers = Counter(goal.expected for goal in goals)
    assert answers.most_common(1)[0][1] <= 3


def test_all_other_tasks_are_judged_by_the_state(tasks: list[Task]) -> None:
    states = [task for task in tasks if not isinstance(task.goal, Answer)]
    assert len(states) > 150
    assert all(isinstance(task.goal, State) and task.goal.facts for task in states)
    assert all(task.solution is not None and task.solution.scripts for task in tasks)


def test_levels_are_chosen(machine: None) -> None:
    hard = OSEnv(levels=[3])
    assert {entry["level"] for entry in hard.tasks("train")} == {3}
    with pytest.raises(InvalidOptions, match="1, 2, 3, not"):
        OSEnv(levels=[4])
    with pytest.raises(InvalidOptions, match="at least 1"):
        OSEnv(train_variants=0)
    assert len(OSEnv(train_variants=1).tasks("train")) * 10 == len(OSEnv(train_variants=10).tasks("train"))


def test_tasks_are_listed_by_slices(machine: None) -> None:
    listed = OSEnv().tasks("validation")
    assert list(listed[2:4]) == [listed[2], listed[3]]
    with pytest.raises(UnknownTask, match="train, validation, test"):
        OSEnv().tasks("dev")
