"""What can go wrong in a pool.

PoolError
├── LoadFailed      the environment could not be imported, loaded or built
├── NoFreeReplica   every replica was taken for as long as the caller would wait
└── QueueFull       too many callers wait already
"""

from __future__ import annotations


class PoolError(Exception):
    """Base of everything a pool raises."""


class LoadFailed(PoolError):
    """The environment could not be imported, loaded or built; the message holds its own words."""


class NoFreeReplica(PoolError):
    """Every replica was taken for as long as the caller would wait."""


class QueueFull(PoolError):
    """Too many callers wait already."""
