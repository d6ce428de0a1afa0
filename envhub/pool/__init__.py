"""Pools: all workers of one spec on this machine, and the replicas they host.

`Pool.start` starts a template and its workers; `Pool.acquire` leases replicas; a leased `Replica` takes
operations and answers each through a callback. Nothing here knows of sessions or HTTP.
"""

from envhub.pool._care import WorkerCare, private_bytes
from envhub.pool._channel import HUNG
from envhub.pool._death import KINDS, Death
from envhub.pool._errors import LoadFailed, NoFreeReplica, PoolError, QueueFull
from envhub.pool._plan import PoolPlan
from envhub.pool._pool import Pool, PoolStatus
from envhub.pool._replica import Replica, Sink
from envhub.worker.times import BOUNDS_S, Times

__all__ = [
    "BOUNDS_S",
    "HUNG",
    "KINDS",
    "Death",
    "LoadFailed",
    "NoFreeReplica",
    "Pool",
    "PoolError",
    "PoolPlan",
    "PoolStatus",
    "QueueFull",
    "Replica",
    "Sink",
    "Times",
    "WorkerCare",
    "private_bytes",
]
