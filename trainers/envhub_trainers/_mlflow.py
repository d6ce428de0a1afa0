"""A run's numbers in MLflow, through MLflow's own client, written as they are read off the run."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envhub_trainers._config import ConfigRefused
from envhub_trainers._metrics import Metrics

__all__ = ["MlflowRun"]

EXPERIMENT = "envhub"
"""Where MLFLOW_EXPERIMENT_NAME says no other."""

_log = logging.getLogger("envhub_trainers")


class MlflowRun:
    """One run in MLflow; a training run that goes on goes on with the same.

    Args:
        uri: A server or store, as MLflow names it.
        name: What the run is called.
        kept: The file that has its id.
        parameters: What it was started with.

    Attributes:
        ended_well: Set it before it is closed.

    Raises:
        ConfigRefused: MLflow is not there, or can't be written to.
    """

    def __init__(self, uri: str, name: str, kept: Path, parameters: Mapping[str, Any]) -> None:
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")  # with 7 it waits for minutes
        from mlflow import MlflowClient

        self.ended_well = False
        self._failed = False
        try:
            self._client = MlflowClient(tracking_uri=uri)
            if kept.exists():
                self._id = kept.read_text().strip()
                self._client.update_run(self._id, status="RUNNING")
                return
            run = self._client.create_run(self._experiment(), run_name=name)
            self._id = str(run.info.run_id)
            for key, value in parameters.items():
                self._client.log_param(self._id, key, value)
        except Exception as error:
            raise ConfigRefused(f"logs.mlflow_uri: {uri} can't be written to: {error}") from error
        kept.write_text(self._id)

    def log(self, metrics: Metrics) -> None:
        """Write the numbers of a step, an evaluation or a transfer of weights.

        A server that fails costs the run nothing but these numbers, which `metrics.jsonl` has, too.
        """
        from mlflow.entities import Metric

        step = int(metrics.get("step", metrics.get("weights", 0)))
        now = int(time.time() * 1000)
        numbers = [Metric(name, value, now, step) for name, value in metrics.items() if name != "step"]
        try:
            self._client.log_batch(self._id, metrics=numbers)
        except Exception as error:
            if not self._failed:
                _log.warning("MLflow does not take the numbers of the run: %s", error)
            self._failed = True

    def close(self) -> None:
        """Say that the run has ended, and how."""
        try:
            self._client.set_terminated(self._id, "FINISHED" if self.ended_well else "FAILED")
        except Exception as error:
            _log.warning("MLflow does not take the end of the run: %s", error)

    def _experiment(self) -> str:
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self._client.create_experiment(name))
