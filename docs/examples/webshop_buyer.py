"""A scripted WebShop buyer: searches for what it was asked for, takes the first result it can pay, buys.

    envhub serve --env webshop --replicas 64
    python docs/examples/webshop_buyer.py --episodes 100

It reads the pages as an agent would, plays many episodes at once and prints what they brought.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from typing import Any

from envhub_sdk import AsyncHub

SMALL_TALK = set(
    "a an and any can do for find i i'd i'm in is it like me my need of please some the to want".split()
)


class Buyer:
    """The buyer of one episode; call it with what the environment shows, it answers with the next action."""

    def __init__(self) -> None:
        self._wanted = ""
        self._most = float("inf")
        self._choices: list[str] | None = None

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        """Return the next action."""
        actions = info["available_actions"]
        if actions["has_search_bar"]:
            self._read(observation.split(" [SEP] ")[2])
            words = [word for word in re.findall(r"[\w'-]+", self._wanted) if word not in SMALL_TALK]
            return f"search[{' '.join(words)}]"
        if "buy now" not in actions["clickables"]:
            return f"click[{self._pick(observation.split(' [SEP] '), actions['clickables'])}]"
        if self._choices is None:
            self._choices = self._named(actions["clickables"])
        return f"click[{self._choices.pop() if self._choices else 'buy now'}]"

    def _read(self, instruction: str) -> None:
        """Split the instruction into what is wanted and the most it may cost."""
        self._wanted, _, cap = instruction.lower().partition(", and price lower than ")
        if cap:
            self._most = float(cap.split()[0])

    def _pick(self, parts: list[str], clickables: list[str]) -> str:
        """Return the first product of a results page that can be paid, else the first one."""
        products = [
            i
            for i, part in enumerate(parts)
            if part.lower() in clickables and "$" in "".join(parts[i + 2 : i + 3])
        ]
        if not products:
            return "back to search"
        for i in products:
            if float(parts[i + 2].split("$")[-1]) <= self._most:
                return parts[i]
        return parts[products[0]]

    def _named(self, clickables: list[str]) -> list[str]:
        """Return the options of an item page that the instruction names."""
        wanted = f" {' '.join(re.findall(r'[^ ,.]+', self._wanted))} "
        return [label for label in clickables if f" {label} " in wanted]


async def play(url: str | None, env: str, episodes: int, split: str) -> None:
    """Play the first tasks of a split, and print what they brought."""
    async with AsyncHub(url) as hub:
        tasks = await hub.tasks(env, split, limit=episodes)
        played = await hub.collect(env, Buyer, per_episode=True, tasks=tasks, max_steps=30)
    failed = [episode for episode in played if episode.error]
    returns = [episode.episode_return for episode in played if not episode.error]
    for episode in failed:
        print(f"task {episode.task['id']}: {episode.error}")
    if returns:
        won = sum(value == 1.0 for value in returns)
        print(
            f"{len(returns)} purchases: mean reward {sum(returns) / len(returns):.3f}, {won} of them perfect"
        )


def main() -> None:
    """Read the command line and play."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="where the hub is; default ENVHUB_URL, else http://127.0.0.1:8000")
    parser.add_argument("--env", default="webshop", help="name the shop is served under")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--split", default="test")
    arguments = parser.parse_args()
    asyncio.run(play(arguments.url, arguments.env, arguments.episodes, arguments.split))


if __name__ == "__main__":
    main()
