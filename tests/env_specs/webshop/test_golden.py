"""Every recorded output of the published environment, from the same inputs."""

import random
from pathlib import Path
from typing import Any

import pytest
from envhub_webshop import WebShopEnv
from envhub_webshop.catalogue import MemoryCatalogue
from envhub_webshop.classic import ClassicEnv, ClassicServer
from envhub_webshop.goal import Goal
from envhub_webshop.reward import faithful_reward

Catalogues = dict[str, MemoryCatalogue]
EPISODES = {"synthetic": "episodes_synthetic.jsonl.gz", "human": "episodes_human.jsonl"}


@pytest.fixture(scope="module")
def catalogues(synthetic: MemoryCatalogue, human: MemoryCatalogue) -> Catalogues:
    return {"synthetic": synthetic, "human": human}


def test_products_are_loaded_as_recorded(synthetic: MemoryCatalogue, rows: Any) -> None:
    recorded = rows("products.jsonl")
    assert len(synthetic) == len(recorded)
    for at, row in enumerate(recorded):
        product = synthetic.product(at)
        loaded = {
            "asin": product.asin,
            "Title": product.title,
            "Description": product.description,
            "BulletPoints": list(product.bullets),
            "pricing": list(product.pricing),
            "Price": product.price_tag,
            "price": product.price,
            "options": {name: list(values) for name, values in product.options.items()},
            "Attributes": list(product.attributes),
            "MainImage": product.main_image,
            "query": product.query,
            "category": product.category,
            "product_category": product.product_category,
            "title_nouns": list(product.title_nouns),
            "search_contents": product.search_contents(),
            "instruction_text": product.instruction,
        }
        assert loaded == {key: row[key] for key in loaded}


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_goals_come_in_the_recorded_order(kind: str, catalogues: Catalogues, rows: Any) -> None:
    recorded = rows(f"goals_{kind}.jsonl")
    goals = catalogues[kind].goals
    assert len(goals) == len(recorded)
    for goal, row in zip(goals, recorded, strict=True):
        options = goal.options if isinstance(goal.options, dict) else list(goal.options)
        assert goal.product.asin == row["asin"]
        assert (goal.instruction, list(goal.attributes)) == (row["instruction_text"], row["attributes"])
        assert (goal.price_upper, options, goal.weight) == (
            row["price_upper"],
            row["goal_options"],
            row["weight"],
        )


def test_limits_and_filters_keep_the_recorded_goals(synthetic: MemoryCatalogue, rows: Any) -> None:
    positions: dict[int, int] = {}
    for at, goal in enumerate(synthetic.goals):
        positions[id(goal)] = at

    def every_seventh(at: int, goal: Goal) -> bool:
        return at % 7 == 3

    for row in rows("limit_filter.jsonl"):
        server = ClassicServer(
            synthetic,
            limit_goals=row["options"].get("limit_goals", -1),
            filter_goals=every_seventh if "filter_goals" in row["options"] else None,
        )
        first = ClassicEnv(server).session
        assert [positions[id(goal)] for goal in server.goals] == row["goal_indices"]
        assert first.session_id == row["first_session"]
        assert first.goal is server.goals[row["first_goal"]]


def test_sessions_draw_the_recorded_names_and_goals(synthetic: MemoryCatalogue, rows: Any) -> None:
    server = ClassicServer(synthetic)
    env = ClassicEnv(server, observation_mode="text")
    for row in rows("session_draws.jsonl"):
        if row["seed"] is not None:
            server.random.seed(row["seed"])
        observation, _ = env.reset(row["session_arg"])
        assert env.session.session_id == row["session_id"]
        assert env.session.goal is server.goals[row["goal_index"]]
        assert observation == row["observation"]


def test_searches_find_the_recorded_products(synthetic: MemoryCatalogue, rows: Any) -> None:
    for row in rows("search.jsonl"):
        assert [synthetic.product(at).asin for at in synthetic.search(row["query"])] == row["asins"]


