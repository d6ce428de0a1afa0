"""Control groups of version 2: which files are written where, and as far as this machine has them, for real.

A tree of plain files takes what the kernel would take and refuse, so the first tests are of the logic alone.
"""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from envhub_os.sandbox.jail import limits

SETTINGS: dict[str, Any] = {"memory_mb": 96, "pids": 48, "cpus": 0.5}
ALL = "cpuset cpu io memory pids"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Groups as systemd lays them out: this process is in a scope of a user's slice."""
    for path, enabled in (
        ("", ALL),
        ("user.slice", "memory pids cpu"),
        ("user.slice/user-1000.slice", "memory pids cpu"),
        ("user.slice/user-1000.slice/session-2.scope", ""),
    ):
        folder = tmp_path / path
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.controllers").write_text(ALL if not path else "cpu memory pids\n")
        (folder / "cgroup.subtree_control").write_text(f"{enabled}\n")
    own = tmp_path / "own"
    own.write_text("0::/user.slice/user-1000.slice/session-2.scope\n")
    monkeypatch.setattr(limits, "ROOT", str(tmp_path))
    monkeypatch.setattr(limits, "OWN_GROUPS", str(own))
    return tmp_path


def test_the_nearest_group_that_enables_the_controllers_is_the_parent(tree: Path) -> None:
    (tree / "user.slice/user-1000.slice/session-2.scope/cgroup.controllers").write_text("memory\n")
    groups = limits.Groups()
    assert (groups.version, groups.controllers) == (2, ("memory", "pids", "cpu"))
    groups.prepare()
    (own,) = (tree / "user.slice/user-1000.slice").glob("envhub-*")
    assert own.name.startswith(f"envhub-{os.getpid()}-")
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert groups.make(7, SETTINGS) == [str(own / "7")]
    groups.join([str(own / "7")])
    written = {file.name: file.read_text() for file in (own / "7").iterdir()}
    assert written == {
        "memory.max": str(96 << 20),
        "memory.swap.max": "0",
        "pids.max": "48",
        "cpu.max": "50000 100000",
        "cgroup.procs": "0",
    }


def test_controllers_that_a_delegated_group_has_are_enabled(tree: Path) -> None:
    service = tree / "user.slice/user-1000.slice"
    (service / "cgroup.subtree_control").write_text("\n")
    assert limits._enables(str(service)) is False  # a plain file now holds what was written, with its signs
    assert (service / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"


def test_without_a_controller_for_processors_there_is_no_limit_on_them(tree: Path) -> None:
    (tree / "user.slice/user-1000.slice/cgroup.subtree_control").write_text("memory pids\n")
    (tree / "user.slice/user-1000.slice/session-2.scope/cgroup.controllers").write_text("\n")
    groups = limits.Groups()
    assert groups.controllers == ("memory", "pids")
    groups.prepare()
    assert not (Path(*map(Path, groups.make(1, SETTINGS))) / "cpu.max").exists()


@pytest.mark.parametrize("path", ["/elsewhere", "/"])
def test_where_nothing_is_enabled_there_are_none_of_version_2(tree: Path, path: str) -> None:
    (tree / "own").write_text(f"0::{path}\n")
    (tree / "cgroup.subtree_control").write_text("cpu\n")
    (tree / "cgroup.controllers").write_text("cpu io\n")
    assert limits.Groups().version == 0


def test_groups_whose_launcher_is_gone_are_removed(tree: Path) -> None:
    groups = limits.Groups()
    parent = tree / "user.slice/user-1000.slice/session-2.scope"
    parent = parent if list(parent.glob("envhub-*")) else parent.parent
    (parent / "envhub-1-999999999999" / "3").mkdir(parents=True)
    (parent / f"envhub-{os.getppid()}-{limits.start_time(os.getppid())}").mkdir()
    groups.prepare()
    names = {path.name.rpartition("-")[0] for path in parent.glob("envhub-*")}
    assert names == {f"envhub-{os.getpid()}", f"envhub-{os.getppid()}"}


def mounted() -> str | None:
    """Where a hierarchy of version 2 is mounted here."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(f"{place}/cgroup.procs", os.W_OK):
            return place
    return None


def test_a_process_moves_itself_into_a_real_group_which_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = mounted()
    if place is None:
        pytest.skip("no control groups of version 2 that this user may change are mounted here")
    monkeypatch.setattr(limits, "ROOT", place)
    monkeypatch.setattr(limits, "NEEDED", frozenset())
    groups = limits.Groups()
    assert groups.version == 2
    groups.prepare()
    (folder,) = groups.make(1, SETTINGS)
    join = functools.partial(groups.join, [folder])
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, preexec_fn=join) as process:
        said = Path(f"/proc/{process.pid}/cgroup").read_text().splitlines()
        assert f"0::{folder[len(place) :]}" in said
        Path(folder, "cgroup.kill").write_text("1")
        assert process.wait(60) == -9
    limits.remove([folder])
    groups.close()
    assert not os.path.exists(os.path.dirname(folder))
