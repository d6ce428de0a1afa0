"""A random agent for any environment of a hub: picks among the available actions where there are any.

envhub serve --env frozenlake --replicas 4
python docs/examples/random_agent.py --env frozenlake --episodes 5
"""

from __future__ import annotations

import argparse
import random
from typing import Any

from envhub_sdk import Hub, rollout


def choose(info: dict[str, Any], draw: random.Random) -> str | None:
    """Choose one of the actions the environment offers; None where it offers none."""
    offered = info.get("available_actions")
    if isinstance(offered, dict):  # WebShop: what can be clicked, and whether one can search
        labels = [label for label in offered["clickables"] if label != "search"]
        search = ["search[gift]"] if offered["has_search_bar"] else []
        offered = search + [f"click[{label}]" for label in labels]
    return draw.choice(offered) if offered else None


def main() -> None:
    """Play, and print each episode's return."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="where the hub is; default ENVHUB_URL, else http://127.0.0.1:8000")
    parser.add_argument("--env", default="frozenlake", help="name of the environment")
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    draw = random.Random(arguments.seed)
    with Hub(arguments.url) as hub, hub.make(arguments.env) as env:
        env.action_space.seed(arguments.seed)

        def policy(observation: Any, info: dict[str, Any]) -> Any:
            action = choose(info, draw)
            return env.action_space.sample() if action is None else action

        for number in range(arguments.episodes):
            episode = rollout(env, policy, seed=arguments.seed + number, max_steps=100)
            print(f"episode {number}: return {episode.episode_return:.2f} in {episode.steps} steps")


if __name__ == "__main__":
    main()
