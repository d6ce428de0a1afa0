"""Records: what happened in every session, as an append-only log of events in a folder.

The hub writes it through a `Recorder`; `Reading` gives the events or whole episodes back, also while the
hub writes. The same log, kept to what is still open, lets a hub that was killed go on (see
`envhub.session`).
"""

from envhub.record._episodes import RecordedEpisode, Step, read_exported
from envhub.record._events import (
    Checkpoint,
    Compacted,
    Dropped,
    Ended,
    Event,
    Failed,
    Opened,
    Renewed,
    Snapshotted,
    Started,
    Stepped,
)
from envhub.record._log import Log, LogBusy
from envhub.record._reading import Reading
from envhub.record._recorder import Facts, Recorder, SessionRecord, fields_of, now_us

__all__ = [
    "Checkpoint",
    "Compacted",
    "Dropped",
    "Ended",
    "Event",
    "Facts",
    "Failed",
    "Log",
    "LogBusy",
    "Opened",
    "Reading",
    "RecordedEpisode",
    "Recorder",
    "Renewed",
    "SessionRecord",
    "Snapshotted",
    "Started",
    "Step",
    "Stepped",
    "fields_of",
    "now_us",
    "read_exported",
]
