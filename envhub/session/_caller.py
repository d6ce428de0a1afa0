"""Who asks: a token's name, what it may see and how much it may have.

The gate says who a request comes from; `Sessions` then shows that caller only what is theirs, on every way
in (single calls, batches, the stream), since a request and the tasks it starts share one context.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar

from envhub.session._errors import HubError
from envhub.spec import counted


class Caller:
    """Somebody with a token of their own.

    Args:
        name: The token's name; sessions belong to it.
        admin: Whether everybody's sessions are theirs to see, use and close.
        max_sessions: How many sessions they may have at once, those that wait for a replica included; None
            for any number.
        requests_per_s: How many requests they may send a second, in the long run; None for any number. A
            second's worth may come at once (a token bucket).
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        name: str,
        admin: bool = False,
        max_sessions: int | None = None,
        requests_per_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.revoked = False
        """Whether the token is no longer this hub's; a stream that it opened may still be there."""
        self._clock = clock
        self._left, self._at = float("inf"), clock()
        self.allow(admin, max_sessions, requests_per_s)

    def allow(self, admin: bool, max_sessions: int | None, requests_per_s: float | None) -> None:
        """Says anew what they may do and have; what they spent stays spent."""
        self.admin, self.max_sessions, self._rate = admin, max_sessions, requests_per_s
        self._burst = max(1.0, requests_per_s or 0.0)
        self._left = min(self._left, self._burst)

    def owns(self, owner: str | None) -> bool:
        """Whether what belongs to `owner` is theirs to see and use."""
        return self.admin or self.name == owner

    def spend(self) -> None:
        """Counts one request.

        Raises:
            HubError: It is one too many; the details say in how many seconds the next one will pass. Or the
                token was revoked.
        """
        if self.revoked:
            raise HubError("unauthorized", f"the token {self.name!r} was taken out of this hub's tokens file")
        if self._rate is None:
            return
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            raise HubError(
                "quota_exceeded",
                f"the token {self.name!r} may send {self._rate:g} requests a second: send fewer (a batch or "
                "a vector environment steps many sessions with one), or ask for a higher limit",
                {"requests_per_s": self._rate, "retry_after_s": (1 - self._left) / self._rate},
            )
        self._left -= 1

    def check_sessions(self, held: int, wanted: int) -> None:
        """Checks that `wanted` sessions may be opened by somebody who has `held` of them.

        Raises:
            HubError: They would be too many.
        """
        if self.max_sessions is not None and held + wanted > self.max_sessions:
            allowed = counted(self.max_sessions, "session")
            raise HubError(
                "quota_exceeded",
                f"the token {self.name!r} may have {allowed} and has {held}; {wanted} "
                "more were asked for: close some, or ask for a higher limit",
                {"max_sessions": self.max_sessions, "sessions": held, "asked_for": wanted},
            )


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""Whose request this is; None where the hub knows nobody by name, and everybody may see everything."""


def owner() -> str | None:
    """To whom that belongs which is made now."""
    caller = CALLER.get()
    return None if caller is None else caller.name


def may_use(owner: str | None) -> bool:
    """Whether what belongs to `owner` is there for the one who asks."""
    caller = CALLER.get()
    return caller is None or caller.owns(owner)
