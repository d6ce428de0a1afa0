"""Sessions: leases of replicas, exactly-once steps, expiry.

`Sessions` opens, finds, steps, resets and closes them; a `Session` is one client's lease on one replica
and what happened in its current episode.
"""

from envhub.session._caller import CALLER, Caller
from envhub.session._counts import Counts
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._holder import Answer, Sink
from envhub.session._manager import Sessions
from envhub.session._openings import SessionSettings
from envhub.session._replay import Divergence, Replay
from envhub.session._resume import await_saved, resume
from envhub.session._session import Session

__all__ = [
    "CALLER",
    "Answer",
    "Caller",
    "Counts",
    "Divergence",
    "Episode",
    "HubError",
    "Replay",
    "Session",
    "SessionSettings",
    "Sessions",
    "Sink",
    "await_saved",
    "resume",
]
