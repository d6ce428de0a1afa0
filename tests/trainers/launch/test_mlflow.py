"""A run's numbers in a store of MLflow's."""

import logging
from pathlib import Path

import pytest

from envhub_trainers._config import ConfigRefused
from envhub_trainers._mlflow import MlflowRun

mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder: a database would take all of mlflow."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    return f"file:{tmp_path / 'mlruns'}"


def test_a_run_that_goes_on_is_the_same_run_there(store: str, tmp_path: Path) -> None:
    kept = tmp_path / "mlflow.run"
    first = MlflowRun(store, "first", kept, {"train.lr": 1e-4})
    first.log({"step": 1.0, "reward": 0.25, "timing/step_total": 3.0})
    first.log({"weights": 1.0, "weights/gap": 0.0})
    first.close()
    client = mlflow.MlflowClient(tracking_uri=store)
    assert client.get_run(kept.read_text()).info.status == "FAILED"

    again = MlflowRun(store, "first", kept, {"train.lr": 1e-4})
    again.log({"step": 2.0, "reward": 0.75})
    again.ended_well = True
    again.close()
    run = client.get_run(kept.read_text())
    assert (run.info.run_name, run.info.status, run.data.params) == (
        "first",
        "FINISHED",
        {"train.lr": "0.0001"},
    )
    rewards = client.get_metric_history(run.info.run_id, "reward")
    assert [(entry.step, entry.value) for entry in rewards] == [(1, 0.25), (2, 0.75)]
    assert client.get_experiment(run.info.experiment_id).name == "envhub"


def test_a_store_that_can_not_be_used_is_refused_by_its_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match=r"logs\.mlflow_uri: nothing://here can't be written to: "):
        MlflowRun("nothing://here", "run", tmp_path / "mlflow.run", {})


def test_numbers_that_are_not_taken_cost_the_run_nothing(
    store: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = MlflowRun(store, "run", tmp_path / "mlflow.run", {})
    with caplog.at_level(logging.WARNING, "envhub_trainers"):
        run.log({"step": 1.0, "a name with ! in it": 1.0})
        run.log({"step": 2.0, "a name with ! in it": 1.0})
    assert len(caplog.records) == 1
    assert "MLflow does not take the numbers" in caplog.text
