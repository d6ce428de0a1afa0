"""Artifacts: folders that a spec's own programs make, kept by the digest of what they are made of.

A step runs in the hub's own interpreter, in the spec's folder, which leads its `PYTHONPATH`:
- `archives` prints what has to be there, as JSON: [{"name", "sha256", "urls"}, …]. The hub fetches it.
- `run` makes the folder `$ENVHUB_ARTIFACT` from the files in `$ENVHUB_ARCHIVES`; a line "3/8 words" that it
  prints says how far it is.
- `lock` writes the inputs anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envhub.build._build import Outcome, quiet
from envhub.build._built import CONTENT, Archive, Built
from envhub.build._disk import sha256_of, wipe
from envhub.build._errors import ArtifactFailed, LockMissing
from envhub.build._fetch import Report, Wanted, disk_error, fetch
from envhub.build._files import SpecFiles
from envhub.build._lock import host_platform
from envhub.build._mirrors import Mirrors, read_mirrors
from envhub.build._store import Store, Work
from envhub.spec import HOST, Artifact, ServedSpec, Spec, reference, runtime_variables

_PROGRESS = re.compile(r"(\d+)/(\d+) (.+)")
_SHOWN_LINES = 30
_GENTLE_END_S = 20.0
"""How long a step may take to clean up when the build is interrupted."""


def artifact_digest(spec: Spec, artifact: Artifact) -> str:
    """Return the digest of what an artifact is made of, "sha256:…": its inputs, its command and the platform.

    Raises:
        LockMissing: An input is not there.
    """
    folder = _folder(spec)
    inputs = []
    for path in artifact.inputs:
        if not (folder / path).is_file():
            mend = _relock(spec, artifact)
            raise LockMissing(f"{spec.name}: artifact {artifact.name!r}: {folder / path} is missing; {mend}")
        inputs.append([path, sha256_of(folder / path)])
    facts = [artifact.name, artifact.run, host_platform(), inputs]
    return f"sha256:{hashlib.sha256(json.dumps(facts).encode()).hexdigest()}"


def find_artifact(spec: Spec, artifact: Artifact, store: Store) -> Built | None:
    """Return what is built of an artifact's present inputs, or None where nothing is."""
    try:
        return store.find(artifact_digest(spec, artifact), "artifact")
    except LockMissing:
        return None


def with_artifacts(served: ServedSpec, store: Store) -> dict[str, Any]:
    """Return the settings of an environment with the paths of what is built for it.

    A setting that was changed stays, and so does the default where nothing is built.
    """
    config = dict(served.config)
    for artifact in served.spec.artifacts:
        if artifact.setting is not None and wants(served, artifact):
            built = find_artifact(served.spec, artifact, store)
            if built is not None:
                config[artifact.setting] = str(built.content)
    return config


def wants(served: ServedSpec, artifact: Artifact) -> bool:
    """Whether an environment would use an artifact: its setting, if there is one, is left at its default."""
    key = artifact.setting
    return key is None or served.config[key] == served.spec.config[key].default


def build_artifact(
    spec: Spec,
    artifact: Artifact,
    store: Store,
    *,
    offline: bool = False,
    mirrors: Mirrors | None = None,
    report: Report = quiet,
) -> Outcome:
    """Make an artifact, unless it is there.

    What fails, or is killed, leaves nothing that counts; archives that were fetched stay in the store.

    Args:
        spec: The spec.
        artifact: Which of its artifacts.
        store: Where to.
        offline: Whether only archives in the store may be used.
        mirrors: The mirrors to fetch from; by default the user's.
        report: Called with the progress.

    Raises:
        BuildError: A step fails, or an archive cannot be had or is not the locked one; see its subclasses.
    """
    started = time.monotonic()
    digest, folder = artifact_digest(spec, artifact), _folder(spec)
    built, reused = store.claim(folder, digest, "artifact"), True
    if built is None:
        with store.building(digest, "artifact", lambda: report("wait", artifact.name, 0, 0)) as work:
            built = store.find(digest, "artifact")
            if built is None:
                maker = _Maker(spec, artifact, store, work, report)
                built, reused = maker.make(digest, offline, mirrors or read_mirrors()), False
            store.use(folder, built)
    return Outcome(built, reused, time.monotonic() - started)


def lock_artifact(spec: Spec, artifact: Artifact) -> list[Path]:
    """Make the inputs of an artifact anew; returns those that changed.

    Raises:
        ArtifactFailed: The step failed.
    """
    files = [_folder(spec) / path for path in artifact.inputs]
    before = [file.read_bytes() if file.is_file() else None for file in files]
    _ask(spec, artifact, artifact.lock, {})
    return [
        file for file, old in zip(files, before, strict=True) if file.is_file() and file.read_bytes() != old
    ]


def artifact_archives(
    spec: Spec, artifact: Artifact, variables: Mapping[str, str] | None = None
) -> list[Wanted]:
    """Ask an artifact's own program which archives it is made from.

    Raises:
        ArtifactFailed: The step failed, or prints something else.
    """
    if not artifact.archives:
        return []
    said = _ask(spec, artifact, artifact.archives, variables or {})
    try:
        listed = json.loads(said)
        return [_wanted(spec, artifact, **one) for one in listed]
    except (ValueError, TypeError) as error:
        raise ArtifactFailed(
            f"{spec.name}: artifact {artifact.name!r}: {' '.join(artifact.archives)} must print "
            f'[{{"name": …, "sha256": …, "urls": […]}}, …]: {error}'
        ) from error


