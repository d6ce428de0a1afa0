import random
from collections.abc import Callable
from pathlib import Path

import pytest
from envhub_webshop.errors import InvalidOptions
from envhub_webshop.goals import draw_cap, draw_goal, draw_price, select
from envhub_webshop.loader import load

from .conftest import item

MakeShop = Callable[..., Path]


def test_a_price_is_drawn_between_the_ends_of_its_range() -> None:
    rng = random.Random(0)
    assert (draw_price([], rng), draw_price([7.5], rng)) == (100.0, 7.5)
    assert all(5.0 <= draw_price([5.0, 9.0], rng) <= 9.0 for _ in range(50))


def test_a_cap_is_one_of_the_next_steps_above_the_price() -> None:
    rng = random.Random(0)
    assert {draw_cap(12.5, rng) for _ in range(200)} == {30.0, 40.0, 50.0}
    assert {draw_cap(20.0, rng) for _ in range(200)} == {40.0, 50.0, 60.0}
    assert draw_cap(975.0, rng) == 990.0
    assert draw_cap(980.0, rng) is None
    assert draw_cap(5000.0, rng) is None


def test_a_synthetic_goal_is_made_for_each_choice_of_options(make_shop: MakeShop) -> None:
    folder = make_shop(
        [item("B1", options={"Size": ["L", "S"], "Colour": ["Red/Blue", "Tan"]}, pricing="$990")]
    )
    goals = load(folder, name="x", human=False, seed=0).goals
    assert sorted(goal.instruction for goal in goals) == [
        f"Find me a desk lamp with warm light with colour: {colour}, and size: {size}"
        for colour in ("red | blue", "tan")
        for size in ("l", "s")
    ]
    assert {goal.price_upper for goal in goals} == {1000000.0}
    assert [goal.weight for goal in goals] == [0.25] * 4


def test_a_human_goal_keeps_its_text_and_names_the_cap(make_shop: MakeShop) -> None:
    written = {
        "instruction": "a lamp.",
        "instruction_attributes": ["warm light"],
        "instruction_options": ["l"],
    }
    nothing = {**written, "instruction_attributes": []}
    folder = make_shop([item("B1", pricing="$5")], human={"B1": [written, nothing], "B9": [written]})
    (goal,) = load(folder, name="x", human=True, seed=0).goals
    assert goal.instruction == f"a lamp, and price lower than {goal.price_upper:.2f} dollars"
    assert (goal.options, goal.weight) == (("l",), 1.0)


def test_goals_are_drawn_by_weight() -> None:
    rng = random.Random(3)
    drawn = [draw_goal([0.0, 1.0, 1.0, 4.0], rng) for _ in range(2000)]
    assert set(drawn) == {1, 2}  # each draw lands one too far, and the last goal takes the rest
    assert 300 < drawn.count(1) < 700


def test_a_limit_keeps_that_many_goals(make_shop: MakeShop) -> None:
    catalogue = load(make_shop([item(f"B{n}") for n in range(9)]), name="x", human=False, seed=0)
    assert len(select(catalogue, 4).goals) == 4
    assert select(catalogue, 9).goals is catalogue.goals
    assert len(select(catalogue, keep=lambda at, goal: at > 6).goals) == 2
    for limit in (0, -2):
        with pytest.raises(InvalidOptions, match=f"limit_goals = {limit}"):
            select(catalogue, limit)
