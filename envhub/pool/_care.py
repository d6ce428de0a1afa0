"""What keeps workers from growing for ever: how much memory one may hold and when it is replaced."""

from __future__ import annotations

from dataclasses import dataclass

MB = 2**20


@dataclass(frozen=True, slots=True)
class WorkerCare:
    """Limits of every worker of a hub; None: no such limit. Memory is what a worker shares with nobody.

    Attributes:
        max_mb: Megabytes (2**20 bytes) a worker may hold; one that holds more is killed at once and its
            episodes are replayed on the next.
        recycle_episodes: Episodes after which a worker is replaced between two requests.
        recycle_growth_mb: Megabytes a worker may grow, from when it was first weighed, before it is replaced.
    """

    max_mb: float | None = None
    recycle_episodes: int | None = None
    recycle_growth_mb: float | None = None


def private_bytes(pid: int) -> int | None:
    """The memory that would come free if a process ended: pages it shares with nobody.

    From `/proc/PID/smaps_rollup` (proc(5)): Private_Clean + Private_Dirty + Private_Hugetlb + SwapPss.
    Resident size would blame each worker for the catalogue that all share with their template. None: the
    process is gone.
    """
    total = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as lines:
            for line in lines:
                if line.startswith((b"Private_", b"SwapPss:")):
                    total += int(line.split()[1]) * 1024
    except OSError:
        return None
    return total
