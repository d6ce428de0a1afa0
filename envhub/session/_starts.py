"""Starts of episodes that a client has numbered: each is executed once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from envhub.session._errors import HubError

Answer = bytes | HubError


@dataclass(frozen=True, slots=True)
class Numbered:
    """A start as a client asks for it.

    Args:
        number: The client's number of it.
        asked: What is asked for, as a digest; a repeat asks for the same.
    """

    number: int
    asked: str

    @classmethod
    def of(cls, number: int | None, *asked: Any) -> Numbered | None:
        """What is asked for under a number; None where the client gave none.

        Raises:
            RecursionError: What is asked for is nested too deeply.
        """
        if number is None:
            return None
        digest = hashlib.blake2b(json.dumps(asked).encode(), digest_size=12)
        return cls(number, digest.hexdigest())


class Starts:
    """The last numbered start (reset or restore) of a session.

    A client that got no answer sends its request again, and a network may deliver the first one late: after
    the second one, and after steps that followed. A start with the number of the last one is therefore told
    the same again, one with an older number is refused, neither is executed.

    Args:
        session_id: The session, for messages.
    """

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self.last: tuple[Numbered, bytes] | None = None
        """With the answer to it."""

    def again(self, start: Numbered | None) -> Answer | None:
        """Return the answer to a start that must not be executed (again); None: it must."""
        if start is None or self.last is None or start.number > self.last[0].number:
            return None
        last, answer = self.last
        if start == last:
            return answer
        return HubError(
            "step_index_conflict",
            f"session {self._session_id} was last started by start {last.number}; start {start.number} is "
            "neither a later one nor that one again with the same request",
            {"last": last.number, "received": start.number, "session_id": self._session_id},
        )
