"""One test for each difference that the docstring of envhub_webshop.rules lists, in its order."""

import itertools
import json
import random
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from envhub_webshop import WebShopEnv
from envhub_webshop.actions import parse_fixed
from envhub_webshop.errors import EpisodeOver
from envhub_webshop.goal import human_goal
from envhub_webshop.loader import load, read_options
from envhub_webshop.product import Product
from envhub_webshop.reward import exact_option_hits, faithful_option_hits, faithful_reward, fixed_reward
from envhub_webshop.rules import RESERVED, Choice, FixedRules
from envhub_webshop.schema import Item
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import item

MakeEnv = Callable[..., WebShopEnv]
OPTION_TEXTS = st.text(max_size=6) | st.sampled_from(
    ["Red", "red ", "", "Buy Now", "search", "a]", "[b", "1/2"]
)


def play(env: WebShopEnv, *actions: str, task: str = "goal-0") -> tuple[str, float, bool, dict[str, Any]]:
    """Reset, act, and return what the last action brought."""
    env.reset(seed=1, options={"task": {"id": task}})
    for action in actions:
        observation, reward, terminated, _, info = env.step(action)
    return observation, reward, terminated, info


def lamps(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [item(f"B{n}", **fields) for n in range(count)]


def test_debug_searches(make_env: MakeEnv) -> None:
    products = [*lamps(60), item("BR", name="<r> lamp r")]
    env = make_env(products, mode="fixed")
    for words in ("<a>", "<a> warm light", "<c>", "<c> garden", "<q> desk lamps"):
        first = play(env, f"search[{words}]")[0]
        assert first == play(env, f"search[{words[1:]}]")[0]
    assert "Page 1 (Total results: 1) [SEP] Next > [SEP] BR" in play(env, "search[<r>]")[0]
    faithful = WebShopEnv(env.shared, mode="faithful")
    assert "Total results: 50" in play(faithful, "search[<r>]")[0]
    assert "Total results: 61" in play(faithful, "search[<c> garden]")[0]
    assert "Total results: 61" in play(faithful, "search[<q> desk lamps]")[0]
    with pytest.raises(TypeError):
        play(faithful, "search[<a> warm light]")
    with pytest.raises(IndexError):
        play(faithful, "search[<c>]")


def test_action_text(make_env: MakeEnv) -> None:
    env = make_env(lamps(1, options={"size": ["l [wide]"]}))
    faithful = WebShopEnv(env.shared, mode="faithful")
    open_item = ["search[lamp]", "click[b0]"]
    plain = play(env, *open_item, "click[buy now]")
    for buy in ("Click[Buy Now]", " click [ buy now ] ", "CLICK[buy now]\n", "click[buy now]."):
        assert play(env, *open_item, buy) == plain
    assert not play(faithful, *open_item, "Click[Buy Now]")[2]
    assert not play(faithful, *open_item, "click[ buy now ]")[2]
    spaced = play(env, "search[\n tall   lamp ]")
    assert spaced == play(env, "search[tall lamp]")
    play(env, *open_item, "click[l [wide]]")
    assert env.get_state()["session"]["options"] == {"size": "l [wide]"}
    play(faithful, *open_item, "click[l [wide]]")
    assert faithful.get_state()["session"]["options"] == {}


def test_reason(make_env: MakeEnv) -> None:
    env = make_env(lamps(1))
    faithful = WebShopEnv(env.shared, mode="faithful")
    cases = {
        "buy now": "'buy now' is no action. Possible here: search[keywords]",
        "search[ ]": "a search needs keywords. Possible here: search[keywords]",
        "click[search]": "to search, write search[keywords]. Possible here: search[keywords]",
        "click[B1]": "'b1' is not on this page. Possible here: search[keywords]",
        "x" * 200: f"'{'x' * 100}...' is no action. Possible here: search[keywords]",
    }
    before = env.reset(options={"task": {"id": "goal-0"}})[0]
    for action, reason in cases.items():
        observation, reward, terminated, info = play(env, action)
        assert (observation, reward, terminated, info["reason"]) == (before, 0.0, False, reason)
        assert "reason" not in play(faithful, action)[3]
    found = play(env, "search[lamp]", "click[b9]")[3]["reason"]
    assert found.endswith("Possible here: search[keywords], click[back to search], click[next >], click[b0]")
    assert "reason" not in play(env, "search[lamp]")[3]


def test_reason_is_short_on_pages_with_many_options(make_env: MakeEnv) -> None:
    env = make_env(lamps(1, options={"size": [f"size {n}" for n in range(90)]}))
    reason = play(env, "search[lamp]", "click[b0]", "click[nope]")[3]["reason"]
    assert reason.endswith("click[size 23], 66 more")


def test_shared_labels(make_env: MakeEnv) -> None:
    options = {"frame": ["black", "red", "features"], "shade": ["black", "", "search", "shade: black"]}
    env = make_env(lamps(1, options=options))
    labels = play(env, "search[lamp]", "click[b0]")[3]["available_actions"]["clickables"]
    assert labels[6:] == [
        "frame: black",
        "red",
        "frame: features",
        "shade: black",
        "shade:",
        "shade: search",
        "shade: shade: black",
    ]
    for label in labels[6:]:
        assert "reason" not in play(env, "search[lamp]", "click[b0]", f"click[{label}]")[3]
    wanted = ["click[frame: black]", "click[shade: black]"]
    play(env, "search[lamp]", "click[b0]", *wanted)
    assert env.get_state()["session"]["options"] == {"frame": "black", "shade": "black"}
    faithful = WebShopEnv(env.shared, mode="faithful")
    play(faithful, "search[lamp]", "click[b0]", "click[black]")
    assert faithful.get_state()["session"]["options"] == {"shade": "black"}


@settings(derandomize=True, deadline=None)
@given(st.dictionaries(OPTION_TEXTS, st.lists(OPTION_TEXTS, max_size=5), max_size=4))
def test_every_option_value_has_a_label_of_its_own(options: dict[str, list[str]]) -> None:
    entry = Item(item("B1", options=options), Path("items_shuffle.json"), "item 0")
    product = Product(**{**dict.fromkeys(f.name for f in fields(Product)), "options": read_options(entry)[0]})
    choices = FixedRules().choices(product)
    offers = {Choice(name, value) for name, values in product.options.items() for value in values}
    assert set(choices.values()) == offers
    for label in choices:
        assert parse_fixed(f"click[{label}]") == ("click", label)
        assert label not in RESERVED


def test_any_asin(make_env: MakeEnv) -> None:
    env = make_env([item("b0small")])
    assert "Price: $12.5" in play(env, "search[lamp]", "click[b0small]")[0]
    with pytest.raises(KeyError, match="B0SMALL"):
        play(WebShopEnv(env.shared, mode="faithful"), "search[lamp]", "click[b0small]")


def test_page_kind(make_env: MakeEnv) -> None:
    env = make_env(lamps(1))
    actions = ["search[lamp search_results]", "click[b0]", "click[< prev]"]
    assert "Page 1 (Total results: 1)" in play(env, *actions)[0]
    assert "Page 0 (Total results: 1)" in play(WebShopEnv(env.shared, mode="faithful"), *actions)[0]


def test_exact_options(make_env: MakeEnv) -> None:
    env = make_env(lamps(1, options={"style": ["dash", "x-large", "large"]}))
    faithful = WebShopEnv(env.shared, mode="faithful")
    goals = {goal.options["style"]: f"goal-{at}" for at, goal in enumerate(env.shared.selection.goals)}

    def buy(env: WebShopEnv, goal: str, value: str) -> float:
        return play(env, "search[lamp]", "click[b0]", f"click[{value}]", "click[buy now]", task=goals[goal])[
            1
        ]

    assert (buy(env, "dash", "dash"), buy(faithful, "dash", "dash")) == (1.0, pytest.approx(2 / 3))
    assert (buy(env, "x-large", "large"), buy(faithful, "x-large", "large")) == (pytest.approx(2 / 3), 1.0)


def test_every_synthetic_goal_can_be_reached(golden_folder: Path) -> None:
    catalogue = load(golden_folder, name="golden", human=False, seed=0)
    missed = 0
    for goal in catalogue.goals:
        assert isinstance(goal.options, dict)
        assert fixed_reward(goal.product, goal, goal.options)[0] == 1.0
        missed += faithful_reward(goal.product, goal, goal.options)[0] < 1.0
    assert missed > 0


def test_every_human_goal_is_reachable_where_it_was(make_env: MakeEnv) -> None:
    options = {"size": ["large", "x-large", "xx-large"], "colour": ["red", "dark red", "dash", "standard"]}
    product = make_env(lamps(1, options=options)).shared.catalogue.product(0)
    choices = [
        dict(zip(names, values, strict=True))
        for names in ((), ("size",), ("colour",), ("size", "colour"))
        for values in itertools.product(*(product.options[name] for name in names))
    ]
    values = [*options["size"], *options["colour"], "Red", "tan", "light red", "l", "blue"]
    reached = 0
    for wanted in itertools.chain(((value,) for value in values), itertools.product(values, repeat=2)):
        goal = human_goal(product, "a lamp", ("warm light",), wanted, None)
        was = max(faithful_option_hits(chosen, goal) for chosen in choices)
        now = max(exact_option_hits(chosen, goal) for chosen in choices)
        if was == len(wanted):
            assert now == len(wanted), wanted
            reached += 1
    assert reached > 50


def test_own_product(make_env: MakeEnv) -> None:
    nouns = {"B0": ["lamp"] * 12}
    entry = {"attributes": [], "instruction": "Find me a lamp", "instruction_attributes": ["made of gold"]}
    env = make_env(lamps(2), nouns=nouns, instructions={"B0": entry, "B1": {"attributes": []}})
    buy = ("search[lamp b0]", "click[b0]", "click[buy now]")
    _, reward, _, info = play(env, *buy)
    assert (reward, info["success"]) == (1.0, True)
    assert (info["reward_parts"]["r_type"], info["reward_parts"]["r_att"]) == (1.0, 1.0)
    assert play(WebShopEnv(env.shared, mode="faithful"), *buy)[1] == pytest.approx(0.05)


def test_seeded_prices(make_env: MakeEnv) -> None:
    products = lamps(20, pricing="$5.00 - $500.00")

    def prices(seed: int) -> str:
        random.seed(seed)  # the global generator plays no part
        env = make_env(products, seed=seed)
        catalogue = env.shared.catalogue
        drawn = [catalogue.product(at).price for at in range(20)]
        return json.dumps([drawn, [goal.price_upper for goal in catalogue.goals]])

    assert prices(1) == prices(1)
    assert prices(1) != prices(2)


def test_end(make_env: MakeEnv) -> None:
    env = make_env(lamps(1))
    buy = ("search[lamp]", "click[b0]", "click[buy now]")
    assert play(env, *buy)[2]
    with pytest.raises(EpisodeOver, match=r"ended with the purchase\. Call reset\(\)"):
        env.step("search[lamp]")
    assert "Total results: 1" in play(WebShopEnv(env.shared, mode="faithful"), *buy, "search[lamp]")[0]