def test_rewards_are_the_recorded_ones(catalogues: Catalogues, rows: Any) -> None:
    for row in rows("rewards.jsonl"):
        catalogue = catalogues[row["goals"]]
        at = catalogue.index_of(row["asin"])
        assert at is not None
        reward = faithful_reward(catalogue.product(at), catalogue.goals[row["goal_index"]], row["options"])
        assert reward == (row["reward"], row["verbose"])


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_episodes_step_as_recorded(kind: str, catalogues: Catalogues, rows: Any) -> None:
    servers = {shown: ClassicServer(catalogues[kind], show_attrs=shown) for shown in (False, True)}
    steps = 0
    for episode in rows(EPISODES[kind]):
        env = ClassicEnv(servers[episode["show_attrs"]], observation_mode="text", **episode["env_options"])
        observation, _ = env.reset(episode["session_arg"])
        assert env.session.session_id == episode["session_id"]
        assert env.instruction_text == episode["reset"]["instruction_text"]
        assert observation == episode["reset"]["observation"]
        assert_shown(env, episode["reset"])
        for step in episode["steps"]:
            assert_step(env, step)
            steps += 1
    assert steps == {"synthetic": 2434, "human": 242}[kind]


def assert_step(env: ClassicEnv, step: dict[str, Any]) -> None:
    if "random_seed_before_step" in step:
        env.server.random.seed(step["random_seed_before_step"])
    try:
        observation, reward, done, info = env.step(step["action"])
    except (TypeError, IndexError) as error:
        assert [type(error).__name__, str(error)] == step["error"]
    else:
        assert observation == step["observation"]
        # 0 for an action that did nothing and 0.0 for a page print differently.
        assert (repr(reward), done, info) == (repr(step["reward"]), step["done"], None)
    if "verbose" in step:
        assert env.session.parts == step["verbose"]
        assert env.session.asin == step["purchase"]["asin"]
        assert list(env.session.options.items()) == list(step["purchase"]["options"].items())
    assert_shown(env, step)


def assert_shown(env: ClassicEnv, recorded: dict[str, Any]) -> None:
    assert env.get_available_actions() == recorded["available"]
    assert env.url == recorded["url"]
    for mode, page in recorded.get("modes", {}).items():
        assert env.observation(mode) == page


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_the_faithful_environment_steps_as_recorded(kind: str, golden_folder: Path, rows: Any) -> None:
    config = {"data_dir": str(golden_folder), "human_goals": kind == "human", "mode": "faithful"}
    shared = WebShopEnv(**config).shared
    for episode in rows(EPISODES[kind]):
        if episode["policy"] == "special_search":
            continue  # reseeds Python's global generator in the middle of the episode
        env = WebShopEnv(shared, **config, show_attrs=episode["show_attrs"], **episode["env_options"])
        observation, info = env.reset(options={"task": {"id": f"goal-{episode['goal_index']}"}})
        assert observation == episode["reset"]["observation"]
        assert info["available_actions"] == episode["reset"]["available"]
        for step in episode["steps"]:
            observation, reward, terminated, truncated, info = env.step(step["action"])
            assert observation == step["observation"]
            assert (repr(reward), terminated, truncated) == (repr(step["reward"]), step["done"], False)
            assert info["available_actions"] == step["available"]
            assert info.get("reward_parts") == step.get("verbose")


def test_the_fixed_environment_shows_the_recorded_pages(golden_folder: Path, rows: Any) -> None:
    config = {"data_dir": str(golden_folder), "human_goals": False}
    shared = WebShopEnv(**config).shared
    played = 0
    for episode in rows(EPISODES["synthetic"]):
        if episode["policy"] not in ("good_buyer", "wrong_buyer", "pages"):
            continue
        env = WebShopEnv(shared, **config, show_attrs=episode["show_attrs"], **episode["env_options"])
        env.reset(options={"task": {"id": f"goal-{episode['goal_index']}"}})
        for step in episode["steps"]:
            observation, reward, terminated, _, info = env.step(step["action"])
            if terminated:
                break
            assert (observation, reward) == (step["observation"], step["reward"])
            assert info["available_actions"] == step["available"]
            played += 1
    assert played > 500


def test_two_processes_with_one_seed_agree_and_two_seeds_do_not(golden_folder: Path) -> None:
    from envhub_webshop.loader import load

    random.seed(5)  # the global generator plays no part
    one, same, other = (load(golden_folder, name="x", human=False, seed=seed) for seed in (1, 1, 2))
    caps = [[goal.price_upper for goal in catalogue.goals] for catalogue in (one, same, other)]
    assert caps[0] == caps[1]
    assert caps[0] != caps[2]
