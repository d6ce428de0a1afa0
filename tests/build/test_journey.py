"""A spec with a native dependency as its author meets it: lock, build, break, read, mend, serve, move."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envhub.spec import Spec
from envhub_sdk import Hub

from ..hubs import serving
from .channel import Channel

pytestmark = pytest.mark.e2e
ENVHUB = [sys.executable, "-m", "envhub"]


def envhub(*arguments: object, status: int = 0) -> str:
    """What a command prints, on either stream."""
    done = subprocess.run([*ENVHUB, *map(str, arguments)], capture_output=True, text=True, timeout=180)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextlib.contextmanager
def served(*arguments: object) -> Iterator[Hub]:
    """A hub that runs while the context lasts."""
    with serving(*map(str, arguments)) as url, Hub(url) as hub:
        yield hub


def play(hub: Hub) -> list[Any]:
    env = hub.make("probe")
    first, _ = env.reset(seed=1)
    second, reward, terminated, _, _ = env.step("look")
    env.close()
    return [first, second, reward, terminated]


def test_an_author_locks_builds_breaks_mends_serves_and_moves_a_spec(
    locked_spec: Callable[..., Spec], channel: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = locked_spec(conda=["python", "tally", "libreckon"])
    assert spec.path is not None
    store = tmp_path / "envs"
    monkeypatch.setenv("ENVHUB_STORE", str(store))
    for name in ("conda-lock.yml", "requirements.lock"):
        (spec.path / name).unlink()

    assert f"envhub lock {spec.path}" in envhub("build", spec.path, status=2)
    assert "3 conda and 1 PyPI packages" in envhub("lock", spec.path)
    built = json.loads(envhub("build", spec.path, "--json"))
    assert not built["reused"] and built["prefix"].startswith(str(store))

    lock = (spec.path / "conda-lock.yml").read_text()
    (spec.path / "conda-lock.yml").write_text(lock.replace(channel.records["libreckon"]["sha256"], "f" * 64))
    said = envhub("build", spec.path, status=2)
    assert "libreckon 1.4: libreckon-1.4-0.conda is not the archive that was locked" in said
    assert f"run: envhub lock {spec.path}" in said
    assert Path(built["python"]).exists()
    assert "wrote conda-lock.yml" in envhub("lock", spec.path)
    assert (spec.path / "conda-lock.yml").read_text() == lock
    assert json.loads(envhub("build", spec.path, "--json"))["reused"]

    with served("--env", spec.path, "--isolation", "conda") as hub:
        assert play(hub) == ["3", "10", 1.0, True]

    Path(built["python"]).resolve().chmod(0o644)
    said = envhub("serve", "--env", spec.path, "--isolation", "conda", "--port", "0", status=2)
    assert "can't be started: Permission denied" in said and "`envhub store verify --remove`" in said
    assert "cannot be run any more" in envhub("doctor", spec.path, "--offline", "--port", "0", status=1)
    assert "removed; build it again" in envhub("store", "verify", "--remove")
    assert not json.loads(envhub("build", spec.path, "--offline", "--json"))["reused"]

    pack = tmp_path / "probe.pack"
    envhub("pack", spec.path, "--output", pack)
    monkeypatch.setenv("ENVHUB_STORE", str(tmp_path / "other"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    moved = json.loads(envhub("build", "--from", pack, "--dir", tmp_path / "moved", "--json"))
    assert moved["digest"] == built["digest"] and moved["prefix"].startswith(str(tmp_path / "other"))
    with served("--env", tmp_path / "moved", "--isolation", "conda") as hub:
        assert play(hub) == ["3", "10", 1.0, True]
