"""Several hubs as one: an episode goes to the least loaded that lives, the oldest first.

Invariants:

- At most as many episodes are under way at a hub as it has replicas; the others wait here, not in its queue.
- Of those that wait, the one whose sample is oldest goes first, also when it has been played before.
- A hub that died is left alone until it says that it is ready again. Where none lives, those that wait are
  told so after `patience_s`.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from envhub_sdk import AsyncHub, EnvHubError, EnvInfo, NotReady, TransportError, UnexpectedAnswer

__all__ = ["Hubs", "HubsDiffer", "NoHub", "Place"]

PROBE_S = 1.0
"""How long a dead hub is left alone between two questions whether it is back."""
AWAY_S = 10.0
"""How long a request is sent again to a hub that is away, where there are others to go to."""

_AWAY = (TransportError, NotReady, UnexpectedAnswer)
"""What a hub that died looks like; the last is what a gateway says in its place."""

_log = logging.getLogger("envhub_trainers")


class NoHub(Exception):
    """No hub was reachable for as long as `patience_s`."""

    code = "no_hub"


class HubsDiffer(ValueError):
    """The hubs don't serve the same environment, so that their rewards can't be compared."""


@dataclass(slots=True)
class Place:
    """A hub and what is under way there."""

    hub: AsyncHub
    served: EnvInfo | None = None
    """What it says of the environment; None until it has been asked."""
    playing: int = 0
    lives: bool = True

    @property
    def replicas(self) -> int:
        """Replicas it has; 1 until it has been asked."""
        return max(1, self.served.replicas["total"]) if self.served else 1

    @property
    def load(self) -> float:
        """Share of its replicas in use."""
        return self.playing / self.replicas


@dataclass(order=True, slots=True)
class _Waiting:
    age: float
    number: int
    place: asyncio.Future[Place] = field(compare=False)


class Hubs:
    """The hubs of a run; use it in one event loop.

    Args:
        urls: Where they are.
        env: Name of the environment.
        token: Bearer token for all of them; None: ENVHUB_TOKEN.
        patience_s: For how long to wait for a hub when none is reachable.
    """

    def __init__(self, urls: Sequence[str], env: str, *, token: str | None, patience_s: float) -> None:
        away_s = patience_s if len(urls) == 1 else min(AWAY_S, patience_s)
        self.places = [Place(AsyncHub(url, token=token, patience_s=away_s, batch_steps=True)) for url in urls]
        self._env = env
        self._patience_s = patience_s
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()
        self._known: asyncio.Task[None] | None = None
        self._probes: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def place(self, age: float) -> AsyncIterator[Place]:
        """A hub for one episode; leave the context when it is over.

        A hub's error that leaves the context, and looks like its death, takes it out of service.

        Args:
            age: When the sample was asked for: the smallest is served first.

        Raises:
            NoHub: None was reachable.
            HubsDiffer: They serve different environments under one name.
            EnvHubError: A hub that was asked for the first time said no.
        """
        place = await self._get(age)
        try:
            yield place
        except _AWAY as error:
            self._lost(place, error)
            raise
        finally:
            self._put(place)

    async def close(self) -> None:
        """Close the sessions at all hubs."""
        for probe in list(self._probes):
            probe.cancel()
        await asyncio.gather(*self._probes, return_exceptions=True)
        await asyncio.gather(*(place.hub.close() for place in self.places))

    # -- who goes where -----------------------------------------------------------------------------

    async def _get(self, age: float) -> Place:
        await self._know()
        waiting = _Waiting(age, next(self._numbers), asyncio.get_running_loop().create_future())
        heapq.heappush(self._waiting, waiting)
        self._grant()
        try:
            while True:
                done, _ = await asyncio.wait([waiting.place], timeout=self._patience_s)
                if done:
                    return waiting.place.result()
                if not any(place.lives for place in self.places):
                    urls = ", ".join(place.hub.url for place in self.places)
                    raise NoHub(f"no hub has been reachable for {self._patience_s:g} s: {urls}")
        except BaseException:
            self._give_up(waiting)
            raise

    def _give_up(self, waiting: _Waiting) -> None:
        if waiting.place.done() and not waiting.place.cancelled():
            self._put(waiting.place.result())
        waiting.place.cancel()

    def _put(self, place: Place) -> None:
        place.playing -= 1
        self._grant()

    def _grant(self) -> None:
        """Give what is free to the oldest that wait."""
        while self._waiting:
            free = [place for place in self.places if place.lives and place.playing < place.replicas]
            if not free:
                return
            waiting = heapq.heappop(self._waiting)
            if waiting.place.done():  # it has given up
                continue
            place = min(free, key=lambda place: place.load)
            place.playing += 1
            waiting.place.set_result(place)

    # -- who lives ----------------------------------------------------------------------------------

    async def _know(self) -> None:
        """Ask every hub for the environment, once, whoever comes first."""
        if self._known is None or (self._known.done() and self._known.exception() is not None):
            self._known = asyncio.create_task(self._ask_all())
        await asyncio.shield(self._known)

    async def _ask_all(self) -> None:
        asked = [place for place in self.places if place.served is None]
        answers = await asyncio.gather(*(place.hub.env(self._env) for place in asked), return_exceptions=True)
        for place, answer in zip(asked, answers, strict=True):
            if isinstance(answer, EnvInfo):
                self._meet(place, answer)
            elif isinstance(answer, _AWAY):
                self._lost(place, answer)
            else:
                raise answer

    def _meet(self, place: Place, served: EnvInfo) -> None:
        """Take in what a hub serves.

        Raises:
            HubsDiffer: It is not what the others serve.
        """
        for other in self.places:
            if other.served is not None and (difference := _difference(other.served, served)):
                raise HubsDiffer(
                    f"{other.hub.url} and {place.hub.url} serve {self._env!r} differently ({difference}): "
                    "serve the same spec, settings and data at every hub"
                )
        place.served = served

    def _lost(self, place: Place, error: EnvHubError) -> None:
        if not place.lives:
            return
        place.lives = False
        _log.warning("hub %s is out of service: %s", place.hub.url, error)
        probe = asyncio.create_task(self._until_back(place))
        self._probes.add(probe)
        probe.add_done_callback(self._probes.discard)

    async def _until_back(self, place: Place) -> None:
        while True:
            await asyncio.sleep(PROBE_S)
            try:
                if not await place.hub.readyz():
                    continue
                self._meet(place, await place.hub.env(self._env))
            except (EnvHubError, HubsDiffer) as error:
                _log.warning("hub %s stays out of service: %s", place.hub.url, error)
                continue
            place.lives = True
            _log.warning("hub %s is in service again", place.hub.url)
            self._grant()
            return


def _difference(one: EnvInfo, other: EnvInfo) -> str | None:
    """What makes episodes of one hub incomparable with another's."""
    here, there = _facts(one), _facts(other)
    for what in sorted(here.keys() | there.keys()):
        if here.get(what) != there.get(what):
            return f"{what}: {here.get(what)} and {there.get(what)}"
    return None


def _facts(served: EnvInfo) -> dict[str, Any]:
    """What decides what an episode is like. Where files lie does not: their digest says what is in them."""
    config = {
        f"config.{key}": "a path" if isinstance(value, str) and value.startswith("/") else value
        for key, value in served.config.items()
    }
    return {
        "version": served.version,
        "limits": served.limits,
        "data digest": (served.data or {}).get("digest"),
        "lock digest": served.lock_digest,
        **config,
    }
