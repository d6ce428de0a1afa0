"""Samples: episodes played to their end whatever happens, against real hubs whose workers are killed."""

import asyncio
import json
import os
import signal

import pytest

from envhub_sdk import AsyncHub
from envhub_trainers import _hubs
from envhub_trainers._faults import RunStopped
from envhub_trainers._sampler import LabelRefused, Sampler, start_of
from envhub_trainers._settings import convert

LONG = 100_000
TASK = json.dumps({"id": "mine", "desc": ["SF", "FG"]})


@pytest.fixture
def sampler():
    """Make samplers: `sampler(url, env=…, …)`; close them with `async with closing(…)`."""

    def make(*urls, env="echo", **settings):
        return Sampler(convert({"hubs": urls, "env": env, "actions": "raw", "max_turns": 4, **settings}))

    return make


async def sample(sampler, engine, label='{"seed": 1}'):
    return await sampler.sample(label, engine, sampler.chat(engine.tokenizer), LONG)


@pytest.mark.parametrize(
    ("label", "task", "split", "seed"),
    [
        ('{"id": "t", "x": 1}', {"id": "t", "x": 1}, None, ...),
        ('{"seed": 5}', None, None, 5),
        ('{"split": "test", "seed": 5}', None, "test", 5),
        ('{"task": {"id": "t"}, "seed": 6}', {"id": "t"}, None, 6),
        ("{}", None, None, ...),
    ],
)
def test_a_label_says_what_is_played(label, task, split, seed):
    start = start_of(label)
    assert (start.task, start.split) == (task, split)
    assert start.seed == (start_of(label).seed if seed is ... else seed)
    assert 0 <= start.seed < 2**31


@pytest.mark.parametrize("label", ["", "right", "[1]", '{"answer": 42}'])
def test_a_label_that_is_no_task_is_refused(label):
    with pytest.raises(LabelRefused):
        start_of(label)


