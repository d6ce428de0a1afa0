"""Building a spec's environment: fetch, install, set up, try it, and only then call it complete."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envhub.build._archives import conda_archives, pypi_archives
from envhub.build._built import Archive, Built
from envhub.build._disk import wipe
from envhub.build._errors import InstallFailed, StoreInvalid, VenvRefused
from envhub.build._fetch import Report, Wanted, disk_error, fetch, more_room
from envhub.build._files import SpecFiles
from envhub.build._fresh import require_fresh
from envhub.build._holders import held_words
from envhub.build._lock import Kind, Lock, read_lock
from envhub.build._mirrors import Mirrors, read_mirrors
from envhub.build._setup import run_step
from envhub.build._smoke import runs, smoke_test
from envhub.build._store import Store, Work
from envhub.spec import Runtime, Spec, reference

_TOOLS = {"py-rattler": "rattler", "uv": "uv", "packaging": "packaging"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a build came to.

    Attributes:
        built: The environment, or artifact.
        reused: Whether it was there already, or another process built it meanwhile.
        seconds: How long that took.
    """

    built: Built
    reused: bool
    seconds: float


def quiet(stage: str, item: str, done: int, total: int) -> None:
    """Report nothing."""


def build(
    spec: Spec,
    store: Store,
    kind: Kind = "conda",
    *,
    offline: bool = False,
    mirrors: Mirrors | None = None,
    report: Report = quiet,
) -> Outcome:
    """Build the environment of a spec from its locks, unless it is there and its interpreter runs.

    A build that is refused or fails leaves no environment, and all others as they were; the archives that
    were fetched and found right stay in the store.

    Args:
        spec: The spec.
        store: Where to.
        kind: A conda prefix; or a plain virtual environment with only the PyPI part, on an interpreter of
            this machine.
        offline: Whether only archives in the store may be used.
        mirrors: The mirrors to fetch from; by default the user's.
        report: Called with the progress.

    Raises:
        BuildError: The locks are refused, an archive cannot be had or is not the locked one, or something
            fails; see its subclasses.
        StoreInvalid: What is there is damaged, and a hub holds it.
    """
    started = time.monotonic()
    require_fresh(spec)
    lock = read_lock(spec)
    lock.check_kind(kind)
    files, digest = SpecFiles.of(spec), lock.digest_for(kind)
    built, reused = store.claim(files.folder, digest, kind), True
    if built is None or not runs(built):
        if built is not None:
            _check_free(spec, store, built)
        with store.building(digest, kind, lambda: report("wait", spec.name, 0, 0)) as work:
            built = store.find(digest, kind)
            if built is None or not runs(built):
                wipe(work.prefix)
                builder = _Builder(
                    spec, lock, files, kind, store, work, offline, mirrors or read_mirrors(), report
                )
                built, reused = builder.run(), False
            store.use(files.folder, built)
    return Outcome(built, reused, time.monotonic() - started)


def _check_free(spec: Spec, store: Store, built: Built) -> None:
    """Refuse to wait for a hub that serves from what is to be built again."""
    held_by = store.held_by(built)
    if held_by:
        option = () if built.kind == "conda" else ("--isolation", built.kind)
        command = store.command("build", reference(spec), *option)
        raise StoreInvalid(
            f"{spec.name}: {built.python} does not run, so its environment has to be built again, and a hub "
            f"holds it ({held_words(held_by)}): end that, then run: {command}"
        )


@dataclass(frozen=True, slots=True)
class _Builder:
    """One build, by the one who has the right to it."""

    spec: Spec
    lock: Lock
    files: SpecFiles
    kind: Kind
    store: Store
    work: Work
    offline: bool
    mirrors: Mirrors
    report: Report

    @property
    def runtime(self) -> Runtime:
        """What is being built, as workers will run in it."""
        digest = self.lock.digest_for(self.kind)
        return Runtime(self.kind, self.work.prefix / "bin" / "python", digest)

    def run(self) -> Built:
        try:
            archives = self._make()
            return self.work.complete(
                kind=self.kind,
                digest=self.lock.digest_for(self.kind),
                spec=self.spec.name,
                python_version=self._try(),
                platform=self.lock.platform,
                created=time.time(),
                archives=tuple(archives),
            )
        except OSError as error:
            raise disk_error(error, f"{self.spec.name}: {self.work.prefix}", self.store) from error
        finally:
            if self.store.find(self.lock.digest_for(self.kind), self.kind) is None:
                shutil.rmtree(self.work.prefix, ignore_errors=True)

    def _make(self) -> list[Archive]:
        from envhub.build import _wheels

        _check_tools()
        wanted = conda_archives(self.lock, self.files, self.kind, self.store)
        conda = len(wanted)
        wanted += pypi_archives(self.lock, self.files, self.store, self.offline)
        fetched = fetch(
            wanted, self.store, self.work.scratch, self.mirrors, offline=self.offline, report=self.report
        )
        prefix, fd = self.work.prefix, self.work.lock
        if self.kind == "conda":
            self._install_conda(fetched[:conda])
        else:
            _wheels.make_venv(prefix, self._interpreter(), fd)
        if self.lock.pypi:
            self.report("install", f"{len(self.lock.pypi)} PyPI packages", 0, 0)
            locked = self.files.requirements_lock
            _wheels.install(self.lock, locked, fetched[conda:], self.runtime, self.work.scratch, fd)
        for number, step in enumerate(self.lock.setup):
            self.report("setup", step.name, number, len(self.lock.setup))
            again = self.store.command("build", self.files.folder, "--isolation", self.kind)
            run_step(self.spec.name, step, self.files, self.runtime, self.work.scratch, fd, again)
        managers = ["conda"] * conda + ["pypi"] * len(self.lock.pypi)
        return [_archive(one, manager) for one, manager in zip(wanted, managers, strict=True)]

    def _install_conda(self, archives: Sequence[Path]) -> None:
        from envhub.build import _install

        done: list[str] = []

        def on_linked(name: str) -> None:
            done.append(name)
            self.report("install", name, len(done), len(archives))

        self.report("install", "conda packages", 0, len(archives))
        _install.install(
            self.lock,
            self.files,
            archives,
            self.work.prefix,
            self.work.scratch,
            self.work.lock,
            on_linked,
            more_room(self.store),
        )

    def _try(self) -> str:
        self.report("try", self.spec.entry_point, 0, 0)
        return smoke_test(self.spec, self.files.folder, self.runtime, self.work.scratch, self.work.lock)

    def _interpreter(self) -> Path:
        """An interpreter of this machine of the locked version, for a plain virtual environment."""
        if self.lock.python == f"{sys.version_info.major}.{sys.version_info.minor}":
            return Path(sys.executable)
        found = shutil.which(f"python{self.lock.python}")
        if found is None:
            raise VenvRefused(
                f"{self.spec.name}: its locks are for Python {self.lock.python}, and there is no "
                f"python{self.lock.python} on the PATH; install one, or use --isolation conda"
            )
        return Path(found)


def _check_tools() -> None:
    missing = [name for name, module in _TOOLS.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise InstallFailed(
            f"building needs {' and '.join(missing)}, not installed here: pip install '.[build]' in a clone "
            "of EnvHub, pip install 'envhub[build]' anywhere else"
        )


def _archive(one: Wanted, manager: str) -> Archive:
    name, _, version = one.label.partition(" ")
    return Archive(name, version, manager, one.sha256)
