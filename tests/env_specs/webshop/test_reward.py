from dataclasses import replace

import pytest
from envhub_webshop.goal import Goal, human_goal, synthetic_goal
from envhub_webshop.product import Product
from envhub_webshop.reward import exact_option_hits, faithful_option_hits, faithful_reward, fixed_reward
from envhub_webshop.similarity import COLOURS, colour_in, same

LAMP = Product(
    asin="B000000001",
    title="Tall Desk Lamp",
    description="A lamp for reading.",
    bullets=("warm light ", "steel foot "),
    pricing=(12.5,),
    price_tag="$12.5",
    price=12.5,
    options={"colour": ("red", "dash", "navy blue"), "size": ("large", "x-large")},
    option_images={},
    attributes=("warm light",),
    query="desk lamps",
    category="garden",
    product_category="Home \u203a Lamps \u203a Desk Lamps",
    main_image="",
    title_nouns=("desk", "lamp"),
    instruction="Find me a lamp",
    instruction_attributes=("warm light", "steel foot"),
)
GOAL = synthetic_goal(LAMP, 3, 20.0, 1.0)  # dash, x-large


def test_the_exact_purchase_gets_everything() -> None:
    reward, parts = fixed_reward(LAMP, GOAL, {"size": "x-large", "colour": "dash"})
    assert reward == 1.0
    assert parts == {
        "r_type": 1.0,
        "r_att": 1.0,
        "w_att": 0.4,
        "query_match": True,
        "category_match": True,
        "title_score": 1.0,
        "r_option": 1.0,
        "w_option": 0.4,
        "r_price": True,
        "w_price": 0.2,
    }


def test_each_hit_counts_the_same() -> None:
    dear = replace(LAMP, price=20.01)
    assert fixed_reward(LAMP, GOAL, {"colour": "dash"})[0] == pytest.approx(4 / 5)
    assert fixed_reward(LAMP, GOAL, {})[0] == pytest.approx(3 / 5)
    assert fixed_reward(dear, GOAL, {})[0] == pytest.approx(2 / 5)


def test_attributes_are_found_in_the_attributes_or_the_texts() -> None:
    bare = replace(LAMP, asin="B000000002", attributes=("cold light",), bullets=("x",))
    assert fixed_reward(bare, GOAL, {})[1]["r_att"] == 0.0
    assert fixed_reward(replace(bare, attributes=("light, warm",)), GOAL, {})[1]["r_att"] == 0.5
    assert fixed_reward(replace(bare, description="On a STEEL FOOT."), GOAL, {})[1]["r_att"] == 0.5
    assert fixed_reward(replace(bare, title="Warm Light, Steel Foot"), GOAL, {})[1]["r_att"] == 1.0


@pytest.mark.parametrize(
    ("nouns", "query", "path", "r_type"),
    [
        (("desk", "lamp"), "other", "Other", 1.0),
        (("desk",), "other", "Other", 1.0),
        (("chair",), "desk lamps", "Home \u203a Lamps \u203a Desk Lamps", 0.0),
    ],
)
def test_the_title_decides_the_type(nouns: tuple[str, ...], query: str, path: str, r_type: float) -> None:
    other = replace(LAMP, asin="B2", title_nouns=nouns, query=query, product_category=path)
    assert fixed_reward(other, GOAL, {})[1]["r_type"] == r_type


def test_a_weak_title_needs_the_query_or_two_levels_of_the_category() -> None:
    many = replace(LAMP, title_nouns=("lamp", "a", "b", "c", "d", "e"))
    goal = synthetic_goal(many, 0, 20.0, 1.0)
    other = replace(
        LAMP, asin="B2", title_nouns=("lamp",), query="other", product_category="Home \u203a Other"
    )
    assert fixed_reward(other, goal, {})[1]["r_type"] == 0.5
    assert fixed_reward(replace(other, query="desk lamps"), goal, {})[1]["r_type"] == 1.0
    near = replace(other, product_category="Lamps\u203aHome")
    assert fixed_reward(near, goal, {})[1]["r_type"] == 1.0
    long = replace(LAMP, title_nouns=("lamp", *("x" * n for n in range(1, 12))))
    assert fixed_reward(near, synthetic_goal(long, 0, 20.0, 1.0), {})[1]["r_type"] == 0.1


def test_a_goal_title_without_nouns_is_neutral() -> None:
    nameless = replace(LAMP, title_nouns=())
    parts = faithful_reward(nameless, synthetic_goal(nameless, 0, None, 1.0), {})[1]
    assert (parts["title_score"], parts["r_type"]) == (0.2, 1.0)


def test_a_goal_without_options_has_no_option_parts() -> None:
    plain = replace(LAMP, options={})
    reward, parts = fixed_reward(plain, synthetic_goal(plain, 0, None, 1.0), {})
    assert reward == 1.0
    assert not {"r_option", "w_option"} & set(parts)


def test_exact_options_need_name_and_value() -> None:
    assert exact_option_hits({"size": "x-large", "colour": "dash"}, GOAL) == 2
    assert exact_option_hits({"Size ": "X-Large"}, GOAL) == 1
    assert exact_option_hits({"size": "large"}, GOAL) == 0
    assert exact_option_hits({"style": "x-large"}, GOAL) == 0


def test_the_published_rule_takes_wrong_values_and_misses_right_ones() -> None:
    assert faithful_option_hits({"size": "large"}, GOAL) == 1
    assert faithful_option_hits({"size": "x-large", "colour": "dash"}, GOAL) == 1


def wants(*values: str) -> Goal:
    return human_goal(LAMP, "a lamp", ("warm light",), values, 20.0)


def test_a_human_goal_names_values_only() -> None:
    assert exact_option_hits({"colour": "navy blue", "size": "large"}, wants("Navy  Blue", "large")) == 2
    assert exact_option_hits({"size": "x-large"}, wants("large")) == 0
    assert exact_option_hits({"colour": "navy blue"}, wants("blue")) == 1  # not on offer: the published rule


def test_a_human_goal_that_no_choice_satisfies_falls_back_to_the_published_rule() -> None:
    both_sizes = wants("large", "x-large")
    assert exact_option_hits({"size": "x-large"}, both_sizes) == 2
    assert faithful_option_hits({"size": "x-large"}, both_sizes) == 2


def test_slashes_are_bars_as_in_the_options() -> None:
    striped = replace(LAMP, options={"colour": ("black | white",)})
    goal = human_goal(striped, "a lamp", ("warm light",), ("Black/White",), None)
    assert exact_option_hits({"colour": "black | white"}, goal) == 1


def test_colours_are_found_inside_words() -> None:
    assert len(COLOURS) == 102
    assert [colour_in(value) for value in ("standard", "washable", "x-large")] == ["tan", "ash", "x-large"]
    assert colour_in(("colour", "red")) == "red"
    assert colour_in(("colour", "dark red")) == ("colour", "dark red")


def test_similar_texts_share_their_words() -> None:
    assert same("light, WARM", "warm light")
    assert same("large", "size: x large")
    assert not same("warm light", "cold light")
    assert not same("", "")
