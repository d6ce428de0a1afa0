"""What can be wrong with an environment's locks and with what is built from them.

BuildError
├── LockMissing        the spec has no locks
├── LockInvalid        a lock says something that cannot be installed as it stands
│   └── SetupInvalid   the setup steps cannot be read
├── LockStale          the locks are older than what they were made from
├── LockFailed         no lock could be made
├── MirrorsInvalid     the mirrors in the user's configuration cannot be read
├── WrongPlatform      the locks are for another platform than this one
├── HashMismatch       an archive is not the one that was locked
├── FetchFailed        an archive could not be fetched
│   └── NotCached      it is not in the store and nothing may be fetched
├── DiskFull           the archives or the environment do not fit on the disk
├── InstallFailed      the packages could not be installed
├── SetupFailed        a setup step failed or did what a step may not
├── ArtifactFailed     an artifact could not be made
├── SmokeFailed        the entry point cannot be imported in the built environment
├── VenvRefused        a plain virtual environment cannot hold what the locks ask for
├── NotBuilt           an environment is asked for that was not built from the present locks
├── HostUnsuitable     the hub's own interpreter lacks what the spec asks for
├── PackInvalid        a pack is damaged, or no pack
└── StoreInvalid       the store's folder cannot be used

Each message names the package and the file it is about, and what to do next.
"""

from __future__ import annotations


class BuildError(Exception):
    """Base of everything that can be wrong with locks and builds."""


class LockMissing(BuildError):
    """The spec has no locks."""


class LockInvalid(BuildError):
    """A lock cannot be read, or what it says cannot be installed as it stands."""


class SetupInvalid(LockInvalid):
    """The setup steps, which are part of the lock, cannot be read."""


class LockStale(BuildError):
    """The locks were made from other inputs than the spec has now."""


class LockFailed(BuildError):
    """No lock could be made: the packages have no solution, or a tool failed."""


class MirrorsInvalid(BuildError):
    """The mirrors in the user's configuration cannot be read."""


class WrongPlatform(BuildError):
    """The locks are for another platform than this one."""


class HashMismatch(BuildError):
    """An archive is not the one that was locked."""


class FetchFailed(BuildError):
    """An archive could not be fetched."""


class NotCached(FetchFailed):
    """An archive is not in the store, and nothing may be fetched."""


class DiskFull(BuildError):
    """The archives or the environment do not fit on the disk."""


class InstallFailed(BuildError):
    """The packages could not be installed."""


class SetupFailed(BuildError):
    """A setup step failed, or did what a step may not do."""


class ArtifactFailed(BuildError):
    """A step of making an artifact failed, or did not make it."""


class SmokeFailed(BuildError):
    """The spec's entry point cannot be imported in the environment that was built."""


class VenvRefused(BuildError):
    """A plain virtual environment cannot hold what the locks ask for."""


class NotBuilt(BuildError):
    """An environment is asked for that was not built from the spec's present locks."""


class HostUnsuitable(BuildError):
    """The hub's own interpreter lacks something that the spec asks for."""


class PackInvalid(BuildError):
    """A file is no pack or is not the one that was written, or its spec has no place."""


class StoreInvalid(BuildError):
    """The store's folder cannot be used."""
