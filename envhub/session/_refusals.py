"""Why a session does not do what it is asked for."""

from __future__ import annotations

from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._history import History


def conflict(session_id: str, episode: Episode, index: int, episode_id: str | None) -> HubError:
    """A step that is neither the next one nor the last one again."""
    return HubError(
        "step_index_conflict",
        f"session {session_id} is at step {episode.next_index} of episode {episode.id}; step {index} of "
        f"episode {episode_id or episode.id} is neither that nor the last one again with the same action",
        {
            "expected": episode.next_index,
            "received": index,
            "episode_id": episode.id,
            "session_id": session_id,
        },
    )


def no_running_episode(session_id: str, env: str, history: History) -> HubError:
    """What needs a running episode, where there is none."""
    details = {"session_id": session_id, "env": env}
    if history.status == "over":
        return HubError(
            "episode_over", f"the episode of session {session_id} has ended: reset first", details
        )
    if history.failure is not None:
        return HubError(
            "episode_failed",
            f"the episode of session {session_id} failed: {history.failure.message}",
            {**details, "cause": history.failure.code},
        )
    return HubError("no_episode", f"session {session_id} has no episode yet: reset first", details)


def too_deep(session_id: str) -> HubError:
    """A start that can't be passed on."""
    return HubError("malformed_request", f"task or options for {session_id} are nested too deeply")


def no_snapshot(session_id: str, env: str) -> HubError:
    """A point that nothing could go back to."""
    return HubError(
        "not_implemented",
        f"{env} can be saved neither natively (it has no get_state, or no state to give now) nor by replay "
        "(its spec says replayable = false, or the episode is longer than what is kept of it)",
        {"session_id": session_id, "env": env},
    )


def lost(session_id: str, env: str, reason: str) -> HubError:
    """A session that can't go on after a restart of its hub."""
    return HubError(
        "session_lost",
        f"session {session_id} of {env} is over: its hub was started again and {reason}; open a new one",
    )