def _wanted(spec: Spec, artifact: Artifact, name: str, sha256: str, urls: list[str]) -> Wanted:
    if Path(name).name != name or not re.fullmatch("[0-9a-f]{64}", sha256) or not urls:
        raise ValueError(f"{name!r} needs a plain name, a SHA-256 and an address")
    relock = f"envhub lock {reference(spec)}" if artifact.lock else None
    return Wanted(
        label=name,
        lock=_folder(spec) / artifact.inputs[0],
        file_name=name,
        url=urls[0],
        sha256=sha256,
        otherwise=f"lock what is there now: {relock}" if relock else None,
        elsewhere=tuple(urls[1:]),
        relock=relock,
    )


class _Maker:
    """One artifact in the making, by the one who has the right to it."""

    def __init__(self, spec: Spec, artifact: Artifact, store: Store, work: Work, report: Report) -> None:
        self._spec, self._artifact, self._store, self._work = spec, artifact, store, work
        self._report = report

    def make(self, digest: str, offline: bool, mirrors: Mirrors) -> Built:
        spec, artifact, work = self._spec, self._artifact, self._work
        try:
            wipe(work.prefix)
            work.prefix.mkdir(parents=True)
            work.prefix.chmod(0o700)  # what is made may hold programs with the set-user-id bit
            archives = self._archives(offline, mirrors)
            self._make()
            return work.complete(
                kind="artifact",
                digest=digest,
                spec=spec.name,
                artifact=artifact.name,
                python_version="",
                platform=host_platform(),
                created=time.time(),
                archives=tuple(archives),
            )
        except OSError as error:
            raise disk_error(error, f"{spec.name}: {work.prefix}", self._store) from error
        finally:
            if self._store.find(digest, "artifact") is None:
                with contextlib.suppress(OSError):
                    wipe(work.prefix)

    @property
    def _variables(self) -> dict[str, str]:
        return {
            "ENVHUB_ARTIFACT": str(self._work.prefix / CONTENT),
            "ENVHUB_ARCHIVES": str(self._work.scratch / "archives"),
            "TMPDIR": str(self._work.scratch),
        }

    def _archives(self, offline: bool, mirrors: Mirrors) -> list[Archive]:
        self._report("make", self._artifact.name, 0, 0)
        wanted = artifact_archives(self._spec, self._artifact, self._variables)
        fetched = fetch(
            wanted, self._store, self._work.scratch, mirrors, offline=offline, report=self._report
        )
        folder = self._work.scratch / "archives"
        folder.mkdir()
        for one, file in zip(wanted, fetched, strict=True):
            (folder / one.file_name).symlink_to(file)
        return [Archive(one.label, "", "artifact", one.sha256) for one in wanted]

    def _make(self) -> None:
        name = self._artifact.name

        def on_progress(words: str, done: int, total: int) -> None:
            self._report("make", f"{name}: {words}", done, total)

        self._report("make", name, 0, 0)
        run = self._artifact.run
        _follow(self._spec, self._artifact, run, self._variables, self._work.lock, on_progress)
        if not (self._work.prefix / CONTENT).is_dir():
            raise ArtifactFailed(
                f"{_step(self._spec, self._artifact, self._artifact.run)} ended well and made no folder "
                "$ENVHUB_ARTIFACT"
            )


def _ask(spec: Spec, artifact: Artifact, words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run a short step and return what it prints."""
    with _running(spec, artifact, words, variables, stderr=subprocess.PIPE) as running:
        said, complaint = running.communicate()
    _require(spec, artifact, words, running.returncode, complaint)
    return said


def _follow(
    spec: Spec,
    artifact: Artifact,
    words: Sequence[str],
    variables: Mapping[str, str],
    lock: int,
    on_progress: Callable[[str, int, int], None],
) -> None:
    """Run a long step, which inherits a lock, and tell how far it is."""
    lines: deque[str] = deque(maxlen=_SHOWN_LINES)
    with _running(spec, artifact, words, variables, stderr=subprocess.STDOUT, pass_fds=[lock]) as running:
        assert running.stdout is not None
        for line in running.stdout:
            said = _PROGRESS.fullmatch(line.rstrip("\n"))
            if said:
                on_progress(said[3], int(said[1]), int(said[2]))
            else:
                lines.append(line)
        running.wait()
    _require(spec, artifact, words, running.returncode, "".join(lines))


@contextlib.contextmanager
def _running(
    spec: Spec, artifact: Artifact, words: Sequence[str], variables: Mapping[str, str], **how: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start a step; whatever ends this ends the step and what it started."""
    folder = _folder(spec)
    environ = runtime_variables(HOST, os.environ)
    paths = [str(folder), *filter(None, [environ.get("PYTHONPATH")])]
    environ |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    try:
        running = subprocess.Popen(
            [sys.executable if words[0] == "python" else words[0], *words[1:]],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            **how,
        )
    except OSError as error:
        raise ArtifactFailed(f"{_step(spec, artifact, words)} cannot be run: {error.strerror}") from error
    with running:
        try:
            yield running
        except BaseException:
            for sign in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(_GENTLE_END_S)
            raise


def _require(spec: Spec, artifact: Artifact, words: Sequence[str], status: int, complaint: str) -> None:
    if status:
        step = _step(spec, artifact, words)
        raise ArtifactFailed(f"{step} failed with status {status}:\n{complaint.strip()}")


def _step(spec: Spec, artifact: Artifact, words: Sequence[str]) -> str:
    return f"{spec.name}: artifact {artifact.name!r}: {' '.join(words)}"


def _folder(spec: Spec) -> Path:
    return SpecFiles.of(spec).folder


def _relock(spec: Spec, artifact: Artifact) -> str:
    return f"make it with: envhub lock {reference(spec)}" if artifact.lock else "restore it"
