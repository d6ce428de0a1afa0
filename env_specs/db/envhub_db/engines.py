"""Which engine a process plays on: the embedded one, or one on a server."""

from __future__ import annotations

import os
from typing import Any, Union

from envhub_db.engine import EmbeddedEngine, Limits, Settings
from envhub_db.errors import InvalidOptions, ServerUnavailable
from envhub_db.server import ServerEngine

AnyEngine = Union[EmbeddedEngine, ServerEngine]

_engines: dict[tuple[Any, ...], AnyEngine] = {}
"""The engines of this process, and of the one that it was forked from, which are another's."""


def of_this_process(url: str, settings: Settings, limits: Limits) -> AnyEngine:
    """Return the engine of this process, one for all replicas that want the same.

    Args:
        url: Where a server is; empty: the embedded engine.
        settings: How statements are judged.
        limits: What a statement may take.

    Raises:
        InvalidOptions: The address can't be read.
        ServerUnavailable: The server can't be used.
    """
    key = (url, settings, limits, os.getpid())
    if key not in _engines:
        _engines[key] = ServerEngine(url, settings, limits) if url else EmbeddedEngine(settings, limits)
    return _engines[key]


def leave(url: str, settings: Settings, limits: Limits) -> None:
    """Leave the server, where this process has no database on it any more; the next `open` connects again.

    Args:
        url: As in `of_this_process`.
        settings: As in `of_this_process`.
        limits: As in `of_this_process`.
    """
    engine = _engines.get((url, settings, limits, os.getpid()))
    if isinstance(engine, ServerEngine) and not engine.busy:
        engine.close()


def try_server(url: str) -> None:
    """Connect once, sweep, and make a database and drop it, so that who can't is told before a reset.

    Nothing of it is left in this process, which may be forked then.

    Raises:
        InvalidOptions: The server can't be used.
    """
    try:
        engine = ServerEngine(url)
        try:
            engine.sweep()
            engine.open([]).close()
        finally:
            engine.close()
    except ServerUnavailable as error:
        raise InvalidOptions(str(error)) from None
