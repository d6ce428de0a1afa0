"""Environments from locks: an interpreter of its own for a spec, the same bytes everywhere.

`relock` makes the locks of a spec, `check_fresh` says whether what they were made from has changed since, and
`read_lock` what a spec's environment is made of. `build` makes that environment in a `Store`.
"""

from envhub.build._artifacts import (
    artifact_archives,
    build_artifact,
    find_artifact,
    lock_artifact,
    wants,
    with_artifacts,
)
from envhub.build._build import Outcome, build
from envhub.build._built import Archive, Built, Moved
from envhub.build._conda import channel_url, choose_solver, own_solver
from envhub.build._errors import (
    ArtifactFailed,
    BuildError,
    DiskFull,
    FetchFailed,
    HashMismatch,
    HostUnsuitable,
    InstallFailed,
    LockFailed,
    LockInvalid,
    LockMissing,
    LockStale,
    MirrorsInvalid,
    NotBuilt,
    NotCached,
    PackInvalid,
    SetupFailed,
    SetupInvalid,
    SmokeFailed,
    StoreInvalid,
    VenvRefused,
    WrongPlatform,
)
from envhub.build._files import SpecFiles
from envhub.build._fresh import Freshness, check_fresh, require_fresh
from envhub.build._holders import held_words
from envhub.build._inputs import Inputs, read_inputs
from envhub.build._lock import CondaPackage, Kind, Lock, PypiPackage, host_platform, read_lock
from envhub.build._mirrors import Mirrors, config_file, read_mirrors
from envhub.build._pack import Pack, pack, unpack
from envhub.build._relock import Relocked, lock_conda, lock_pypi, relock
from envhub.build._runtime import find_runtime
from envhub.build._setup import SetupInput, SetupStep
from envhub.build._store import Removed, Store

__all__ = [
    "Archive",
    "ArtifactFailed",
    "BuildError",
    "Built",
    "CondaPackage",
    "DiskFull",
    "FetchFailed",
    "Freshness",
    "HashMismatch",
    "HostUnsuitable",
    "Inputs",
    "InstallFailed",
    "Kind",
    "Lock",
    "LockFailed",
    "LockInvalid",
    "LockMissing",
    "LockStale",
    "Mirrors",
    "MirrorsInvalid",
    "Moved",
    "NotBuilt",
    "NotCached",
    "Outcome",
    "Pack",
    "PackInvalid",
    "PypiPackage",
    "Relocked",
    "Removed",
    "SetupFailed",
    "SetupInput",
    "SetupInvalid",
    "SetupStep",
    "SmokeFailed",
    "SpecFiles",
    "Store",
    "StoreInvalid",
    "VenvRefused",
    "WrongPlatform",
    "artifact_archives",
    "build",
    "build_artifact",
    "channel_url",
    "check_fresh",
    "choose_solver",
    "config_file",
    "find_artifact",
    "find_runtime",
    "held_words",
    "host_platform",
    "lock_artifact",
    "lock_conda",
    "lock_pypi",
    "own_solver",
    "pack",
    "read_inputs",
    "read_lock",
    "read_mirrors",
    "relock",
    "require_fresh",
    "unpack",
    "wants",
    "with_artifacts",
]
