import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import envhub_sdk
from envhub_sdk import AsyncHub, Hub, _retry


def test_the_url_and_token_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, scripts: Any) -> None:
    monkeypatch.setenv("ENVHUB_URL", "http://elsewhere:9/prefix/")
    monkeypatch.setenv("ENVHUB_TOKEN", "secret\n")
    seen = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"envs": [scripts.env()]})

    with Hub(transport=httpx.MockTransport(handler)) as hub:
        assert [env.name for env in hub.envs()] == ["echo"]
    assert str(seen[0].url) == "http://elsewhere:9/prefix/v1/envs"
    assert seen[0].headers["authorization"] == "Bearer secret"


def test_without_any_url_the_hub_of_this_machine_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENVHUB_URL", raising=False)
    with Hub() as hub:
        assert hub.url == "http://127.0.0.1:8000"


@pytest.mark.parametrize("url", ["http://hub.test/prefix/v1", "http://hub.test/prefix/v1/"])
def test_the_url_may_be_that_of_the_api(scripts: Any, url: str) -> None:
    hub = scripts.hub(httpx.Response(200, json={"envs": []}))
    with Hub(url, transport=httpx.MockTransport(hub)) as client:
        client.envs()
    assert str(hub.requests[0].url) == "http://hub.test/prefix/v1/envs"


@pytest.mark.parametrize("kind", [Hub, AsyncHub])
@pytest.mark.parametrize("token", ["schlüssel", "two\nlines"])
def test_a_token_that_no_request_can_carry_is_refused(kind: type, token: str) -> None:
    with pytest.raises(ValueError, match=r"ENVHUB_TOKEN.* printable ASCII"):
        kind("http://hub.test", token=token)


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(ValueError, match="no URL of a hub"):
        Hub("127.0.0.1:8000")


def test_names_are_quoted_in_paths(scripts: Any) -> None:
    hub = scripts.hub(httpx.Response(200, json=scripts.env()))
    with hub.client() as client:
        client.env("a/b c")
    assert hub.requests[0].url.raw_path == b"/v1/envs/a%2Fb%20c"


def test_tasks_are_fetched_page_by_page(scripts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envhub_sdk._hub.TASK_PAGE", 2)

    def handler(request: httpx.Request) -> httpx.Response:
        offset, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
        assert request.url.params["split"] == "test"
        tasks = [{"id": i} for i in range(5)][offset : offset + limit]
        return httpx.Response(200, json={"split": "test", "total": 5, "offset": offset, "tasks": tasks})

    with Hub("http://hub.test", transport=httpx.MockTransport(handler)) as hub:
        assert [task["id"] for task in hub.iter_tasks("echo", "test")] == [0, 1, 2, 3, 4]


def test_a_request_without_an_answer_is_sent_again(scripts: Any) -> None:
    hub = scripts.hub(
        httpx.ReadError("cut"), httpx.ConnectTimeout("slow"), httpx.Response(200, json={"envs": []})
    )
    with hub.client() as client:
        assert client.envs() == []
    assert len(hub.requests) == 3


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx.ConnectError("refused"), envhub_sdk.ConnectFailed),
        (httpx.ReadTimeout("slow"), envhub_sdk.AnswerTimeout),
        (httpx.RemoteProtocolError("cut"), envhub_sdk.AnswerLost),
    ],
)
def test_after_the_retries_the_last_failure_is_raised(
    scripts: Any, failure: Exception, kind: type[Exception]
) -> None:
    hub = scripts.hub(*[failure] * 3)
    with hub.client(retries=2) as client, pytest.raises(kind, match=r"GET http://hub.test/v1/envs"):
        client.envs()
    assert len(hub.requests) == 3


def test_an_error_that_would_come_again_is_raised_at_once(scripts: Any) -> None:
    hub = scripts.hub(scripts.error(401, "unauthorized"))
    with hub.client() as client, pytest.raises(envhub_sdk.Unauthorized) as caught:
        client.envs()
    assert caught.value.details == {"fact": 1}
    assert len(hub.requests) == 1


