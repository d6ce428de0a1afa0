"""`envhub trajectories` and `envhub replay` on what a real hub recorded."""

import asyncio
import json
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from envhub.build import Store
from envhub.cli import main, replay
from envhub.cli.new import write_skeleton
from envhub.record import RecordedEpisode, read_exported
from envhub.record._episodes import Exported
from envhub.session import Replay
from envhub_sdk import Hub

from ..hubs import serving


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def record(folder: Path, *arguments: str, play: Any) -> None:
    with serving(*arguments, "--record", str(folder)) as url, Hub(url) as hub:
        play(hub)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two FrozenLake episodes (one left unfinished), a test one, and an echo episode that fails."""
    folder = tmp_path_factory.mktemp("record")

    def play(hub: Hub) -> None:
        lake = hub.make("frozenlake")
        for seed in (9, 2):
            lake.reset(seed=seed)
            lake.step("right")
        lake.reset(seed=1, options={"split": "test"})
        lake.close()
        echo = hub.make("echo")
        echo.reset(seed=0)
        echo.step("hello")
        with pytest.raises(Exception, match="boom"):
            echo.step("boom")
        echo.close()

    arguments = ("--env", "frozenlake=1", "--env", "echo=1", "--set", "echo.fail_on=boom")
    record(folder, *arguments, play=play)
    return folder


def listed(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert run("trajectories", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_all_episodes_are_listed_with_how_they_ended(recorded: Path, capsys: Any) -> None:
    found = listed(capsys, "list", recorded)
    assert [(one["env"], one["seed"], one["steps"]) for one in found] == [
        ("frozenlake", 9, 1),
        ("frozenlake", 2, 1),
        ("frozenlake", 1, 0),
        ("echo", 0, 1),
    ]
    assert (found[0]["outcome"], found[0]["success"], found[0]["total_reward"]) == ("terminated", True, 1.0)
    assert (found[3]["outcome"], found[3]["error"]) == ("failed", "environment_error")
    assert run("trajectories", "list", recorded) == 0
    assert found[0]["episode"] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("filters", "seeds"),
    [
        (("--env", "echo"), [0]),
        (("--split", "test"), [1]),
        (("--success",), [9]),
        (("--failure",), [2, 0]),
        (("--failure", "--env", "frozenlake"), [2]),
        (("--min-return", "0.5"), [9]),
    ],
)
def test_filters_choose(recorded: Path, capsys: Any, filters: tuple[str, ...], seeds: list[int]) -> None:
    assert [one["seed"] for one in listed(capsys, "list", recorded, *filters)] == seeds


@pytest.mark.parametrize(
    "arguments", [("list",), ("stats",), ("export", "-o", "all.jsonl")], ids=lambda given: given[0]
)
def test_an_environment_that_was_not_recorded_is_told_from_one_without_such_episodes(
    recorded: Path, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *more = arguments
    assert run("trajectories", command, recorded, *more, "--env", "frozenlak") == 2
    said = capsys.readouterr().err
    assert "no environment 'frozenlak'" in said and "it has episodes of echo, frozenlake" in said
    assert list(tmp_path.iterdir()) == [], "no export, no half of one"
    assert run("trajectories", command, recorded, *more, "--env", "echo", "--success") == 0


def test_the_guide_names_every_field_of_an_export() -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "records.md").read_text()
    fields = guide.partition("An export has one episode a line")[2].partition("\n\n")[0]
    assert set(Exported.__struct_fields__) <= set(re.findall(r"`(\w+)`", fields))


def test_record_and_state_need_folders_of_their_own(tmp_path: Path, capsys: Any) -> None:
    folder, again = tmp_path / "kept", tmp_path / "elsewhere" / ".." / "kept"
    assert run("serve", "--env", "echo", "--port", "0", "--record", folder, "--state-dir", again) == 2
    said = capsys.readouterr().err
    assert "--record and --state-dir name the same folder" in said and "another hub" not in said
    assert not folder.exists()


def test_one_episode_is_shown_step_by_step(recorded: Path, capsys: Any) -> None:
    episode = listed(capsys, "list", recorded)[0]["episode"]
    whole = listed(capsys, "show", recorded, episode)
    assert (whole["actions"], whole["rewards"], len(whole["observations"])) == (["right"], [1.0], 2)
    assert run("trajectories", "show", recorded, episode) == 0
    shown = capsys.readouterr().out
    assert "terminated" in shown and "ran in host (the hub's own Python environment" in shown
    assert run("trajectories", "show", recorded, "s-0.1") == 2
    assert "no episode 's-0.1'" in capsys.readouterr().err


def test_stats_count(recorded: Path, capsys: Any) -> None:
    stats = listed(capsys, "stats", recorded)
    lake = stats["frozenlake"]
    assert (lake["episodes"], lake["steps"], lake["terminated"], lake["unfinished"]) == (3, 2, 2, 1)
    assert (lake["success_rate"], lake["mean_length"], lake["mean_return"]) == (0.5, 1.0, 0.5)
    assert stats["echo"]["failed"] == 1
    assert run("trajectories", "stats", recorded) == 0
    assert "success rate" in capsys.readouterr().out


def test_an_export_replays_and_a_changed_one_differs(recorded: Path, capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    assert run("trajectories", "export", recorded, "-o", file, "--env", "frozenlake") == 0
    assert run("replay", file) == 0
    assert "3 episodes the same, 0 different" in capsys.readouterr().out
    changed = file.read_text().replace('"rewards":[1.0]', '"rewards":[0.75]', 1)
    file.write_text(changed)
    assert run("replay", file, "--json") == 1
    verdicts = json.loads(capsys.readouterr().out)["episodes"]
    (different,) = [one for one in verdicts if one["outcome"] == "different"]
    assert different["step_index"] == 0
    assert "reward 0.75" in different["recorded"] and "reward 1.0" in different["replayed"]
    file.write_text(file.read_text().replace('"data_digest":"sha256:', '"data_digest":"sha256:f'))
    assert run("replay", file) == 1
    assert "recorded on other data" in capsys.readouterr().err


def exported(recorded: Path, file: Path, env: str) -> dict[str, Any]:
    assert run("trajectories", "export", recorded, "-o", file, "--env", env) == 0
    line: dict[str, Any] = json.loads(file.read_text().splitlines()[0])
    return line


def test_infos_are_compared_where_that_is_asked_for(recorded: Path, capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    for at in (0, 1):
        line = exported(recorded, file, "frozenlake")
        line["infos"][at]["took_s"] = 0.5
        file.write_text(json.dumps(line) + "\n")
        assert run("replay", file) == 0
        capsys.readouterr()
        assert run("replay", file, "--infos", "--json") == 1
        (verdict,) = json.loads(capsys.readouterr().out)["episodes"]
        assert (verdict["outcome"], verdict["step_index"]) == ("different", at - 1)
        assert verdict["recorded"].startswith("info ") and "took_s" in verdict["recorded"]
    exported(recorded, file, "frozenlake")
    assert run("replay", file, "--infos") == 0


def test_a_replay_holds_few_episodes_at_a_time(
    recorded: Path, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "episodes.jsonl"
    line = exported(recorded, file, "frozenlake")
    file.write_text((json.dumps(line) + "\n") * 100)
    held: weakref.WeakSet[RecordedEpisode] = weakref.WeakSet()
    most = [0]

    def read(path: Path) -> Iterator[RecordedEpisode]:
        for episode in read_exported(path):
            held.add(episode)
            most.append(len(held))
            yield episode

    monkeypatch.setattr(replay, "read_exported", read)
    assert run("replay", file) == 0
    assert "100 episodes the same" in capsys.readouterr().out
    assert max(most) <= 2 * replay.AT_ONCE


def test_an_episode_that_ends_its_process_costs_no_other_its_verdict(
    recorded: Path, capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "AT_ONCE", 1)
    file = tmp_path / "episodes.jsonl"
    line = exported(recorded, file, "echo")
    line["config"]["exit_on"] = "hello"
    assert line["actions"] == ["hello"]
    good = {**line, "actions": ["fine"], "observations": [line["observations"][0], "fine"]}
    file.write_text("".join(json.dumps(one) + "\n" for one in (line, good, good)))
    capsys.readouterr()
    assert run("replay", file, "--json") == 1
    verdicts = json.loads(capsys.readouterr().out)["episodes"]
    assert [one["outcome"] for one in verdicts] == ["not compared", "same", "same"]


async def test_a_replay_that_is_interrupted_ends(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "BACK_S", 1e6)
    began, start = asyncio.Event(), Replay.start

    def told_start(self: Replay) -> None:
        start(self)
        began.set()

    monkeypatch.setattr(Replay, "start", told_start)
    file = tmp_path / "episodes.jsonl"
    line = exported(recorded, file, "echo")
    line["config"]["hang_on"] = "hello"
    line["limits"]["step_timeout_s"] = 3600.0
    file.write_text(json.dumps(line) + "\n")
    replaying = asyncio.create_task(replay._run(file, {}, Store(tmp_path / "store"), False))
    await asyncio.wait_for(began.wait(), 60)
    replaying.cancel()
    await asyncio.wait([replaying], timeout=60)
    assert replaying.cancelled()


def test_a_parquet_export_has_a_row_an_episode(recorded: Path, capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "episodes.parquet"
    assert run("trajectories", "export", recorded, "-o", file, "--format", "parquet") == 0
    rows = pyarrow.parquet.read_table(file).to_pylist()
    assert [row["seed"] for row in rows] == [9, 2, 1, 0]
    assert (rows[0]["actions"], rows[0]["rewards"]) == (['"right"'], [1.0])


def test_the_whole_record_replays(recorded: Path, capsys: Any) -> None:
    assert run("replay", recorded) == 0
    assert "4 episodes the same" in capsys.readouterr().out


def test_an_export_is_looked_at_like_a_record(recorded: Path, capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    assert run("trajectories", "export", recorded, "-o", file) == 0
    capsys.readouterr()
    for command in ("list", "stats"):
        assert listed(capsys, command, file) == listed(capsys, command, recorded)
    assert [one["seed"] for one in listed(capsys, "list", file, "--success")] == [9]
    episode = listed(capsys, "list", file)[0]["episode"]
    assert listed(capsys, "show", file, episode) == listed(capsys, "show", recorded, episode)
    with file.open("ab") as lines:
        lines.write(b'{"env":"frozenlake"}\n{"env":"torn')
    assert run("trajectories", "list", file) == 0
    assert "1 damaged line" in capsys.readouterr().err


def test_a_changed_environment_is_found_out(tmp_path: Path, capsys: Any) -> None:
    spec = write_skeleton("maze", tmp_path)

    def play(hub: Hub) -> None:
        env = hub.make("maze")
        _, info = env.reset(seed=3)
        for _ in range(3):
            *_, terminated, truncated, info = env.step(info["available_actions"][0])
            if terminated or truncated:
                break
        env.close()

    record(tmp_path / "record", "--env", f"{spec}=1", play=play)
    assert run("replay", tmp_path / "record", "--env", spec) == 0
    toml = spec / "envhub.toml"
    toml.write_text(toml.read_text().replace('version = "', 'version = "9'))
    capsys.readouterr()
    assert run("replay", tmp_path / "record", "--env", spec) == 0
    assert "was recorded with version" in capsys.readouterr().err
    code = spec / "envhub_maze" / "__init__.py"
    code.write_text(code.read_text().replace("The number is between", "It is between"))
    assert run("replay", tmp_path / "record", "--env", spec, "--json") == 1
    (verdict,) = json.loads(capsys.readouterr().out)["episodes"]
    assert (verdict["outcome"], verdict["step_index"]) == ("different", -1)
    assert verdict["recorded"].startswith('"The number') and verdict["replayed"].startswith('"It is')


def test_what_is_no_record_is_refused(tmp_path: Path, capsys: Any) -> None:
    for command in (("trajectories", "list"), ("replay",)):
        assert run(*command, tmp_path) == 2
        assert "no record at" in capsys.readouterr().err
