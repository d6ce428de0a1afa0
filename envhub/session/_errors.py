"""The one error of the hub: a code of the API with its words and facts."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import msgspec

from envhub_sdk._wire import CODES, ErrorBody, ErrorReply


class HubError(Exception):
    """Something a client is told in the API's error shape.

    Args:
        code: A code of `envhub_sdk._wire.CODES`.
        message: What happened, to whom, and what to do next.
        details: Facts for programs.
    """

    told: ClassVar[Counter[str]] = Counter()
    """How many errors of each code this process has told its clients."""

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details or {}

    def copy(self) -> HubError:
        """The same error as a new exception: a kept one that is raised again drags old tracebacks along."""
        return HubError(self.code, self.message, self.details)

    @property
    def status(self) -> int:
        """The HTTP status this error travels with."""
        return CODES[self.code].status

    def encode(self) -> bytes:
        """The error as the JSON body of an answer; each is counted in `told`."""
        HubError.told[self.code] += 1
        return msgspec.json.encode(ErrorReply(ErrorBody(self.code, self.message, self.details)))
