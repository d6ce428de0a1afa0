"""Attempts to use up what others need, each bounded by small limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from envhub_os.sandbox import Report, Sandbox

from .conftest import CALLS, PYTHON, SMALL, inside, say

pytestmark = pytest.mark.usefixtures("neighbours")

FORKS = """
import signal
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            signal.pause()
        made += 1
except OSError as error:
    print(json.dumps([errno.errorcode[error.errno], made]), flush=True)
os._exit(0)
"""
AGAIN = """
while True:
    try:
        os.fork() or signal.pause()
    except OSError:
        pass
"""


def test_a_fork_bomb_ends_at_the_limit(box: Sandbox, held: Report) -> None:
    if "pids" not in held.controllers:
        pytest.skip("no control group for pids here: rlimits hold by user")
    why, made = inside(box, FORKS)
    assert why == "EAGAIN" and made < SMALL.pids
    box.run("bomb() { bomb | bomb & }; bomb", timeout_s=2.0, limit_bytes=1000)
    box.close()


def test_who_uses_up_all_processes_has_none_for_checks_and_gets_a_new_shell(
    box: Sandbox, held: Report
) -> None:
    if "pids" not in held.controllers:
        pytest.skip("no control group for pids here: rlimits hold by user")
    if say(box, f"test -x {PYTHON}").exit_code:
        pytest.skip(f"this machine has no {PYTHON}")
    box.write("/tmp/attack.py", (CALLS + FORKS.replace("os._exit(0)", AGAIN)).encode())
    say(box, f"{PYTHON} /tmp/attack.py > /tmp/out & while [ ! -s /tmp/out ]; do :; done")
    done = box.exec(["true"])
    assert done.exit_code == 126 and b"can't be started" in done.stderr
    with pytest.raises(BlockingIOError):
        box.read("/etc/passwd")
    assert say(box, "kill -9 $$").new_shell
    assert say(box, "echo on").output == "on\n"


def test_a_memory_bomb_is_killed(box: Sandbox, held: Report) -> None:
    if "memory" not in held.controllers:
        pytest.skip("no control group for memory here: rlimits hold by process")
    box.write(
        "/tmp/bomb.py",
        b"kept = []\nfor _ in range(40): kept.append(bytearray(os.urandom(1)) * (8 << 20))".replace(
            b"os.urandom(1)", b"b'x'"
        ),
    )
    if say(box, f"test -x {PYTHON}").exit_code:
        pytest.skip(f"this machine has no {PYTHON}")
    assert say(box, f"{PYTHON} /tmp/bomb.py").exit_code == 137
    assert say(box, "echo on").output == "on\n"


def test_memory_in_files_is_bounded_too(box: Sandbox, held: Report) -> None:
    if "memory" not in held.controllers:
        pytest.skip("no control group for memory here: only the size of each file system holds")
    box.run(
        "for n in 1 2 3; do head -c 60M /dev/zero > /dev/shm/$n; head -c 60M /dev/zero > /tmp/$n; done",
        timeout_s=60,
        limit_bytes=100,
    )
    used = box.exec(["bash", "-c", "du -sm /dev/shm /tmp | cut -f1"])
    assert sum(map(int, used.stdout.split())) <= SMALL.memory_mb


def test_memory_in_sockets_is_bounded_too(make: Callable[..., Sandbox], held: Report) -> None:
    if "memory" not in held.controllers:
        pytest.skip("no control group for memory here: only the number of open files holds")
    box = make(replace(SMALL, backend=held.backend, open_files=4096))
    code = """
import socket
def held():
    with open("/proc/net/sockstat") as file:
        pages = next(line for line in file if line.startswith("UDP:")).split()[-1]
    return int(pages) * os.sysconf("SC_PAGESIZE")
before, sockets = held(), []
for _ in range(1500):
    sockets += [socket.socket(2, 2), socket.socket(2, 2)]
    sockets[-1].bind(("127.0.0.1", 0))
    for _ in range(8):
        attempt(sockets[-2].sendto, b"x" * 60000, sockets[-1].getsockname())
print(json.dumps(held() - before))
"""
    assert inside(box, code) < SMALL.memory_mb << 20


def test_the_disk_fills_up_inside_alone(box: Sandbox) -> None:
    result = say(box, "head -c 100M /dev/zero > /tmp/fill")
    assert "No space left" in result.output
    assert int(say(box, "stat -c %s /tmp/fill").output) <= SMALL.disk_mb << 20
    assert say(box, "rm /tmp/fill; echo on > /tmp/on; cat /tmp/on").output == "on\n"


def test_inodes_run_out_inside_alone(box: Sandbox) -> None:
    result = say(
        box,
        "mkdir /tmp/many; cd /tmp/many; for ((n = 0; n < 6000; n++)); do : > $n || break; done; ls | wc -l",
    )
    assert "No space left" in result.output
    assert int(result.output.split()[-1]) <= SMALL.inodes


def test_open_files_run_out_in_the_process_alone(box: Sandbox) -> None:
    code = """
import resource
files = []
try:
    while len(files) < 5000: files.append(os.open("/dev/null", 0))
except OSError as error:
    why = errno.errorcode[error.errno]
for file in files: os.close(file)
raised = "worked"
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (100_000, 100_000))
except (OSError, ValueError):
    raised = "refused"
print(json.dumps([why, len(files) <= 256, raised]))
"""
    assert inside(box, code) == ["EMFILE", True, "refused"]


def test_an_endless_output_costs_neither_memory_nor_the_shell(box: Sandbox) -> None:
    result = box.run("yes", timeout_s=1.0, limit_bytes=1000)
    assert result.timed_out and result.truncated and len(result.output) <= 1000
    assert say(box, "echo on").output == "on\n"


def test_shared_memory_and_namespaces_have_limits_of_their_own(box: Sandbox) -> None:
    if say(box, "stat -c %u /proc/sys/kernel/shmall").output != "0\n":
        pytest.skip("this kernel does not let a namespace have its own limits")
    assert say(box, "cat /proc/sys/kernel/shmall").output == f"{SMALL.disk_mb << 8}\n"
    assert say(box, "cat /proc/sys/user/max_user_namespaces").output == "0\n"


def test_processors_are_shared(make: Callable[..., Sandbox], held: Report) -> None:
    if "cpu" not in held.controllers:
        pytest.skip("no control group for processors here")
    box = make(replace(SMALL, backend=held.backend, cpus=0.2))
    code = """
import time
begun = time.monotonic(), time.process_time()
while time.process_time() - begun[1] < 0.2: pass
print(json.dumps(time.monotonic() - begun[0]))
"""
    assert inside(box, code) > 0.5  # 1 s at a fifth of a processor; a busy machine only makes it longer
