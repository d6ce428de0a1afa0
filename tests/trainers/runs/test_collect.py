"""Collecting episodes from real hubs, also from hubs and processes that are killed."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub.cli import main
from envhub.record import read_exported
from envhub_sdk import AsyncHub
from envhub_trainers import _policies
from envhub_trainers._conversations import Style, conversation
from envhub_trainers._endpoint import ChatEndpoint
from envhub_trainers._policies import Player
from envhub_trainers._runs import Run, WritableRun
from envhub_trainers._talking import player as talking_player
from envhub_trainers.collect import Collected, Plan, Stopped, collect

Policy = Callable[[Any, Any], Any]


async def play(url: str, env: str, player: Player | Policy, folder: Path, **plan: Any) -> Collected:
    """Collect with a player, or with a function."""
    if not isinstance(player, Player):
        policy = player
        player = Player({"kind": "script", "name": "test"}, lambda seed: policy)
    async with AsyncHub(url) as hub:
        return await collect(hub, await hub.env(env), Plan(**plan), player, folder)


# -- what goes well ---------------------------------------------------------------------------------


async def test_the_planner_wins_every_task_once(url: str, tmp_path: Path) -> None:
    expert = _policies.load("expert", "frozenlake")
    collected = await play(url, "frozenlake", expert, tmp_path, split="test", offset=10, limit=20)
    assert (collected.total, collected.done, collected.successes, collected.lost) == (20, 20, 20, 0)
    episodes = list(Run(tmp_path).episodes())
    assert [episode.task_id for episode in episodes] == [f"test-{number}" for number in range(10, 30)]
    assert [episode.seed for episode in episodes] == list(range(10, 30))
    assert all(episode.outcome == "terminated" and episode.attempts == 1 for episode in episodes)
    assert all(episode.thoughts[0] and episode.replies[0] == [] for episode in episodes)
    exported = list(read_exported(tmp_path / "episodes.jsonl"))
    assert len(exported) == 20 and all(episode.whole and episode.success for episode in exported)


async def test_the_buyer_shops(url: str, tmp_path: Path) -> None:
    expert = _policies.load("expert", "webshop")
    collected = await play(url, "webshop", expert, tmp_path, split="test", limit=12)
    assert collected.done == 12 and collected.successes >= 7
    async with AsyncHub(url) as hub:
        style = Style(await hub.env("webshop"))
    for episode in Run(tmp_path).episodes():
        messages = conversation(episode, style)["conversations"]
        assert messages[2]["content"].startswith("Thought: I search") and "search[" in messages[2]["content"]
        assert messages[-1]["content"].endswith("Action: click[buy now]")


async def test_by_default_the_first_split_with_tasks_is_played(
    mortal: Callable[..., Any], tmp_path: Path
) -> None:
    games = tmp_path / "games"
    with pytest.raises(SystemExit):
        main(["data", "generate", "alfworld", "--out", str(games), "--scenes", "6"])
    shutil.rmtree(games / "json_2.1.1" / "train")
    settings = ("--set", f"alfworld.data_dir={games}", "--set", "alfworld.expert=true")
    hub = mortal("--env", "alfworld=2", *settings)
    expert = _policies.load("expert", "alfworld")
    collected = await play(hub.url, "alfworld", expert, tmp_path / "run", limit=2)
    assert (collected.done, collected.successes) == (2, 2)
    assert {episode.task["split"] for episode in Run(tmp_path / "run").episodes()} == {"valid_seen"}


async def test_each_task_is_played_as_often_as_asked_with_other_seeds(url: str, tmp_path: Path) -> None:
    wanderer = _policies.load("expert", "frozenlake", random_moves=1.0)
    await play(url, "frozenlake", wanderer, tmp_path / "one", limit=5, repeats=3)
    await play(url, "frozenlake", wanderer, tmp_path / "two", limit=5, repeats=3, concurrency=1)
    one, two = (list(Run(tmp_path / name).episodes()) for name in ("one", "two"))
    assert Counter(episode.task_id for episode in one) == {f"train-{number}": 3 for number in range(5)}
    assert len({episode.seed for episode in one}) == 15
    assert [episode.actions for episode in one] == [episode.actions for episode in two]
    assert one[0].actions != one[1].actions or one[0].actions != one[2].actions


async def test_an_environment_without_tasks_is_played_by_seeds(url: str, tmp_path: Path) -> None:
    def left(observation: Any, info: Any) -> int:
        return 0

    collected = await play(url, "CartPole-v1", left, tmp_path, limit=4, seed=9)
    assert collected.done == 4
    episodes = list(Run(tmp_path).episodes())
    assert [episode.task_id for episode in episodes] == ["seed-9", "seed-10", "seed-11", "seed-12"]
    assert all(isinstance(episode.observations[0][0], float) for episode in episodes)
    with pytest.raises(Stopped, match="lists no tasks: say with --limit"):
        await play(url, "CartPole-v1", left, tmp_path / "all")


async def test_episodes_are_cut_after_so_many_steps(url: str, tmp_path: Path) -> None:
    await play(url, "frozenlake", lambda seen, info: "left", tmp_path, split="test", limit=10, max_steps=2)
    cut = [episode for episode in Run(tmp_path).episodes() if episode.outcome == "unfinished"]
    assert cut and all(len(episode.actions) == 2 and not episode.success for episode in cut)
    assert not any(episode.truncated for episode in cut)  # the environment did not say so


async def test_actions_that_do_nothing_are_counted(url: str, tmp_path: Path) -> None:
    await play(url, "frozenlake", lambda seen, info: "jump", tmp_path, split="test", limit=1)
    (episode,) = Run(tmp_path).episodes()
    assert (episode.invalid_actions, episode.outcome, episode.steps) == (10, "truncated", 10)


# -- what the policy does wrong ---------------------------------------------------------------------


async def test_a_policy_that_fails_is_kept_as_failed_and_not_asked_again(url: str, tmp_path: Path) -> None:
    calls = Counter[str]()

    def stumbles(observation: str, info: Any) -> str:
        calls["asked"] += 1
        if observation:
            raise KeyError("nothing")
        return "one"

    collected = await play(url, "echo", stumbles, tmp_path, limit=3)
    assert (collected.done, collected.lost, collected.faults) == (3, 0, Counter())
    for episode in Run(tmp_path).episodes():
        assert (episode.outcome, episode.actions) == ("failed", ["one"])
        assert episode.error == "policy_error: KeyError: 'nothing'"
    assert calls["asked"] == 6


@pytest.mark.parametrize(("action", "code"), [(7, "invalid_action"), (object(), "policy_error")])
async def test_an_action_that_is_none_is_the_policys_failure(
    url: str, tmp_path: Path, action: Any, code: str
) -> None:
    await play(url, "CartPole-v1", lambda seen, info: action, tmp_path, limit=1)
    (episode,) = Run(tmp_path).episodes()
    assert episode.outcome == "failed" and str(episode.error).startswith(f"{code}: ")
    assert (episode.success, episode.actions) == (False, [])


# -- faults -----------------------------------------------------------------------------------------


async def test_a_fault_is_played_again_and_never_a_score(url: str, tmp_path: Path) -> None:
    made = Counter[int]()

    def make(seed: int) -> Policy:
        made[seed] += 1
        unlucky = seed % 2 == 0 and made[seed] == 1
        return lambda observation, info: "fail" if unlucky and observation else "fine"

    player = Player({"kind": "script", "name": "unlucky"}, make)
    collected = await play(url, "echo", player, tmp_path, limit=6)
    assert (collected.done, collected.lost) == (6, 0)
    assert collected.faults == {"environment_error": 3}
    run = Run(tmp_path)
    assert [episode.attempts for episode in run.episodes()] == [2, 1, 2, 1, 2, 1]
    assert all(episode.actions == ["fine"] * 3 for episode in run.episodes())
    assert sorted((fault.job, fault.attempt, fault.step) for fault in run.faults()) == [
        (0, 1, 1),
        (2, 1, 1),
        (4, 1, 1),
    ]


async def test_what_is_lost_is_no_episode_and_is_tried_again_by_the_next_call(
    url: str, tmp_path: Path
) -> None:
    broken = True

    def policy(observation: str, info: Any) -> str:
        return "fail" if broken else "fine"

    collected = await play(url, "echo", policy, tmp_path, limit=3, retries=1)
    assert (collected.done, collected.lost, collected.faults) == (0, 3, {"environment_error": 6})
    assert list(Run(tmp_path).results()) == []
    broken = False
    collected = await play(url, "echo", policy, tmp_path, limit=3, retries=1)
    assert (collected.done, collected.lost) == (3, 0)


async def test_a_run_that_loses_too_much_stops(url: str, tmp_path: Path) -> None:
    collected = await play(
        url, "echo", lambda seen, info: "fail", tmp_path, limit=50, retries=0, max_lost=5, concurrency=1
    )
    assert (collected.lost, collected.done, collected.total) == (6, 0, 50)
    assert collected.last_fault is not None and collected.last_fault.startswith("environment_error: ")


async def test_a_hub_that_dies_and_comes_back_costs_no_episode(
    mortal: Callable[..., Any], tmp_path: Path, eventually: Any
) -> None:
    hub = mortal("--env", "echo=4", "--set", "echo.length=4")
    half = asyncio.Event()
    gone = asyncio.Event()
    began = Counter[str]()

    async def waits_for_the_hub_to_die(observation: str, info: Any) -> str:
        began[observation] += 1
        if observation == "2" and began["2"] <= 4:
            half.set()
            await gone.wait()
        return str(int(observation or 0) + 1)

    playing = asyncio.create_task(play(hub.url, "echo", waits_for_the_hub_to_die, tmp_path, limit=12))
    await asyncio.wait_for(half.wait(), 60)
    await eventually(lambda: began["2"] == 4)
    await asyncio.to_thread(hub.kill)
    hub.start()
    gone.set()
    collected = await asyncio.wait_for(playing, 120)
    assert (collected.done, collected.lost) == (12, 0)
    assert collected.faults.total() >= 4
    episodes = list(Run(tmp_path).episodes())
    assert [episode.job for episode in episodes] == list(range(12))
    assert all(episode.actions == ["1", "2", "3", "4"] for episode in episodes)


async def test_a_hub_that_stays_away_ends_the_run(mortal: Callable[..., Any], tmp_path: Path) -> None:
    hub = mortal("--env", "echo=2", "--set", "echo.length=3")

    async def policy(observation: str, info: Any) -> str:
        if (tmp_path / "run" / "episodes.jsonl").read_bytes().count(b"\n") >= 4:
            await asyncio.to_thread(hub.kill)
        return "x"

    player = Player({"name": "test"}, lambda seed: policy)
    async with AsyncHub(hub.url, patience_s=0.5) as client:
        served = await client.env("echo")
        collected = await collect(client, served, Plan(limit=500), player, tmp_path / "run")
    assert 4 <= collected.done < 500 and collected.total == 500
    assert set(collected.faults) <= {"connect_failed", "answer_lost"} and collected.faults["connect_failed"]
    hub.start()


async def test_a_hub_that_comes_back_with_another_environment_stops_the_run(
    mortal: Callable[..., Any], tmp_path: Path
) -> None:
    hub = mortal("--env", "echo=2", "--set", "echo.length=3")
    changed = asyncio.Event()

    async def waits(observation: str, info: Any) -> str:
        if not changed.is_set():
            await asyncio.to_thread(hub.kill)
            hub.arguments = ("--env", "echo=2", "--set", "echo.length=4")
            hub.start()
            changed.set()
        return "x"

    with pytest.raises(Stopped, match=r"come back with another environment: .* has a run with config"):
        await play(hub.url, "echo", waits, tmp_path, limit=8, concurrency=1)


def test_a_command_with_an_endpoint(
    url: str, tmp_path: Path, chat_server: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server = chat_server("429 0", "text: hm")
    arguments = ["collect", "--env", "frozenlake", "--hub", url, "--split", "test", "--limit", "4"]
    arguments += ["--endpoint", server.url, "--model", "tiny", "--temperature", "0", "--max-tokens", "50"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", str(tmp_path), "--json"])
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert (found["successes"], found["invalid_actions"], found["conversations"]) == (4, 1, 4)
    request = server.seen()[-1]
    assert request["key"] == "Bearer secret"
    assert (request["body"]["temperature"], request["body"]["max_tokens"]) == (0, 50)


# -- what stops a run -------------------------------------------------------------------------------


async def test_what_can_not_be_played_is_said_at_once(url: str, tmp_path: Path) -> None:
    expert = _policies.load("expert", "frozenlake")
    with pytest.raises(Stopped, match="no split 'tset'; there are: train, test"):
        await play(url, "frozenlake", expert, tmp_path, split="tset")
    with pytest.raises(Stopped, match="no task in test from number 100 on"):
        await play(url, "frozenlake", expert, tmp_path, split="test", offset=100)
    assert not (tmp_path / "run.json").exists()


async def test_a_hub_without_a_free_replica_is_said(url: str, tmp_path: Path) -> None:
    """The replicas of CartPole are all taken, and nobody of this run gives one back."""
    async with AsyncHub(url) as hub:
        taken = [await hub.make("CartPole-v1") for _ in range(2)]
        for env in taken:
            await env.reset(seed=0)
        served = await hub.env("CartPole-v1")
        player = Player({"name": "left"}, lambda seed: lambda observation, info: 0)
        with pytest.raises(Stopped, match="no_free_replica"):
            await collect(hub, served, Plan(limit=2, wait_s=0.2), player, tmp_path)
        for env in taken:
            await env.close()


# -- chat models ------------------------------------------------------------------------------------


async def chat(url: str, server: Any, folder: Path, **plan: Any) -> Collected:
    endpoint = ChatEndpoint(server.url, "tiny", timeout_s=20.0, tries=3)
    try:
        async with AsyncHub(url) as hub:
            served = await hub.env("frozenlake")
            player = talking_player(endpoint, Style(served))
            return await collect(hub, served, Plan(split="test", **plan), player, folder)
    finally:
        await endpoint.close()


async def test_a_chat_model_plays_through_errors(url: str, tmp_path: Path, chat_server: Any) -> None:
    server = chat_server("500", "429 0", "drop", "garbage")
    collected = await chat(url, server, tmp_path, limit=12)
    assert (collected.done, collected.successes, collected.faults) == (12, 12, Counter())
    async with AsyncHub(url) as hub:
        style = Style(await hub.env("frozenlake"))
    requests = [request["body"] for request in server.seen() if request["fate"] == "play"]
    assert {request["model"] for request in requests} == {"tiny"}
    for episode in Run(tmp_path).episodes():
        said = conversation(episode, style)["conversations"]
        asked = [request["messages"] for request in requests if request["messages"][1] == said[1]]
        assert max(asked, key=len) == said[:-1]  # what is kept is what the model was told
        assert said[-1]["content"] == episode.replies[-1][-1]


async def test_an_unreadable_answer_is_said_to_the_model_which_may_answer_again(
    url: str, tmp_path: Path, chat_server: Any
) -> None:
    server = chat_server("text: I would rather not.", "cut")
    await chat(url, server, tmp_path, limit=1)
    (episode,) = Run(tmp_path).episodes()
    assert episode.success and episode.invalid_actions == 2
    assert episode.replies[0][:2] == ["I would rather not.", "I think and think"]
    assert "cut at the limit of tokens" in episode.problems[0][1]
    told = server.seen()[1]["body"]["messages"][-1]["content"]
    assert episode.problems[0][0] in told


async def test_answers_that_can_not_be_read_use_up_steps(url: str, tmp_path: Path, chat_server: Any) -> None:
    server = chat_server(*["text: no"] * 10)
    collected = await chat(url, server, tmp_path, limit=2, concurrency=1)
    assert (collected.done, collected.successes) == (2, 1)
    first, second = Run(tmp_path).episodes()
    assert first.outcome == "failed" and str(first.error).startswith("unreadable_answers: ")
    assert (first.invalid_actions, first.actions) == (10, []) and second.success


async def test_where_there_is_no_limit_of_steps_three_answers_are_enough(
    url: str, tmp_path: Path, chat_server: Any
) -> None:
    endpoint = ChatEndpoint(chat_server(*["text: no"] * 3).url, "tiny")
    async with AsyncHub(url) as hub:
        served = await hub.env("echo")
        player = talking_player(endpoint, Style(served, form_name="fenced"))
        await collect(hub, served, Plan(limit=1), player, tmp_path)
    await endpoint.close()
    (episode,) = Run(tmp_path).episodes()
    assert (episode.outcome, episode.invalid_actions) == ("failed", 3)


async def test_an_action_that_is_refused_is_said_to_the_model(
    mortal: Callable[..., Any], tmp_path: Path, chat_server: Any
) -> None:
    hub = mortal("--env", "frozenlake=1", "--max-body-bytes", "10000")
    server = chat_server("text: ```" + "up" * 8000 + "```")
    await chat(hub.url, server, tmp_path, limit=1)
    (episode,) = Run(tmp_path).episodes()
    assert episode.success and episode.invalid_actions == 1
    assert (
        len(episode.replies[0]) == 2
        and episode.problems[0][0] in (server.seen()[1]["body"]["messages"][-1]["content"])
    )


async def test_an_endpoint_that_fails_for_good_is_a_fault(url: str, tmp_path: Path, chat_server: Any) -> None:
    server = chat_server(*["500"] * 3)
    collected = await chat(url, server, tmp_path, limit=3, concurrency=1)
    assert (collected.done, collected.faults) == (3, {"endpoint_failed": 1})
    assert [episode.attempts for episode in Run(tmp_path).episodes()] == [2, 1, 1]


@pytest.mark.parametrize("fate", ["401", "404", "400", "429 insufficient_quota"])
async def test_an_endpoint_that_refuses_stops_the_run(
    url: str, tmp_path: Path, chat_server: Any, fate: str
) -> None:
    with pytest.raises(Stopped, match=r"the model can.t be asked: .*answered 4"):
        await chat(url, chat_server(*[fate] * 20), tmp_path, limit=5)
    assert list(Run(tmp_path).results()) == []


async def test_a_request_that_is_refused_later_fails_its_episode_only(
    url: str, tmp_path: Path, chat_server: Any
) -> None:
    """Such as one that is longer than the model's context. The task takes two moves."""
    server = chat_server("play", "400 context_length_exceeded")
    await chat(url, server, tmp_path, offset=4, limit=3, concurrency=1)
    first, *others = Run(tmp_path).episodes()
    assert first.outcome == "failed" and str(first.error).startswith("model_refused: ")
    assert all(episode.success for episode in others)


