"""The folder of a run: what survives, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from envhub.record import read_exported
from envhub_trainers._runs import Fault, Run, RunInvalid, WritableRun


def test_what_was_added_is_read_in_the_order_of_jobs(tmp_path: Path, made: Any) -> None:
    made.run(tmp_path / "run", made.episode(2), made.episode(0, success=False), made.episode(1))
    run = Run(tmp_path / "run")
    assert [(one.job, one.success, one.steps) for one in run.results()] == [
        (0, False, 2),
        (1, True, 2),
        (2, True, 2),
    ]
    assert [one.observations[0] for one in run.episodes()] == [" P \t G \t"] * 3
    assert run.facts == made.facts(id=run.facts.id) and len(run.facts.id) == 16


def test_episodes_are_lines_of_an_export(tmp_path: Path, made: Any) -> None:
    folder = made.run(tmp_path, made.episode(0))
    (episode,) = read_exported(folder / "episodes.jsonl")
    assert (episode.task_id, episode.success, episode.total_reward) == ("test-0", True, 1.0)
    assert episode.whole and len(episode.steps) == 2


def test_a_torn_line_is_cut_when_the_run_goes_on(tmp_path: Path, made: Any) -> None:
    folder = made.run(tmp_path, made.episode(0), made.episode(1))
    file = folder / "episodes.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert [one.job for one in Run(folder).results()] == [0]
    run = WritableRun(folder, made.facts())
    assert run.done == {0}
    run.add(made.episode(1))
    run.close()
    assert [one.job for one in Run(folder).results()] == [0, 1]


def test_a_job_that_is_there_twice_counts_once(tmp_path: Path, made: Any) -> None:
    folder = made.run(tmp_path, made.episode(0, steps=1), made.episode(0, steps=3))
    assert [one.steps for one in Run(folder).results()] == [1]


def test_faults_are_kept_apart(tmp_path: Path, made: Any) -> None:
    run = WritableRun(tmp_path, made.facts())
    fault = Fault(job=3, attempt=1, code="session_lost", message="died", step=2, time=1.0)
    run.add_fault(fault)
    run.close()
    assert Run(tmp_path).faults() == [fault]
    assert list(Run(tmp_path).results()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"split": "train"}, 'split = "test"; now it would be "train"'),
        ({"data_digest": "sha256:11"}, 'data_digest = "sha256:00"'),
        ({"policy": {"kind": "script", "name": "other"}}, "policy = "),
    ],
)
def test_another_run_is_refused(tmp_path: Path, made: Any, change: dict[str, Any], said: str) -> None:
    made.run(tmp_path, made.episode(0))
    with pytest.raises(RunInvalid, match=said) as refused:
        WritableRun(tmp_path, made.facts(**change))
    assert "another --out" in str(refused.value)
    WritableRun(tmp_path, made.facts()).close()  # it was let go of


def test_one_writes_at_a_time(tmp_path: Path, made: Any) -> None:
    run = WritableRun(tmp_path, made.facts())
    with pytest.raises(RunInvalid, match="another process is playing"):
        WritableRun(tmp_path, made.facts())
    run.close()
    WritableRun(tmp_path, made.facts()).close()


def test_what_is_no_run_is_refused(tmp_path: Path, made: Any) -> None:
    with pytest.raises(RunInvalid, match=r"has no run\.json"):
        Run(tmp_path)
    folder = made.run(tmp_path / "run", made.episode(0))
    (folder / "episodes.jsonl").write_text('{"no": "episode"}\n')
    with pytest.raises(RunInvalid, match="can't be read"):
        list(Run(folder).results())
    (folder / "episodes.jsonl").unlink()
    with pytest.raises(RunInvalid, match="is missing"):
        list(Run(folder).results())
    (folder / "run.json").write_text("{}")
    with pytest.raises(RunInvalid, match="no run of this version"):
        Run(folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunInvalid, match="can't make the folder"):
        WritableRun(tmp_path / "file" / "run", made.facts())


def test_an_episode_has_the_same_name_whenever_it_is_played(made: Any) -> None:
    assert made.episode(4).id == "frozenlake-test-4"
    assert made.episode(4, repeat=2).id == "frozenlake-test-4-2"
    assert made.episode(4, task=None).id == "frozenlake-seed-4"
