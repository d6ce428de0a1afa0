"""What wins a game, and how much of it is done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from envhub_alfworld.pddl import Fact

if TYPE_CHECKING:
    from envhub_alfworld.state import State

_PLACE = {"inreceptacle", "objecttype", "receptacletype"}
_LOOK = {
    "objecttype",
    "toggleable",
    "istoggled",
    "receptacleatlocation",
    "atlocation",
    "inreceptacle",
    "holds",
}
_KINDS = {
    frozenset(_PLACE): "pick_and_place_simple",
    frozenset(_PLACE | {"cleanable", "isclean"}): "pick_clean_then_place_in_recep",
    frozenset(_PLACE | {"heatable", "ishot"}): "pick_heat_then_place_in_recep",
    frozenset(_PLACE | {"coolable", "iscool"}): "pick_cool_then_place_in_recep",
    frozenset(_PLACE | {"="}): "pick_two_obj_and_place",
    frozenset(_LOOK): "look_at_obj_in_light",
}
_PROPERTY = {
    "pick_clean_then_place_in_recep": "isclean",
    "pick_heat_then_place_in_recep": "ishot",
    "pick_cool_then_place_in_recep": "iscool",
}
_ABLE = {"isclean": "cleanable", "ishot": "heatable", "iscool": "coolable"}

TASK_TYPES = tuple(_KINDS.values())
"""The kinds of tasks that ALFWorld has."""


class Goal:
    """One of ALFWorld's six goals. Any things of the right types count, not only those a task was made with.

    Attributes:
        task_type: The kind of task, one of `TASK_TYPES`.
        object_type: The type of what is to be placed, or looked at, such as ``mugtype``.
        receptacle_type: The type of where it goes; empty when something is to be looked at.
        lamp_type: The type of the lamp to look by; empty otherwise.
        property: What it has to be: ``isclean``, ``ishot``, ``iscool`` or None.
    """

    def __init__(
        self, task_type: str, object_type: str, receptacle_type: str = "", lamp_type: str = ""
    ) -> None:
        self.task_type = task_type
        self.object_type = object_type
        self.receptacle_type = receptacle_type
        self.lamp_type = lamp_type
        self.property: str | None = _PROPERTY.get(task_type)

    def met(self, state: State) -> bool:
        """Tell whether the goal holds."""
        met, total = self.conditions(state)
        return met == total

    def conditions(self, state: State) -> tuple[int, int]:
        """Return how many of the goal's conditions hold, and how many there are.

        They are counted as in ALFRED (``env/tasks.py``, ``goal_conditions_met``): one for an object of the
        type in a receptacle of the type, one for the property, one for both in one object; for two objects,
        how many are in the same receptacle; for a look, the object held and a lamp switched on here.
        """
        game = state.game
        wanted = game.of_type(self.object_type)
        if self.lamp_type:
            lamps = game.of_type(self.lamp_type) & game.able("toggleable") & state.flags["istoggled"]
            here = any(not lamps.isdisjoint(state.inside[place]) for place in game.around.get(state.at, ()))
            return (state.held in wanted) + here, 2
        places = [wanted & state.inside[place] for place in game.of_type(self.receptacle_type)]
        if self.task_type == "pick_two_obj_and_place":
            return min(2, max(map(len, places), default=0)), 2
        if self.property is None:
            return int(any(places)), 1
        done = wanted & game.able(_ABLE[self.property]) & state.flags[self.property]
        return any(places) + bool(done) + any(not done.isdisjoint(place) for place in places), 3


def read_goal(expression: list[Any]) -> Goal:
    """Return the goal that a PDDL goal (`pddl.Problem.goal`) states.

    Raises:
        ValueError: It is none of ALFWorld's six.
    """
    atoms = [atom for part in expression for atom in _atoms(part)]
    task_type = _KINDS.get(frozenset(atom[0] for atom in atoms))
    objects = {atom[1]: atom[2] for atom in atoms if atom[0] == "objecttype"}
    receptacles = {atom[2] for atom in atoms if atom[0] == "receptacletype"}
    if task_type == "look_at_obj_in_light":
        held = [objects.get(atom[2]) for atom in atoms if atom[0] == "holds"]
        lamps = [objects.get(atom[1]) for atom in atoms if atom[0] == "toggleable"]
        if len(held) == len(lamps) == 1 and held[0] and lamps[0]:
            return Goal(task_type, held[0], lamp_type=lamps[0])
    elif task_type is not None and len(receptacles) == 1 and len(set(objects.values())) == 1:
        return Goal(task_type, objects.popitem()[1], receptacles.pop())
    raise ValueError("the goal is none of the six kinds that ALFWorld has")


def _atoms(expression: list[Any]) -> Iterator[Fact]:
    """Return the facts that an expression of `and`, `exists` and `not` speaks of."""
    head, *rest = expression
    if head in ("and", "not"):
        for part in rest:
            yield from _atoms(part)
    elif head == "exists":
        yield from _atoms(rest[-1])
    else:
        yield tuple(expression)
