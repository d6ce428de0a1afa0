"""Fetching archives: from the store or from where the lock says, and every byte hashed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from envhub.build._disk import SPARE_BYTES, megabytes
from envhub.build._errors import DiskFull, FetchFailed, HashMismatch, NotCached
from envhub.build._mirrors import Mirrors, config_file
from envhub.build._store import Store

if TYPE_CHECKING:
    import httpx

Report = Callable[[str, str, int, int], None]
"""Called with a stage ("fetch", "install", …), what it is at, how much of that is done, and of how much (0:
nobody knows). May be called from several threads."""

PARALLEL = 6
PAUSES_S = (0.2, 1.0)
"""What passes between one try and the next, where trying again may help."""
_BLOCK = 2**18


@dataclass(frozen=True, slots=True)
class Wanted:
    """An archive that has to be there.

    Attributes:
        label: The package, for messages: "python 3.11.14".
        lock: The file that names it.
        file_name: What it is called.
        url: Where it comes from, before mirrors.
        sha256: Its SHA-256.
        md5: Its MD5, where the lock has it.
        otherwise: What else can be done where it cannot be fetched, for messages.
        elsewhere: Where it may be had if not from `url`, tried in this order.
        relock: The command that locks what is there now; by default that of the lock's folder.
    """

    label: str
    lock: Path
    file_name: str
    url: str
    sha256: str
    md5: str | None = None
    otherwise: str | None = None
    elsewhere: tuple[str, ...] = ()
    relock: str | None = None


def fetch(
    wanted: Sequence[Wanted], store: Store, scratch: Path, mirrors: Mirrors, *, offline: bool, report: Report
) -> list[Path]:
    """Have archives in the store, several at a time, and return their files in the same order.

    What is there already is hashed again. What is fetched is hashed before it is kept. After a failure
    nothing more is begun, and what was fetched until then is kept.

    Raises:
        HashMismatch: An archive is not the one that was locked.
        NotCached: One is missing, and `offline`.
        FetchFailed: One cannot be fetched.
        DiskFull: They do not fit on the disk.
    """
    stop = threading.Event()
    with _client() as client, ThreadPoolExecutor(PARALLEL) as threads:
        job = _Job(store, scratch, mirrors, offline, report, client, stop)
        futures = [threads.submit(job.have, one) for one in wanted]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            threads.shutdown(cancel_futures=True)
            raise


@dataclass(frozen=True, slots=True)
class _Job:
    store: Store
    scratch: Path
    mirrors: Mirrors
    offline: bool
    report: Report
    client: httpx.Client
    stop: threading.Event

    def have(self, one: Wanted) -> Path:
        kept = self._kept(one)
        if kept:
            size = kept.stat().st_size
            self.report("fetch", one.label, size, size)
            return kept
        if self.offline:
            raise NotCached(
                f"{one.label} ({one.lock}): {one.file_name} is not in the store {self.store.root} (or was "
                "altered there), and --offline fetches nothing: run it without --offline where "
                f"{self.mirrors.shown(one.url)} can be reached, or bring all of it in a pack (envhub pack)"
            )
        part = self.scratch / f"{one.sha256}.part"
        self._compare(one, *self._transfer_from_somewhere(one, part))
        return self.store.keep(part, one.sha256, one.file_name)

    def _transfer_from_somewhere(self, one: Wanted, part: Path) -> tuple[str, str]:
        try:
            return self._transfer_patiently(one, part)
        except FetchFailed as failure:
            for url in one.elsewhere:
                with contextlib.suppress(FetchFailed):
                    return self._transfer_patiently(replace(one, url=url), part)
            if not one.elsewhere:
                raise
            others = ", ".join(map(self.mirrors.shown, one.elsewhere))
            raise FetchFailed(f"{failure}. It is not to be had from {others} either") from failure

    def _transfer_patiently(self, one: Wanted, part: Path) -> tuple[str, str]:
        for pause in PAUSES_S:
            with contextlib.suppress(_Interrupted):
                return self._transfer(one, part)
            self.stop.wait(pause)
        try:
            return self._transfer(one, part)
        except _Interrupted as reason:
            raise self._failed(one, str(reason)) from reason

    def _kept(self, one: Wanted) -> Path | None:
        """The archive in the store, hashed again; one that was altered there is dropped."""
        file = self.store.archive(one.sha256)
        if file is None:
            return None
        sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        with file.open("rb") as opened:
            while block := opened.read(_BLOCK):
                sha256.update(block)
                md5.update(block)
        if sha256.hexdigest() != one.sha256:
            self.store.drop(one.sha256)
            return None
        self._compare(one, sha256.hexdigest(), md5.hexdigest())
        return file

    def _compare(self, one: Wanted, sha256: str, md5: str) -> None:
        for name, locked, found in (("sha256", one.sha256, sha256), ("md5", one.md5, md5)):
            if locked is not None and found != locked:
                raise HashMismatch(
                    f"{one.label}: {one.file_name} is not the archive that was locked: its {name} is "
                    f"{found}, and {one.lock} says {locked}. Either the archive at "
                    f"{self.mirrors.shown(one.url)} was replaced or the lock was altered: restore the lock, "
                    f"or trust the new archive and run: {one.relock or f'envhub lock {one.lock.parent}'}"
                )

    def _transfer(self, one: Wanted, part: Path) -> tuple[str, str]:
        """Write an archive to a file; returns its SHA-256 and MD5."""
        sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        done = 0
        with self._source(one) as (size, blocks):
            free = shutil.disk_usage(self.scratch).free
            if size + SPARE_BYTES > free:
                raise DiskFull(
                    f"{one.label}: {one.file_name} has {megabytes(size)} and {self.store.root} has "
                    f"{megabytes(free)} left; {more_room(self.store)}"
                )
            try:
                with part.open("wb") as file:
                    for block in blocks:
                        if self.stop.is_set():
                            raise _Interrupted("another package failed")
                        file.write(block)
                        sha256.update(block)
                        md5.update(block)
                        done += len(block)
                        self.report("fetch", one.label, done, size)
            except OSError as error:
                raise disk_error(error, f"{one.label}: {part}", self.store) from error
        return sha256.hexdigest(), md5.hexdigest()

    @contextlib.contextmanager
    def _source(self, one: Wanted) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Open an archive: its size (0 where nobody says) and its bytes."""
        import httpx

        url = self.mirrors.there(one.url)
        if url.startswith("file://"):
            path = Path(unquote(urlsplit(url).path))
            try:
                file = path.open("rb")
            except OSError as error:
                raise self._failed(one, error.strerror or str(error)) from error
            with file:
                yield path.stat().st_size, iter(lambda: file.read(_BLOCK), b"")
            return
        try:
            with self.client.stream("GET", url) as answer:
                if answer.status_code >= 500 or answer.status_code == 429:
                    raise _Interrupted(f"the server answered {answer.status_code}")
                if answer.status_code != 200:
                    raise self._failed(one, f"the server answered {answer.status_code}")
                yield int(answer.headers.get("content-length", 0)), answer.iter_raw(_BLOCK)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _Interrupted(str(error) or type(error).__name__) from error

    def _failed(self, one: Wanted, reason: str) -> FetchFailed:
        if self.mirrors.concern(one.url):
            advice = f"A mirror in {config_file()} leads there: correct it, or check the network"
        else:
            advice = f"Check the network, or name a mirror under [mirrors] in {config_file()}"
        if one.otherwise:
            advice += f", or {one.otherwise}"
        return FetchFailed(
            f"{one.label} ({one.lock}): {self.mirrors.shown(one.url)} cannot be fetched: {reason}. {advice}"
        )


class _Interrupted(Exception):
    """A transfer broke off; trying again may help."""


def disk_error(error: OSError, where: str, store: Store) -> DiskFull | OSError:
    """Return what to raise for a failed write: a full disk has an error of its own."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{where}: the disk is full; {more_room(store)}")
    return error


def more_room(store: Store) -> str:
    """Say what to do where the disk of a store is full."""
    gc = store.command("store", "gc")
    return f"free some space ({gc}), or name a store on another disk with --store"


def _client() -> httpx.Client:
    import httpx

    return httpx.Client(
        follow_redirects=True,
        timeout=httpx.Timeout(60, connect=20),
        headers={"Accept-Encoding": "identity"},  # the archive's own bytes, as they were hashed
    )
