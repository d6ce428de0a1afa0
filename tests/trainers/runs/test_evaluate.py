"""What runs say: sums, types of tasks, faults, comparisons and when there are none."""

from pathlib import Path
from typing import Any

import pytest

from envhub_trainers import _chart, _report
from envhub_trainers._runs import Fault, Run, WritableRun
from envhub_trainers._stats import mcnemar, wilson
from envhub_trainers.evaluate import NotComparable, compare, evaluate

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def mixed(tmp_path: Path, made: Any) -> Path:
    """Ten episodes: jobs 0 to 5 succeed, 6 and 7 do not, 8 failed, 9 was cut."""
    episodes = [made.episode(job, success=job < 6, steps=1 + job % 3) for job in range(8)]
    episodes.append(made.episode(8, success=False, outcome="failed", error="policy_error: no", steps=0))
    episodes.append(made.episode(9, success=False, outcome="unfinished", terminated=False, invalid_actions=3))
    return made.run(tmp_path / "mixed", *episodes)


def test_a_run_is_summed_up(mixed: Path) -> None:
    found = evaluate(Run(mixed))
    total = found.total
    assert (total.episodes, total.successes, total.success_rate) == (10, 6, 0.6)
    assert total.success_interval == wilson(6, 10)
    assert total.mean_return == pytest.approx(0.6)
    assert total.return_interval[0] < 0.6 < total.return_interval[1]
    assert total.mean_steps == pytest.approx((1 + 2 + 3 + 1 + 2 + 3 + 1 + 2 + 0 + 2) / 10)
    assert (total.failed, total.unfinished, total.truncated, total.invalid_actions) == (1, 1, 0, 3)
    assert found.without_success == ["test-6", "test-7", "test-8", "test-9"]
    assert (found.faults, found.retried, found.lost) == ({}, 0, [])


def test_types_of_tasks_are_summed_up_apart(mixed: Path) -> None:
    found = evaluate(Run(mixed))
    assert found.by == "size"
    assert {name: (group.episodes, group.successes) for name, group in found.types.items()} == {
        "2": (5, 3),
        "3": (5, 3),
    }
    assert evaluate(Run(mixed), by="nothing").types == {}


def test_a_function_may_say_the_type(mixed: Path, tmp_path: Path) -> None:
    file = tmp_path / "types.py"
    file.write_text("def of(task):\n    return 'early' if int(task['id'][5:]) < 5 else 'late'\n")
    found = evaluate(Run(mixed), by=f"{file}:of")
    assert {name: group.success_rate for name, group in found.types.items()} == {"early": 1.0, "late": 0.2}


@pytest.mark.parametrize("key", ["type", "task_type"])
def test_usual_keys_of_types_are_found(tmp_path: Path, made: Any, key: str) -> None:
    episodes = [made.episode(job, task={"id": str(job), key: kind}) for job, kind in enumerate("abb")]
    found = evaluate(Run(made.run(tmp_path, *episodes, env="alfworld")))
    assert found.by == key
    assert {name: group.episodes for name, group in found.types.items()} == {"a": 1, "b": 2}


def test_types_that_are_numbers_come_in_their_order(tmp_path: Path, made: Any) -> None:
    sizes = (10, 2, 9, None)
    episodes = [made.episode(job, task={"id": str(job), "size": size}) for job, size in enumerate(sizes)]
    assert list(evaluate(Run(made.run(tmp_path, *episodes))).types) == ["2", "9", "10", "none"]


def test_faults_are_counted_apart(tmp_path: Path, made: Any) -> None:
    run = WritableRun(tmp_path, made.facts())
    run.add(made.episode(0, attempts=2))
    for job, code in ((0, "session_lost"), (3, "step_timeout"), (3, "step_timeout")):
        run.add_fault(Fault(job=job, attempt=1, code=code, message="", step=0, time=0.0))
    run.close()
    found = evaluate(Run(tmp_path))
    assert (found.total.episodes, found.total.success_rate) == (1, 1.0)
    assert found.faults == {"session_lost": 1, "step_timeout": 2}
    assert (found.retried, found.lost) == (1, [3])
    assert (
        "no scores: 1 session_lost, 2 step_timeout. Episodes played again: 1; missing: 1."
        in _report.evaluation(found)
    )


def test_nothing_is_said_of_an_empty_run(tmp_path: Path, made: Any) -> None:
    with pytest.raises(NotComparable, match="has no episode"):
        evaluate(Run(made.run(tmp_path)))


# -- comparisons ------------------------------------------------------------------------------------


def runs(tmp_path: Path, made: Any, first: str, second: str, **changes: Any) -> tuple[Run, Run]:
    """Two runs, whose successes are written like "1101"; the second's facts may differ."""
    folders = []
    for name, wins in (("first", first), ("second", second)):
        episodes = [made.episode(job, success=win == "1") for job, win in enumerate(wins)]
        facts = changes if name == "second" else {}
        folders.append(Run(made.run(tmp_path / name, *episodes, **facts)))
    return folders[0], folders[1]


