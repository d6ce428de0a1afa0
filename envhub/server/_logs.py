"""How the hub's log is written: one line an entry, pretty for people or JSON for machines.

Whoever logs gives what an entry is about as `extra`: any of `FIELDS`. Both forms show those beside the
words; control characters never get into a line as themselves.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import TextIO

FIELDS = ("request_id", "session", "env", "worker", "pid", "code")
"""What an entry may be about, besides its words."""

LIFE = "envhub.hub"
"""The logger of what the hub itself goes through (loading, ready, draining): always written, it is little."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def set_up_logs(stream: TextIO, as_json: bool, level: int) -> None:
    """Has everything that this process logs from `level` on written to a stream, its warnings included."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if as_json else PrettyLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logging.getLogger(LIFE).setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether it is worth a line: uvicorn takes every stream that the gate refuses for a defect."""
    return record.msg != "ASGI callable returned without completing handshake."


def _about(record: logging.LogRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in FIELDS if getattr(record, name, None) is not None}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


class JsonLines(logging.Formatter):
    """One JSON object an entry: time, level, logger, message, the fields it has, traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        entry: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_about(record),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


class PrettyLines(logging.Formatter):
    """Time, level, words, then what they are about; an entry's further lines are indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        first, *more = record.getMessage().splitlines() or [""]
        about = " ".join(f"{name}={value}" for name, value in _about(record).items())
        if record.exc_info:
            more += self.formatException(record.exc_info).splitlines()
        head = f"{_time(record)} {record.levelname.lower():<7} {record.name}: {first}"
        lines = [f"{head}  [{about}]" if about else head, *(f"    {line}" for line in more)]
        return "\n".join(_CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", line) for line in lines)
