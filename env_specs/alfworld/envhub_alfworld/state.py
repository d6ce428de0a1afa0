"""Where a game stands: the rules of ALFWorld's domain, without a planner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, NamedTuple

from envhub_alfworld.game import ACTIONS, FLAGS, Game
from envhub_alfworld.pddl import Fact

NOTHING = "Nothing happens."

_KNIVES = frozenset({"knifetype", "butterknifetype"})
_TREATMENTS = {
    "cleanobject": ("sinkbasintype", "cleanable"),
    "heatobject": ("microwavetype", "heatable"),
    "coolobject": ("fridgetype", "coolable"),
}


class Action(NamedTuple):
    """Something that can be done: an action of the domain, and the things it is done to."""

    name: str
    things: Mapping[str, str]


class State:
    """A game being played.

    The rules are those of ``alfred.pddl``, the sentences those of the game's grammar. As in the original,
    commands are matched exactly, but for blanks around them.

    Attributes:
        game: The game.
        fixed: Whether objects in sight can be examined, commands may be written with capitals and more
            blanks, ``go to`` says so where one already stands, and ``look`` sees no object beside a
            receptacle that it has left for another one at the same location.
        at: The agent's location.
        held: What the agent holds.
        inside: The objects in each receptacle; an object can be in two.
        spots: The locations of each object (what a knife reaches).
        flags: The things of which each of `FLAGS` is true.
        left: Object and receptacle where the one was taken out of the other and is not in it now.
    """

    __slots__ = ("_actions", "at", "fixed", "flags", "game", "held", "inside", "left", "spots")

    def __init__(self, game: Game, *, fixed: bool = False) -> None:
        self.game = game
        self.fixed = fixed
        self.at = game.start
        self.held: str | None = next((fact[1] for fact in game.facts.get("holds", ())), None)
        receptacles = (*game.receptacles, *(fact[0] for fact in game.facts["receptacletype"]))
        self.inside = _grouped(receptacles, ((r, o) for o, r in game.facts.get("inreceptacle", ())))
        self.spots = _grouped((), game.facts.get("objectatlocation", ()))
        self.flags = {flag: game.able(flag) for flag in FLAGS}
        self.left: frozenset[Fact] = frozenset()
        self._actions: dict[str, Action] | None = None

    # -- playing ------------------------------------------------------------------------------------

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        return self.game.goal.met(self)

    def conditions(self) -> tuple[int, int]:
        """Return how many of the goal's conditions hold now, and how many there are."""
        return self.game.goal.conditions(self)

    def introduction(self) -> str:
        """Return the first observation: the room and the task."""
        return self.game.grammar.say(self.game.grammar.rules["intro"][0].text, {}, self)

    def commands(self) -> list[str]:
        """Return the commands that do something now, sorted."""
        return sorted(self._possible())

    def do(self, command: str) -> str:
        """Follow a command and return what is seen; one that is not possible now changes nothing."""
        action = self._possible().get(command.strip())
        if action is None and self.fixed:
            plain = " ".join(command.lower().split())
            action = next((one for form, one in self._possible().items() if form.lower() == plain), None)
            if action is None:
                return self._already_there(plain) or NOTHING
        if action is None:
            return NOTHING
        bound = self._bound(action)
        effect = _EFFECTS.get(action.name)
        if effect is not None:
            effect(self, **action.things)
            self._actions = None
        return self.game.grammar.say(self.game.grammar.actions[action.name].feedback, bound, self)

    def copy(self) -> State:
        """Return a state that goes its own way from here."""
        other = State.__new__(State)
        other.game, other.fixed, other.at, other.held = self.game, self.fixed, self.at, self.held
        other.inside, other.spots = self.inside.copy(), self.spots.copy()
        other.flags, other.left = self.flags.copy(), self.left
        other._actions = self._actions
        return other

    # -- what is possible ---------------------------------------------------------------------------

    def _possible(self) -> dict[str, Action]:
        if self._actions is None:
            self._actions = self._find_actions()
        return self._actions

    def _find_actions(self) -> dict[str, Action]:
        game, verbs, held, at = self.game, self.game.verbs, self.held, self.at
        here = game.around.get(at, ())
        found = {
            command: Action("gotolocation", {"r": receptacle})
            for place, command, receptacle in game.go_to
            if place != at
        }

        def add(name: str, **things: str) -> None:
            found[verbs[name].format(**things)] = Action(name, things)

        for name in ("look", "inventory", "help"):
            if name in verbs:
                add(name)
        for receptacle in here:
            add("examinereceptacle", r=receptacle)
            for thing in self.inside[receptacle] & game.able("toggleable"):
                add("toggleobject", o=thing, r=receptacle)
            if receptacle in game.able("openable"):
                if receptacle not in self.flags["opened"]:
                    add("openobject", r=receptacle)
                    continue
                add("closeobject", r=receptacle)
            if self.fixed or game.examines_visible:
                for thing in self.inside[receptacle]:
                    add("examineobject", o=thing)
            if held is None:
                for thing in self.inside[receptacle] & game.able("pickupable"):
                    add("pickupobject", o=thing, r=receptacle)
            elif game.can_contain(receptacle, held):
                add("putobject", o=held, r=receptacle)
        if held is not None:
            self._find_uses(held, here, add)
        return found

    def _find_uses(self, held: str, here: Sequence[str], add: Callable[..., None]) -> None:
        """Add what can be done with the object that is held."""
        game = self.game
        add("examineobject", o=held)
        for name, (kind, able) in _TREATMENTS.items():
            if held in game.able(able):
                for receptacle in here:
                    if game.kind.get(receptacle) == kind:
                        add(name, o=held, r=receptacle)
        if game.kind.get(held) in _KNIVES:
            for thing in game.able("sliceable"):
                if self.at in self.spots.get(thing, ()):
                    add("sliceobject", co=thing, ko=held)

    def _already_there(self, command: str) -> str | None:
        """Return the answer to ``go to`` a receptacle at the agent's location, None for any other command."""
        for place, form, receptacle in self.game.go_to:
            if place == self.at and form.lower() == command:
                examine = self.game.grammar.actions["examinereceptacle"].feedback
                seen = self.game.grammar.say(examine, {"r": receptacle}, self)
                return f"You are already at {receptacle}. {seen}"
        return None

    # -- effects ------------------------------------------------------------------------------------

    def _go(self, r: str) -> None:
        self.at = self.game.place[r]

    def _take(self, o: str, r: str) -> None:
        self.held = o
        self.inside[r] -= {o}
        self.left |= {(o, r)}
        self.spots[o] = self.spots.get(o, frozenset()) - {self.at}

    def _put(self, o: str, r: str) -> None:
        self.held = None
        self.inside[r] |= {o}
        self.left -= {(o, r)}
        self.spots[o] = self.spots.get(o, frozenset()) | {self.at}

    def _raise(self, flag: str, thing: str) -> None:
        self.flags[flag] |= {thing}

    def _lower(self, flag: str, thing: str) -> None:
        self.flags[flag] -= {thing}

    def _heat(self, o: str, r: str) -> None:
        self._raise("ishot", o)
        self._lower("iscool", o)

    def _cool(self, o: str, r: str) -> None:
        self._raise("iscool", o)
        self._lower("ishot", o)

    def _use(self, o: str, r: str) -> None:
        self.flags["ison"] ^= {o}
        self._raise("istoggled", o)

    # -- facts for sentences ------------------------------------------------------------------------

    @property
    def rank(self) -> Mapping[str, int]:
        """The place of each thing in the order in which things are listed."""
        return self.game.rank

    def facts(self, predicate: str, known: Sequence[str | None]) -> Iterable[Fact]:
        """Return the facts of a predicate, for the grammar's queries (see `grammar.World`)."""
        if predicate in self.flags:
            return [(thing,) for thing in self.flags[predicate]]
        if predicate == "inreceptacle":
            receptacles = self.inside if known[1] is None else [known[1]]
            return [(thing, place) for place in receptacles for thing in self.inside.get(place, ())]
        if predicate == "atlocation":
            return [(self.game.agent, self.at)]
        if predicate == "objectatlocation":
            return [(thing, spot) for thing, spots in self.spots.items() for spot in spots]
        if predicate == "holds":
            return [] if self.held is None else [(self.game.agent, self.held)]
        if predicate == "holdsany":
            return [] if self.held is None else [(self.game.agent,)]
        if predicate == "not_inreceptacle":
            return () if self.fixed else self.left
        return self.game.facts.get(predicate, ())

    def _bound(self, action: Action) -> dict[str, str]:
        """Return what the parameters of an action stand for."""
        values = {"a": self.game.agent, "l": self.at, "lstart": self.at, **action.things}
        if action.name == "gotolocation":
            values["lend"] = self.game.place[values["r"]]
        return {parameter: values[parameter] for parameter in ACTIONS[action.name]}

    # -- snapshots ----------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Return as JSON what is otherwise than at the beginning of the game."""
        first = State(self.game)
        return {
            "at": self.at,
            "held": self.held,
            "inside": _changed(self.inside, first.inside),
            "spots": _changed(self.spots, first.spots),
            "flags": _changed(self.flags, first.flags),
            "left": sorted(map(list, self.left)),
        }

    @classmethod
    def restore(cls, game: Game, saved: Mapping[str, Any], *, fixed: bool = False) -> State:
        """Return the state of a game that `dump` gave."""
        state = cls(game, fixed=fixed)
        state.at, state.held = saved["at"], saved["held"]
        for name in ("inside", "spots", "flags"):
            getattr(state, name).update({key: frozenset(things) for key, things in saved[name].items()})
        state.left = frozenset((thing, place) for thing, place in saved["left"])
        return state


_EFFECTS: dict[str, Callable[..., None]] = {
    "gotolocation": State._go,
    "openobject": lambda state, r: state._raise("opened", r),
    "closeobject": lambda state, r: state._lower("opened", r),
    "pickupobject": State._take,
    "putobject": State._put,
    "cleanobject": lambda state, o, r: state._raise("isclean", o),
    "heatobject": State._heat,
    "coolobject": State._cool,
    "toggleobject": State._use,
    "sliceobject": lambda state, co, ko: state._raise("issliced", co),
}


def _grouped(keys: Iterable[str], pairs: Iterable[tuple[str, ...]]) -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {key: set() for key in keys}
    for key, thing in pairs:
        groups.setdefault(key, set()).add(thing)
    return {key: frozenset(things) for key, things in groups.items()}


def _changed(now: Mapping[str, frozenset[str]], first: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    return {key: sorted(things) for key, things in now.items() if things != first.get(key)}
