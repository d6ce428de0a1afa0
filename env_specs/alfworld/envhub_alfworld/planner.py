"""The expert: the shortest way to win a game from wherever it stands.

No search over states is needed. The rules let everything be done in any order, nothing is ever full, and
nothing is lost for good, so a way to win is: empty the hands, then fetch, treat and place each object. All
choices of object, source, appliance and destination are tried, and the one with the fewest commands is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations

from envhub_alfworld.state import State

_APPLIANCES = {
    "isclean": ("sinkbasintype", "cleanable", "cleanobject"),
    "ishot": ("microwavetype", "heatable", "heatobject"),
    "iscool": ("fridgetype", "coolable", "coolobject"),
}


def plan(state: State) -> list[str] | None:
    """Return commands that win from a state; none when it is won.

    The next expert action is the first of them. Following it, the plan from the next state is one shorter.

    Returns:
        The commands, or None when the game can't be won any more. In games of our own that never happens; in
        others an agent may be left holding something that fits nowhere.
    """
    if state.won:
        return []
    walks = _looks(state) if state.game.goal.lamp_type else _placements(state)
    best = min(walks, key=lambda walk: len(walk.commands), default=None)
    return best.commands if best else None


class _Walk:
    """Commands, and where the agent stands and what is open after them."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.game = state.game
        self.at = state.at
        self.opened = state.flags["opened"]
        self.commands: list[str] = []

    def copy(self) -> _Walk:
        other = _Walk(self.state)
        other.at, other.opened, other.commands = self.at, self.opened, self.commands.copy()
        return other

    def do(self, action: str, **things: str) -> None:
        self.commands.append(self.game.verbs[action].format(**things))

    def go(self, receptacle: str) -> None:
        if self.game.place[receptacle] != self.at:
            self.do("gotolocation", r=receptacle)
            self.at = self.game.place[receptacle]

    def reach(self, receptacle: str) -> None:
        self.go(receptacle)
        if receptacle in self.game.able("openable") and receptacle not in self.opened:
            self.do("openobject", r=receptacle)
            self.opened = self.opened | {receptacle}

    def take(self, thing: str, receptacle: str) -> _Walk:
        after = self.copy()
        after.reach(receptacle)
        after.do("pickupobject", o=thing, r=receptacle)
        return after

    def put(self, thing: str, receptacle: str) -> _Walk:
        after = self.copy()
        after.reach(receptacle)
        after.do("putobject", o=thing, r=receptacle)
        return after


def _placements(state: State) -> Iterator[_Walk]:
    game, goal = state.game, state.game.goal
    wanted = game.of_type(goal.object_type)
    for receptacle in _ordered(state, game.of_type(goal.receptacle_type) & game.place.keys()):
        if goal.task_type == "pick_two_obj_and_place":
            yield from _pairs(state, wanted, receptacle)
            continue
        for thing in _ordered(state, wanted):
            if not game.can_contain(receptacle, thing):
                continue
            for holding in _holding(state, thing):
                for treated in _treated(holding, thing, goal.property):
                    yield treated.put(thing, receptacle)


def _pairs(state: State, wanted: frozenset[str], receptacle: str) -> Iterator[_Walk]:
    """Yield ways to get two objects into one receptacle, from what is there already."""
    there = wanted & state.inside[receptacle]
    others = [thing for thing in _ordered(state, wanted - there) if state.game.can_contain(receptacle, thing)]
    missing = 2 - len(there)
    for chosen in permutations(others, missing):
        if state.held in chosen[1:]:
            continue  # what is held is brought first
        walks = _shortest(walk.put(chosen[0], receptacle) for walk in _holding(state, chosen[0]))
        for thing in chosen[1:]:
            walks = _shortest(
                walk.take(thing, source).put(thing, receptacle)
                for walk in walks
                for source in _sources(state, thing)
            )
        yield from walks


def _looks(state: State) -> Iterator[_Walk]:
    game, goal = state.game, state.game.goal
    for lamp in _ordered(state, game.of_type(goal.lamp_type) & game.able("toggleable")):
        for place in _places(state, lamp):
            for thing in _ordered(state, game.of_type(goal.object_type)):
                for holding in _holding(state, thing):
                    after = holding.copy()
                    after.go(place)
                    if lamp not in state.flags["istoggled"]:
                        after.do("toggleobject", o=lamp, r=place)
                    yield after


def _holding(state: State, thing: str) -> list[_Walk]:
    """Return ways to hold an object."""
    walks = [_Walk(state)] if state.held in (None, thing) else _emptied(state)
    if state.held == thing:
        return walks
    return _shortest(walk.take(thing, source) for walk in walks for source in _sources(state, thing))


def _shortest(walks: Iterable[_Walk]) -> list[_Walk]:
    """Of walks that end in the same place with the same receptacles open, keep the first of the shortest."""
    kept: dict[tuple[str, frozenset[str]], _Walk] = {}
    for walk in walks:
        end = walk.at, walk.opened
        if end not in kept or len(walk.commands) < len(kept[end].commands):
            kept[end] = walk
    return list(kept.values())


def _emptied(state: State) -> list[_Walk]:
    """Return ways to put down what is held."""
    held, game = state.held or "", state.game
    fits = [receptacle for receptacle in game.receptacles if game.can_contain(receptacle, held)]
    return _shortest(_Walk(state).put(held, receptacle) for receptacle in fits)


def _treated(walk: _Walk, thing: str, wanted: str | None) -> Iterator[_Walk]:
    """Yield ways to clean, heat or cool what is held."""
    if wanted is None or thing in walk.state.flags[wanted]:
        yield walk
        return
    appliance, able, action = _APPLIANCES[wanted]
    if thing in walk.game.able(able):
        for receptacle in _ordered(walk.state, walk.game.of_type(appliance) & walk.game.place.keys()):
            after = walk.copy()
            after.go(receptacle)
            after.do(action, o=thing, r=receptacle)
            yield after


def _sources(state: State, thing: str) -> list[str]:
    return _places(state, thing) if thing in state.game.able("pickupable") else []


def _places(state: State, thing: str) -> list[str]:
    return [receptacle for receptacle in state.game.receptacles if thing in state.inside[receptacle]]


def _ordered(state: State, things: Iterable[str]) -> list[str]:
    return sorted(things, key=state.game.rank.__getitem__)
