"""The lists of tasks: lazy, sliceable, stable."""

import pytest
from envhub_frozenlake.errors import InvalidOptions
from envhub_frozenlake.tasks import Tasks


def test_the_published_first_rows() -> None:
    tasks = Tasks()
    assert tasks.split("train")[0] == {
        "id": "train-0",
        "split": "train",
        "seed": 15795,
        "size": 4,
        "p": 0.6052909534955095,
    }
    assert tasks.split("test")[0] == {
        "id": "test-0",
        "split": "test",
        "seed": 84433,
        "size": 4,
        "p": 0.6900225239533877,
    }


def test_lists_behave_as_sequences() -> None:
    tasks = Tasks(train=7, test=3)
    train = tasks.split("train")
    everything = list(train)
    assert len(train) == len(everything) == 7
    assert train[2:5] == everything[2:5]
    assert train[::-2] == everything[::-2]
    assert train[-1] == everything[6]
    for beyond in (7, -8):
        with pytest.raises(IndexError, match="the train split has 7"):
            train[beyond]


def test_a_task_is_found_by_its_id_and_nothing_else() -> None:
    tasks = Tasks(train=7, test=3)
    for split in ("train", "test"):
        assert [tasks.find(task["id"]) for task in tasks.split(split)] == list(tasks.split(split))
    for unknown in ("train-7", "train--1", "train-01", "train-", "train-²", "dev-0", "", "test"):
        with pytest.raises(KeyError):
            tasks.find(unknown)


def test_sizes_lie_from_2_to_just_below_the_maximum() -> None:
    assert {task["size"] for task in Tasks(500, 10, 6).split("train")} == {2, 3, 4, 5}
    assert {task["size"] for task in Tasks(500, 10, 3).split("train")} == {2}


def test_the_digest_tells_task_sets_apart() -> None:
    assert Tasks(10, 5).digest() == Tasks(10, 5).digest()
    assert (
        len({Tasks(10, 5).digest(), Tasks(10, 6).digest(), Tasks(11, 5).digest(), Tasks(10, 5, 7).digest()})
        == 4
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 1), "each split needs a task"),
        ((1, 0), "each split needs a task"),
        ((1, 1, 2), "map_max_size must be 3"),
    ],
)
def test_impossible_recipes_are_refused(arguments: tuple[int, ...], said: str) -> None:
    with pytest.raises(InvalidOptions, match=said):
        Tasks(*arguments)
