"""The environment as such: episodes, refusals, snapshots, the graph of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from envhub_kg import KGEnv
from envhub_kg.errors import DataError, EpisodeOver, InvalidAction, InvalidOptions, UnknownTask
from envhub_kg.expert import Expert
from envhub_kg.score import score
from envhub_kg.source import Source

from .conftest import loaded


@pytest.fixture(scope="module")
def source(films: Path) -> Source:
    """The films, from their Turtle file."""
    return loaded(store=films / "films.ttl", data_dir=films / "questions.json")


@pytest.fixture
def env(source: Source) -> KGEnv:
    return KGEnv(shared=source, expert=True)


def _play(env: KGEnv, task: str) -> list[tuple[Any, ...]]:
    observation, info = env.reset(options={"task": {"id": task}})
    seen: list[tuple[Any, ...]] = [(observation, info)]
    expert = Expert()
    while len(seen) < 20:
        seen.append(env.step(expert(*seen[-1][::4] if len(seen) > 1 else seen[-1])))
        if seen[-1][2]:
            break
    return seen


@pytest.mark.parametrize("form", ["classic", "tools"])
@pytest.mark.parametrize("task", ["last", "count"])
def test_the_expert_answers_and_everything_is_the_same_each_time(
    source: Source, form: str, task: str
) -> None:
    played = [_play(KGEnv(shared=source, actions=form, expert=True), task) for _ in range(2)]
    assert played[0] == played[1]
    _, reward, terminated, truncated, info = played[0][-1]
    assert (reward, terminated, truncated, info["success"], info["status"]) == (
        1.0,
        True,
        False,
        True,
        "completed",
    )
    assert info["answer"] == (["tokyo_story"] if task == "last" else ["2"])
    assert info["answer_labels"] == ({"tokyo_story": "Tokyo Story"} if task == "last" else {})
    json.dumps(played)


def test_a_graph_of_ones_own_can_be_walked_backwards_and_has_types(env: KGEnv) -> None:
    observation, info = env.reset(options={"task": {"id": "count"}})
    assert observation == "How many films did Ozu make?\nEntities: [Ozu]"
    assert "begins with ^" in info["rules"]
    assert env.step("get_relations(Ozu)")[0] == "Observation: [^directed_by]"
    assert (
        env.step("get_neighbors(Ozu, ^directed_by)")[0]
        == "Observation: variable #0, which are instances of Film"
    )
    assert env.step("get_relations(#0)")[0] == "Observation: [directed_by]"
    assert (
        env.step("get_neighbors(#0, directed_by)")[0]
        == "Observation: variable #1, which are instances of Person"
    )
    assert env.step("get_attributes(#0)")[0] == "Observation: [year]"
    _, reward, terminated, _, info = env.step("Thought: the films themselves\nFinal Answer: #0")
    assert (reward, terminated, info["success"], info["f1"], info["executable"]) == (
        0.0,
        True,
        False,
        0.0,
        True,
    )


def test_a_part_of_the_answer_is_worth_its_f1_in_classic_form_and_nothing_with_calls(source: Source) -> None:
    steps = [
        "get_relations(Ozu (Yasujiro, the director))",
        "get_neighbors(Ozu (Yasujiro, the director), ^directed_by)",
    ]
    env = KGEnv(shared=source)
    env.reset(options={"task": {"id": "last"}})
    for step in steps:
        env.step(step)
    _, reward, _, _, info = env.step("Final Answer: #0")
    assert reward == info["f1"] == pytest.approx(2 / 3) and not info["success"]
    env = KGEnv(shared=source, actions="tools")
    env.reset(options={"task": {"id": "last"}})
    arguments = {"variable": "Ozu (Yasujiro, the director)", "relation": "^directed_by"}
    env.step(json.dumps({"name": "get_neighbors", "arguments": arguments}))
    _, reward, _, _, info = env.step("Final Answer: #0")
    assert reward == 0.0 and info["f1"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("predicted", "gold", "f1", "exact", "executable"),
    [
        ([], ["a"], 0.0, False, False),
        (["b"], ["a"], 0.0, False, True),
        (["a", "b", "c"], ["a"], 0.5, False, True),
        (["a"], ["a", "b", "c"], 0.5, False, True),
        (["b", "a"], ["a", "b"], 1.0, True, True),
        (["5"], ["5"], 1.0, True, True),
    ],
)
def test_measures(predicted: list[str], gold: list[str], f1: float, exact: bool, executable: bool) -> None:
    found = score(predicted, gold)
    assert (found.f1, found.exact, found.executable) == (f1, exact, executable)


def test_tasks_tell_nothing_of_the_answer(env: KGEnv) -> None:
    assert list(env.tasks("train")) == [
        {"id": "last", "split": "train", "level": 2},
        {"id": "count", "split": "train", "level": 1},
    ]
    assert list(env.tasks("test")) == []
    info = env.data_info()
    assert info["name"] == "films.ttl" and info["tasks"] == 2 and info["digest"].startswith("sha256:")


def test_a_seed_draws_the_same_question(env: KGEnv) -> None:
    drawn = [env.reset(seed=seed)[0] for seed in range(8)]
    assert drawn == [env.reset(seed=seed)[0] for seed in range(8)] and len(set(drawn)) == 2


@pytest.mark.parametrize("form", ["classic", "tools"])
def test_a_snapshot_goes_on_in_any_replica(source: Source, form: str) -> None:
    def made() -> KGEnv:
        return KGEnv(shared=source, actions=form, expert=True)

    first = made()
    _, info = first.reset(options={"task": {"id": "last"}})
    states = [json.loads(json.dumps(first.get_state()))]
    seen = []
    while True:
        seen.append(first.step(info["expert_action"]))
        info = seen[-1][4]
        if seen[-1][2]:
            break
        states.append(json.loads(json.dumps(first.get_state())))
    for position, state in enumerate(states):
        other = made()
        other.set_state(state)
        assert json.loads(json.dumps(other.get_state())) == state
        if position:
            assert other.step(seen[position - 1][4]["expert_action"]) == seen[position]
    over = made()
    over.set_state(first.get_state())
    with pytest.raises(EpisodeOver):
        over.step("Final Answer: #0")
    over.set_state({"task": None})
    assert over.get_state() == {"task": None} and over.render() == "no episode"


def test_what_can_not_be_done_is_refused_and_changes_nothing(env: KGEnv) -> None:
    with pytest.raises(EpisodeOver):
        env.step("Final Answer: #0")
    env.reset(options={"task": {"id": "count"}})
    state = env.get_state()
    for options, error, words in (
        ({"task": {"id": "cuont"}}, UnknownTask, "did you mean 'count'"),
        ({"task": "count"}, InvalidOptions, "a task is an object with an id"),
        ({"split": "dev"}, UnknownTask, "there are train, validation, test"),
        ({"split": "test"}, InvalidOptions, r"has no task here; there are: train \(2\)"),
        ({"spilt": "test"}, InvalidOptions, r"did you mean split\?"),
    ):
        with pytest.raises(error, match=words):
            env.reset(options=options)
    with pytest.raises(InvalidAction, match="an action is text, not int"):
        env.step(3)  # type: ignore[arg-type]
    assert env.get_state() == state


def test_settings_that_can_not_be_used_are_refused(films: Path, tmp_path: Path) -> None:
    graph, questions = films / "films.ttl", films / "questions.json"
    (tmp_path / "empty.ttl").touch()
    for settings, words in (
        ({"store": tmp_path / "empty.ttl", "data_dir": questions}, "empty.ttl has nothing that leads from"),
        ({"store": graph}, "there are no questions about this graph"),
        ({"store": graph, "endpoint": "http://x/", "data_dir": questions}, "set one of the two"),
        ({"ontology_dir": films}, "are about a graph of yours"),
        ({"levels": [4]}, "levels are of 1, 2, 3"),
        ({"store": graph, "data_dir": questions, "levels": [3]}, "no question is of the levels"),
        ({"endpoint": "localhost:3001", "data_dir": questions}, "is no URL"),
        ({"endpoint": "http://x:y/", "data_dir": questions}, "is no URL"),
        ({"endpoint": "http://x/", "data_dir": questions, "endpoint_retries": -1}, "at least 0"),
        ({"endpoint": "http://x/", "data_dir": questions, "endpoint_concurrency": 0}, "at least 1"),
        ({"endpoint": "http://x/", "data_dir": questions, "endpoint_timeout_s": 0.0}, "more than 0"),
        ({"store": tmp_path / "no", "data_dir": questions}, "does not exist"),
        ({"store": questions, "data_dir": questions}, "no folder of oxigraph's, and no RDF"),
    ):
        with pytest.raises((InvalidOptions, DataError), match=words):
            loaded(**settings)
    with pytest.raises(InvalidOptions, match="mode must be one of fixed, faithful"):
        KGEnv(mode="fair")
    with pytest.raises(InvalidOptions, match="actions must be one of classic, tools"):
        KGEnv(actions="text")


def test_levels_keep_some(films: Path) -> None:
    source = loaded(store=films / "films.ttl", data_dir=films / "questions.json", levels=[1])
    assert [task["id"] for task in KGEnv(shared=source).tasks("train")] == ["count"]


def test_the_expert_says_how_it_is_to_be_served() -> None:
    with pytest.raises(ValueError, match=r"kg\.expert=true"):
        Expert()("", {})
