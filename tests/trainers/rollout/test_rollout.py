"""Episodes token by token, against a real hub."""

import asyncio
import re

import pytest

from envhub_sdk import AsyncHub, EnvironmentFailed
from envhub_trainers._actions import FORMS
from envhub_trainers._chat import Chat
from envhub_trainers._prompts import prompt, usual_form
from envhub_trainers._rollout import Agent, EngineFailed, Episode, Generation, Limits, OutOfTime, Start

LONG = 100_000


async def play(
    url,
    env,
    engine,
    *,
    form=None,
    limits=None,
    start=None,
    teller="auto",
):
    """Play one episode; return it."""
    agent = Agent(
        Chat(engine.tokenizer),
        prompt(teller, env),
        FORMS[form or usual_form(env)],
        limits or Limits(LONG, 20),
    )
    async with AsyncHub(url) as hub, await hub.make(env) as made:
        episode = Episode(made, agent, engine, start or Start(seed=3))
        if isinstance(engine, LastMinute):
            engine.episode = episode
        try:
            await episode.begin()
            await episode.run()
        except Exception as error:
            error.rollout = episode.rollout
            raise
        return episode.rollout


def check(rollout, engine):
    """Compare a rollout with what its engine was asked and answered, to the last token."""
    assert len(rollout.turns) == len(engine.calls) > 0
    outside = [0.0] * len(rollout.ids)
    for (start, end), call in zip(rollout.ranges, engine.calls, strict=True):
        assert call.ids == rollout.ids[:start]
        assert call.answer.ids == rollout.ids[start:end]
        if engine.log_probs:
            assert call.answer.log_probs == rollout.log_probs[start:end]
            outside[start:end] = call.answer.log_probs
    assert rollout.ranges[-1][1] == len(rollout.ids)
    assert rollout.log_probs == (outside if engine.log_probs else None)


def conversation(rollout, system):
    messages = [{"role": "system", "content": system}] if system else []
    for turn in rollout.turns:
        messages += [
            {"role": "user", "content": turn.message},
            {"role": "assistant", "content": turn.text.strip()},
        ]
    return messages


GAMES = {
    "frozenlake": ["I go ```right```", "no fence", "```down``` ```up```", "```left```", "```down```"],
    "webshop": [
        "Thought: search\nAction: search[red cotton shirt]",
        "I forgot the form",
        "Thought: the next page\nAction: click[next >]",
        "Thought: back\nAction: click[back to search]",
    ],
    "echo": ["Thought: ü\nAction: ü\nlines", "Thought: x\nAction: <|im_start|>"],
}


@pytest.mark.parametrize("env", GAMES)
@pytest.mark.parametrize("log_probs", [True, False])
async def test_what_is_trained_on_is_what_was_sampled(url, env, model, answers, log_probs):
    engine = model(answers(GAMES[env]), log_probs=log_probs)
    rollout = await play(url, env, engine, limits=Limits(LONG, 8))
    check(rollout, engine)
    said = [answers(GAMES[env])(number) for number in range(len(rollout.turns))]
    assert [turn.text.strip() for turn in rollout.turns] == said


async def test_the_context_is_what_the_template_makes_of_the_conversation(url, model, answers):
    engine = model(answers(GAMES["webshop"]))
    rollout = await play(url, "webshop", engine, limits=Limits(LONG, 5))
    check(rollout, engine)
    told = prompt("auto", "webshop").system(await described(url, "webshop"), FORMS["react"])
    messages = conversation(rollout, told)
    if engine.before:  # a template without a system turn
        messages[1]["content"] = f"{told}\n\n{messages[1]['content']}"
        del messages[0]
    rendered = engine.tokenizer.apply_chat_template(messages, tokenize=False)
    assert rendered.startswith(engine.tokenizer.decode(rollout.ids))


async def described(url, env):
    async with AsyncHub(url) as hub:
        return await hub.env(env)


async def test_answers_cut_at_their_limit_are_exact_too(url, model, answers):
    engine = model(answers(["Thought: a very long thought that never comes to an action"]))
    rollout = await play(url, "echo", engine, limits=Limits(LONG, 3, max_turn_tokens=5))
    check(rollout, engine)
    assert [end - start for start, end in rollout.ranges] == [5, 5, 5]
    assert not any(turn.well_formed for turn in rollout.turns)


async def test_an_episode_ends_before_the_context_overflows(url, chatml, answers):
    engine = chatml(answers(["Action: x"]))
    await play(url, "echo", engine, form="raw", limits=Limits(LONG, 1))
    opening = len(engine.calls[0].ids)
    for room in range(1, 60):
        engine.calls.clear()
        rollout = await play(url, "echo", engine, form="raw", limits=Limits(opening + room, 20))
        check(rollout, engine)
        assert rollout.truncated_by == "context" and not rollout.terminated
        assert len(rollout.ids) <= opening + room
        assert all(call.max_tokens == opening + room - len(call.ids) > 0 for call in engine.calls)


async def test_a_first_message_that_leaves_no_room_gets_no_answer(url, chatml, answers):
    engine = chatml(answers(["x"]))
    rollout = await play(url, "echo", engine, form="raw", limits=Limits(10, 20))
    assert (rollout.truncated_by, rollout.turns, engine.calls) == ("context", [], [])


async def test_turns_are_limited_with_those_that_could_not_be_used(url, chatml, answers):
    engine = chatml(answers(["nothing"]))
    rollout = await play(url, "frozenlake", engine, limits=Limits(LONG, 4))
    check(rollout, engine)
    assert rollout.truncated_by == "turns" and len(rollout.turns) == 4
    assert all(turn.problem and turn.invalid and turn.reward == 0.0 for turn in rollout.turns)
    assert "could not be used" in rollout.turns[1].message


