"""Attempts to get out, each of which must fail inside and leave the neighbours serving."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from envhub_os.sandbox import Report, Sandbox, Settings
from envhub_os.sandbox.jail import seccomp

from .conftest import SMALL, say

PYTHON = "/usr/bin/python3"
CALLS = """
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "worked"
def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "worked"
"""
REFUSED = {"EPERM", "EACCES", "ENOSYS", "EROFS", "ENOENT", "EINVAL", "ENODEV", "ENXIO"}


@pytest.fixture(autouse=True)
def neighbours_still_serve(neighbour: Sandbox) -> Iterator[None]:
    say(neighbour, "echo $$ > /tmp/kept")
    yield
    assert say(neighbour, "echo $(( $$ == $(< /tmp/kept) ))").output == "1\n"
    assert neighbour.exec(["true"]).exit_code == 0


def inside(box: Sandbox, code: str) -> Any:
    """Runs Python in the agent's shell; what it prints last is JSON."""
    if not say(box, f"test -x {PYTHON}").exit_code == 0:
        pytest.skip(f"this machine has no {PYTHON} to attack with")
    box.write("/tmp/attack.py", (CALLS + code).encode())
    result = say(box, f"{PYTHON} /tmp/attack.py")
    assert result.exit_code == 0, result
    return json.loads(result.output.splitlines()[-1])


# -- the kernel -------------------------------------------------------------------------------------


def column() -> int:
    return seccomp.ARCHITECTURES[platform.machine()][0]


def test_no_call_that_is_denied_gets_through(box: Sandbox) -> None:
    numbers = {name: both[column()] for name, both in seccomp.DENIED.items() if both[column()] >= 0}
    answers = inside(box, f"print(json.dumps({{n: call(x, 0, 0, 0, 0, 0) for n, x in {numbers!r}.items()}}))")
    assert answers == dict.fromkeys(numbers, "EPERM")


def test_no_call_that_is_newer_than_the_list_exists(box: Sandbox) -> None:
    after = seccomp.LAST_KNOWN + 1
    assert set(inside(box, f"print(json.dumps([call(n, 0) for n in range({after}, {after + 60})]))")) == {
        "ENOSYS"
    }
    assert inside(box, "print(json.dumps(call(0x40000000 + 39)))") == "ENOSYS"


def test_no_process_gets_new_namespaces(box: Sandbox) -> None:
    clone, clone3 = (seccomp.CHECKED[name][column()] for name in ("clone", "clone3"))
    flags = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
    answers = inside(box, f"print(json.dumps([call({clone}, f | 17, 0, 0, 0, 0) for f in {flags}]))")
    assert answers == ["EPERM"] * len(flags)
    assert inside(box, f"print(json.dumps(call({clone3}, 0, 88)))") == "ENOSYS"
    assert say(box, "unshare --user --map-root-user true").exit_code != 0
    assert say(box, "nsenter --target 1 --mount true").exit_code != 0


def test_nothing_is_mounted_or_unmounted(box: Sandbox) -> None:
    for attempt in (
        "mount -t tmpfs none /mnt",
        "mount --bind / /mnt",
        "mount -o remount,rw /proc/sys",
        "umount /proc/sys",
        "mount -t proc proc /mnt",
    ):
        assert say(box, attempt).exit_code != 0, attempt


def test_no_terminal_is_typed_into_or_gets_another_line_discipline(box: Sandbox) -> None:
    numbers = (0x5412, 0x541C, 0x5423)
    code = f"import fcntl\nprint(json.dumps([attempt(fcntl.ioctl, 0, n, b'xxxx') for n in {numbers}]))"
    assert inside(box, code) == ["EPERM"] * len(numbers)


def test_no_crash_starts_a_program_outside_that_takes_its_dump(box: Sandbox) -> None:
    code = """
import resource
for limit in ((0, 0), (0, 1), (-1, -1), (1 << 20, 1 << 20)):
    resource.setrlimit(resource.RLIMIT_CORE, limit)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
print(json.dumps([resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE)]))
"""
    assert inside(box, code) == [[1, 1], [64, 64]]  # core(5): with 1 the kernel does nothing at all


def test_nothing_of_the_kernels_is_written_or_read(box: Sandbox, held: Report) -> None:
    paths = [
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/vm/drop_caches",
        "/proc/sysrq-trigger",
        "/proc/1/mem",
        "/proc/irq/default_smp_affinity",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/kernel/uevent_helper",
    ]
    answers = inside(box, f"print(json.dumps({{p: attempt(open, p, 'r+b') for p in {paths!r}}}))")
    shown = {"/proc/sysrq-trigger"}  # /dev/null in its place
    if held.ids == "single":  # it belongs to the same user outside; what would help can't be written
        shown.add("/proc/1/oom_score_adj")
    assert {path for path, answer in answers.items() if answer not in REFUSED} <= shown
    assert (
        say(box, "cat /proc/kcore /proc/kmsg /proc/kallsyms /proc/keys 2> /dev/null | wc -c").output == "0\n"
    )
    assert (
        say(
            box,
            "cmp /proc/sysrq-trigger /dev/null || test ! -e /proc/sysrq-trigger",
        ).exit_code
        == 0
    )


