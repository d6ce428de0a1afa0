"""The system calls that Python has no function for, by ctypes.

Ours because an environment's interpreter brings the standard library only, and `os.unshare` came with
Python 3.12 while mounts, capabilities and filters never did.
"""

from __future__ import annotations

import ctypes
import errno
import os

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NAME = 15
PR_SET_SECCOMP = 22

# Numbers that are the same on every architecture (all calls since Linux 5.0).
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_RDONLY = 1
_MOUNT_ATTR_IDMAP = 0x00100000
_MOUNT_ATTR_NOATIME, _MOUNT_ATTR__ATIME = 0x10, 0x70
_CAPABILITY_VERSION_3 = 0x20080522


class _MountAttr(ctypes.Structure):
    _fields_ = [
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    ]


def _checked(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def unshare(flags: int) -> None:
    """Moves this process into new namespaces; a new pid namespace takes its children."""
    try:
        _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        why = "unshare: there may be no more namespaces (see the limits in /proc/sys/user)"
        raise OSError(error.errno, why) from error


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    """Mounts a file system, or a folder elsewhere."""
    arguments = [os.fsencode(source), os.fsencode(target), kind.encode() if kind else None]
    result = _libc.mount(*arguments, ctypes.c_ulong(flags), os.fsencode(options) if options else None)
    _checked(result, f"mount {kind or 'bind'} at {target}")


def unmount(target: str) -> None:
    """Takes a mount and all below it out of sight; it ends with its last user."""
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    """Makes a mount this namespace's root and puts the old root somewhere below it."""
    number = _PIVOT_ROOT[os.uname().machine]
    _checked(_libc.syscall(ctypes.c_long(number), os.fsencode(new), os.fsencode(old)), "pivot_root")


def clone_tree(path: str) -> int:
    """A detached copy of the mount at `path`, what is mounted below it left out."""
    number, flags = ctypes.c_long(_OPEN_TREE), ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC)
    return _checked(_libc.syscall(number, _AT_FDCWD, os.fsencode(path), flags), f"open_tree {path}")


def shift_owners(tree: int, user_namespace: int) -> None:
    """Lets the owners of a detached tree be seen through the maps of a user namespace (Linux 5.12)."""
    _set_attributes(tree, _MountAttr(attr_set=_MOUNT_ATTR_IDMAP, userns_fd=user_namespace))


def keep_access_times(tree: int) -> None:
    """Lets files be read through a detached tree without a trace (Linux 5.12)."""
    _set_attributes(tree, _MountAttr(attr_set=_MOUNT_ATTR_NOATIME, attr_clr=_MOUNT_ATTR__ATIME))


def make_read_only(tree: int) -> None:
    """Lets nobody write through a detached tree (Linux 5.12)."""
    _set_attributes(tree, _MountAttr(attr_set=_MOUNT_ATTR_RDONLY))


def _set_attributes(tree: int, attributes: _MountAttr) -> None:
    size, number = ctypes.c_size_t(ctypes.sizeof(attributes)), ctypes.c_long(_MOUNT_SETATTR)
    result = _libc.syscall(number, tree, b"", _AT_EMPTY_PATH, ctypes.byref(attributes), size)
    _checked(result, "mount_setattr")


def attach_tree(tree: int, path: str) -> None:
    """Mounts a detached tree at `path`."""
    number = ctypes.c_long(_MOVE_MOUNT)
    result = _libc.syscall(number, tree, b"", _AT_FDCWD, os.fsencode(path), _MOVE_MOUNT_F_EMPTY_PATH)
    _checked(result, f"move_mount {path}")


def prctl(option: int, value: int = 0, pointer: ctypes.c_void_p | None = None) -> None:
    """Changes an attribute of this process."""
    rest = (pointer or ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    _checked(_libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), *rest), f"prctl {option}")


def rename(name: str) -> None:
    """Gives this process a name in place of its command line, which tells of this machine's folders."""
    text = ctypes.create_string_buffer(name.encode())
    prctl(PR_SET_NAME, ctypes.addressof(text))
    with open("/proc/self/stat") as file:
        start, end = (
            int(word) for word in file.read().rpartition(")")[2].split()[45:47]
        )  # arg_start, arg_end
    if 0 < start < end:
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, text, min(len(name), end - start - 1))


def last_capability() -> int:
    """The highest capability that this kernel knows."""
    with open("/proc/sys/kernel/cap_last_cap") as file:
        return int(file.read())


def keep_capabilities(kept: int, last: int) -> None:
    """Gives up, for this process and all it becomes, every capability whose bit is not in `kept`."""
    for number in range(last + 1):
        if not kept >> number & 1:
            prctl(PR_CAPBSET_DROP, number)
    set_capabilities(kept)


def permitted_capabilities() -> int:
    """Those that this process may take."""
    with open("/proc/thread-self/status") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith("CapPrm"))


def set_capabilities(kept: int) -> None:
    """Takes exactly these of the permitted capabilities."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    _checked(_libc.capset(ctypes.byref(header), ctypes.byref(data)), "capset")
