"""A chat model as an agent, through any OpenAI-compatible endpoint.

    envhub serve --env webshop --replicas 16
    python docs/examples/chat_agent.py --base-url http://127.0.0.1:8001/v1 --model my-model --episodes 16

The key, where the endpoint wants one, is read from OPENAI_API_KEY. The model is told what an action looks
like and answers each observation; the last line of its answer is the action.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from typing import Any

import httpx

from envhub_sdk import AsyncHub, Trajectory

PROMPT = """You act in an environment. Each message shows what you see. {description}
Think briefly, then write the action alone on the last line of your answer."""


class ModelFailed(Exception):
    """The endpoint could not be asked, or refused."""


class ChatPolicy:
    """One episode's conversation with the model."""

    def __init__(self, client: httpx.AsyncClient, model: str, description: str) -> None:
        self._client = client
        self._model = model
        self._messages = [{"role": "system", "content": PROMPT.format(description=description)}]

    async def __call__(self, observation: Any, info: dict[str, Any]) -> str:
        """Show the model what there is to see and return its action."""
        seen = str(observation)
        if "available_actions" in info:
            seen += f"\n\nAvailable actions: {json.dumps(info['available_actions'], ensure_ascii=False)}"
        self._messages.append({"role": "user", "content": seen})
        answer = await self._ask()
        self._messages.append({"role": "assistant", "content": answer})
        return action_in(answer)

    async def _ask(self) -> str:
        body = {"model": self._model, "messages": self._messages}
        try:
            response = await self._client.post("chat/completions", json=body)
            response.raise_for_status()
            return response.json()["choices"][0]["message"]["content"] or ""
        except httpx.HTTPStatusError as error:
            said = error.response.text[:300]
            raise ModelFailed(f"{error.request.url} answered {error.response.status_code}: {said}") from error
        except httpx.TransportError as error:
            raise ModelFailed(f"no answer from {error.request.url}: {error!r}") from error


def action_in(answer: str) -> str:
    """Return the action a model's answer ends with, without quotes or an "Action:" before it."""
    lines = [line.strip() for line in answer.splitlines() if line.strip(" `")]
    last = lines[-1].strip("`") if lines else ""
    return last.removeprefix("Action:").strip()


def stop_where_nothing_works(done: int, total: int, episode: Trajectory) -> None:
    """Go no further when the first episode that ends does so without a word of the model."""
    if done == 1 and episode.steps == 0 and episode.error and episode.error.type == ModelFailed.__name__:
        raise ModelFailed(episode.error.message)


async def play(arguments: argparse.Namespace) -> None:
    """Play the episodes, and print how each went."""
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    endpoint = httpx.AsyncClient(base_url=arguments.base_url, headers=headers, timeout=arguments.timeout)
    async with AsyncHub(arguments.url) as hub, endpoint as client:
        description = (await hub.env(arguments.env)).action["description"]
        episodes = await hub.collect(
            arguments.env,
            lambda: ChatPolicy(client, arguments.model, f"An action is: {description}."),
            per_episode=True,
            episodes=arguments.episodes,
            seed=arguments.seed,
            max_steps=arguments.max_steps,
            concurrency=arguments.concurrency,
            progress=stop_where_nothing_works,
        )
    for number, episode in enumerate(episodes):
        outcome = f"return {episode.episode_return:.2f} in {episode.steps} steps"
        print(f"episode {number}: {outcome}{f', then {episode.error}' if episode.error else ''}")


def main() -> None:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base-url", required=True, help="the endpoint, up to and with /v1")
    parser.add_argument("--model", required=True, help="the model's name at the endpoint")
    parser.add_argument("--url", help="where the hub is; default ENVHUB_URL, else http://127.0.0.1:8000")
    parser.add_argument("--env", default="webshop", help="name of the environment")
    parser.add_argument("--episodes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-steps", type=int, default=30)
    parser.add_argument("--concurrency", type=int, default=16, help="episodes at a time")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds to wait for the model")
    arguments = parser.parse_args()
    failures: tuple[Exception, ...] = ()
    try:
        asyncio.run(play(arguments))
    except* ModelFailed as group:  # episodes are played by a group of tasks
        failures = group.exceptions
    if failures:
        sys.exit(f"the model can't be asked: {failures[0]}")


if __name__ == "__main__":
    main()
