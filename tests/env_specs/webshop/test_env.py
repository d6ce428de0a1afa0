import hashlib
import inspect
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_webshop import WebShopEnv, files, observer
from envhub_webshop import env as env_module
from envhub_webshop.errors import DataError, EpisodeOver, InvalidAction, InvalidOptions, UnknownTask
from envhub_webshop.prepare import main_prepare
from envhub_webshop.tasks import NAMES, Tasks
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import item

MakeEnv = Callable[..., WebShopEnv]
SPEC = Path(__file__).resolve().parents[3] / "env_specs" / "webshop" / "envhub.toml"
PRODUCTS = [
    item(f"B{n}", options={"size": ["l", "s"], "colour": ["red", "l"]}, pricing="$5 - $50") for n in range(30)
]


def names(members: Any) -> list[str]:
    return [task["id"] for task in members]


def test_reset_says_task_instruction_and_what_is_possible(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    observation, info = env.reset(seed=3, options={"task": {"id": "goal-7"}})
    instruction = env.shared.selection.goals[7].instruction
    assert observation == f"WebShop [SEP] Instruction: [SEP] {instruction} [SEP] Search"
    assert info == {
        "task": {"id": "goal-7", "split": "test"},
        "instruction": instruction,
        "task_id": "goal-7",
        "available_actions": {"has_search_bar": True, "clickables": ["search"]},
    }
    assert env.available_actions() == info["available_actions"]


def test_an_episode_ends_with_the_purchase(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    env.reset(options={"task": {"id": "goal-0"}})
    goal = env.shared.selection.goals[0]
    env.step(f"search[{goal.product.title}]")
    env.step(f"click[{goal.product.asin}]")
    for name, value in goal.options.items():
        label = f"{name}: {value}" if value == "l" else value
        _, reward, terminated, truncated, info = env.step(f"click[{label}]")
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert set(info) == {"task_id", "available_actions"}
    observation, reward, terminated, truncated, info = env.step("click[buy now]")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert observation.startswith("Thank you for shopping with us!")
    assert info["available_actions"] == {"has_search_bar": False, "clickables": []}
    assert (info["success"], info["reward_parts"]["r_option"]) == (True, 1.0)


def test_a_wrong_purchase_is_no_success(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    env.reset(options={"task": {"id": "goal-0"}})
    env.step("search[lamp]")
    env.step(f"click[{env.available_actions()['clickables'][2]}]")
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert (terminated, info["success"]) == (True, False)
    assert 0.0 < reward < 1.0


def test_buttons_lead_where_they_say(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS, show_attrs=True)
    env.reset(options={"task": {"id": "goal-0"}})

    def page(action: str) -> list[str]:
        observation, _, _, _, info = env.step(action)
        assert "reason" not in info
        return observation.split(" [SEP] ")[2:]

    first = page("search[lamp]")
    assert first[:3] == ["Back to Search", "Page 1 (Total results: 30)", "Next >"]
    second = page("click[next >]")
    assert second[:4] == ["Back to Search", "Page 2 (Total results: 30)", "< Prev", "Next >"]
    opened = page(f"click[{second[4]}]")
    page("click[red]")
    assert page("click[features]") == ["Back to Search", "< Prev", "Warm light", "Steel foot"]
    assert page("click[< prev]") == opened
    assert env.get_state()["session"]["options"] == {"colour": "red"}
    assert page("click[description]")[2:] == ["A lamp for the desk."]
    page("click[< prev]")
    assert page("click[attributes]")[2:4] == ["warm light", "steel foot"]
    page("click[< prev]")
    assert page("click[reviews]") == ["Back to Search", "< Prev"]
    page("click[< prev]")
    assert page("click[< prev]") == second
    assert env.get_state()["session"]["options"] == {}
    assert page("click[< prev]") == first
    for _ in range(4):
        empty = page("click[next >]")
    assert empty == ["Back to Search", "Page 5 (Total results: 30)", "< Prev", "Next >"]
    assert page("click[back to search]") == [env.shared.selection.goals[0].instruction, "Search"]


def test_the_seed_draws_the_task(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    drawn = [env.reset(seed=seed)[1]["task"] for seed in range(40)]
    assert drawn == [env.reset(seed=seed)[1]["task"] for seed in range(40)]
    assert {task["split"] for task in drawn} == {"train"}
    assert len({task["id"] for task in drawn}) > 20
    assert env.reset(seed=1, options={"split": "test"})[1]["task"]["split"] == "test"


def test_tasks_are_listed_by_split_without_the_answer(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    sizes = [len(env.tasks(split)) for split in ("train", "validation", "test")]
    assert sizes == [84, 24, 12]
    assert set(env.tasks("test")[3]) == {"id", "split", "instruction"}
    assert names(env.tasks("test")[2:4]) == ["goal-2", "goal-3"]
    with pytest.raises(UnknownTask, match=r"no split 'dev'\. Use one of: train, validation, test"):
        env.tasks("dev")


def test_many_goals_are_split_as_published() -> None:
    class Millions:
        def __len__(self) -> int:
            return 8_000_000

        def __getitem__(self, at: Any) -> Any:
            raise AssertionError("no goal may be built")

    tasks = Tasks(Millions(), None)  # type: ignore[arg-type]
    assert [len(tasks.of_split(name)) for name in ("test", "validation", "train")] == [500, 1000, 7_998_500]
    assert [tasks.task(at)["split"] for at in (499, 500, 1499, 1500)] == [
        "test",
        "validation",
        "validation",
        "train",
    ]
    assert 1500 <= tasks.draw("train", 5) < 8_000_000


@pytest.mark.parametrize(
    ("count", "test", "validation", "train"),
    [(1, 1, 1, 1), (2, 2, 2, 2), (3, 1, 1, 1), (10, 1, 2, 7), (1500, 150, 300, 1050), (1501, 500, 1000, 1)],
)
def test_few_goals_are_split_in_tenths(count: int, test: int, validation: int, train: int) -> None:
    tasks = Tasks([None] * count, None)  # type: ignore[list-item]
    assert [len(tasks.of_split(name)) for name in ("test", "validation", "train")] == [
        test,
        validation,
        train,
    ]


def test_the_data_can_say_which_products_belong_to_a_split(make_env: MakeEnv) -> None:
    splits = {"train": ["B0"], "validation": ["B1"], "test": [f"B{n}" for n in range(2, 30)]}
    env = make_env(PRODUCTS, splits=splits)
    for split, members in splits.items():
        goals = [env.shared.selection.goals[int(task["id"][5:])] for task in env.tasks(split)]
        assert sorted({goal.product.asin for goal in goals}) == sorted(members)
    assert env.reset(options={"split": "validation"})[1]["task"]["split"] == "validation"
    assert names(env.tasks("train")[1:3]) == names(env.tasks("train"))[1:3]


def test_a_split_can_be_empty(make_env: MakeEnv) -> None:
    env = make_env([item("B0")], splits={"train": [], "validation": [], "test": ["B0"]})
    with pytest.raises(InvalidOptions, match="split 'train' has no task"):
        env.reset(seed=1)


@pytest.mark.parametrize(
    "task", [{"id": "goal-120"}, {"id": "goal--1"}, {"id": "goal-01"}, {"id": 3}, {}, "goal-1"]
)
def test_an_unknown_task_is_refused(task: Any, make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    before = env.reset(options={"task": {"id": "goal-5"}})[1]
    with pytest.raises(UnknownTask, match="Use goal-0 to goal-119") as caught:
        env.reset(options={"task": task})
    assert caught.value.envhub_code == "unknown_task"
    assert env.step("click[nope]")[4]["task_id"] == before["task_id"]


def test_unknown_options_are_refused(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    with pytest.raises(InvalidOptions, match=r"no reset option 'tusk' \(did you mean task\?\)") as caught:
        env.reset(seed=1, options={"tusk": {"id": "goal-3"}})
    assert caught.value.envhub_code == "invalid_options"


@pytest.mark.parametrize("split", ["dev", ["train"]])
def test_an_unknown_split_is_refused_like_an_unknown_task(make_env: MakeEnv, split: Any) -> None:
    env = make_env(PRODUCTS)
    with pytest.raises(UnknownTask, match="Use one of: train, validation, test") as caught:
        env.reset(seed=1, options={"split": split})
    assert caught.value.envhub_code == "unknown_task"


def test_actions_are_texts(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    with pytest.raises(EpisodeOver, match=r"Call reset\(\) first"):
        env.step("search[lamp]")
    env.reset(seed=1)
    with pytest.raises(InvalidAction) as caught:
        env.step(3)  # type: ignore[arg-type]
    assert caught.value.envhub_code == "invalid_action"


def test_observation_modes_show_the_same_page(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    shown = {}
    for mode in ("text", "text_rich", "url", "html"):
        other = WebShopEnv(env.shared, observation_mode=mode, session_prefix="w1_")
        other.reset(options={"task": {"id": "goal-0"}})
        shown[mode] = other.step("search[lamp]")[0]
        assert "[button] Back to Search [button_]" in other.render().splitlines()
    assert "[SEP] Page 1 (Total results: 30) [SEP]" in shown["text"]
    assert "\nPage 1 (Total results: 30)\n" in shown["text_rich"]
    assert shown["url"] == "http://127.0.0.1:3000/search_results/w1_0/lamp/1"
    assert "<h3>Page 1 (Total results: 30)</h3>" in shown["html"]


def test_history_comes_first(make_env: MakeEnv) -> None:
    shared = make_env(PRODUCTS).shared
    env = WebShopEnv(shared, observation_mode="url", num_prev_obs=2, num_prev_actions=1)
    first = env.reset(options={"task": {"id": "goal-0"}})[0]
    second = env.step("search[a]")[0].split(" [SEP] ")
    third = env.step("search[b]")[0].split(" [SEP] ")
    assert second == [first, "search[a]", f"{first[:21]}/search_results/0/a/1"]
    assert third == [first, second[-1], "search[b]", f"{first[:21]}/search_results/0/b/1"]
    assert env.reset(options={"task": {"id": "goal-0"}})[0] == first


def test_a_limit_keeps_that_many_tasks(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS, limit_goals=20)
    assert env.data_info()["goals"] == 20
    assert sum(len(env.tasks(split)) for split in ("train", "validation", "test")) == 20


def test_data_info_names_the_data(make_env: MakeEnv) -> None:
    info = make_env(PRODUCTS, num_products=10).data_info()
    assert (info["products"], info["goals"]) == (10, 40)
    assert info["digest"].startswith("sha256:")


def test_unknown_modes_are_refused(make_env: MakeEnv) -> None:
    shared = make_env(PRODUCTS).shared
    with pytest.raises(ValueError, match="no mode 'faithfull'"):
        WebShopEnv(shared, mode="faithfull")
    with pytest.raises(ValueError, match="no observation mode 'image'"):
        WebShopEnv(shared, observation_mode="image")
    with pytest.raises(InvalidOptions, match="num_products = -1"):
        make_env(PRODUCTS, num_products=-1)


def test_a_prepared_folder_plays_the_same(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(PRODUCTS)
    folder = main_prepare(tmp_path, tmp_path / "prepared", human_goals=False)
    other = WebShopEnv(data_dir=str(folder), human_goals=False)
    assert other.data_info() == env.data_info()
    for replica in (env, other):
        replica.reset(seed=4)
    assert follow(other, ["search[lamp]", 4, "click[red]", 7]) == follow(
        env, ["search[lamp]", 4, "click[red]", 7]
    )
    with pytest.raises(
        DataError, match=r"was prepared with seed = 0, not 3\. Serve it with --set webshop\.seed=0"
    ) as caught:
        WebShopEnv(data_dir=str(folder), human_goals=False, seed=3)
    assert caught.value.envhub_code == "invalid_options", "so that a hub tells the message alone"


def test_the_embedded_catalogue_is_the_default() -> None:
    env = WebShopEnv()
    assert env.data_info()["name"] == "embedded"
    assert all(len(env.tasks(split)) > 100 for split in ("train", "validation", "test"))
    observation, info = env.reset(seed=1)
    assert info["instruction"] in observation


ACTIONS = st.lists(
    st.sampled_from(
        (
            *("search[lamp]", "search[b3 lamp]", "search[<r>]", "click[next >]", "click[< prev]"),
            *("click[back to search]", "click[features]", "click[buy now]"),
            *("click[red]", "click[s]", "click[l]", "nothing"),
        )
    )
    | st.integers(0, 20),
    max_size=12,
)


def follow(env: WebShopEnv, actions: list[Any]) -> list[Any]:
    """Act, with a number for whatever clickable stands there; return all that was seen."""
    seen: list[Any] = []
    for action in actions:
        labels = env.available_actions()["clickables"]
        if isinstance(action, int):
            action = f"click[{labels[action % len(labels)]}]" if labels else "nothing"
        try:
            seen.append(env.step(action))
        except (EpisodeOver, ValueError) as error:
            seen.append(str(error))
    return seen


@pytest.mark.parametrize("mode", ["fixed", "faithful"])
def test_a_saved_state_continues_in_any_replica(mode: str, make_env: MakeEnv) -> None:
    products = [*PRODUCTS, *(item(f"C{n}") for n in range(40))]
    config = {"mode": mode, "num_prev_obs": 1, "num_prev_actions": 2, "observation_mode": "text_rich"}
    env = make_env(products, **config)
    other = WebShopEnv(env.shared, **config)

    @settings(derandomize=True, deadline=None, max_examples=60)
    @given(st.integers(0, 119), st.integers(0, 2**31), ACTIONS, ACTIONS)
    def check(goal: int, seed: int, before: list[Any], after: list[Any]) -> None:
        env.reset(seed=seed, options={"task": {"id": f"goal-{goal}"}})
        follow(env, before)
        saved = json.loads(json.dumps(env.get_state()))
        other.set_state(saved)
        assert other.get_state() == env.get_state()
        assert follow(other, after) == follow(env, after)
        env.set_state(saved)
        other.set_state(saved)
        assert follow(env, after) == follow(other, after)

    check()


def test_the_same_seed_task_and_actions_show_the_same(make_env: MakeEnv) -> None:
    env = make_env([item(f"B{n}") for n in range(80)], mode="faithful")
    actions = ["search[<r>]", "click[next >]", "search[<r>]", 3, "click[buy now]"]
    seen = []
    for replica in (env, WebShopEnv(env.shared, mode="faithful"), env):
        replica.reset(seed=11, options={"task": {"id": "goal-4"}})
        seen.append(follow(replica, actions))
    assert seen[0] == seen[1] == seen[2]


def test_no_text_breaks_an_episode(make_env: MakeEnv) -> None:
    shared = make_env(PRODUCTS).shared
    envs = [WebShopEnv(shared, observation_mode=mode) for mode in ("text", "text_rich", "url", "html")]
    texts = st.text(st.characters(exclude_categories=[]), max_size=20)
    actions = st.one_of(texts, texts.map("search[{}]".format), texts.map("click[{}]".format))

    @settings(derandomize=True, deadline=None, max_examples=60)
    @given(st.lists(actions, max_size=5), st.integers(0, 20))
    def check(before: list[str], number: int) -> None:
        for env in envs:
            env.reset(options={"task": {"id": "goal-0"}})
            for _, reward, terminated, _, info in follow(env, [*before, "search[lamp]", number, *before]):
                assert (reward, terminated) == (0.0, False)
                assert info["task_id"] == "goal-0"

    check()


def test_the_declared_data_files_are_the_embedded_ones() -> None:
    declared = {entry["name"]: entry for entry in tomllib.loads(SPEC.read_text("utf-8"))["data"]}
    embedded = {f"data/{path.name}" for path in files.find(files.EMBEDDED, 0, True) if path is not None}
    assert set(declared) == embedded
    for name, entry in declared.items():
        content = (SPEC.parent / name).read_bytes()
        assert (entry["size"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest()), name


def test_the_declared_settings_are_those_of_the_class() -> None:
    declared = tomllib.loads(SPEC.read_text("utf-8"))
    parameters = dict(inspect.signature(WebShopEnv.__init__).parameters)
    defaults = {name: parameter.default for name, parameter in list(parameters.items())[2:]}
    assert {name: key["default"] for name, key in declared["config"].items()} == defaults
    assert tuple(declared["config"]["mode"]["choices"]) == env_module.MODES
    assert tuple(declared["config"]["observation_mode"]["choices"]) == observer.MODES
    assert tuple(declared["splits"]) == NAMES


def test_a_state_of_other_data_is_refused(make_env: MakeEnv) -> None:
    env = make_env(PRODUCTS)
    env.reset(options={"task": {"id": "goal-0"}})
    env.step("search[lamp]")
    before = env.available_actions()
    saved = env.get_state()
    saved["session"]["page"]["products"][0] = "B404"
    with pytest.raises(ValueError, match=r"shows product B404, which .* does not have"):
        env.set_state(saved)
    assert env.available_actions() == before
