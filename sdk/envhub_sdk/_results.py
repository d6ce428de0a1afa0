"""The results of a batch: each an answer of its own, or an error of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from envhub_sdk import _exceptions, _wire
from envhub_sdk._exceptions import BatchError, EnvHubError, UnexpectedAnswer

T = TypeVar("T")


def read(raw: msgspec.Raw, kind: type[T], session: str | None) -> T | EnvHubError:
    """Decode one result: an answer of that kind, or an error."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as mismatch:
        try:
            body = msgspec.json.decode(raw, type=_wire.ErrorReply).error
        except msgspec.ValidationError:
            return UnexpectedAnswer(f"a result of a batch is neither an answer nor an error: {mismatch}")
        return _exceptions.from_body(body, session=session)


def success(answer: T | EnvHubError) -> T:
    """Return an answer, or raise the error it is."""
    if isinstance(answer, EnvHubError):
        raise answer
    return answer


def batch_error(what: str, env: str, errors: Mapping[int, EnvHubError], partial: Any = None) -> BatchError:
    """Make the error of a batch of which some failed."""
    named = "; ".join(f"{i}: {error.code}: {error}" for i, error in sorted(errors.items())[:4])
    more = f"; and {len(errors) - 4} more" if len(errors) > 4 else ""
    return BatchError(
        f"{what} of {env} failed in {len(errors)} sub-environments ({named}{more}); the others' results are "
        "kept: repeat the call, or reset the failed ones with options={'reset_mask': …}",
        errors=errors,
        partial=partial,
    )
