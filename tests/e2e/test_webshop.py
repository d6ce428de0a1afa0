"""The main job: many WebShop replicas at once, each episode played to its purchase over HTTP."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from envhub_sdk import AsyncHub, Hub

pytestmark = pytest.mark.e2e

REPLICAS = 64


class FirstOffer:
    """Searches for what it was asked for, opens the first result, takes every first option, buys."""

    def __init__(self) -> None:
        self.chosen = False

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        offered = info["available_actions"]
        if offered["has_search_bar"]:
            instruction = observation.split(" [SEP] ")[2]
            words = re.findall(r"[a-z]+", instruction.lower().partition("price lower")[0])
            return f"search[{' '.join(words)}]"
        clickables = offered["clickables"]
        if "buy now" in clickables:
            options = [
                label
                for label in clickables
                if label
                not in (
                    "back to search",
                    "< prev",
                    "description",
                    "features",
                    "reviews",
                    "buy now",
                    "attributes",
                )
            ]
            if options and not self.chosen:
                self.chosen = True
                return f"click[{options[0]}]"
            return "click[buy now]"
        products = [label for label in clickables if label not in ("back to search", "next >", "< prev")]
        return f"click[{products[0]}]"


async def played(url: str, **options: Any) -> list[Any]:
    async with AsyncHub(url) as hub:
        return list(await hub.collect("webshop", FirstOffer, per_episode=True, max_steps=30, **options))


async def test_whole_episodes_on_64_replicas_in_parallel(serve: Any) -> None:
    command = serve("--env", "webshop", "--replicas", str(REPLICAS), "--port", "0", "--json")
    said = command.ready()
    assert said["envs"] == {"webshop": REPLICAS}
    async with AsyncHub(said["url"]) as hub:
        tasks = list(await hub.tasks("webshop", "test", limit=100))
    busiest = 0

    def watch(done: int, total: int, trajectory: Any) -> None:
        nonlocal busiest
        with Hub(said["url"]) as hub:
            replicas = hub.env("webshop").replicas
        busiest = max(busiest, replicas["total"] - replicas["free"])

    episodes = await played(said["url"], tasks=tasks, concurrency=REPLICAS, progress=watch)
    assert [episode.error for episode in episodes] == [None] * len(tasks)
    assert [episode.task["id"] for episode in episodes] == [task["id"] for task in tasks]
    assert all(episode.terminated for episode in episodes), "every episode ends with a purchase"
    assert all(0 <= episode.episode_return <= 1 for episode in episodes)
    assert sum(episode.episode_return > 0 for episode in episodes) > len(episodes) / 2
    assert busiest > REPLICAS / 2, "the replicas were used at the same time"


async def test_the_same_tasks_and_seeds_play_the_same_on_another_hub(serve: Any) -> None:
    seen = []
    for workers in ("1", "3"):
        command = serve("--env", "webshop=6", "--workers", workers, "--port", "0", "--json")
        episodes = await played(command.ready()["url"], episodes=12, seed=5, concurrency=6)
        seen.append([(one.observations, one.actions, one.rewards) for one in episodes])
    assert seen[0] == seen[1]


def proportional_kib(pids: set[int]) -> int:
    """The proportional set size of some processes: what they share counts once."""
    total = 0
    for pid in pids:
        rollup = Path(f"/proc/{pid}/smaps_rollup")
        if not rollup.exists():
            pytest.skip("this kernel does not tell proportional set sizes")
        total += next(
            int(line.split()[1]) for line in rollup.read_text().splitlines() if line.startswith("Pss:")
        )
    return total


def test_64_replicas_share_what_one_needs(serve: Any) -> None:
    sizes = []
    for replicas in (1, REPLICAS):
        command = serve("--env", "webshop", "--replicas", str(replicas), "--port", "0", "--json")
        url = command.ready()["url"]
        with httpx.Client(base_url=url, timeout=60) as client:
            opened = client.post("/v1/envs/webshop/sessions", json={"count": replicas}).json()["sessions"]
            for action in ("search[blue cotton shirt]", "click[back to search]") * 3:
                steps = [{"session_id": one["id"], "action": action} for one in opened]
                results = client.post("/v1/step", json={"steps": steps}).json()["results"]
                assert not any("error" in result for result in results)
        sizes.append(proportional_kib(command.tree() | {command.pid}))
        command.interrupt()
        command.end()
    assert sizes[1] <= 1.5 * sizes[0]
