"""Reading a record or an export of one: events in order, or whole episodes, also while it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from envhub.record._episodes import RecordedEpisode, read_line
from envhub.record._events import Dropped, Ended, Event, Failed, Opened, Started, Stepped, decode
from envhub.record._log import segments

T = TypeVar("T")

_EXPORT = b'{"env":'


class Reading:
    """One pass through a record.

    Args:
        path: The folder of a log, one file of it, or an export in JSON lines, which has no events.
        progress: Told now and then how many of `total_bytes` have been read.

    Raises:
        FileNotFoundError: There is no record.
    """

    def __init__(self, path: Path, progress: Callable[[int], object] | None = None) -> None:
        self.files = segments(path) if path.is_dir() else [path]
        if not self.files or not self.files[0].is_file():
            raise FileNotFoundError(f"no record at {path}: expected a folder with events-….jsonl files")
        self.total_bytes = sum(file.stat().st_size for file in self.files)
        self.damaged = 0
        """Lines that can't be read: the disk or somebody else made them."""
        self.headless = 0
        """Steps whose episode's beginning is not there: an earlier file was deleted."""
        self._progress = progress
        self._read = 0

    def events(self) -> Iterator[Event]:
        """Every event, in order; a last line that is still being written is left out."""
        return self._decoded(decode)

    def _add(self, episode: RecordedEpisode, event: Stepped) -> None:
        try:
            episode.add(event)
        except (msgspec.MsgspecError, RecursionError):  # an answer that no hub of this version would take
            self.damaged += 1
            episode.damaged = True

    def episodes(self) -> Iterator[RecordedEpisode]:
        """Every episode, as soon as its session goes on to the next one or ends; open ones come last."""
        if is_export(self.files[0]):
            yield from self._decoded(read_line)
            return
        running: dict[str, RecordedEpisode] = {}
        of_session: dict[str, str] = {}
        for event in self.events():
            if isinstance(event, Stepped):
                episode = running.get(event.episode)
                if episode is None:
                    self.headless += 1
                else:
                    self._add(episode, event)
            elif isinstance(event, Started):
                before = running.pop(of_session.get(event.session, ""), None)
                if before is not None:
                    yield before
                of_session[event.session] = event.episode
                running[event.episode] = RecordedEpisode(event)
            elif isinstance(event, Failed):
                episode = running.get(event.episode or "")
                if episode is not None:
                    episode.error = (event.code, event.message)
            elif isinstance(event, Ended):
                episode = running.pop(of_session.pop(event.session, ""), None)
                if episode is not None:
                    episode.ended = event.reason
                    yield episode
            elif isinstance(event, Opened):
                of_session.pop(event.session, None)
            elif isinstance(event, Dropped):
                for episode in running.values():
                    episode.doubt()
        yield from running.values()

    def _decoded(self, read: Callable[[bytes], T]) -> Iterator[T]:
        for file in self.files:
            with file.open("rb") as lines:
                for number, line in enumerate(lines):
                    if not line.endswith(b"\n"):
                        break
                    self._read += len(line)
                    if self._progress is not None and number % 256 == 0:
                        self._progress(self._read)
                    try:
                        yield read(line)
                    except (msgspec.MsgspecError, RecursionError):
                        self.damaged += 1


def is_export(file: Path) -> bool:
    """Whether a file begins as `envhub trajectories export` and `envhub collect` write episodes."""
    with file.open("rb") as lines:
        return lines.read(len(_EXPORT)) == _EXPORT
