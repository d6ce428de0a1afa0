"""Households of our own: repeatable, of all kinds, and games in the official layout."""

import itertools
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from envhub_alfworld import generate
from envhub_alfworld.classes import CONTENTS, PROPERTIES, ROOMS
from envhub_alfworld.data import Library, open_library, write
from envhub_alfworld.errors import DataError
from envhub_alfworld.game import Game
from envhub_alfworld.household import SEEN, TASKS, Household, arrange, furnish
from envhub_alfworld.state import State

EMBEDDED = "sha256:e1309257d0f0a10ba3b6eeac42df433ade496438ea6e13f52fba7173203208a3"


@pytest.fixture(scope="module")
def shipped() -> list[tuple[str, Household]]:
    """The households of the embedded set."""
    return list(generate.households(0, generate.SIZES))


def test_the_embedded_set_is_always_the_same(library: Library) -> None:
    assert library.digest == EMBEDDED


def test_it_does_not_hang_on_the_order_of_sets(library: Library) -> None:
    code = "from envhub_alfworld.data import open_library; print(open_library().digest)"
    folder = Path(generate.__file__).parents[1]
    env = {"PYTHONHASHSEED": "7", "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == library.digest


def test_there_are_200_40_and_40_games_of_all_six_types(shipped: list[tuple[str, Household]]) -> None:
    counts = Counter(split for split, _ in shipped)
    assert counts == {"train": 200, "valid_seen": 40, "valid_unseen": 40}
    for split, size in counts.items():
        types = Counter(household.task.type for where, household in shipped if where == split)
        assert set(types) == set(TASKS)
        assert max(types.values()) - min(types.values()) <= 1, size
    assert len({household.folder for _, household in shipped}) == 280


def test_unseen_rooms_are_in_no_other_split(shipped: list[tuple[str, Household]]) -> None:
    scenes = {split: {h.scene for where, h in shipped if where == split} for split in generate.SIZES}
    assert not scenes["valid_unseen"] & (scenes["train"] | scenes["valid_seen"])
    assert {scene // 100 for scene in scenes["train"]} == {0, 2, 3, 4}


def test_a_room_is_furnished_the_same_for_every_arrangement() -> None:
    assert furnish(0, "kitchen", 3) == furnish(0, "kitchen", 3)
    assert furnish(0, "kitchen", 3) != furnish(0, "kitchen", 4)
    assert furnish(0, "kitchen", 3) != furnish(1, "kitchen", 3)
    for kind, number in itertools.product(ROOMS, range(SEEN)):
        scene, start, receptacles = furnish(0, kind, number)
        assert scene == ROOMS[kind].first_scene + number
        assert start not in {place.location for place in receptacles}
        counts = Counter(place.cls for place in receptacles)
        for cls, (least, most) in ROOMS[kind].furniture.items():
            assert least <= counts[cls] <= most


def test_things_lie_where_their_class_may(shipped: list[tuple[str, Household]]) -> None:
    in_two = 0
    for _, household in shipped:
        ids = [thing.id for thing in household.things] + [place.id for place in household.receptacles]
        assert len({name.lower() for name in ids}) == len(ids)
        for thing in household.things:
            in_two += len(thing.places) == 2
            assert len({place.location for place in thing.places}) == 1
            if thing.cls not in PROPERTIES["toggleable"]:
                assert all(thing.cls in CONTENTS[place.cls] for place in thing.places)
    assert in_two > 20  # as in real scenes


def test_each_game_begins_unsolved_and_its_walkthrough_wins(library: Library) -> None:
    for entry in itertools.chain(*library.entries.values()):
        game = library.game(entry.id)
        state = State(game)
        assert game.goal.task_type == entry.task_type
        assert not state.won
        for command in game.walkthrough:
            assert command in state.commands()
            assert not state.won
            state.do(command)
        assert state.won, entry.id


def test_games_are_written_as_the_official_ones_are(tmp_path: Path) -> None:
    household = arrange(5, "train", 2, "pick_clean_then_place_in_recep")
    folder = tmp_path / household.folder
    generate.write_game(folder, household)
    assert sorted(path.name for path in folder.iterdir()) == [
        "game.tw-pddl",
        "initial_state.pddl",
        "traj_data.json",
    ]
    facts = json.loads((folder / "traj_data.json").read_text("utf-8"))
    assert folder.parent.name == (
        f"{facts['task_type']}-{facts['pddl_params']['object_target']}-None-"
        f"{facts['pddl_params']['parent_target']}-{facts['scene']['scene_num']}"
    )
    content = json.loads((folder / "game.tw-pddl").read_text("utf-8"))
    assert set(content) == {"pddl_domain", "grammar", "pddl_problem", "solvable", "walkthrough"}
    assert content["pddl_problem"] == (folder / "initial_state.pddl").read_text("utf-8")
    assert Game.load(folder).walkthrough == tuple(content["walkthrough"])


def test_written_games_are_found_again(tmp_path: Path, library: Library) -> None:
    sizes = {"train": 8, "valid_seen": 2, "valid_unseen": 1}
    told: list[int] = []
    write(tmp_path, 0, sizes, told.append)
    assert told == list(range(1, 12))
    for folder in (tmp_path, tmp_path / "json_2.1.1"):
        found = open_library(str(folder))
        assert {split: len(entries) for split, entries in found.entries.items()} == sizes
        for split in sizes:
            first = library.tasks(split)[: sizes[split]]
            assert found.tasks(split) == first, "the same games, under the same ids, in the same order"
    with pytest.raises(DataError, match="there are games already"):
        write(tmp_path, 1, sizes)
