"""A chat model behind an endpoint that is a real process: what is asked again, what is not."""

import email.utils
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from envhub_trainers._endpoint import ChatEndpoint, EndpointFailed, EndpointRefused, retry_after_s

MESSAGES = [{"role": "user", "content": " P \t G \t"}]
RIGHT = "I see it.\n```right```"


@pytest.fixture
async def ask() -> AsyncIterator[Callable[..., Any]]:
    """Ask an endpoint once: `await ask(url, …)`."""
    endpoints = []

    async def once(url: str, **settings: Any) -> Any:
        endpoints.append(ChatEndpoint(url, "tiny", **settings))
        return await endpoints[-1].ask(MESSAGES)

    yield once
    for endpoint in endpoints:
        await endpoint.close()


async def test_it_asks_as_openai_does(chat_server: Any, ask: Any) -> None:
    server = chat_server()
    answer = await ask(server.url, key="secret", sampling={"temperature": 0.5, "max_tokens": 20})
    assert (answer.text, answer.cut) == (RIGHT, False)
    (request,) = server.seen()
    assert (request["path"], request["key"]) == ("/v1/chat/completions", "Bearer secret")
    assert request["body"] == {
        "model": "tiny",
        "messages": MESSAGES,
        "temperature": 0.5,
        "max_tokens": 20,
    }


@pytest.mark.parametrize("fate", ["500", "503", "408", "429", "drop", "garbage", "529"])
async def test_what_may_pass_is_asked_again(chat_server: Any, ask: Any, fate: str) -> None:
    server = chat_server(fate, fate)
    assert (await ask(server.url)).text == RIGHT
    assert [request["fate"] for request in server.seen()] == [fate, fate, "play"]


async def test_it_waits_for_as_long_as_it_is_told(chat_server: Any, ask: Any) -> None:
    server = chat_server("429 1", "503 1")
    assert (await ask(server.url)).text == RIGHT
    first, second, third = (request["at"] for request in server.seen())
    assert second - first >= 1 and third - second >= 1


async def test_a_slow_answer_is_asked_for_again(chat_server: Any, ask: Any) -> None:
    server = chat_server("slow")
    assert (await ask(server.url, timeout_s=2.0)).text == RIGHT
    assert server.seen()[0]["fate"] == "slow"


async def test_it_gives_up_in_the_end(chat_server: Any, ask: Any) -> None:
    server = chat_server(*["500"] * 5)
    with pytest.raises(EndpointFailed, match=r"answered 500: .*as scripted.*\(asked 3 times\)"):
        await ask(server.url, tries=3)
    assert len(server.seen()) == 3


@pytest.mark.parametrize("fate", ["400", "401", "404", "429 insufficient_quota", "429 86400"])
async def test_what_will_not_pass_is_asked_once(chat_server: Any, ask: Any, fate: str) -> None:
    server = chat_server(fate)
    with pytest.raises(EndpointRefused, match=f"answered {fate[:3]}") as refused:
        await ask(server.url)
    assert refused.value.status == int(fate[:3])
    assert len(server.seen()) == 1


async def test_an_answer_that_was_cut_is_known(chat_server: Any, ask: Any) -> None:
    assert (await ask(chat_server("cut").url)).cut


async def test_an_endpoint_that_is_not_there_is_named(ask: Any) -> None:
    with pytest.raises(EndpointRefused, match=r"no answer from http://127.0.0.1:9/v1: Connect.*is there"):
        await ask("http://127.0.0.1:9/v1", tries=2)


async def test_an_endpoint_that_has_gone_is_a_failure(chat_server: Any) -> None:
    server = chat_server()
    endpoint = ChatEndpoint(server.url, "tiny", tries=2)
    await endpoint.ask(MESSAGES)
    server.stop()
    with pytest.raises(EndpointFailed, match="no answer from"):
        await endpoint.ask(MESSAGES)
    await endpoint.close()


@pytest.mark.parametrize("url", ["nowhere", "ftp://here/v1", "http:///v1"])
def test_what_is_no_url_is_said(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL of an endpoint"):
        ChatEndpoint(url, "tiny")


def test_retry_after_is_seconds_or_a_date() -> None:
    assert (retry_after_s("2.5"), retry_after_s("-1"), retry_after_s(None)) == (2.5, 0.0, None)
    assert retry_after_s("soon") is None
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    assert 0 < (retry_after_s(date) or 0) <= 100
    assert retry_after_s("Fri, 31 Dec 1999 23:59:59 GMT") == 0.0
