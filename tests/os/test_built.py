"""Machines on the root file system that `envhub build os` made; ENVHUB_OS_ROOTFS names its folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from envhub_os import OSEnv, official
from envhub_os.rootfs.lockfile import names, read_lock
from envhub_os.sandbox import Sandbox, Settings

pytestmark = pytest.mark.rootfs

Play = Callable[[OSEnv, str], float]
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def rootfs() -> str:
    """The folder."""
    folder = os.environ.get("ENVHUB_OS_ROOTFS")
    if not folder:
        pytest.skip("ENVHUB_OS_ROOTFS names no root file system: envhub build os --isolation host makes one")
    return folder


@pytest.fixture
def box(machine: None, rootfs: str) -> Iterator[Sandbox]:
    """A machine."""
    with Sandbox.start(Settings(Path(rootfs))) as started:
        yield started


def say(box: Sandbox, command: str) -> str:
    result = box.run(command, timeout_s=PATIENCE_S, limit_bytes=1 << 20)
    assert not result.timed_out
    return result.output


def test_it_has_what_is_locked_and_nothing_else(box: Sandbox) -> None:
    listed = say(box, "dpkg-query --show --showformat '${Package} ${Version}\\n'").splitlines()
    locked = {(package.name, package.version) for package in read_lock().of("installed")}
    assert {(name, version.rpartition(":")[2]) for name, version in map(str.split, listed)} == locked
    assert say(box, "dpkg --audit; command -v sudo; echo end") == "end\n"


def test_packages_are_installed_without_a_network(box: Sandbox) -> None:
    assert say(box, "ls /sys/class/net 2> /dev/null; cat /etc/resolv.conf") == ""
    said = say(box, f"apt-get update && apt-get install -y {' '.join(names('offline.txt'))}; echo status $?")
    assert said.endswith("status 0\n"), said
    assert say(box, "command -v sudo lsof ifconfig ip").split() == [
        *("/usr/bin/sudo", "/usr/bin/lsof", "/usr/sbin/ifconfig", "/usr/sbin/ip")
    ]
    assert "Unable to locate package nmap" in say(box, "apt-get install -y nmap 2>&1")


def test_it_is_the_same_for_the_next_machine(box: Sandbox, rootfs: str) -> None:
    say(box, "rm -rf /usr/bin/python3* /etc/passwd; echo x > /usr/lib/mine")
    with Sandbox.start(Settings(Path(rootfs))) as other:
        assert say(other, "ls /usr/lib/mine 2> /dev/null; id -un; python3 -c 'print(1)'") == "root\n1\n"
    assert not Path(rootfs, "usr/lib/mine").exists()


def test_users_and_owners_are_there(box: Sandbox) -> None:
    assert say(box, "stat -c '%U:%G %a' /etc/shadow /usr/bin/passwd /root /tmp").splitlines() == [
        *("root:shadow 640", "root:root 4755", "root:root 700", "root:root 1777")
    ]
    assert say(box, "useradd -m jack && su - jack -c 'id -un; pwd; touch /etc/x 2>&1'").splitlines()[:2] == [
        *("jack", "/home/jack")
    ]


def test_own_tasks_are_won(machine: None, rootfs: str, solve: Play) -> None:
    env = OSEnv(rootfs=rootfs, train_variants=1, expert=True)
    kinds: dict[str, str] = {}
    for split in ("train", "test"):
        for task in env.tasks(split):
            kinds.setdefault(re.sub(r"-\d+$", "", task["id"]), task["id"])
    try:
        assert [task for task in kinds.values() if solve(env, task) != 1.0] == []
    finally:
        env.close()


def test_agentbench_is_won(machine: None, agentbench: Path, rootfs: str, solve: Play) -> None:
    library = official.load(agentbench)
    env = OSEnv(rootfs=rootfs, data_dir=str(agentbench), expert=True)
    tasks = [entry.id for split in ("validation", "test") for entry in library.split(split)]
    try:
        assert [task for task in tasks if solve(env, task) != 1.0] == []
    finally:
        env.close()
