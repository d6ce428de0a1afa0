"""Writes households as games, in the layout of the official data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envhub_alfworld import logic
from envhub_alfworld.classes import CONTENTS, FIXED, OPENABLE, PROPERTIES
from envhub_alfworld.game import Game
from envhub_alfworld.household import TASKS, TREATMENTS, Household, Task, arrange
from envhub_alfworld.planner import plan
from envhub_alfworld.state import State

SIZES = {"train": 200, "valid_seen": 40, "valid_unseen": 40}
"""Games a split in the embedded set."""


def households(seed: int, sizes: dict[str, int]) -> Iterator[tuple[str, Household]]:
    """Yield splits and households; the task types take turns.

    Args:
        seed: The seed of rooms and arrangements.
        sizes: Split to the number of its games.
    """
    types = tuple(TASKS)
    for split, size in sizes.items():
        for index in range(size):
            yield split, arrange(seed, split, index, types[index % len(types)])


def problem(household: Household) -> str:
    """Return the PDDL problem of a household."""
    places, things = household.receptacles, household.things
    otypes = sorted({thing.cls for thing in things})
    rtypes = sorted({place.cls for place in places})
    locations = sorted({household.start, *(place.location for place in places)})
    objects = [
        "agent1 - agent",
        *(f"{cls} - object" for cls in otypes),
        *(f"{name} - otype" for name in sorted({*logic.NAMED_TYPES["otype"], *(f"{c}Type" for c in otypes)})),
        *(f"{name} - rtype" for name in sorted({*logic.NAMED_TYPES["rtype"], *(f"{c}Type" for c in rtypes)})),
        *(f"{thing.id} - object" for thing in things),
        *(f"{place.id} - receptacle" for place in places),
        *(f"{location} - location" for location in locations),
    ]
    facts = [f"receptacleType {place.id} {place.cls}Type" for place in places]
    facts += [f"objectType {thing.id} {thing.cls}Type" for thing in things]
    facts += [f"canContain {r}Type {o}Type" for r in rtypes for o in CONTENTS[r] if o in otypes]
    facts += [f"pickupable {thing.id}" for thing in things if thing.cls not in FIXED]
    facts += [f"openable {place.id}" for place in places if place.cls in OPENABLE]
    facts += [
        f"{has} {thing.id}" for has, classes in PROPERTIES.items() for thing in things if thing.cls in classes
    ]
    facts.append(f"atLocation agent1 {household.start}")
    facts += [f"inReceptacle {thing.id} {place.id}" for thing in things for place in thing.places]
    facts += [f"receptacleAtLocation {place.id} {place.location}" for place in places]
    facts += [f"objectAtLocation {thing.id} {thing.places[0].location}" for thing in things]
    listed = "\n".join(objects)
    init = "\n".join(f"({fact})" for fact in facts)
    return (
        f"(define (problem plan_{household.trial})\n(:domain alfred)\n(:objects\n{listed}\n)\n"
        f"(:init\n{init}\n)\n(:goal\n{_goal(household.task)}\n)\n)\n"
    )


def _goal(task: Task) -> str:
    target = f"(objectType ?o {task.target}Type)"
    parent = f"(receptacleType ?r {task.parent}Type)"
    if task.type == "look_at_obj_in_light":
        lamp = f"(objectType ?ot {task.lamp}Type) (toggleable ?ot) (isToggled ?ot)"
        here = "(receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)"
        return (
            f"(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and {lamp} {here}))\n"
            f"     (exists (?o - object ?a - agent) (and {target} (holds ?a ?o))))"
        )
    if task.type == "pick_two_obj_and_place":
        one, two = (
            f"{target.replace('?o', name)} {parent} (inReceptacle {name} ?r)" for name in ("?o1", "?o2")
        )
        second = f"(exists (?o2 - object) (and (not (= ?o1 ?o2)) {two}))"
        return f"(and (exists (?r - receptacle) (exists (?o1 - object) (and {one} {second}))))"
    state = ""
    if task.type in TREATMENTS:
        able = TREATMENTS[task.type][0]
        done = {"cleanable": "isClean", "heatable": "isHot", "coolable": "isCool"}[able]
        state = f"({able} ?o) ({done} ?o) "
    placed = f"(and {state}{target} {parent} (inReceptacle ?o ?r))"
    return f"(and (exists (?r - receptacle) (exists (?o - object) {placed})))"


def traj_data(household: Household) -> dict[str, Any]:
    """Return what ``traj_data.json`` says of a household: the keys that text games use."""
    task = household.task
    return {
        "task_id": household.trial,
        "task_type": task.type,
        "pddl_params": {
            "object_target": task.target,
            "parent_target": task.parent,
            "toggle_target": task.lamp,
            "mrecep_target": "",
            "object_sliced": False,
        },
        "scene": {"floor_plan": f"FloorPlan{household.scene}", "scene_num": household.scene},
        "turk_annotations": {"anns": []},
    }


def game(household: Household) -> dict[str, Any]:
    """Return the content of ``game.tw-pddl`` for a household; the expert wrote its walkthrough.

    Raises:
        AssertionError: The game can't be won.
    """
    content: dict[str, Any] = {
        "pddl_domain": logic.domain(),
        "grammar": logic.grammar(household.task.sentence),
        "pddl_problem": problem(household),
        "solvable": True,
    }
    walkthrough = plan(State(Game(Path(household.folder), content)))
    assert walkthrough, f"{household.folder} can't be won"
    return {**content, "walkthrough": walkthrough}


def write_game(folder: Path, household: Household) -> None:
    """Write the three files of a game into a folder, which is made."""
    content = game(household)
    folder.mkdir(parents=True)
    (folder / "traj_data.json").write_text(json.dumps(traj_data(household)), encoding="utf-8")
    (folder / "initial_state.pddl").write_text(content["pddl_problem"], encoding="utf-8")
    (folder / "game.tw-pddl").write_text(json.dumps(content), encoding="utf-8")