async def test_an_environments_own_limit_is_a_truncation(url, chatml, answers):
    engine = chatml(answers(["stand"]))
    rollout = await play(url, "frozenlake", engine, form="raw", limits=Limits(LONG, 50))
    assert rollout.truncated_by == "environment" and len(rollout.turns) == 10
    assert all(turn.invalid and turn.well_formed for turn in rollout.turns)


async def test_rewards_and_success_are_the_environments(url, chatml):
    task = {"id": "mine", "desc": ["SF", "FG"]}
    engine = chatml(lambda number: ["right", "down"][number])
    rollout = await play(url, "frozenlake", engine, form="raw", start=Start(task, seed=1))
    assert [turn.reward for turn in rollout.turns] == [0.0, 1.0]
    assert rollout.terminated and rollout.truncated_by is None
    assert rollout.success and rollout.episode_return == 1.0
    assert rollout.task["desc"] == ["SF", "FG"] and rollout.seed == 1 and rollout.session
    assert rollout.env_s > 0 and rollout.engine_s > 0


async def test_actions_of_other_spaces_are_read_from_text(url, chatml, answers):
    engine = chatml(answers(["1", "left", "0"]))
    rollout = await play(url, "CartPole-v1", engine, form="raw", limits=Limits(LONG, 3))
    check(rollout, engine)
    assert [turn.action for turn in rollout.turns] == [1, None, 0]
    assert re.match(r"\[.*\]", rollout.turns[0].message)


@pytest.mark.parametrize("length", [5_000, 5_000_000])
async def test_a_refused_action_changes_nothing_and_is_said(url, chatml, length):
    """One that is too long for the action space, and one that is too long for a request."""
    engine = chatml(lambda number: ["look", "search[shirt]"][number])
    engine.tokenizer = Wordy(engine.tokenizer, "x" * length)
    rollout = await play(url, "webshop", engine, form="raw", limits=Limits(LONG, 2))
    assert rollout.turns[0].problem and rollout.turns[0].well_formed
    assert rollout.turns[0].problem in rollout.turns[1].message
    assert rollout.turns[1].problem is None


class Wordy:
    """A tokenizer for which "look" means something long."""

    def __init__(self, inner, meaning):
        self._inner, self._meaning = inner, meaning

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def decode(self, ids, **options):
        said = self._inner.decode(ids, **options)
        return self._meaning if said == "look" else said


async def test_an_environment_that_fails_leaves_no_reward_behind(url, chatml, answers):
    with pytest.raises(EnvironmentFailed) as failed:
        await play(url, "echo", chatml(answers(["a", "fail"])), form="raw")
    assert len(failed.value.rollout.turns) == 2


class Paused:
    """An engine that is held, as during an update of its weights, until it is let go."""

    def __init__(self, inner):
        self.inner, self.tokenizer, self.calls = inner, inner.tokenizer, inner.calls
        self.log_probs = inner.log_probs
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def generate(self, ids, max_tokens):
        self.asked.set()
        await self.go.wait()
        return await self.inner.generate(ids, max_tokens)


async def test_an_engine_may_pause_in_the_middle_of_an_episode(url, chatml, answers):
    engine = Paused(chatml(answers(["a", "b"])))
    playing = asyncio.create_task(play(url, "echo", engine, form="raw", limits=Limits(LONG, 2)))
    await engine.asked.wait()
    engine.go.set()
    check(await playing, engine)


class LastMinute:
    """An engine with whose first answer the episode's time is over."""

    def __init__(self, inner):
        self.inner, self.tokenizer = inner, inner.tokenizer
        self.episode = None

    async def generate(self, ids, max_tokens):
        if self.inner.calls:
            await asyncio.Event().wait()
        self.episode._ends_at = asyncio.get_running_loop().time()
        return await self.inner.generate(ids, max_tokens)


async def test_time_that_is_over_while_the_model_thinks_ends_the_episode_as_truncated(url, chatml, answers):
    rollout = await play(url, "frozenlake", LastMinute(chatml(answers(["no move"]))))
    assert (rollout.truncated_by, len(rollout.turns)) == ("time", 1)
    assert rollout.ids[slice(*rollout.ranges[0])] and not rollout.terminated


async def test_time_that_is_over_while_the_environment_steps_is_a_fault(url, chatml, answers):
    with pytest.raises(OutOfTime, match="step") as late:
        await play(url, "echo", LastMinute(chatml(answers(["hang"]))), form="raw")
    assert late.value.rollout.episode_return == 0.0


class Broken:
    def __init__(self, tokenizer, answer):
        self.tokenizer, self.answer = tokenizer, answer

    async def generate(self, ids, max_tokens):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError("engine is dead"), "RuntimeError: engine is dead"),
        (TimeoutError("slow"), "TimeoutError: slow"),
        (Generation([], [], True), "sampled 0 tokens"),
        (Generation([1, 2, 3, 4], None, True), "sampled 4 tokens when asked for 1 to 3"),
        (Generation([1, 2], [-0.5], True), "1 log-probabilities for 2 tokens"),
    ],
)
async def test_an_engine_that_fails_is_a_fault(url, chatml, answer, reason):
    engine = Broken(chatml(lambda number: "").tokenizer, answer)
    with pytest.raises(EngineFailed, match=reason):
        await play(url, "echo", engine, form="raw", limits=Limits(LONG, 1, 3))
