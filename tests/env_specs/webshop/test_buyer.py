import ast
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from envhub_webshop import WebShopEnv, buyer
from envhub_webshop.buyer import Candidate, Request, ScriptedBuyer, choose, named_options, winning_actions

SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def shop() -> WebShopEnv:
    """The embedded shop as it comes."""
    return WebShopEnv()


def play(shop: WebShopEnv, policy: ScriptedBuyer, task: Mapping[str, Any]) -> tuple[float, list[str]]:
    observation, info = shop.reset(seed=0, options={"task": task})
    actions = []
    done = False
    reward = 0.0
    while not done:
        actions.append(policy(observation, info))
        observation, reward, done, _, info = shop.step(actions[-1])
        assert "reason" not in info, info.get("reason")
    return reward, actions


def wins(shop: WebShopEnv, policy: ScriptedBuyer, split: str, count: int) -> float:
    """The share of a split's first tasks that the policy wins with reward 1.0."""
    tasks = shop.tasks(split)[:count]
    return sum(play(shop, policy, task)[0] == 1.0 for task in tasks) / len(tasks)


@pytest.mark.parametrize("mode", ["fixed", "faithful"])
@pytest.mark.parametrize("split", SPLITS)
def test_every_goal_can_be_won(shop: WebShopEnv, mode: str, split: str) -> None:
    env = WebShopEnv(shop.shared, mode=mode)
    for task in env.tasks(split):
        env.reset(seed=0, options={"task": task})
        goal = shop.shared.selection.goals[int(task["id"].removeprefix("goal-"))]
        assert goal.instruction == task["instruction"]
        for action in winning_actions(goal):
            _, reward, done, _, _ = env.step(action)
        assert done and reward == 1.0, task


def test_synthetic_goals_can_be_won_in_fixed_mode() -> None:
    env = WebShopEnv(human_goals=False)
    goals = env.shared.selection.goals
    for split in SPLITS:
        for task in env.tasks(split):
            goal = goals[int(task["id"].removeprefix("goal-"))]
            env.reset(options={"task": task})
            for action in winning_actions(goal):
                _, reward, done, _, _ = env.step(action)
            assert done and reward == 1.0, task


@pytest.mark.parametrize("split", SPLITS)
def test_the_buyer_wins_most_goals_of_each_split(shop: WebShopEnv, split: str) -> None:
    assert wins(shop, ScriptedBuyer(), split, 150) >= 0.8


def test_comparing_products_wins_more_than_taking_the_first(shop: WebShopEnv) -> None:
    assert wins(shop, ScriptedBuyer(), "validation", 100) > wins(shop, ScriptedBuyer(1), "validation", 100)


def test_the_buyer_stays_within_its_steps(shop: WebShopEnv) -> None:
    for task in shop.tasks("test")[:40]:
        _, actions = play(shop, ScriptedBuyer(3), task)
        assert len(actions) <= 7 + 6 * 3 + 4


def test_the_buyer_says_why(shop: WebShopEnv) -> None:
    policy = ScriptedBuyer(1)
    observation, info = shop.reset(seed=0, options={"task": shop.tasks("test")[0]})
    thoughts = []
    done = False
    while not done:
        observation, _, done, _, info = shop.step(policy(observation, info))
        thoughts.append(policy.thought)
    assert all(thoughts)
    assert thoughts[0].startswith("I search") and thoughts[-1].endswith("so I buy it.")


def test_one_buyer_plays_one_episode_after_another(shop: WebShopEnv) -> None:
    first, second = shop.tasks("test")[:2]
    policy = ScriptedBuyer(2)
    played = [play(shop, policy, task) for task in (first, second, first)]
    assert played[0] == played[2] and played[0] != played[1]


def test_the_buyer_starts_over_when_an_episode_is_abandoned(shop: WebShopEnv) -> None:
    task = shop.tasks("test")[0]
    policy = ScriptedBuyer(2)
    whole = play(shop, policy, task)
    observation, info = shop.reset(seed=0, options={"task": shop.tasks("test")[1]})
    shop.step(policy(observation, info))
    assert play(shop, policy, task) == whole


def test_the_buyer_refuses_to_begin_on_another_page(shop: WebShopEnv) -> None:
    shop.reset(seed=0)
    observation, *_, info = shop.step("search[candle]")
    with pytest.raises(ValueError, match=r"not the search page.*reset\(\)"):
        ScriptedBuyer()(observation, info)


def test_the_buyer_says_that_the_episode_is_over(shop: WebShopEnv) -> None:
    policy = ScriptedBuyer(1)
    observation, info = shop.reset(seed=0)
    done = False
    while not done:
        observation, _, done, _, info = shop.step(policy(observation, info))
    with pytest.raises(ValueError, match="ended the episode"):
        policy(observation, info)


def test_the_buyer_says_when_a_search_finds_nothing(shop: WebShopEnv) -> None:
    policy = ScriptedBuyer()
    start = "WebShop [SEP] Instruction: [SEP] i need a zeppelin [SEP] Search"
    assert policy(start, {}) == "search[zeppelin]"
    shop.reset(seed=0)
    observation, *_, info = shop.step("search[zeppelin]")
    assert policy(observation, info) == "click[next >]"
    observation, *_, info = shop.step("click[next >]")
    with pytest.raises(ValueError, match="'zeppelin' found nothing"):
        policy(observation, info)


def test_a_request_is_read_apart_from_its_price_cap() -> None:
    request = Request.read("i need a non-slip bath rug in size 20 x 32, and price lower than 40.00 dollars")
    assert request.cap == 40.0
    assert request.words == ("non", "slip", "bath", "rug", "20", "x", "32")
    assert "non slip" in request.pairs and "i need" not in request.pairs
    assert Request.read("a rug for my x-large dog. 8.5 please").cap is None


@pytest.mark.parametrize(
    ("value", "named"),
    [("x-large", True), ("large", False), ("8.5", True), ("8", False), ("dusty rose", True), ("rose", True)],
)
def test_option_values_are_found_as_whole_words(value: str, named: bool) -> None:
    request = Request.read("a dress in dusty rose, x-large. the length should be 8.5")
    assert request.names(value) is named


def candidate(asin: str, *colors: str, text: str = "a hoodie", low: float = 20.0) -> Candidate:
    return Candidate(asin, asin, low, low, 1, {"color": list(colors)}, text)


def test_a_shorter_value_does_not_stand_in_for_the_one_that_was_named() -> None:
    request = Request.read("i want a hoodie in black and red")
    plain, both = candidate("plain", "black"), candidate("both", "black and red", "gray")
    assert named_options([plain, both], request) == {"color": "black and red"}
    assert choose([plain, both], request) is both


def test_the_buyer_prefers_the_feature_that_was_asked_for() -> None:
    request = Request.read("i want a machine washable hoodie")
    other, right = candidate("other", text="a hoodie"), candidate("right", text="Machine washable hoodie")
    assert choose([other, right], request) is right


def test_the_buyer_avoids_what_may_cost_too_much() -> None:
    request = Request.read("i want a hoodie, and price lower than 30.00 dollars")
    dear = Candidate("dear", "dear", 25.0, 45.0, 1, {}, "a hoodie")
    assert choose([dear, candidate("cheap")], request).asin == "cheap"


def test_the_buyer_needs_the_standard_library_only() -> None:
    tree = ast.parse(Path(buyer.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names}
    assert {str(module).split(".")[0] for module in modules} <= sys.stdlib_module_names
