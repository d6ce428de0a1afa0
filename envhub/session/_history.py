"""What happened in a session: its episodes, written down as it happens."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from typing import Any, Literal

from envhub.record import SessionRecord
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._saved import SavedSession
from envhub.session._starts import Numbered, Starts
from envhub.worker import frames

BASE_STEPS = 64
"""Steps after which a new native snapshot is looked for, to be written down."""


class History:
    """The current episode of a session, the one before, and how the current one stands.

    Args:
        session_id: The session.
        episode_over: Told how each episode ends: terminated, truncated, failed, abandoned.
        record: Where it is written down, if anywhere.
    """

    def __init__(
        self, session_id: str, episode_over: Callable[[str], None], record: SessionRecord | None = None
    ) -> None:
        self.status: Literal["new", "running", "over", "failed"] = "new"
        self.episode: Episode | None = None
        self.before: Episode | None = None
        self.failure: HubError | None = None
        """What ended the current episode, or kept it from beginning."""
        self.record = record
        self._session_id = session_id
        self._episode_over = episode_over
        self._closed = False
        self.starts = Starts(session_id)
        self._begun = 0
        self._noted_base: object = None

    def next_id(self) -> str:
        """The id of the episode that begins next."""
        return f"{self._session_id}.{self._begun + 1}"

    def next_seed(self) -> int:
        """A new seed: drawn for a first episode, else a fixed function of the last one's.

        So a session that was seeded once is reproducible over all its episodes, as a local Gymnasium
        environment's random generator is.
        """
        if self.episode is None:
            return random.SystemRandom().getrandbits(31)
        digest = hashlib.blake2b(str(self.episode.seed).encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") >> 1

    def began(
        self,
        seed: int,
        task: dict[str, Any] | None,
        options: dict[str, Any],
        start: bytes,
        asked_ns: int,
        numbered: Numbered | None = None,
        autoreset: bool = False,
    ) -> Episode:
        """An episode began with a reset, which was asked of the environment then."""
        episode = Episode(self.next_id(), seed, task, options, start)
        self._go_on_with(episode)
        if numbered is not None:
            self.starts.last = numbered, episode.reply()
        if self.record is not None:
            more = _fields(numbered) + (b',"autoreset":true' if autoreset else b"")
            self.record.episode(episode.id, [episode.line(self.record, more, asked_ns)])
        return episode

    def went_to(self, episode: Episode, numbered: Numbered | None = None) -> None:
        """The session goes on with an episode that was played up to some point by another."""
        self._go_on_with(episode)
        if numbered is not None:
            self.starts.last = numbered, episode.point()
        if self.record is not None:
            lines = episode.lines(self.record, episode.next_index, more=_fields(numbered))
            self.record.episode(episode.id, lines)

    def _go_on_with(self, episode: Episode) -> None:
        self._leave("abandoned")
        self._begun += 1
        self.status, self.failure = ("over" if episode.flags else "running"), None
        self.before, self.episode = self.episode, episode

    def stepped(self, episode: Episode, action: bytes, asked_ns: int, transition: bytes, flags: int) -> bytes:
        """A step of the current episode, which was asked then, was taken; returns the reply to it."""
        answer = episode.record(action, transition, flags)
        if self.record is not None:
            self.record.step(action, answer, asked_ns)
            if episode.next_index % BASE_STEPS == 0:
                self._write_base(self.record, episode)
        if flags:
            self._leave("terminated" if flags & frames.TERMINATED else "truncated")
            self.status = "over"
        return answer

    def rebased(self, episode: Episode, state: bytes) -> None:
        """A native snapshot was taken of an episode where it stands; replays need no older steps."""
        episode.rebase(episode.next_index, state)
        if self.record is not None:
            self._write_base(self.record, episode)

    def _write_base(self, record: SessionRecord, episode: Episode) -> None:
        """Writes a native snapshot down, if there is a new one."""
        if episode.base is not self._noted_base and episode.base is not None:
            self._noted_base = episode.base
            record.checkpoint(episode.id, *episode.base)

    def failed(self, error: HubError, episode: Episode | None) -> None:
        """The environment failed in a step of an episode, or in a reset if there is none."""
        self._leave("abandoned" if episode is None else "failed")
        self.status, self.failure = "failed", error
        if self.record is not None:
            self.record.failed(episode.id if episode else None, error.code, error.message)

    def closed(self, reason: HubError) -> None:
        """The session ended; what was under way may still be heard of."""
        if reason.code != "not_ready":  # then the next hub goes on
            self._leave("failed" if reason.code in ("session_lost", "replay_diverged") else "abandoned")
        self._closed = True
        if self.record is not None:
            self.record.ended(reason.code, reason.message)

    def _leave(self, how: str) -> None:
        """Tells how the current episode ended, if it was running."""
        if self.status == "running" and not self._closed:
            self._episode_over(how)

    def again(self, action: bytes, index: int, episode_id: str | None) -> bytes | None:
        """The recorded reply to a step, if it is the last one of the current episode or of the one before."""
        meant = self.episode
        if episode_id is not None and self.before is not None and episode_id == self.before.id:
            meant = self.before
        if meant is None or episode_id not in (None, meant.id):
            return None
        return meant.again(index, action)

    # -- after the hub itself died ------------------------------------------------------------------

    def resume(self, saved: SavedSession) -> None:
        """Goes on from where a log says that the session stood."""
        self.episode, self.before, self._begun = saved.episode, saved.before, saved.episodes
        self.starts.last = saved.last_start
        if self.record is not None:
            self.record.opened_us, self.record.noted_us = saved.opened.time_us, saved.used_us
        if saved.failure is not None:
            self.status, self.failure = "failed", HubError(*saved.failure)
        elif saved.episode is not None:
            self.status = "over" if saved.episode.flags else "running"
            if self.record is not None:
                self.record.continues(saved.episode.id)

    def lines(self) -> Iterator[bytes]:
        """The events of a record from which the session can be resumed."""
        record = self.record
        if record is None:
            return
        yield record.opened_line(self._last_start())
        yield record.renewed_line()
        if self.before is not None:
            yield from self.before.lines(record, last=1, at_us=record.noted_us)
        if self.episode is not None:
            yield from self.episode.lines(record, at_us=record.noted_us)
        if self.failure is not None:
            episode_id = self.episode.id if self.episode else None
            yield record.failed_line(episode_id, self.failure.code, self.failure.message)

    def _last_start(self) -> bytes:
        if self.starts.last is None:
            return b""
        start, answer = self.starts.last
        told = start.number, start.asked.encode(), answer
        return b',"last_start":{"number":%d,"asked":"%b","answer":%b}' % told

    def note_use(self, used_us: int, idle_timeout_s: float) -> None:
        """Writes down when the session was in use, where that was long ago."""
        if self.record is not None and used_us - self.record.noted_us > 0.25e6 * idle_timeout_s:
            self.record.renewed(used_us)


def _fields(numbered: Numbered | None) -> bytes:
    if numbered is None:
        return b""
    return b',"start_index":%d,"asked":"%b"' % (numbered.number, numbered.asked.encode())