def test_a_busy_hub_is_asked_again_after_as_long_as_it_says(
    scripts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("envhub_sdk._hub.time.sleep", pauses.append)
    hub = scripts.hub(
        scripts.error(503, "not_ready", retry_after="7"), httpx.Response(200, json={"envs": []})
    )
    with hub.client() as client:
        client.envs()
    assert pauses == [7.0]


def test_a_hub_that_asks_for_too_long_a_pause_is_not_waited_for(scripts: Any) -> None:
    hub = scripts.hub(scripts.error(429, "queue_full", retry_after="3600"))
    with hub.client() as client, pytest.raises(envhub_sdk.QueueFull) as caught:
        client.envs()
    assert caught.value.retry_after == 3600


def test_pauses_grow_and_are_jittered(scripts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("envhub_sdk._hub.time.sleep", pauses.append)
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 1.0)
    hub = scripts.hub(*[httpx.ReadError("cut")] * 6)
    with hub.client() as client, pytest.raises(envhub_sdk.AnswerLost):
        client.envs()
    assert len(pauses) == 5
    for pause, longest in zip(pauses, [1, 2, 4, 5, 5], strict=True):
        assert longest / 2 <= pause <= longest


def test_an_open_waits_for_a_replica_as_long_as_the_caller_said(scripts: Any) -> None:
    """A free replica is awaited by the hub; asking again on top of that would multiply the wait."""
    hub = scripts.hub(scripts.error(503, "no_free_replica", retry_after="1"))
    with hub.client() as client:
        env = client.make("echo", wait_s=0.5)
        with pytest.raises(envhub_sdk.NoFreeReplica):
            env.reset()
    assert hub.bodies("/v1/envs/echo/sessions")[0]["wait_s"] == 0.5


def test_an_answer_that_is_not_the_apis_says_so(scripts: Any) -> None:
    hub = scripts.hub(httpx.Response(200, text="<html>hello</html>"))
    with hub.client() as client, pytest.raises(envhub_sdk.UnexpectedAnswer, match="not EnvHub's API"):
        client.envs()


def test_the_read_timeout_leaves_the_environment_its_time(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client(timeout=5.0) as client:
        client.make("echo", wait_s=2.0).reset()
    # timeout 5 + reset_timeout_s 30 + wait_s 2
    assert hub.requests[0].extensions["timeout"]["read"] == 37.0


def test_closing_a_hub_closes_its_sessions_and_its_thread(scripts: Any) -> None:
    hub = scripts.hub()
    client = hub.client()
    env = client.make("echo")
    env.reset()
    assert client._heartbeat.running
    client.close()
    assert not client._heartbeat.running
    assert hub.bodies("/v1/close") == [{"session_ids": ["s0"]}]
    env.close()
    client.close()


async def test_a_closed_hub_says_that_it_is_closed(scripts: Any) -> None:
    hub = scripts.hub().client()
    env = hub.make("echo")
    env.reset()
    hub.close()
    for call in (hub.envs, lambda: hub.make("echo"), lambda: env.step("x"), env.reset):
        with pytest.raises(envhub_sdk.HubClosed, match=r"Hub\('http://hub.test'\) is closed"):
            call()
    env.close()
    twin = scripts.hub().async_client()
    await twin.close()
    with pytest.raises(envhub_sdk.HubClosed, match="AsyncHub"):
        await twin.make("echo")


async def test_closing_never_fails_and_is_tried_once_without_patience(scripts: Any) -> None:
    closes: list[float] = []

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/close":
            closes.append(request.extensions["timeout"]["read"])
            raise httpx.ConnectError("refused")
        return script(request)  # type: ignore[no-any-return]

    script = scripts.hub()
    with Hub("http://hub.test", patience_s=0, transport=httpx.MockTransport(handler)) as hub:
        env, envs = hub.make("echo"), hub.make_vec("echo", 2)
        env.reset()
        env.close()
        envs.reset()
        envs.close()
    async with AsyncHub("http://hub.test", patience_s=0, transport=httpx.MockTransport(handler)) as twin:
        async with await twin.make("echo") as one:
            await one.reset()
    assert closes == [5.0] * 3


def test_what_a_program_leaves_open_is_closed_at_its_end(
    url: str, hub: Hub, wait_until: Callable[..., None]
) -> None:
    program = (
        "import sys, envhub_sdk\n"
        "hub = envhub_sdk.Hub(sys.argv[1])\n"
        "env = hub.make('echo', labels={'left': 'open'})\n"
        "env.reset()\n"
        "print(len([s for s in hub.sessions() if s.labels]))\n"
    )
    command = [sys.executable, "-c", program, url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert (done.stdout, done.stderr) == ("1\n", "")
    wait_until(lambda: [state for state in hub.sessions() if state.labels] == [])


@pytest.mark.parametrize("kind", ["Env", "VectorEnv", "fork"])
def test_what_was_opened_for_somebody_who_pressed_ctrl_c_is_closed(scripts: Any, kind: str) -> None:
    """The hub has opened it, and its answer is not read any more."""
    answered = False

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal answered
        answer = script(request)
        if request.url.path.endswith(opening) and not answered:
            answered = True
            raise KeyboardInterrupt
        return answer  # type: ignore[no-any-return]

    script, opening = scripts.hub(), "/sessions"
    with Hub("http://hub.test", transport=httpx.MockTransport(handler)) as client:
        env: Any = client.make_vec("echo", 1) if kind == "VectorEnv" else client.make("echo")
        call, session = env.reset, "s0"
        if kind == "fork":
            opening = "/fork"
            env.reset()
            fork = scripts.start(0, id="f0", env="echo", expires_at=0.0, idle_timeout_s=600.0)
            script.script += [httpx.Response(200, json={"sessions": [fork]}) for _ in range(2)]
            call, session = env.fork, "f0"
        with pytest.raises(KeyboardInterrupt):
            call()
        asked = [json.loads(one.content) for one in script.requests if one.url.path.endswith(opening)]
        assert len(asked) == 2 and asked[0] == asked[1] and asked[0]["request_id"]
        assert script.bodies("/v1/close") == [{"session_ids": [session]}]


def test_wait_ready_waits_and_then_says_what_is_missing(
    scripts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envhub_sdk._hub.READY_PAUSE_S", 0.0)
    hub = scripts.hub(
        httpx.ConnectError("no"),
        scripts.error(503, "not_ready"),
        httpx.Response(200, json={"status": "ready"}),
    )
    with hub.client() as client:
        client.wait_ready(60.0)
    hub = scripts.hub(scripts.error(503, "not_ready"))
    with hub.client() as client, pytest.raises(envhub_sdk.NotReady):
        client.wait_ready(-1.0)


# -- against a real hub -----------------------------------------------------------------------------


def test_a_real_hub_is_alive_ready_and_lists_what_it_serves(hub: Hub) -> None:
    hub.wait_ready()
    assert hub.healthz() and hub.readyz()
    served = {env.name: env for env in hub.envs()}
    assert {"echo", "frozenlake", "webshop", "CartPole-v1"} <= served.keys()
    assert hub.env("webshop").data == served["webshop"].data
    assert len(list(hub.iter_tasks("frozenlake", "test"))) == 100
    assert hub.tasks("webshop", "test", offset=2, limit=3)[0]["split"] == "test"
    with pytest.raises(envhub_sdk.UnknownTask):
        hub.tasks("webshop", "nosuchsplit")


def test_an_unknown_environment_fails_at_make(hub: Hub) -> None:
    with pytest.raises(envhub_sdk.UnknownEnv, match="frozenlake"):
        hub.make("frozenlak")
    with pytest.raises(envhub_sdk.UnknownEnv):
        hub.make_vec("frozenlak", 2)


def test_sessions_are_listed_with_their_labels(hub: Hub) -> None:
    with hub.make("echo", labels={"run": "labelled"}) as env:
        env.reset(seed=5)
        mine = [state for state in hub.sessions() if state.labels == {"run": "labelled"}]
        assert [(state.id, state.seed, state.step_index) for state in mine] == [(env.session_id, 5, 0)]
        closed = env.session_id
    assert closed not in {state.id for state in hub.sessions()}


def test_a_session_is_ended_by_somebody_else(url: str, hub: Hub) -> None:
    with hub.make("echo") as env, Hub(url) as other:
        env.reset(seed=5)
        session = env.session_id
        assert session is not None
        other.end_session(session)
        with pytest.raises(envhub_sdk.SessionClosed):
            env.step("a")
        with pytest.raises(envhub_sdk.SessionClosed):
            other.end_session(session)
        with pytest.raises(envhub_sdk.UnknownSession):
            other.end_session("s-none")


def test_a_guarded_hub_wants_its_token(guarded_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENVHUB_TOKEN", raising=False)
    with Hub(guarded_url) as hub:
        hub.wait_ready()
        with pytest.raises(envhub_sdk.Unauthorized, match=r"Hub\(url, token=…\).*ENVHUB_TOKEN"):
            hub.envs()
    with Hub(guarded_url, token="secret") as hub:
        assert [env.name for env in hub.envs()] == ["echo"]
    monkeypatch.setenv("ENVHUB_TOKEN", "secret")
    with Hub(guarded_url) as hub, hub.make("echo") as env:
        env.reset()


def test_more_than_there_is_cannot_be_had(guarded_url: str) -> None:
    with Hub(guarded_url, token="secret") as hub, hub.make("echo") as env:
        env.reset()
        with hub.make("echo", wait_s=0.0) as other, pytest.raises(envhub_sdk.NoFreeReplica) as full:
            other.reset()
        assert "sessions() of the Hub" in str(full.value) and "close()" in str(full.value)
        with pytest.raises(envhub_sdk.InvalidOptions, match="it has 1 replica"):
            hub.make_vec("echo", 2).reset()
        env.close()
        with hub.make("echo", wait_s=0.0) as other:
            other.reset()


def test_a_hub_that_is_not_there_is_named(scripts: Any) -> None:
    with Hub("http://127.0.0.1:9", retries=0) as hub:
        with pytest.raises(envhub_sdk.ConnectFailed, match="envhub serve"):
            hub.envs()
        assert not hub.healthz()


async def test_a_hub_that_speaks_no_tls_is_told_apart_from_none(url: str) -> None:
    https = url.replace("http:", "https:")
    with Hub(https) as hub, pytest.raises(envhub_sdk.ConnectFailed, match=r"plain HTTP.* http://") as caught:
        hub.envs()
    assert not caught.value.retryable
    async with AsyncHub(https) as twin:
        with pytest.raises(envhub_sdk.ConnectFailed, match="plain HTTP"):
            await twin.envs()


async def test_the_asynchronous_twin_asks_the_same(url: str, hub: Hub) -> None:
    async with AsyncHub(url) as twin:
        await twin.wait_ready()
        assert await twin.healthz() and await twin.readyz()
        assert [env.name for env in await twin.envs()] == [env.name for env in hub.envs()]
        assert (await twin.env("echo")).version == hub.env("echo").version
        assert await twin.tasks("webshop", limit=3) == hub.tasks("webshop", limit=3)
        listed = [task async for task in twin.iter_tasks("frozenlake", "test")]
        assert listed == list(hub.iter_tasks("frozenlake", "test"))
        async with await twin.make("echo", labels={"run": "twin"}) as env:
            await env.reset()
            assert {"run": "twin"} in [state.labels for state in await twin.sessions()]
            assert env.session_id is not None
            await twin.end_session(env.session_id)
            with pytest.raises(envhub_sdk.SessionClosed):
                await twin.end_session(env.session_id)
        with pytest.raises(envhub_sdk.UnknownEnv):
            await twin.make("nosuchenv")


async def test_the_asynchronous_twin_retries_alike(scripts: Any) -> None:
    hub = scripts.hub(
        httpx.ReadError("cut"),
        scripts.error(429, "queue_full", retry_after="0"),
        httpx.Response(200, json={"envs": []}),
        scripts.error(500, "internal_error"),
    )
    async with hub.async_client() as client:
        assert await client.envs() == []
        with pytest.raises(envhub_sdk.InternalError):
            await client.envs()


async def test_a_session_opened_for_somebody_who_was_cancelled_is_closed(scripts: Any) -> None:
    script = scripts.hub()
    asked, answer = asyncio.Event(), asyncio.Event()

    async def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/sessions"):
            asked.set()
            await answer.wait()
        return script(request)  # type: ignore[no-any-return]

    async with AsyncHub("http://hub.test", transport=httpx.MockTransport(handler)) as client:
        env = await client.make("echo")
        resetting = asyncio.create_task(env.reset())
        await asked.wait()
        resetting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await resetting
        answer.set()
    assert script.bodies("/v1/close") == [{"session_ids": ["s0"]}]


async def test_the_asynchronous_twin_waits_until_it_is_ready(
    scripts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envhub_sdk._async_hub.READY_PAUSE_S", 0.0)
    ready = httpx.Response(200, json={"status": "ready"})
    script = scripts.hub(httpx.ConnectError("no"), scripts.error(503, "not_ready"), ready)
    async with script.async_client() as client:
        await client.wait_ready(60.0)
        script.script += [scripts.error(503, "not_ready")] * 2
        with pytest.raises(envhub_sdk.NotReady):
            await client.wait_ready(-1.0)
        assert not await client.readyz()


async def test_closing_the_asynchronous_twin_closes_its_sessions(scripts: Any) -> None:
    hub = scripts.hub()
    client = hub.async_client()
    env = await client.make("echo")
    await env.reset()
    assert client._heartbeat.running
    await client.close()
    assert not client._heartbeat.running
    assert json.loads(hub.requests[-1].content) == {"session_ids": ["s0"]}
    await env.close()
    await client.close()
