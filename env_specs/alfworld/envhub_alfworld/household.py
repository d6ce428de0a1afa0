"""A household of our own: a room with receptacles and objects in it, and a task that is to be done there."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from envhub_alfworld.classes import CONTENTS, PROPERTIES, ROOMS, Room

TASKS = {
    "pick_and_place_simple": (
        ("kitchen", "livingroom", "bedroom", "bathroom"),
        ("put a {object} in {receptacle}", "put some {object} on {receptacle}"),
    ),
    "look_at_obj_in_light": (
        ("livingroom", "bedroom"),
        ("look at {object} under the {lamp}", "examine the {object} with the {lamp}"),
    ),
    "pick_clean_then_place_in_recep": (
        ("kitchen", "bathroom"),
        ("put a clean {object} in {receptacle}", "clean some {object} and put it in {receptacle}"),
    ),
    "pick_heat_then_place_in_recep": (
        ("kitchen",),
        ("put a hot {object} in {receptacle}", "heat some {object} and put it in {receptacle}"),
    ),
    "pick_cool_then_place_in_recep": (
        ("kitchen",),
        ("put a cool {object} in {receptacle}", "cool some {object} and put it in {receptacle}"),
    ),
    "pick_two_obj_and_place": (
        ("kitchen", "livingroom", "bedroom", "bathroom"),
        ("put two {object} in {receptacle}", "find two {object} and put them in {receptacle}"),
    ),
}
"""Task type to the kinds of room it is done in and the two ways to ask for it (the official ones)."""

TREATMENTS = {
    "pick_clean_then_place_in_recep": ("cleanable", "SinkBasin"),
    "pick_heat_then_place_in_recep": ("heatable", "Microwave"),
    "pick_cool_then_place_in_recep": ("coolable", "Fridge"),
}
"""Task type to the property that its object needs and the receptacle class where it gets treated."""

SCENES = 30
"""How many scenes there are of each kind of room, in ours as in the official games."""
SEEN = 24
"""How many of them are used for training; the others are unseen."""


@dataclass(frozen=True)
class Receptacle:
    """A receptacle of a room.

    Attributes:
        id: Its name in the problem, such as ``Fridge_bar__plus_02_dot_92_bar_…``.
        cls: Its class.
        location: Where an agent stands before it; several receptacles may share a location.
    """

    id: str
    cls: str
    location: str


@dataclass(frozen=True)
class Thing:
    """An object of a household.

    Attributes:
        id: Its name in the problem.
        cls: Its class.
        places: The receptacles it is in: one, or two at the same location, as in the official games.
    """

    id: str
    cls: str
    places: tuple[Receptacle, ...]


@dataclass(frozen=True)
class Task:
    """What is to be done.

    Attributes:
        type: The task type.
        target: The class of the object.
        parent: The class of the receptacle; empty for the task with a lamp.
        lamp: The class of the lamp; empty for the others.
        sentence: What the agent is told.
    """

    type: str
    target: str
    parent: str
    lamp: str
    sentence: str


@dataclass(frozen=True)
class Household:
    """A room, what is in it, and a task.

    Attributes:
        scene: The number of the room: 1 to 30 kitchens, from 201 living rooms, 301 bedrooms, 401 bathrooms.
        trial: The name of this arrangement of the objects.
        start: The agent's location at first: no receptacle is there.
        receptacles: All receptacles. They depend on the seed and the scene only.
        things: All objects.
        task: The task.
    """

    scene: int
    trial: str
    start: str
    receptacles: tuple[Receptacle, ...]
    things: tuple[Thing, ...]
    task: Task

    @property
    def folder(self) -> str:
        """Its folder below the split, named as the official ones are."""
        task = self.task
        return f"{task.type}-{task.target}-None-{task.parent or task.lamp}-{self.scene}/{self.trial}"


@lru_cache(maxsize=256)
def furnish(seed: int, kind: str, number: int) -> tuple[int, str, tuple[Receptacle, ...]]:
    """Return a room's scene number, the agent's first location and the receptacles.

    Args:
        seed: Other seeds have other rooms.
        kind: A key of `ROOMS`.
        number: Which room of that kind, from 0.
    """
    room = ROOMS[kind]
    scene = room.first_scene + number
    draw = random.Random(f"room {seed} {scene}")
    spots = [f"loc_bar_{x}_bar_{y}_bar_{draw.randrange(4)}_bar_30" for x in range(12) for y in range(12)]
    draw.shuffle(spots)
    start, location, taken = spots.pop(), "", set()  # type: str, str, set[str]
    receptacles = []
    for cls, (least, most) in room.furniture.items():
        for at in range(draw.randint(least, most)):
            if at == 0 or draw.random() < 0.7:  # else it stands beside the one before
                location = spots.pop()
            receptacles.append(Receptacle(_new_id(cls, draw, taken), cls, location))
    return scene, start, tuple(receptacles)


def arrange(seed: int, split: str, index: int, task_type: str) -> Household:
    """Return a household: always the same for the same arguments.

    Args:
        seed: The seed of rooms and arrangements.
        split: ``train``, ``valid_seen`` (rooms that training uses, too) or ``valid_unseen`` (other rooms).
        index: Its number in the split.
        task_type: A key of `TASKS`.
    """
    draw = random.Random(f"household {seed} {split} {index} {task_type}")
    kind = draw.choice(TASKS[task_type][0])
    number = draw.randrange(SEEN, SCENES) if split == "valid_unseen" else draw.randrange(SEEN)
    scene, start, receptacles = furnish(seed, kind, number)
    task = _choose_task(task_type, ROOMS[kind], receptacles, draw)
    things = _lay_out(task, ROOMS[kind], receptacles, draw)
    trial = f"trial_T{seed:08d}_{index:06d}_{draw.randrange(1000000):06d}"
    return Household(scene, trial, start, receptacles, things, task)


def _choose_task(
    task_type: str, room: Room, receptacles: tuple[Receptacle, ...], draw: random.Random
) -> Task:
    standing = sorted({receptacle.cls for receptacle in receptacles})
    has, where = TREATMENTS.get(task_type, ("", ""))
    targets = [cls for cls in room.objects if not has or cls in PROPERTIES[has]]
    choices = []
    for target in targets:
        homes = [cls for cls in standing if target in CONTENTS[cls]]
        if task_type == "look_at_obj_in_light":
            stands = [lamp for lamp, bases in room.lamps.items() if set(bases) & set(standing)]
            choices += [(target, "", lamp) for lamp in stands if homes]
        else:
            choices += [(target, cls, "") for cls in homes if cls != where and len(homes) > 1]
    target, parent, lamp = draw.choice(choices)
    sentence = draw.choice(TASKS[task_type][1]).format(
        object=target.lower(), receptacle=parent.lower(), lamp=lamp.lower()
    )
    return Task(task_type, target, parent, lamp, f"Your task is to: {sentence}.")


def _lay_out(
    task: Task, room: Room, receptacles: tuple[Receptacle, ...], draw: random.Random
) -> tuple[Thing, ...]:
    """Put objects into the receptacles, the task's own where they don't fulfil it yet."""
    counts = {cls: draw.randint(1, 3) for cls in room.objects if draw.random() < 0.65}
    counts[task.target] = draw.randint(2 if task.type == "pick_two_obj_and_place" else 1, 3)
    things, taken = [], set()  # type: list[Thing], set[str]
    for cls in sorted(counts):
        barred = task.parent if cls == task.target else ""
        homes = [place for place in receptacles if cls in CONTENTS[place.cls] and place.cls != barred]
        for _ in range(counts[cls] if homes else 0):
            place = draw.choice(homes)
            beside = [other for other in homes if other.location == place.location and other != place]
            places = (place, draw.choice(beside)) if beside and draw.random() < 0.1 else (place,)
            things.append(Thing(_new_id(cls, draw, taken), cls, places))
    for lamp, bases in room.lamps.items():
        stands = [place for place in receptacles if place.cls in bases]
        if stands and (lamp == task.lamp or draw.random() < 0.5):
            things.append(Thing(_new_id(lamp, draw, taken), lamp, (draw.choice(stands),)))
    return tuple(things)


def _new_id(cls: str, draw: random.Random, taken: set[str]) -> str:
    """Return an id that is not taken: the class and a place in space, as in the official games."""
    owner = {"SinkBasin": "Sink", "BathtubBasin": "Bathtub"}.get(cls)
    while True:
        axes = (f"{draw.randrange(-299, 300) / 100:+06.2f}" for _ in range(3))
        spelled = "_bar_".join(axes).replace("+", "_plus_").replace("-", "_minus_").replace(".", "_dot_")
        found = f"{owner}_bar_{spelled}_bar_{cls}" if owner else f"{cls}_bar_{spelled}"
        if found.lower() not in taken:
            taken.add(found.lower())
            return found