def test_runs_are_compared_task_by_task(tmp_path: Path, made: Any) -> None:
    found = compare(*runs(tmp_path, made, "1100000010", "1111110000"))
    assert (found.pairs, found.unpaired, found.only_first, found.only_second) == (10, 0, 1, 4)
    assert found.success.mean == pytest.approx(0.3)
    assert found.success.p == mcnemar(1, 4)
    assert found.success.interval[0] < 0.3 < found.success.interval[1]
    assert found.returns.mean == pytest.approx(0.3)
    assert [group.success_rate for group in (found.first_total, found.second_total)] == [0.3, 0.6]
    assert {name: (a.successes, b.successes) for name, (a, b) in found.types.items()} == {
        "2": (2, 3),
        "3": (1, 3),
    }


def test_a_run_is_as_good_as_itself(tmp_path: Path, made: Any) -> None:
    first, _ = runs(tmp_path, made, "1010", "1")
    found = compare(first, first)
    assert (found.success.mean, found.success.p, found.returns.p) == (0.0, 1.0, 1.0)


def test_tasks_that_only_one_has_are_left_out(tmp_path: Path, made: Any) -> None:
    found = compare(*runs(tmp_path, made, "11011", "110", split="test", offset=0))
    assert (found.pairs, found.unpaired, found.first_total.episodes) == (3, 2, 3)
    assert "only one of the runs has their task: 2." in _report.comparison(found)


@pytest.mark.parametrize(
    "change",
    [
        {"env": "webshop"},
        {"env_version": "2.0.0"},
        {"config": {"map_max_size": 9}},
        {"limits": {"max_episode_steps": 20}},
        {"isolation": "conda"},
        {"lock_digest": "sha256:22"},
        {"data_digest": "sha256:11"},
        {"max_steps": 5},
    ],
    ids=lambda change: next(iter(change)),
)
def test_runs_on_different_environments_are_not_compared(
    tmp_path: Path, made: Any, change: dict[str, Any]
) -> None:
    (key,) = change
    with pytest.raises(NotComparable, match=rf"can't be compared: their {key} differs"):
        compare(*runs(tmp_path, made, "11", "10", **change))


def test_other_policies_and_seeds_may_be_compared(tmp_path: Path, made: Any) -> None:
    policy = {"kind": "endpoint", "name": "tiny"}
    assert compare(*runs(tmp_path, made, "11", "10", policy=policy, seed=5)).pairs == 2


def test_runs_without_a_common_task_are_not_compared(tmp_path: Path, made: Any) -> None:
    one = made.run(tmp_path / "one", made.episode(0))
    two = made.run(tmp_path / "two", made.episode(1), split="train")
    with pytest.raises(NotComparable, match="no task in common"):
        compare(Run(one), Run(two))


# -- reports ----------------------------------------------------------------------------------------


def test_a_report_reads_well(mixed: Path) -> None:
    report = _report.evaluation(evaluate(Run(mixed)))
    assert report.startswith("# frozenlake: expert\n")
    assert "| all | 10 | 60.0% [31.3, 83.2] | 0.60 [" in report
    assert "| size 3 | 5 | " in report
    assert "Ended by a failure of the policy: 1. 1 of them: policy_error: no\n" in report
    assert "| data | sha256:00 |" in report and "| lock | none (host) |" in report
    assert "Without success: test-6, test-7, test-8, test-9." in report
    assert "No infrastructure faults." in report


def test_a_comparison_reads_well(tmp_path: Path, made: Any) -> None:
    policy = {"kind": "script", "name": "expert", "random_moves": 0.4}
    report = _report.comparison(compare(*runs(tmp_path, made, "0000000011", "1111111111", policy=policy)))
    assert report.startswith("# frozenlake: expert and expert (40% random moves)\n")
    assert "| success | +80.0% | +50.0% to +100.0% | 0.008 | McNemar, exact |" in report
    assert "Of 10 tasks the runs agree in 2; only the first succeeded in 0, only the second in 8." in report


@pytest.mark.parametrize("sizes", [(2,), (2, 3, 4, 5, 6, 7, 8, 9)])
def test_charts_are_pictures(tmp_path: Path, made: Any, sizes: tuple[int, ...]) -> None:
    episodes = [
        made.episode(
            job, success=job % 3 > 0, steps=job % 7, task={"id": str(job), "size": sizes[job % len(sizes)]}
        )
        for job in range(20)
    ]
    run = Run(made.run(tmp_path / "run", *episodes))
    _chart.evaluation(evaluate(run), tmp_path / "one.png")
    _chart.comparison(compare(run, run), tmp_path / "two.png")
    for name in ("one.png", "two.png"):
        picture = (tmp_path / name).read_bytes()
        assert picture.startswith(PNG) and len(picture) > 5000
