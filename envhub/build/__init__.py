"""Environments from locks: an interpreter of its own for a spec, the same bytes everywhere.

`read_lock` says what a spec's environment is made of.
"""

from envhub.build._errors import (
    BuildError,
    DiskFull,
    FetchFailed,
    HashMismatch,
    InstallFailed,
    LockFailed,
    LockInvalid,
    LockMissing,
    LockStale,
    MirrorsInvalid,
    NotCached,
    SetupFailed,
    SmokeFailed,
    StoreInvalid,
    VenvRefused,
    WrongPlatform,
)
from envhub.build._files import SpecFiles
from envhub.build._lock import CondaPackage, Kind, Lock, PypiPackage, host_platform, read_lock
from envhub.build._setup import SetupInput, SetupStep

__all__ = [
    "BuildError",
    "CondaPackage",
    "DiskFull",
    "FetchFailed",
    "HashMismatch",
    "InstallFailed",
    "Kind",
    "Lock",
    "LockFailed",
    "LockInvalid",
    "LockMissing",
    "LockStale",
    "MirrorsInvalid",
    "NotCached",
    "PypiPackage",
    "SetupFailed",
    "SetupInput",
    "SetupStep",
    "SmokeFailed",
    "SpecFiles",
    "StoreInvalid",
    "VenvRefused",
    "WrongPlatform",
    "host_platform",
    "read_lock",
]
