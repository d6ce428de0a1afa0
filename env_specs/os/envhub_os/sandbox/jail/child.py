"""From a fork of a sandbox's first process to a program of the agent's or a checker's."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import termios
from typing import NoReturn

from . import kernel, seccomp

# What Docker leaves root by default, but those for raw packets, devices, audit records and capabilities.
AGENT = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 10, 18))
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE, SYS_CHROOT."""
HELPER = AGENT | 1 << 19
"""And SYS_PTRACE: it may look into the agent's processes, and those, having less, not into it."""
HELPER_BESIDE_EQUALS = AGENT | 1 << 28
"""And LEASE in its place, where the first process was started inside: SYS_PTRACE would open that, too."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SIGNALS = range(1, signal.NSIG)


class Jailer:
    """What every child gets: its filter, and capabilities to drop to. Made before the root is left."""

    def __init__(self, confined: bool) -> None:
        self._confined = confined
        self._last = kernel.last_capability()
        self._filter = seccomp.program(os.uname().machine) if confined else b""

    def run(
        self,
        argv: list[str],
        env: dict[str, str],
        cwd: str,
        user: str,
        files: tuple[int, int, int],
        capabilities: int,
        terminal: bool = False,
    ) -> NoReturn:
        """Becomes a program; ends with exit code 126 or 127, and a word on stderr, where that fails."""
        status = 126
        try:
            os.setsid()
            if terminal:
                fcntl.ioctl(files[0], termios.TIOCSCTTY, 0)
            for target, source in enumerate(files):
                os.dup2(source, target)
            for name in os.listdir("/proc/self/fd"):  # all are closed on exec; nothing hangs on that alone
                if int(name) > 2:
                    with contextlib.suppress(OSError):
                        os.close(int(name))
            self.confine(user, capabilities)
            try:
                os.chdir(cwd)
            except OSError:
                os.chdir("/")
            status = 127
            os.execvpe(argv[0], argv, env)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(2, f"{argv[0]}: {error}\n".encode())
        finally:
            os._exit(status)

    def confine(self, user: str, capabilities: int) -> None:
        """Gives up what the child is not to have."""
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_DFL:
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(0o022)
        if not self._confined:
            return
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # else the next file is not ours
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("800")
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        identity = find_user(user)
        if identity is None:
            raise LookupError(f"no user {user!r} in /etc/passwd")
        uid, gid = identity
        if uid:
            os.setgroups([gid])
            os.setresgid(gid, gid, gid)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        if uid:
            os.setresuid(uid, uid, uid)
            capabilities = 0
        else:
            kernel.keep_capabilities(capabilities, self._last)
        seccomp.install(self._filter)


def find_user(name: str) -> tuple[int, int] | None:
    """A user's ids by `/etc/passwd`, read here: libc would load libraries that the agent may have changed."""
    if name == "root":
        return 0, 0
    try:
        with open("/etc/passwd", "rb") as file:
            lines = file.read(1 << 20).split(b"\n")
    except OSError:
        return None
    for line in lines:
        fields = line.split(b":")
        if len(fields) >= 4 and fields[0] == name.encode() and fields[2].isdigit() and fields[3].isdigit():
            return int(fields[2]), int(fields[3])
    return None