def test_no_device_is_made(box: Sandbox) -> None:
    for attempt in (
        "mknod /tmp/disk b 8 0",
        "mknod /tmp/mem c 1 1",
        "mknod /dev/mem c 1 1",
        "mknod /dev/shm/k c 1 11",
    ):
        assert say(box, attempt).exit_code != 0, attempt
    assert (
        say(box, "ls /dev | tr '\\n' ' '").output
        == "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero "
    )
    assert say(box, "mkfifo /tmp/fifo").exit_code == 0


# -- the network ------------------------------------------------------------------------------------


def test_sockets_of_other_families_do_not_exist(box: Sandbox) -> None:
    code = """
import socket
families = {}
for family in range(1, 50):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        if attempt(lambda: socket.socket(family, kind).close()) == "worked":
            families.setdefault(family, []).append(int(kind))
print(json.dumps(sorted(families)))
"""
    assert set(inside(box, code)) <= {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    others = "import socket\nprint(json.dumps([attempt(socket.socket, *s) for s in %r]))" % [
        (2, 1, 132),  # SCTP
        (2, 1, 262),  # MPTCP
        (2, 5, 33),  # DCCP
        (16, 3, 9),  # audit
        (16, 3, 12),  # netfilter
        (16, 3, 21),  # the kernel's ciphers
    ]
    assert set(inside(box, others)) == {"EPROTONOSUPPORT"}
    pair = "import socket\nprint(json.dumps([attempt(socket.socketpair, f, 1) for f in (30, 40, 43)]))"
    assert set(inside(box, pair)) == {"EPERM"}
    raw = "import socket\nprint(json.dumps([attempt(socket.socket, f, 3, 1) for f in (2, 10, 17)]))"
    assert set(inside(box, raw)) == {"EPERM"}


def test_nothing_outside_is_reached(box: Sandbox, make: Callable[..., Sandbox]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0envhub-test-{os.getpid()}")
        abstract.listen()
        code = f"""
import socket
def reach(family, address):
    with socket.socket(family) as s:
        s.settimeout(5)
        return attempt(s.connect, address)
print(json.dumps([
    reach(2, ("127.0.0.1", {server.getsockname()[1]})),
    reach(1, "\\0envhub-test-{os.getpid()}"),
    reach(2, ("192.0.2.1", 80)), reach(2, ("169.254.169.254", 80)), reach(10, ("2001:db8::1", 80)),
]))
"""
        assert inside(box, code) == [
            "ECONNREFUSED",
            "ECONNREFUSED",
            "ENETUNREACH",
            "ENETUNREACH",
            "ENETUNREACH",
        ]


def test_a_server_inside_serves_inside_only(box: Sandbox) -> None:
    code = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()) as s:
        print(json.dumps(server.getsockname()[1]))
"""
    port = inside(box, code)
    with socket.socket() as outside, pytest.raises(ConnectionRefusedError):
        outside.connect(("127.0.0.1", port))


# -- processes --------------------------------------------------------------------------------------


def test_the_first_process_is_not_killed_traced_or_read(box: Sandbox) -> None:
    for name in ("KILL", "TERM", "INT", "STOP", "HUP", "CHLD", "USR1", "SEGV", "ALRM", "PIPE"):
        say(box, f"kill -{name} 1")
    for path in ("environ", "mem", "maps", "root", "cwd", "exe", "fd/0", "fd/3"):
        for command in (f"ls -l /proc/1/{path}/ || cat /proc/1/{path}", f"true > /proc/1/{path}"):
            assert say(box, command).exit_code != 0, path
            assert box.exec(["bash", "-c", command]).exit_code != 0, path  # the agent's if it replaced bash
    for path in ("fd", "fdinfo", "map_files", "ns"):
        shown = say(box, f"ls -A /proc/1/{path} /proc/1/task/1/{path} 2> /dev/null | grep -v :").output
        assert shown.strip() == "", path
    assert say(box, "tr '\\0' ' ' < /proc/1/cmdline").output.strip() == "init"
    assert box.exec(["true"]).exit_code == 0


def test_the_first_processs_limits_are_not_changed(box: Sandbox) -> None:
    script = "import resource as r; r.prlimit(%s, r.RLIMIT_NOFILE, (20, 20)); print(r.prlimit(1, 7))"
    assert "PermissionError" in say(box, f'python3 -c "{script % 1}"').output
    assert say(box, f'python3 -c "{script % 0}"').exit_code == 0
    assert say(box, f'sleep 100 & python3 -c "{script % "$!"}"').exit_code == 0
    assert box.exec(["true"]).exit_code == 0


def test_what_becomes_of_devices_does_not_matter_to_the_first_process(box: Sandbox) -> None:
    say(box, "rm -f /dev/*; mkfifo /dev/ptmx /dev/null /dev/tty; chmod 0 /dev/pts; mv /dev/pts /dev/gone")
    assert say(box, "kill -9 $$").new_shell
    assert say(box, "echo on").output == "on\n"
    assert box.exec(["echo", "on"]).stdout == b"on\n"


@pytest.mark.usefixtures("users")
def test_what_walks_through_everything_meets_no_error(box: Sandbox) -> None:
    for command in ("find / -xdev > /dev/null", "find /proc /dev /sys > /dev/null", "ps aux > /dev/null"):
        assert say(box, command).exit_code == 0, command
        for checks in (False, True):
            done = box.exec(["bash", "-c", command], checks=checks)
            assert (done.exit_code, done.stderr) == (0, b""), command


def test_killing_everything_ends_the_shell_alone(box: Sandbox) -> None:
    box.run("kill -9 -1", timeout_s=60.0, limit_bytes=100)
    say(box, "true")
    assert say(box, "echo on").output == "on\n"


def test_no_process_outside_is_seen_or_signalled(box: Sandbox, neighbour: Sandbox) -> None:
    pids = [os.getpid(), os.getppid(), box.pid, neighbour.pid]
    answers = inside(box, f"print(json.dumps([attempt(os.kill, pid, 0) for pid in {pids} if pid > 1000]))")
    assert set(answers) <= {"ESRCH"}
    assert len(say(box, "ls -d /proc/[0-9]*").output.split()) < 10


def test_a_helper_is_neither_traced_nor_read(box: Sandbox) -> None:
    box.exec(["bash", "-c", "SECRET=42 sleep 1000 & echo $! > /tmp/helper"])
    assert say(box, "readlink /proc/$(< /tmp/helper)/fd/0").exit_code == 1
    assert "Permission denied" in say(box, "cat /proc/$(< /tmp/helper)/environ").output
    code = """
pid = open("/tmp/helper").read().strip()
print(json.dumps(attempt(open, f"/proc/{pid}/mem", "r+b")))
"""
    assert inside(box, code) in REFUSED


def test_programs_get_no_files_but_the_terminal(box: Sandbox) -> None:
    assert say(box, "ls /proc/self/fd").output.split() == [
        "0",
        "1",
        "2",
        "3",
    ]  # the last is the folder itself
    assert say(box, "readlink /proc/self/fd/[012]").output == "/dev/pts/0\n" * 3
    helper = box.exec(["bash", "-c", "ls -l /proc/self/fd | grep -c -e pipe -e socket -e pts"])
    assert helper.stdout == b"3\n"


def test_the_maps_of_ids_are_settled(box: Sandbox) -> None:
    assert say(box, "echo 0 0 1 > /proc/self/uid_map").exit_code != 0
    assert say(box, "echo 0 0 1 > /proc/self/gid_map").exit_code != 0


def test_no_process_is_spared_before_the_hub_when_memory_runs_out(box: Sandbox) -> None:
    status = Path("/proc/self/status").read_text()
    may_set_the_least = os.geteuid() == 0 and int(status.split("CapEff:")[1].split()[0], 16) >> 24 & 1
    less = 299 if may_set_the_least else int(Path("/proc/self/oom_score_adj").read_text()) - 1
    assert say(box, f"echo {less} > /proc/self/oom_score_adj").exit_code != 0
    assert say(box, "echo 900 > /proc/self/oom_score_adj").exit_code == 0


def test_what_a_user_may_have_is_used_up_inside_alone(box: Sandbox, neighbour: Sandbox, held: Report) -> None:
    if held.ids != "root":
        pytest.skip("without root all sandboxes are charged to this user: only their own limits hold")
    watch = """
files = []
while len(files) < 2000 and (file := libc.inotify_init1(0)) >= 0: files.append(file)
print(json.dumps(len(files)), flush=True)
"""
    hold = f"({PYTHON} /tmp/attack.py > /tmp/made &); until [ -s /tmp/made ]; do :; done; cat /tmp/made"
    box.write("/tmp/attack.py", (CALLS + watch + "import signal; signal.pause()").encode())
    if say(box, f"test -x {PYTHON}").exit_code:
        pytest.skip(f"this machine has no {PYTHON}")
    made = int(say(box, hold).output)
    assert 0 < made <= 64
    assert inside(neighbour, watch) == made


def test_the_hubs_variables_and_memory_are_nowhere(
    make: Callable[..., Sandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVHUB_TOKEN", "very-secret-token")
    box = make()
    everything = ["bash", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env; ls -l /proc/[0-9]*/fd"]
    seen = say(box, everything[2]).output.encode() + box.exec(everything).stdout
    assert b"PROMPT_COMMAND" in seen
    for secret in (b"very-secret-token", str(Path.cwd()).encode(), b"ENVHUB"):
        assert secret not in seen


def test_setuid_programs_raise_nobody(box: Sandbox) -> None:
    if say(box, "useradd -m bob && su bob -s /bin/bash -c true").exit_code:
        pytest.skip("no useradd, or only one user id here")
    say(box, "cp $(command -v id) /tmp/id && chmod 4755 /tmp/id")
    assert say(box, "su bob -s /bin/bash -c /tmp/id").output.startswith("uid=100")
    assert say(box, "su bob -s /bin/bash -c 'grep NoNewPrivs /proc/self/status'").output == "NoNewPrivs:\t1\n"


def test_the_capabilities_are_few_and_do_not_come_back(box: Sandbox) -> None:
    kept = {0, 1, 3, 4, 5, 6, 7, 10, 18}
    script = "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | cut -f2"
    for line in say(box, script).output.split() + say(box, f'bash -c "{script}"').output.split():
        assert {number for number in range(64) if int(line, 16) >> number & 1} <= kept


# -- files ------------------------------------------------------------------------------------------


def test_files_of_the_machine_are_not_there(box: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    assert say(box, f"cat {secret}").exit_code == 1
    assert say(box, "ls -A /root /home /mnt /opt /srv /run/* /tmp").output.replace("\n", "").count(".") <= 2
    assert say(box, f"ls {Path(__file__).parent}").exit_code != 0
    for line in say(box, "cat /etc/shadow").output.splitlines():
        assert line.split(":")[1] == "*"


def test_what_is_written_stays_inside(box: Sandbox, neighbour: Sandbox) -> None:
    before = Path("/etc/passwd").read_bytes()
    say(
        box,
        "echo x:x:0:0::/:/bin/sh >> /etc/passwd; touch /usr/bin/evil /tmp/evil /etc/evil",
    )
    assert Path("/etc/passwd").read_bytes() == before
    for name in ("/usr/bin/evil", "/tmp/evil", "/etc/evil"):
        assert not os.path.exists(name)
        assert say(neighbour, f"test -e {name}").exit_code == 1


def test_a_root_above_the_root_is_the_root(box: Sandbox) -> None:
    code = """
os.makedirs("/tmp/jail", exist_ok=True)
top = os.open("/", os.O_RDONLY)
os.chroot("/tmp/jail"); os.fchdir(top)
for _ in range(64): os.chdir("..")
os.chroot(".")
print(json.dumps(sorted(os.listdir("/"))))
"""
    assert inside(box, code) == sorted(say(box, "ls -A /").output.split())


# -- bombs: each bounded by small limits ------------------------------------------------------------


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


# -- what the agent says ----------------------------------------------------------------------------


def test_output_does_not_act_on_the_terminal_that_shows_it(box: Sandbox) -> None:
    say(box, "true")
    result = say(box, r"printf '\e]0;title\a\e]52;c;cGF5\a\e[2Jshown\e[31m\x9b1m\e[6n\x07'")
    assert result.output == "shown\ufffd1m"  # a byte that is no UTF-8 shows as such
    assert say(box, "echo on").output == "on\n"


def test_numbers_of_calls_are_those_that_libseccomp_has() -> None:
    import ctypes

    with contextlib.suppress(OSError):
        library = ctypes.CDLL("libseccomp.so.2")
        resolve = library.seccomp_syscall_resolve_name_arch
        resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
        for column, architecture in seccomp.ARCHITECTURES.values():
            for name, numbers in {**seccomp.DENIED, **seccomp.CHECKED}.items():
                assert max(resolve(architecture, name.encode()), -1) == numbers[column], name
        return
    pytest.skip("no libseccomp here to compare with")


def test_settings_that_make_no_sense_are_refused(held: Report) -> None:
    from envhub_os.sandbox import Refused

    for settings in (
        Settings(backend="docker"),
        Settings(backend="none"),
        Settings(backend="none", i_know=True, rootfs=Path("/")),
        Settings(memory_mb=0),
        Settings(rootfs=Path("/nonexistent")),
    ):
        with pytest.raises(Refused):
            Sandbox.start(settings)
