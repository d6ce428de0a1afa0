"""A hub that goes on with the sessions of one that died.

The log of a `--state-dir` tells which sessions were open and what happened in their episodes. They are the
first in line for the replicas of their environments; each replica is brought to where its episode stood by
a replay, as after the death of a worker. Steps and resets that are asked for meanwhile wait; other calls
are answered `not_ready`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any

import msgspec

from envhub.record import Reading, Snapshotted, now_us
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._manager import Sessions
from envhub.session._saved import SavedSession, changed, read_saved
from envhub.spec import counted

log = logging.getLogger("envhub.session")
life = logging.getLogger("envhub.hub")

LOADING_S = 86_400.0
"""How long to wait for replicas while the environments load; if they can't be loaded, the hub ends."""


def await_saved(sessions: Sessions) -> None:
    """Reads which sessions were open, and which points were saved."""
    recorder = sessions.recorder
    if recorder is None or recorder.state is None:
        return
    reading = Reading(recorder.state.folder)
    open_sessions, snapshots = read_saved(reading.events())
    for event in sorted(snapshots, key=lambda event: event.time_us):
        sessions.points.kept.awaited[event.snapshot] = event
    for saved in open_sessions:
        sessions.awaited[saved.opened.session] = saved
        if saved.expired_by < now_us():
            sessions.give_up(
                saved, HubError("session_expired", f"session {saved.opened.session} expired while no hub ran")
            )
    if reading.damaged:
        log.warning("%s: %s", recorder.state.folder, counted(reading.damaged, "damaged line"))


async def resume(sessions: Sessions, loaded: Awaitable[Any]) -> None:
    """Goes on with the sessions that are awaited, once the environments are loaded."""
    groups: dict[str, list[SavedSession]] = {}
    for saved in sessions.awaited.values():
        groups.setdefault(saved.opened.env, []).append(saved)
    served = [env for env in groups if env in sessions.pools]
    counts = [min(len(groups[env]), sessions.pools[env].status().total) for env in served]
    acquired = asyncio.gather(
        *(sessions.pools[env].acquire(count, LOADING_S) for env, count in zip(served, counts, strict=True))
    )
    try:
        await loaded
    except BaseException:
        acquired.cancel()
        raise
    for env, replicas in zip(served, await acquired, strict=True):
        _resume_some(sessions, groups[env], replicas)
        resumed = sessions.counts.resumed[env]
        life.info("%s: going on with sessions of the hub before: %d", env, resumed, extra={"env": env})
    for saved in list(sessions.awaited.values()):
        _lose(sessions, saved, f"this hub has no replica of {saved.opened.env} left for it")
    for event in list(sessions.points.kept.awaited.values()):
        _keep_snapshot(sessions, event)
    if sessions.recorder is not None:
        sessions.recorder.open_sessions = sessions.lines
        sessions.recorder.flush()
        await sessions.recorder.compact()


def _resume_some(sessions: Sessions, group: list[SavedSession], replicas: list[Any]) -> None:
    pool = sessions.pools[group[0].opened.env]
    for saved in group:
        if saved.opened.session not in sessions.awaited:  # closed meanwhile
            continue
        difference = changed(saved.opened, pool)
        if difference is not None:
            _lose(sessions, saved, f"{saved.opened.env} is not what it was: {difference}")
        elif replicas:
            sessions.adopt(saved, replicas.pop())
    for replica in replicas:
        pool.release(replica)


def _keep_snapshot(sessions: Sessions, event: Snapshotted) -> None:
    kept, pool = sessions.points.kept, sessions.pools.get(event.env)
    if pool is None:
        kept.give_up(event, f"does not serve {event.env}")
    elif (difference := changed(event, pool)) is not None:
        kept.give_up(event, f"{event.env} is not what it was: {difference}")
    else:
        try:
            kept.adopt(event, Episode.from_snapshot(event))
        except (msgspec.MsgspecError, RecursionError):
            kept.give_up(event, "what was kept of it can't be read")


def _lose(sessions: Sessions, saved: SavedSession, reason: str) -> None:
    session, env = saved.opened.session, saved.opened.env
    error = HubError(
        "session_lost",
        f"session {session} is over: its hub was started again and {reason}; open a new one",
    )
    log.warning("%s", error.message, extra={"session": session, "env": env, "code": error.code})
    sessions.give_up(saved, error)
