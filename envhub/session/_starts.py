"""Starts of episodes that a client has numbered: each is executed once."""

from __future__ import annotations

from collections.abc import Callable

from envhub.session._errors import HubError

Answer = bytes | HubError


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
        self._last: tuple[int, object, bytes] | None = None

    def again(self, number: int | None, asked: object) -> Answer | None:
        """Return the answer to a start that must not be executed (again); None: it must.

        Args:
            number: The client's number of the start, if it gave one.
            asked: What is asked for; a repeat asks for the same.
        """
        if number is None or self._last is None or number > self._last[0]:
            return None
        last, last_asked, answer = self._last
        if number == last and asked == last_asked:
            return answer
        return HubError(
            "step_index_conflict",
            f"session {self._session_id} was last started by start {last}; start {number} is neither a later "
            "one nor that one again with the same request",
            {"last": last, "received": number, "session_id": self._session_id},
        )

    def noting(
        self, number: int | None, asked: object, sink: Callable[[Answer], None]
    ) -> Callable[[Answer], None]:
        """Return the sink of a start that is executed now; what succeeds is remembered."""

        def note(answer: Answer) -> None:
            if number is not None and isinstance(answer, bytes):
                self._last = (number, asked, answer)
            sink(answer)

        return note
