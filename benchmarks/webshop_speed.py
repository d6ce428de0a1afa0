"""How many steps WebShop makes in one second of CPU time, in process, over 1,000 products.

    python benchmarks/webshop_speed.py [--steps N] [--profile ROWS]

The shop is `WebShopEnv` over 1,000 products of `webshop_data` with synthetic goals, the episodes are those of
`webshop_walk` (the mix of recorded episodes). Only time inside reset() and step() counts. Bar: 2,000 steps a
CPU-second.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from webshop_data import write
from webshop_walk import Walker

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "env_specs" / "webshop"))

from envhub_webshop import WebShopEnv

BAR = 2_000
PRODUCTS = 1_000
LONGEST = 30
"""Steps after which an episode is left."""


def play(env: WebShopEnv, steps: int, seed: int) -> tuple[float, dict[str, list[float]]]:
    """Play episodes.

    Returns:
        The CPU seconds of all resets and steps, and those of each step by kind of action.
    """
    walker = Walker(seed)
    times: dict[str, list[float]] = {}
    spent = 0.0
    episode = done = 0
    while done < steps:
        begin = time.process_time()
        _, info = env.reset(seed=seed * 1_000_000 + episode)
        spent += time.process_time() - begin
        episode += 1
        walker.begin(info["instruction"])
        for _ in range(LONGEST):
            kind, action = walker.action(info["available_actions"])
            begin = time.process_time()
            _, _, over, _, info = env.step(action)
            taken = time.process_time() - begin
            times.setdefault(kind, []).append(taken)
            spent += taken
            done += 1
            if over:
                break
    return spent, times


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument(
        "--profile", type=int, default=15, metavar="ROWS", help="rows of the profile, 0 for none"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), PRODUCTS)
        env = WebShopEnv(data_dir=folder, human_goals=False)
    play(env, 500, seed=1)
    spent, times = play(env, arguments.steps, seed=2)
    steps = sum(map(len, times.values()))
    mix = Counter({kind: len(each) for kind, each in times.items()})
    print(f"{'action':16}{'share':>7}{'CPU us':>9}")
    for kind, count in mix.most_common():
        print(f"{kind:16}{count / steps:7.1%}{sum(times[kind]) / count * 1e6:9.0f}")
    rate = steps / spent
    print(f"{steps} steps in {spent:.2f} CPU s with resets: {rate:.0f} steps per CPU-second (bar {BAR})")
    if arguments.profile:
        profile = cProfile.Profile()
        profile.runcall(play, env, 5_000, 3)
        pstats.Stats(profile).sort_stats("tottime").print_stats(arguments.profile)
    return 0 if rate >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
