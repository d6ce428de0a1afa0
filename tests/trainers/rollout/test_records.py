"""What is kept of rollouts."""

import json

import numpy as np

from envhub_trainers._records import Records, as_text
from envhub_trainers._rewards import Worth
from envhub_trainers._rollout import Rollout, Turn


def played():
    turns = [
        Turn("see a", 3, 5, "hm", problem="no action"),
        Turn("again", 7, 9, "go ```up```", "up", well_formed=True, reward=1.0),
    ]
    return Rollout(
        {"id": "t"}, 7, "s-1", list(range(9)), None, turns, np.array([1.0, np.inf]), terminated=True
    )


def read(folder):
    (file,) = folder.glob("rollouts-*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_rollout_is_kept_with_its_turns_and_the_parts_of_its_reward(tmp_path):
    parts = {"outcome": Worth([0.0, 1.0], 1.0), "format": Worth([-1.0, 0.0], -0.1)}
    records = Records(tmp_path / "runs" / "one")
    records.add(played(), hub="http://one", reward=0.9, parts=parts, faults=["session_lost"])
    records.add(played(), hub=None, reward=None, parts={}, faults=["no_hub"])
    whole, masked = read(tmp_path / "runs" / "one")
    assert whole["parts"] == {
        "outcome": {"turns": [0.0, 1.0], "total": 1.0},
        "format": {"turns": [-1.0, 0.0], "total": -0.1},
    }
    assert (whole["session"], whole["seed"], whole["task"], whole["success"]) == ("s-1", 7, {"id": "t"}, True)
    assert [turn["reward"] for turn in whole["turns"]] == [0.0, 1.0]
    assert whole["final"] == [1.0, "Infinity"] and whole["tokens"] == 9
    assert masked["reward"] is None and masked["faults"] == ["no_hub"]


def test_a_record_can_be_read_as_text(tmp_path):
    records = Records(tmp_path)
    records.add(played(), hub="http://one", reward=1.0, parts={"outcome": Worth([0.0, 1.0], 1.0)}, faults=[])
    records.add(played(), hub=None, reward=None, parts={}, faults=["no_hub"])
    whole, masked = (as_text(record) for record in read(tmp_path))
    assert whole == (
        'task {"id":"t"} seed 7\n\n'
        "[1] see a\n\n--> hm\n    (no action)\n\n"
        "[2] again\n\n--> go ```up```\n    reward 1\n\n"
        "terminated; reward 1 (outcome 1)"
    )
    assert masked.endswith("terminated; reward masked: no_hub")