# -- a process that is killed -----------------------------------------------------------------------

SLOW = """
import os
import shutil
import time

class Slow:
    def __init__(self):
        self.steps = 0

    def __call__(self, observation, info):
        self.steps += 1
        if os.path.exists({gate!r}):
            time.sleep(0.02)
        return str(self.steps)
"""


async def test_a_killed_process_goes_on_where_it_was(
    url: str, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    policy = tmp_path / "slow.py"
    policy.write_text(SLOW.format(gate=str(gate)))
    folder = tmp_path / "run"
    arguments = ["--env", "echo", "--policy", f"{policy}:Slow", "--limit", "200", "--out", str(folder)]
    command = [sys.executable, "-m", "envhub", "collect", *arguments, "--hub", url, "--json"]
    kept = folder / "episodes.jsonl"
    for least in (5, 20):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        wait_until(lambda least=least: kept.exists() and kept.read_bytes().count(b"\n") >= least, 60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    before = kept.read_bytes()
    assert 20 <= before.count(b"\n") < 200 and not (folder / "conversations.jsonl").exists()
    gate.unlink()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["episodes"] == 200
    whole = before[: before.rindex(b"\n") + 1]
    assert kept.read_bytes().startswith(whole)
    jobs = [json.loads(line)["job"] for line in kept.read_bytes().splitlines()]
    assert sorted(jobs) == list(range(200))
    told = [json.loads(line) for line in (folder / "conversations.jsonl").read_text().splitlines()]
    assert [line["id"] for line in told] == [f"echo-seed-{number}" for number in range(200)]


def test_two_processes_do_not_play_one_run(url: str, tmp_path: Path, made: Any) -> None:
    run = WritableRun(tmp_path, made.facts())
    errors: list[BaseException] = []

    def try_it() -> None:
        try:
            asyncio.run(play(url, "echo", lambda seen, info: "x", tmp_path, limit=1))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    run.close()
    assert len(errors) == 1 and "another process is playing" in str(errors[0])
