r"""A sandbox for one episode: a root file system, a persistent login shell, and nothing of the machine.

    box = Sandbox.start(Settings())         # host mode: the machine's own programs, nothing else of it
    box.run("cd /tmp && touch a b\nls", timeout_s=5.0, limit_bytes=10_000).output     # "a\nb\n"
    box.exec(["bash", "-c", "ls /tmp | wc -l"]).stdout                               # b"2\n"
    box.write("/tmp/c", b"text"); box.read("/tmp/c")
    box.close()                             # all of it is gone; also `with Sandbox.start(...) as box`

`run` types into the one shell of the episode, as root in the directory `settings.cwd`: directories,
variables, jobs and `su - user` persist. The whole script runs and its whole output comes back. When its time
is up, it is interrupted and the shell lives on; a shell that can't be interrupted, or that exits, is replaced
by a new one (`Result.new_shell`).

`save` takes all there is of a sandbox at rest, its files and what its shell holds, and
`Sandbox.start(settings, saved)` makes others of it. Where there is more, a process in the background say,
`save` raises `NotAtRest`.

`exec` runs a fresh process beside the shell, for a task's initialisation and for checkers: the same files,
processes and user ids, but no terminal, an environment of its own, and more capabilities than the agent has,
so that the agent can't trace it. It sees what the agent changed, but with `checks=True` programs and
libraries as they were when `seal` was called. `look` runs no program at all. Compare answers on the host
wherever that is possible.

Errors: `Refused` (no safe sandbox can be made here, or a setting makes no sense: the message says why),
`SandboxError` (this sandbox is broken or gone: close it, start another). Both are plain exceptions.
`report(settings)` says what holds a sandbox here, for `envhub doctor`.
"""

from __future__ import annotations

from .box import Sandbox
from .report import Report, report
from .saved import Saved
from .settings import Completed, NotAtRest, Refused, Result, SandboxError, Settings

__all__ = [
    "Completed",
    "NotAtRest",
    "Refused",
    "Report",
    "Result",
    "Sandbox",
    "SandboxError",
    "Saved",
    "Settings",
    "report",
]
