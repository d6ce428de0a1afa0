"""The filter of system calls: what Docker's default profile leaves out, and a little more.

The filter is a list of numbers, and the numbers are frozen parts of each architecture's interface. So it is
written out here rather than asked of libseccomp, which not every machine has and which would make two
filters of one: the same bytes go to the kernel everywhere, and a test compares the numbers with libseccomp's.
A call that is newer than this list does not exist inside (ENOSYS), so it is a list of what is allowed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from . import kernel

DENIED = {  # name: number on x86_64, on aarch64 (-1: there is none)
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, -1),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, -1),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, -1),
    "userfaultfd": (323, 282),
    "ustat": (136, -1),
    "vhangup": (153, 58),
}
CHECKED = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "ioctl": (16, 29),
    "personality": (135, 92),
    "prlimit64": (302, 261),
    "setrlimit": (160, 164),
    "socket": (41, 198),
    "socketpair": (53, 199),
}
LAST_KNOWN = 452
"""fchmodat2; calls above it do not exist inside."""
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_NEW_NAMESPACES = 0x7E020000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16  # the families that belong to the network namespace
_PROTOCOLS = {_INET: (0, 1, 6, 17, 255), _INET6: (0, 1, 6, 17, 58, 255), _NETLINK: (0, 4)}
"""ICMP, TCP, UDP and raw; routes and the list of sockets. The kernel would load modules for many others."""
_TERMINAL = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX: type into one; TIOCSETD: load a line discipline
_CORE = 4
"""RLIMIT_CORE stays at 1: with 0 or more the kernel may start a program outside that takes a crash's dump."""
_FIRST = 1
"""The first process's id, whose limits stay as they are: it has root's user id, so root could lower them."""
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)

_NUMBER, _ARCHITECTURE, _ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; low halves, little endian
_LOAD, _EQUAL, _GREATER, _ANY_OF, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _refuse(error: int) -> bytes:
    return _instruction(_RETURN, _ERROR | error)


def _load(argument: int, high: bool = False) -> bytes:
    return _instruction(_LOAD, _ARGUMENT + 8 * argument + 4 * high)


def _only(argument: int, allowed: tuple[int, ...], error: int = errno.EPERM) -> bytes:
    """Ends the program: allowed when an argument's low half is one of these, an error otherwise."""
    code = _load(argument)
    for value in allowed:
        code += _instruction(_EQUAL, value, 0, 1) + _instruction(_RETURN, _ALLOW)
    return code + _refuse(error)


def _but(argument: int, test: int, refused: tuple[int, ...]) -> bytes:
    """Ends the program: EPERM when the test holds for one of these values, allowed otherwise."""
    code = _load(argument)
    for value in refused:
        code += _instruction(test, value, 0, 1) + _refuse(errno.EPERM)
    return code + _instruction(_RETURN, _ALLOW)


def _cases(argument: int, cases: dict[int, bytes], otherwise: bytes) -> bytes:
    """Goes on with the code for the argument's low half; each ends the program."""
    code = _load(argument)
    for value, case in cases.items():
        code += _instruction(_EQUAL, value, 0, len(case) // 8) + case
    return code + otherwise


def _when_set(argument: int, answer: bytes, otherwise: bytes) -> bytes:
    """Ends the program: answers so where a pointer is not null."""
    code = _load(argument) + _instruction(_EQUAL, 0, 1, 0) + answer
    return code + _load(argument, high=True) + _instruction(_EQUAL, 0, 1, 0) + answer + otherwise


def program(machine: str) -> bytes:
    """The filter for an architecture ("x86_64", "aarch64"), as the kernel takes it.

    Raises:
        KeyError: There is none for this architecture.
    """
    column, architecture = ARCHITECTURES[machine]
    code = _instruction(_LOAD, _ARCHITECTURE)
    code += _instruction(_EQUAL, architecture, 1, 0) + _refuse(errno.ENOSYS)  # 32-bit calls among others
    code += _instruction(_LOAD, _NUMBER)
    code += _instruction(_GREATER, LAST_KNOWN, 0, 1) + _refuse(errno.ENOSYS)
    for numbers in DENIED.values():
        if numbers[column] >= 0:
            code += _instruction(_EQUAL, numbers[column], 0, 1) + _refuse(errno.EPERM)
    allowed = _instruction(_RETURN, _ALLOW)
    protocols = {f: _only(2, those, errno.EPROTONOSUPPORT) for f, those in _PROTOCOLS.items()}
    families = _cases(0, {_UNIX: allowed, **protocols}, _refuse(errno.EPERM))
    limits = _cases(1, {_CORE: _when_set(2, _refuse(0), allowed)}, allowed)  # success, and nothing is done
    checks = {
        "clone": _but(0, _ANY_OF, (_NEW_NAMESPACES,)),
        "clone3": _refuse(errno.ENOSYS),  # its flags are out of a filter's sight; libc then uses clone
        "ioctl": _but(1, _EQUAL, _TERMINAL),
        "personality": _only(0, _PERSONALITIES),
        "prlimit64": _cases(0, {_FIRST: _when_set(2, _refuse(errno.EPERM), allowed)}, limits),
        "setrlimit": _cases(0, {_CORE: _refuse(0)}, allowed),
        "socket": families,
        "socketpair": families,
    }
    for name, check in checks.items():
        code += _instruction(_EQUAL, CHECKED[name][column], 0, len(check) // 8) + check
    return code + _instruction(_RETURN, _ALLOW)


def install(code: bytes) -> None:
    """Puts a filter on this process and all it becomes; `no_new_privs` must be set."""
    buffer = ctypes.create_string_buffer(code, len(code))
    padding = b"\0" * (ctypes.sizeof(ctypes.c_void_p) - 2)
    head = struct.pack("H", len(code) // 8) + padding + struct.pack("P", ctypes.addressof(buffer))
    program = ctypes.create_string_buffer(head, len(head))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.c_void_p(ctypes.addressof(program)))


def supported() -> bool:
    """Whether there is a filter for this machine."""
    return os.uname().machine in ARCHITECTURES
