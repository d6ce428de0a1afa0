"""What models are told."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from envhub_sdk import AsyncHub
from envhub_trainers._actions import FORMS
from envhub_trainers._hooks import HookNotFound
from envhub_trainers._prompts import PROMPTS, View, answers_allowed, prompt, shown, usual_form


def served(url, env):
    async def ask():
        async with AsyncHub(url) as hub:
            info = await hub.env(env)
            async with await hub.make(env, seed=0) as made:
                return info, await made.reset()

    return asyncio.run(ask())


@pytest.mark.parametrize("env", ["webshop", "frozenlake", "echo"])
@pytest.mark.parametrize("form", FORMS)
def test_every_environment_is_explained_with_an_example_in_the_form_that_is_asked_for(url, env, form):
    info, (observation, first) = served(url, env)
    teller = prompt("auto", env)
    system = teller.system(info, FORMS[form])
    assert FORMS[form].instruction.format(example=teller.example) in system
    message = teller.message(View(observation, first, 0, 10))
    assert observation in message


def test_webshop_lists_what_can_be_done_and_says_why_nothing_happened(url):
    _, (observation, info) = served(url, "webshop")
    teller = prompt("auto", "webshop")
    assert teller.message(View(observation, info, 0, 10)).endswith("\n\nActions: search[keywords]")
    offered = {"has_search_bar": False, "clickables": ["back to search", "b0001"]}
    said = teller.message(View("page", {"available_actions": offered, "reason": "no such label"}, 1, 9))
    assert said.startswith("Your last action did nothing: no such label\n\npage")
    assert said.endswith("Actions: click[back to search], click[b0001]")


def test_frozenlake_counts_moves_and_says_when_one_had_no_effect():
    teller = prompt("auto", "frozenlake")
    first = teller.message(View("grid", {}, 0, 10))
    assert first.startswith("Current observation (0):\ngrid\n") and "Moves left: 10" in first
    assert "no effect" not in first
    assert "no effect" in teller.message(View("grid", {}, 1, 9, previous="grid"))
    assert "no effect" not in teller.message(View("grid", {}, 1, 9, previous="other"))
    refused = teller.message(View("grid", {}, 1, 9, "there is no fence", "grid"))
    assert "could not be used: there is no fence" in refused and "no effect" not in refused


@pytest.mark.parametrize("name", ["generic", "webshop"])
def test_a_problem_is_said_without_the_page_again(name):
    said = prompt(name, "any").message(View("a very long page", {}, 1, 3, "it is empty"))
    assert "it is empty" in said and "a very long page" not in said


RULES = {"rules": "Write Act: bash and a block."}


def test_os_says_its_own_rules_once_and_nothing_else():
    teller = prompt("auto", "os")
    assert usual_form("os") == "raw" and teller.system(None, FORMS["raw"]) is None
    assert teller.message(View("Count.", RULES, 0, 8)) == "Write Act: bash and a block.\n\nCount."
    assert (
        teller.message(View("The output of the OS is empty.", {}, 1, 7)) == "The output of the OS is empty."
    )
    assert "it is empty" in teller.message(View("Count.", RULES, 1, 7, "it is empty"))
    assert teller.system(None, FORMS["fenced"]).endswith("The last such block counts.")


def test_os_lists_its_functions():
    tool = {"type": "function", "function": {"name": "bash_action"}}
    said = prompt("auto", "os").message(View("Count.", {**RULES, "tools": [tool]}, 0, 8))
    assert '{"type":"function","function":{"name":"bash_action"}}' in said and "<tool_call>" in said
    assert said.endswith("\n\nCount.")


def test_the_bare_prompt_is_the_observation(url):
    info, (observation, first) = served(url, "frozenlake")
    bare = prompt("bare", "frozenlake")
    assert bare.system(info, FORMS["raw"]) is None
    assert bare.message(View(observation, first, 0, 10)) == observation


def test_observations_of_any_kind_become_text():
    assert shown(np.array([1.0, float("inf")])) == '[1.0,"Infinity"]'


def test_prompts_of_the_users_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def system(self, env, form):\n        return 'Play.'\n"
        "    def message(self, view):\n        return f'{view.turns_left}: {view.observation}'\n"
    )
    mine = prompt(f"{tmp_path / 'mine.py'}:Mine", "webshop")
    assert mine.message(View("seen", {}, 0, 3)) == "3: seen"


def test_an_unknown_prompt_is_refused_with_those_there_are():
    with pytest.raises(HookNotFound, match="generic, webshop, frozenlake, kg, os, db, bare"):
        prompt("chess", "webshop")


def test_environments_without_a_prompt_of_their_own_get_the_generic_one():
    assert type(prompt("auto", "chess")) is PROMPTS["generic"]
    assert (usual_form("chess"), usual_form("frozenlake"), usual_form("db")) == ("react", "fenced", "raw")


def test_a_database_says_its_own_rules_first(url):
    teller = prompt("auto", "db")
    info, _ = served(url, "echo")
    assert teller.system(info, FORMS["raw"]) is None
    assert teller.example in teller.system(info, FORMS["fenced"])
    first = {"rules": "One statement at a time."}
    assert teller.message(View("How many?", first, 0, 16)) == "One statement at a time.\n\nHow many?"
    assert teller.message(View("[(3,)]", {}, 1, 15, previous="How many?")) == "[(3,)]"
    tools = {**first, "tools": [{"type": "function", "function": {"name": "execute_sql"}}]}
    assert '"execute_sql"' in teller.message(View("How many?", tools, 0, 16))
    refused = teller.message(View("How many?", first, 0, 16, "it is empty"))
    assert "it is empty" in refused and "How many?" not in refused


def test_frozenlake_is_explained_as_it_is_seen(url):
    info, _ = served(url, "frozenlake")
    teller = prompt("auto", "frozenlake")
    grid = teller.system(info, FORMS["fenced"])
    assert "P is you" in grid and "row,column" not in grid
    info.config["observation"] = "coordinates"
    coordinates = teller.system(info, FORMS["fenced"])
    assert "row,column" in coordinates and "P is you" not in coordinates


def test_where_nothing_limits_the_moves_none_are_counted():
    assert "left" not in prompt("auto", "frozenlake").message(View("grid", {}, 0, None))


@pytest.mark.parametrize(("own", "most", "least"), [(10, 30, 10), (10, 4, 4), (0, 30, 30), (0, None, None)])
def test_the_limit_that_holds_is_the_smaller(url, own, most, least):
    info, _ = served(url, "frozenlake")
    info.limits["max_episode_steps"] = own
    assert answers_allowed(info, most) == least


@pytest.mark.parametrize("actions", ["classic", "tools"])
def test_kg_is_explained_by_the_form_of_its_actions_and_counts_turns(actions):
    info = SimpleNamespace(config={"actions": actions})
    system = prompt("auto", "kg").system(info, FORMS["react"])
    assert ('{"name": "get_relations"' in system) is (actions == "tools")
    assert "Final Answer: #n" in system and system.endswith(
        FORMS["react"].instruction.format(example=KG_EXAMPLE)
    )
    teller = prompt("auto", "kg")
    assert teller.message(View("Observation: [a]", {}, 1, 7)) == "Observation: [a]\n\nTurns left: 7."
    assert teller.message(View("Observation: [a]", {}, 1, None)) == "Observation: [a]"
    assert "could not be used: it is empty" in teller.message(View("x", {}, 1, 3, "it is empty"))


KG_EXAMPLE = "get_relations(Paris)"
