"""Attempts to get out through system calls, devices, `/proc` and the network."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from collections.abc import Callable

import pytest
from envhub_os.sandbox import Report, Sandbox
from envhub_os.sandbox.jail import seccomp

from .conftest import REFUSED, inside, say

pytestmark = pytest.mark.usefixtures("neighbours")
# -- calls and devices ----------------------------------------------------------------------------------


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


# -- the network ----------------------------------------------------------------------------------------


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
