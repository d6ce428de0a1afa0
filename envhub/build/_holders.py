"""Who holds a lock file, as far as the system tells."""

from __future__ import annotations

import os
import re
from pathlib import Path

_LINE = re.compile(r"^\d+: FLOCK +ADVISORY +READ +(\d+) \S+:(\d+) ", re.MULTILINE)


def holders(file: Path) -> list[int]:
    """Return the processes that share a lock on a file; none where the system does not say.

    `/proc/locks` has them: type, mode, process id (0: of another namespace) and MAJOR:MINOR:INODE.
    """
    try:
        inode = str(os.stat(file).st_ino)
        found = _LINE.findall(Path("/proc/locks").read_text(encoding="ascii"))
    except OSError:
        return []
    return sorted({int(pid) for pid, held in found if held == inode and int(pid) > 0})


def held_words(pids: list[int]) -> str:
    """Name processes: "process 12", "processes 12, 13"."""
    return f"process{'es' if len(pids) > 1 else ''} {', '.join(map(str, pids)) or 'unknown'}"
