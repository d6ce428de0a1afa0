"""Builds that die, and builds of the same environment at the same time."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from envhub.build import Outcome, Store, build, read_lock
from envhub.spec import Spec

LockedSpec = Callable[..., Spec]
PLAIN = "class Env: pass\n"

BUILD_AND_DIE = """
import os, signal, sys
from pathlib import Path
from envhub.build import Store, _store, build
from envhub.spec import load

folder, store, point = sys.argv[1:]

def die(reached):
    if reached == point:
        os.kill(os.getpid(), signal.SIGKILL)

def report(stage, item, done, total):
    if stage == "fetch" and item.startswith("python") and 0 < done < total:
        die("downloading")
    if stage == "install" and total and done == 0:
        die("unpacking")
    if stage == "install" and total and done == 1:
        die("linking")
    if stage == "install" and not total:
        die("installing wheels")
    if stage == "try":
        die("trying")

write = _store.write_whole

def write_whole(file, content):
    if file.name == _store.MARKER:
        die("before the marker")
    write(file, content)
    if file.name == _store.MANIFEST:
        die("after the list of files")

_store.write_whole = write_whole
build(load(Path(folder)), Store(Path(store)), report=report)
"""
POINTS = [
    "downloading",
    "unpacking",
    "linking",
    "installing wheels",
    "trying",
    "after the list of files",
    "before the marker",
]


def test_a_build_that_is_killed_anywhere_leaves_nothing_that_counts(
    locked_spec: LockedSpec, store: Store
) -> None:
    spec = locked_spec()
    assert spec.path is not None
    for point in POINTS:
        command = [sys.executable, "-c", BUILD_AND_DIE, str(spec.path), str(store.root), point]
        died = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert died.returncode == -signal.SIGKILL, f"{point}: {died.stderr}"
        assert store.find(read_lock(spec).digest) is None and store.all() == [], point
    assert list(store.root.glob("store/*/lib")), "the last ones died with everything in place"
    outcome = build(spec, store)
    assert not outcome.reused
    assert store.verify(outcome.built) == [] and store.leftovers() == []


def test_gc_removes_what_a_killed_build_left(locked_spec: LockedSpec, store: Store) -> None:
    spec = locked_spec()
    command = [sys.executable, "-c", BUILD_AND_DIE, str(spec.path), str(store.root), "linking"]
    assert subprocess.run(command, capture_output=True, timeout=120).returncode == -signal.SIGKILL
    with store.building(read_lock(spec).digest, "conda", lambda: None):
        pass  # whatever the dead build had started is gone when this begins
    archives = {one.name for one in (store.root / "archives").iterdir()}
    assert len(archives) == 4
    removed = store.gc()
    assert {one.path.name for one in removed} == archives and store.leftovers() == []


ORPHAN = """
import os, pathlib, signal, time
trap = pathlib.Path(os.environ["ENVHUB_TEST_TRAP"])
if trap.exists():
    trap.rename(trap.with_name("sprung"))
    os.kill(os.getppid(), signal.SIGKILL)
    for _ in range(10_000):
        if trap.with_name("go on").exists():
            break
        time.sleep(0.01)
    pathlib.Path(os.environ["ENVHUB_PREFIX"], "orphan.txt").write_text("written after the build had died")
"""


def test_the_next_build_waits_for_what_a_killed_one_left_running(
    locked_spec: LockedSpec,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., None],
) -> None:
    spec = locked_spec(conda=["python"], pypi=[], source=PLAIN)
    assert spec.path is not None
    (spec.path / "setup").mkdir()
    (spec.path / "setup" / "make.py").write_text(ORPHAN)
    (spec.path / "setup" / "setup.toml").write_text(
        '[[step]]\nname = "make"\nrun = ["python", "setup/make.py"]\n'
        '[[step.inputs]]\npath = "setup/make.py"\n'
        f'sha256 = "{hashlib.sha256(ORPHAN.encode()).hexdigest()}"\n'
    )
    trap = tmp_path / "trap"
    trap.touch()
    monkeypatch.setenv("ENVHUB_TEST_TRAP", str(trap))
    command = [sys.executable, "-c", BUILD_AND_DIE, str(spec.path), str(store.root), "nowhere"]
    died = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    assert died.returncode == -signal.SIGKILL
    waits = threading.Event()
    outcomes: list[Outcome] = []

    def again() -> None:
        def report(stage: str, item: str, done: int, total: int) -> None:
            if stage == "wait":
                waits.set()

        outcomes.append(build(spec, store, report=report))

    thread = threading.Thread(target=again)
    thread.start()
    wait_until(waits.is_set)
    assert store.leftovers() == [], "somebody still writes there"
    (tmp_path / "go on").touch()
    thread.join(120)
    assert not outcomes[0].reused and not (outcomes[0].built.prefix / "orphan.txt").exists()
    assert store.verify(outcomes[0].built) == []


def test_of_four_builds_at_once_one_builds_and_three_reuse(locked_spec: LockedSpec, store: Store) -> None:
    spec = locked_spec()
    command = [sys.executable, "-m", "envhub", "build", str(spec.path), "--store", str(store.root), "--json"]
    builds = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    answers = []
    try:
        for one in builds:
            out, err = one.communicate(timeout=240)
            assert one.returncode == 0, err
            answers.append(json.loads(out))
    finally:
        for one in builds:
            one.kill()
    assert sorted(answer["reused"] for answer in answers) == [False, True, True, True]
    assert len({answer["prefix"] for answer in answers}) == 1
    (built,) = store.all()
    assert str(built.prefix) == answers[0]["prefix"] and store.verify(built) == []
