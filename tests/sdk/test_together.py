"""Steps that are asked for at the same moment, sent as one request."""

import asyncio

import httpx
import pytest

from envhub_sdk import AsyncHub, EnvironmentFailed, UnexpectedAnswer, _together


@pytest.fixture(autouse=True)
def never_slow(monkeypatch):
    monkeypatch.setattr(_together, "SLOW_S", 600.0)


class Counting(httpx.AsyncHTTPTransport):
    """A network that notes what is asked for."""

    def __init__(self):
        super().__init__()
        self.asked = []

    async def handle_async_request(self, request):
        self.asked.append(request.url.path)
        return await super().handle_async_request(request)

    @property
    def steps(self):
        return [path for path in self.asked if path.endswith("/step")]

    @property
    def opened(self):
        return self.asked.count("/v1/envs/echo/sessions")


async def opened(hub, count, env="echo"):
    envs = [await hub.make(env) for _ in range(count)]
    await asyncio.gather(*(env.reset() for env in envs))
    return envs


async def step_all(envs, actions):
    answers = await asyncio.gather(
        *(env.step(action) for env, action in zip(envs, actions, strict=True)), return_exceptions=True
    )
    return [answer if isinstance(answer, Exception) else answer[0] for answer in answers]


async def test_what_is_asked_for_at_once_is_one_request(url):
    network = Counting()
    async with AsyncHub(url, transport=network, batch_steps=True) as hub:
        envs = await opened(hub, 8)
        for turn in ("a", "b"):
            assert await step_all(envs, [turn + str(i) for i in range(8)]) == [
                turn + str(i) for i in range(8)
            ]
        assert network.steps == ["/v1/step", "/v1/step"]
        assert (await envs[0].step("alone"))[2]  # episodes of this hub's echo have three steps
        assert network.steps[2:] == [f"/v1/sessions/{envs[0].session_id}/step"]


async def test_each_has_its_own_error(url):
    async with AsyncHub(url, batch_steps=True) as hub:
        envs = await opened(hub, 4)
        gone = envs[2].session_id
        async with AsyncHub(url) as other:
            await other._release([gone])
        said = await step_all(envs, ["a", "fail", "c", "d"])
        assert said[0] == "a" and said[3] == "d"
        assert isinstance(said[1], EnvironmentFailed) and said[1].session == envs[1].session_id
        assert said[2].session == gone and envs[2].session_id is None
        await asyncio.gather(envs[1].reset(), envs[2].reset())
        assert await step_all(envs, ["w", "x", "y", "z"]) == ["w", "x", "y", "z"]


@pytest.mark.parametrize("only", [b"/v1/step", b"/step"])
async def test_lost_answers_step_nothing_twice(url, proxy, only):
    proxy.only = only
    async with AsyncHub(proxy.url, batch_steps=True) as hub:
        envs = await opened(hub, 4)
        for turn in range(3):
            proxy.cut = 2
            assert await step_all(envs, [f"{turn}{i}" for i in range(4)]) == [f"{turn}{i}" for i in range(4)]
        assert proxy.swallowed == 6
        assert [(await env.trajectory()).steps for env in envs] == [3] * 4