async def test_a_sample_is_an_episode_and_what_it_is_worth(url, sampler, chatml, tmp_path):
    made = sampler(
        url,
        env="frozenlake",
        records=str(tmp_path),
        labels={"run": "t"},
        reward=[
            {"type": "outcome"},
            {"type": "format", "weight": 0.5},
            {"type": "step_penalty", "weight": 0.1},
        ],
    )
    engine = chatml(lambda number: ["", "right", "down"][number])
    got = await sample(made, engine, TASK)
    await made.close()
    assert got.reward == pytest.approx(1.0 - 0.5 - 0.3) and not got.masked
    logs = got.logs(made.rewards.names)
    assert logs["success"] == logs["env_return"] == 1.0
    assert logs["reward_format"] == -0.5 and logs["reward_step_penalty"] == pytest.approx(-0.3)
    assert (logs["turns"], logs["invalid_actions"], logs["format_errors"]) == (3.0, 1.0, 1.0)
    assert logs["masked"] == logs["faults"] == logs["truncated_by_limit"] == 0.0
    assert 0 < logs["env_wait_share"] < 1
    (record,) = [json.loads(line) for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert record["reward"] == got.reward and record["hub"] == url
    assert record["parts"]["outcome"]["turns"] == [0.0, 0.0, 1.0]


async def test_the_session_is_given_back_and_labelled(url, sampler, chatml, answers, eventually):
    made = sampler(url, labels={"run": "mine"})
    seen = []

    class Looking:
        def __init__(self, inner):
            self.inner, self.tokenizer = inner, inner.tokenizer

        async def generate(self, ids, max_tokens):
            async with AsyncHub(url) as hub:
                seen.extend(session.labels for session in await hub.sessions())
            return await self.inner.generate(ids, max_tokens)

    await sample(made, Looking(chatml(answers(["a"]))))
    assert {"run": "mine"} in seen
    async with AsyncHub(url) as hub:
        assert not [session for session in await hub.sessions() if session.labels == {"run": "mine"}]
    await made.close()


async def test_a_fault_is_played_again_on_a_fresh_session_without_a_trace_of_it(url, sampler, chatml):
    engine = chatml(lambda number: ["a", "fail", "b", "c", "d", "e"][number])
    made = sampler(url)
    got = await sample(made, engine)
    await made.close()
    assert [turn.text for turn in got.rollout.turns] == ["b", "c", "d", "e"]
    assert got.faults == ["environment_error"] and not got.masked
    assert got.logs(["outcome"])["faults"] == 1.0
    assert engine.calls[2].ids == engine.calls[0].ids


async def test_a_fault_that_stays_masks_the_sample_when_the_budget_is_spent(url, sampler, chatml, answers):
    engine = chatml(answers(["fail"]))
    made = sampler(url, episode_retries=2)
    got = await sample(made, engine)
    assert got.masked and got.reward is None and got.parts == {}
    assert got.faults == ["environment_error"] * 3 and len(engine.calls) == 3
    assert (made.faults.samples, made.faults.masked) == (1, 1)
    whole = await sample(made, chatml(answers(["a"])))
    await made.close()
    assert got.logs(["outcome"]).keys() == whole.logs(["outcome"]).keys()
    assert got.logs(["outcome"])["masked"] == 1.0 and got.logs(["outcome"])["reward_outcome"] == 0.0


async def test_too_many_masked_samples_stop_the_run(url, sampler, chatml, answers):
    made = sampler(url, episode_retries=0, max_masked_share=0.25, masked_window=8)
    engine = chatml(answers(["fail"]))
    with pytest.raises(RunStopped, match="3 of the latest 3 samples") as stop:
        for _ in range(8):
            await sample(made, engine)
    await made.close()
    assert "environment_error 3" in str(stop.value) and url in str(stop.value)


async def test_an_engine_that_fails_costs_a_try(url, sampler, chatml):
    def say(number):
        failures.append(number)
        if len(failures) == 1:
            raise RuntimeError("engine restarted")
        return "a"

    failures = []
    made = sampler(url)
    got = await sample(made, chatml(say))
    await made.close()
    assert got.faults == ["engine_failed"] and not got.masked


async def test_a_reward_that_fails_masks_the_sample_and_is_not_played_again(
    url, sampler, chatml, answers, tmp_path
):
    (tmp_path / "mine.py").write_text("def broken(rollout):\n    return 1 / 0\n")
    made = sampler(url, reward=[{"type": "function", "call": f"{tmp_path / 'mine.py'}:broken"}])
    engine = chatml(answers(["a"]))
    got = await sample(made, engine)
    await made.close()
    assert got.masked and got.faults == ["reward_failed"] and len(engine.calls) == 4
    assert len(got.rollout.turns) == 4


@pytest.mark.parametrize(("label", "code"), [("nonsense", "label_refused")])
async def test_a_label_that_is_no_task_masks_the_sample(url, sampler, chatml, answers, label, code):
    made = sampler(url)
    got = await sample(made, chatml(answers(["a"])), label)
    await made.close()
    assert got.masked and got.faults == [code]


async def test_a_first_message_without_room_for_an_answer_masks_the_sample(url, sampler, chatml, answers):
    engine = chatml(answers(["a"]))
    made = sampler(url)
    got = await made.sample('{"seed": 1}', engine, made.chat(engine.tokenizer), 10)
    await made.close()
    assert got.masked and got.faults == ["nothing_sampled"] and engine.calls == []


@pytest.mark.parametrize(
    ("env", "label", "reason"),
    [("chess", '{"seed": 1}', "no environment 'chess'"), ("frozenlake", '{"id": "no-such"}', "no-such")],
)
async def test_a_wrong_configuration_stops_the_run_at_once(url, sampler, chatml, answers, env, label, reason):
    made = sampler(url, env=env)
    engine = chatml(answers(["a"]))
    with pytest.raises(RunStopped, match=reason):
        await sample(made, engine, label)
    await made.close()
    assert engine.calls == []


def test_a_template_that_drops_thoughts_stops_the_run(sampler, kit):
    with pytest.raises(RunStopped, match="drops the thoughts"):
        sampler("http://one").chat(kit.tokenizer(kit.dropping["like Qwen3"]))


def test_a_template_of_ones_own_is_read_from_its_file(sampler, kit, tmp_path):
    (tmp_path / "mine.jinja").write_text(kit.templates["chatml"][0])
    made = sampler("http://one", chat_template=str(tmp_path / "mine.jinja"))
    assert made.chat(kit.tokenizer(kit.dropping["like Qwen3"]))


async def test_records_that_can_not_be_written_lose_no_sample(url, sampler, chatml, answers, tmp_path):
    made = sampler(url, records=str(tmp_path / "gone"))
    (tmp_path / "gone").rmdir()
    got = await sample(made, chatml(answers(["a"])))
    await made.close()
    assert not got.masked


async def test_stragglers_are_cut_at_the_deadline(url, sampler, chatml, answers, monkeypatch):
    """The deadline passes while the environment hangs, or before that: a fault that no try follows."""
    made = sampler(url, episode_deadline_s=0.2)
    got = await sample(made, chatml(answers(["hang"])))
    await made.close()
    assert got.masked and got.faults in (["deadline"], ["nothing_sampled"])


# -- hubs and workers that die ----------------------------------------------------------------------


async def walk(sampler, kit, chatml, count, during):
    """Play so many walks of three steps at once, and do something to the hub in the middle of each."""
    started = asyncio.Event()
    template_engine = chatml(lambda number: "")
    chat = sampler.chat(template_engine.tokenizer)

    class Walker:
        def __init__(self):
            self.inner = kit.script(template_engine.tokenizer, lambda number: "stand")

        async def generate(self, ids, max_tokens):
            if len(self.inner.calls) == 1:
                started.set()
                await during.wait()
            return await self.inner.generate(ids, max_tokens)

    walkers = [Walker() for _ in range(count)]
    tasks = [
        asyncio.create_task(sampler.sample(json.dumps({"seed": number}), walker, chat, LONG))
        for number, walker in enumerate(walkers)
    ]
    await started.wait()
    return walkers, tasks


async def test_killed_workers_cost_nothing_but_time(mortal, sampler, kit, chatml, processes, wait_until):
    hub = mortal("--env", "frozenlake=8")
    made = sampler(hub.url, env="frozenlake", max_turns=5)
    during = asyncio.Event()
    walkers, tasks = await walk(made, kit, chatml, 8, during)
    children = processes.children(hub.pid)
    workers = {worker for child in children for worker in processes.children(child)}
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    during.set()
    samples = await asyncio.gather(*tasks)
    await made.close()
    assert all(not got.masked and got.faults == [] and len(got.rollout.turns) == 5 for got in samples)
    for walker, got in zip(walkers, samples, strict=True):
        assert [call.ids for call in walker.inner.calls] == [
            got.rollout.ids[:start] for start, _ in got.rollout.ranges
        ]


async def test_episodes_of_a_hub_that_dies_are_played_on_another(mortal, sampler, kit, chatml, monkeypatch):
    monkeypatch.setattr(_hubs, "AWAY_S", 0.5)
    one, other = mortal("--env", "frozenlake=8"), mortal("--env", "frozenlake=8")
    made = sampler(one.url, other.url, env="frozenlake", max_turns=5)
    during = asyncio.Event()
    _, tasks = await walk(made, kit, chatml, 8, during)
    one.kill()
    during.set()
    samples = await asyncio.gather(*tasks)
    await made.close()
    assert not any(got.masked for got in samples)
    assert all(len(got.rollout.turns) == 5 for got in samples)
    assert any(got.faults for got in samples)


async def test_a_hub_that_is_restarted_loses_its_sessions_and_no_sample(mortal, sampler, kit, chatml):
    hub = mortal("--env", "frozenlake=4")
    made = sampler(hub.url, env="frozenlake", max_turns=5, hub_patience_s=60.0)
    during = asyncio.Event()
    _, tasks = await walk(made, kit, chatml, 4, during)
    hub.kill()
    hub.start()
    hub.wait()
    during.set()
    samples = await asyncio.gather(*tasks)
    await made.close()
    assert not any(got.masked for got in samples)
    assert all(got.faults == ["unknown_session"] for got in samples if got.faults)
    assert any(got.faults for got in samples)