async def test_who_is_cancelled_asks_again(url):
    async with AsyncHub(url, batch_steps=True) as hub:
        envs = await opened(hub, 3)
        tasks = [asyncio.create_task(env.step(f"a{i}")) for i, env in enumerate(envs)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(answers[1], asyncio.CancelledError) and answers[2][0] == "a2"
        assert (await envs[1].step("a1"))[0] == "a1"
        assert (await envs[1].trajectory()).steps == 1


async def test_after_two_slow_batches_steps_go_one_by_one(url, monkeypatch):
    monkeypatch.setattr(_together, "SLOW_S", -1.0)
    network = Counting()
    async with AsyncHub(url, transport=network, batch_steps=True) as hub:
        envs = await opened(hub, 3)
        await step_all(envs, "abc")
        monkeypatch.setattr(_together, "SLOW_S", 600.0)
        await step_all(envs, "def")  # a quick one
        await asyncio.gather(*(env.reset() for env in envs))
        monkeypatch.setattr(_together, "SLOW_S", -1.0)
        await step_all(envs, "abc")
        await step_all(envs, "def")
        assert network.steps == ["/v1/step"] * 4
        assert await step_all(envs, "ghi") == list("ghi")
        assert len(network.steps) == 7


async def test_sessions_that_are_asked_for_at_once_are_opened_by_one_request(url):
    network = Counting()
    async with AsyncHub(url, transport=network, batch_steps=True) as hub:
        envs = [await hub.make("echo") for _ in range(6)]
        starts = await asyncio.gather(*(env.reset(seed=seed) for seed, env in enumerate(envs)))
        assert network.opened == 1
        assert len({env.session_id for env in envs}) == 6
        assert [env.episode_seed for env in envs] == list(range(6))
        other = await hub.make("echo", labels={"a": "b"})
        plain = await hub.make("echo")
        again = await asyncio.gather(other.reset(seed=3), plain.reset(seed=3), envs[0].reset(seed=3))
        assert again == [starts[3]] * 3
        assert network.opened == 3  # labels are said once a request, and a session that is open is reset


async def test_sessions_that_can_not_be_opened_at_once_ask_for_themselves(url):
    async with AsyncHub(url) as hub:
        replicas = (await hub.env("echo")).replicas["total"]
    network = Counting()
    async with AsyncHub(url, transport=network, batch_steps=True) as hub:
        envs = [await hub.make("echo", wait_s=0.0) for _ in range(replicas + 1)]
        starts = await asyncio.gather(*(env.reset() for env in envs), return_exceptions=True)
        assert sorted(type(start).__name__ for start in starts) == ["NoFreeReplica"] + ["tuple"] * replicas
        assert network.opened == 1 + len(envs)


async def test_who_is_cancelled_while_sessions_are_opened_keeps_none(url):
    async with AsyncHub(url, batch_steps=True) as hub:
        envs = [await hub.make("echo") for _ in range(3)]
        tasks = [asyncio.create_task(env.reset()) for env in envs]
        await asyncio.sleep(0)
        tasks[1].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(answer) for answer in answers] == [tuple, asyncio.CancelledError, tuple]
    async with AsyncHub(url) as hub:
        assert not await hub.sessions()


async def test_lost_answers_open_nothing_twice(url, proxy):
    proxy.only = b"/sessions"
    proxy.cut = 1
    async with AsyncHub(proxy.url, batch_steps=True) as hub:
        envs = await opened(hub, 4)
        assert proxy.swallowed == 1
        assert {one.id for one in await hub.sessions()} == {env.session_id for env in envs}


async def test_large_gatherings_are_several_requests(url, monkeypatch):
    monkeypatch.setattr(_together, "LARGEST_BATCH", 4)
    network = Counting()
    async with AsyncHub(url, transport=network, batch_steps=True) as hub:
        envs = await opened(hub, 9)
        assert await step_all(envs, "abcdefghi") == list("abcdefghi")
        assert network.steps == ["/v1/step"] * 3


@pytest.fixture
def scripted(scripts):
    """Step two environments whose hub answers by a script: `await scripted(answer, …)`."""

    async def step(*answers):
        script = scripts.hub()
        async with script.async_client(batch_steps=True) as hub:
            envs = await opened(hub, 2)
            script.script.extend(answers)
            return await step_all(envs, "ab")

    return step


async def test_a_batch_the_hub_refuses_is_sent_one_by_one(scripts, scripted):
    steps = [httpx.Response(200, json=scripts.step(0)) for _ in range(2)]
    assert await scripted(scripts.error(413, "body_too_large"), *steps) == ["o0", "o0"]


async def test_what_a_starting_hub_could_not_take_is_asked_for_again(scripts, scripted):
    not_ready = {"error": {"code": "not_ready", "message": "starting", "details": {}}}
    results = httpx.Response(200, json={"results": [scripts.step(0), not_ready]})
    late = httpx.Response(200, json=scripts.step(0) | {"observation": "late"})
    assert await scripted(results, late) == ["o0", "late"]


async def test_results_that_are_too_few_are_no_answer(scripts, scripted):
    said = await scripted(httpx.Response(200, json={"results": [scripts.step(0)]}))
    assert [type(one) for one in said] == [UnexpectedAnswer] * 2


async def test_what_a_hub_said_of_an_environment_is_not_asked_for_again(url):
    network = Counting()
    async with AsyncHub(url, transport=network) as hub:
        served = await hub.env("echo")
        asked = len(network.asked)
        async with await hub.make(served) as env:
            await env.reset()
            assert (await env.step("a"))[0] == "a"
        assert "/v1/envs/echo" not in network.asked[asked:]
