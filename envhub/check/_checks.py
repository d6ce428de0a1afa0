"""The checks. Each returns what it saw when all is well, and raises `Fault` or `NotTried` otherwise."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from envhub.check._lab import EPISODES, Lab
from envhub.check._player import Episode, Player, Refused, difference
from envhub.check._result import Fault, NotTried
from envhub.worker import frames
from envhub_sdk import spaces

Check = Callable[[Lab], Awaitable[str]]

END_STEPS = 1000
CLOSE_CYCLES = 6
TASKS_LOOKED_AT = 1000
NO_SUCH = "envhub-check-no-such"
NOT_JSON = re.compile("has no JSON form|info must be a dict")  # the worker's words


async def results_are_json(lab: Lab) -> str:
    """Observations and infos have a JSON form, and an info is an object."""
    if lab.failure is not None:
        if not NOT_JSON.search(str(lab.failure)):
            raise NotTried("the episodes could not be played: see 'plays'")
        next_step = "return text, numbers, lists, dicts or arrays as observation and in a dict as info"
        raise Fault(str(lab.failure), next_step, lab.failure.traceback)
    return f"{sum(len(episode.points) for episode in lab.episodes)} infos are JSON objects"


async def episodes_play(lab: Lab) -> str:
    """Reset and step work, for a few episodes of random actions."""
    if lab.failure is not None:
        if NOT_JSON.search(str(lab.failure)):
            raise NotTried("an episode stopped at a value without a JSON form: see 'json'")
        raise lab.failure
    steps = sum(len(episode.actions) for episode in lab.episodes)
    refused = sum(bool(point.refusal) for episode in lab.episodes for point in episode.points)
    return f"{EPISODES} episodes, {steps} steps, {refused} of them refused"


async def spaces_hold(lab: Lab) -> str:
    """Every observation lies in its space, and every action that is offered can be taken."""
    space = lab.observation_space()
    for episode in lab.episodes:
        for step, point in enumerate(episode.points):
            if point.refusal and point.offered:
                raise Fault(
                    f"step {step} refused an action of info['available_actions']: {point.refusal}",
                    "offer only actions that step takes and the action space holds",
                )
            if space is not None and not point.refusal:
                _require_inside(space, point.observation, step)
    if space is None:
        raise NotTried("there is no observation space", "declare [observation] space in envhub.toml")
    return f"every observation lies in its {lab.description['observation_space']['type']} space"


def _require_inside(space: Any, observation: Any, step: int) -> None:
    try:
        inside = space.contains(spaces.decode(space, observation))
    except ValueError:
        inside = False
    if not inside:
        raise Fault(
            f"the observation at step {step} is outside {space!r:.120}: {observation!r:.120}",
            "widen [observation] space, or return what it declares",
        )


async def same_seed_same_episode(lab: Lab) -> str:
    """The same seeds and actions give the same episodes in a process with another hash seed."""
    pool = await lab.pool(1)
    (replica, _) = await pool.acquire(2, 0)
    player = Player(replica)
    for episode in lab.episodes:
        differs = difference(episode.points, await player.replay(episode))
        if differs:
            raise Fault(
                f"in another process seed {episode.seed} gave another episode: {differs}",
                "draw everything from the seed given to reset; use no clock, no hash() and no order of sets",
            )
    return f"{EPISODES} episodes are the same in another process"


async def reset_starts_afresh(lab: Lab) -> str:
    """Nothing of an episode is left after a reset of the same replica."""
    player, _ = lab.fresh()
    episode = lab.longest
    for again in (False, True):
        differs = difference(episode.points, await player.replay(episode))
        if differs:
            raise Fault(
                f"played {'again' if again else 'alone'} on one replica, the episode differs: {differs}",
                "set all state in reset, so that nothing of the last episode is left",
            )
    return "an episode played twice on one replica is the same"


async def step_after_the_end_is_refused(lab: Lab) -> str:
    """A finished episode takes no further step."""
    player, _ = lab.fresh()
    episode = await player.play(0, lab.action_space, lab.served.limits.max_episode_steps or END_STEPS)
    if not episode.points[-1].over:
        raise NotTried(
            f"the episode did not end within {len(episode.actions)} random steps",
            "set max_episode_steps under [limits] where episodes should end",
        )
    try:
        await player.ask(frames.STEP, episode.actions[-1])
    except Refused as refused:
        if refused.code == "episode_over":
            return f"refused after the end at step {len(episode.actions)}"
        raise
    raise Fault("a step after the end was executed", "let terminated or truncated end the episode for good")


async def replicas_share_no_state(lab: Lab) -> str:
    """Two replicas of one process, played in turns, behave as each alone."""
    one, other = lab.fresh()
    episode = lab.longest
    first, second = [await one.reset(episode.seed)], []
    for step, action in enumerate(episode.actions):  # the other follows a step behind: so it can do harm
        first += await one.take([action])
        before = episode.actions[step - 1 : step]
        second += await other.take(before) if step else [await other.reset(episode.seed)]
    second += await other.take(episode.actions[-1:])
    for points in (first, second):
        differs = difference(episode.points, points)
        if differs:
            raise Fault(
                f"two replicas in one process disturb each other: {differs}",
                "keep an episode's state in the object, not in the class or the module",
            )
    return "two replicas played in turns behave as one alone"


async def snapshots_round_trip(lab: Lab) -> str:
    """A state that was taken restores into other replicas, which go on as the first does."""
    if not lab.description["native_snapshot"]:
        raise NotTried("no get_state and set_state: the hub replays episodes instead")
    source, fresh = lab.fresh()
    used, _ = lab.fresh()
    episode = lab.longest
    half = len(episode.actions) // 2
    await source.replay(episode, half)
    _, state = await source.ask(frames.GET_STATE)
    if state is None:
        raise NotTried("get_state gives none as it stands: the hub replays episodes instead")
    await used.replay(lab.episodes[-1])
    for player, which in ((source, "the replica itself"), (fresh, "a new replica"), (used, "a used replica")):
        if player is not source:
            await player.ask(frames.SET_STATE, json.dumps(state).encode())
        found = await player.take(episode.actions[half:])
        differs = difference(episode.points[half + 1 :], found, half + 1)
        if differs:
            raise Fault(
                f"after get_state at step {half}, {which} went on differently: {differs}",
                "put everything that decides what follows into get_state, and all of it back in set_state",
            )
    return f"a state taken at step {half} goes on equally in two other replicas"


async def tasks_are_well_formed(lab: Lab) -> str:
    """Every split lists its tasks, and its first and last can be played; a split may be empty."""
    splits = _splits(lab)
    if not any(splits.values()):
        raise Fault("no split has a task", "let tasks(split) return a task at least for one of them")
    player, _ = lab.fresh()
    seen: set[str] = set()
    for split, size in splits.items():
        if size == 0:
            continue
        tasks = (await _page(player, split, 0, TASKS_LOOKED_AT))["tasks"]
        last = (await _page(player, split, max(size - 1, 0), 1))["tasks"]
        if len(tasks) != min(size, TASKS_LOOKED_AT) or len(last) != 1:
            raise Fault(
                f"split {split!r} has the length {size}, but {len(tasks)} first and {len(last)} last tasks",
                "let tasks(split) return a sequence whose len() and slices agree",
            )
        for task in tasks:
            _require_task(task, split, seen)
        for task in (tasks[0], last[0]):
            await player.reset(0, {"task": task})
    return ", ".join(f"{split}: {size}" for split, size in splits.items())


def _splits(lab: Lab) -> dict[str, int]:
    splits = {split: size for split, size in lab.description["splits"].items() if size is not None}
    if not splits:
        raise NotTried("the spec has no splits with tasks")
    return splits


async def _page(player: Player, split: str, offset: int, limit: int) -> Any:
    request = {"split": split, "offset": offset, "limit": limit}
    _, page = await player.ask(frames.TASKS, json.dumps(request).encode())
    return page


def _require_task(task: Any, split: str, seen: set[str]) -> None:
    remedy = 'make each task {"id": "…", "split": "…"} with an id of its own'
    if not isinstance(task, dict) or not isinstance(task.get("id"), str) or not task["id"]:
        raise Fault(f"a task of split {split!r} has no id: {task!r:.120}", remedy)
    if task.get("split") != split:
        raise Fault(f"task {task['id']!r} of split {split!r} has the split {task.get('split')!r}", remedy)
    if task["id"] in seen:
        raise Fault(f"two tasks have the id {task['id']!r}", remedy)
    seen.add(task["id"])


async def unknown_task_is_refused(lab: Lab) -> str:
    """A task that does not exist is refused, and the running episode goes on."""
    _splits(lab)
    player, _ = lab.fresh()
    episode = lab.longest
    half = len(episode.actions) // 2
    await player.replay(episode, half)
    remedy = 'raise an exception with envhub_code = "unknown_task" before reset changes anything'
    try:
        await player.reset(0, {"task": {"id": NO_SUCH}})
    except Refused as refused:
        if refused.code != "unknown_task":
            raise Fault(f"a task with an unknown id answered {refused.code}: {refused}", remedy) from None
    else:
        raise Fault("a task with an unknown id was played", remedy)
    found = await player.take(episode.actions[half:])
    differs = difference(episode.points[half + 1 :], found, half + 1)
    if differs:
        raise Fault(f"the refusal changed the running episode: {differs}", remedy)
    return "refused, and the running episode went on"


async def close_releases(lab: Lab) -> str:
    """Closing an environment gives back its files, threads and child processes."""
    player, _ = lab.fresh()
    short = Episode(lab.longest.seed, lab.longest.actions[:3])
    held: list[dict[str, int]] = []
    for _ in range(CLOSE_CYCLES):
        await player.replay(short)
        await player.ask(frames.CLOSE)
        held.append(_held_by(player.replica.worker.pid))
    for kind in held[0]:
        counts = [count[kind] for count in held[2:]]  # the first rounds may fill caches
        if all(later > earlier for earlier, later in itertools.pairwise(counts)):
            raise Fault(
                f"each episode leaves {kind} behind after close: {', '.join(map(str, counts))}",
                "release in close() all that reset and step have taken",
            )
    return f"{CLOSE_CYCLES} rounds of reset, {len(short.actions)} steps and close leave nothing behind"


def _held_by(pid: int) -> dict[str, int]:
    process = Path("/proc") / str(pid)
    children = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path("/proc", name, "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            children += int(stat.rpartition(")")[2].split()[1]) == pid
    return {
        "open files": len(os.listdir(process / "fd")),
        "threads": len(os.listdir(process / "task")),
        "child processes": children,
    }


# name -> (the check, the names of those that must have passed for it to mean anything)
CHECKS: dict[str, tuple[Check, tuple[str, ...]]] = {
    "json": (results_are_json, ("loads",)),
    "plays": (episodes_play, ("loads",)),
    "spaces": (spaces_hold, ("plays",)),
    "seeds": (same_seed_same_episode, ("plays",)),
    "resets": (reset_starts_afresh, ("seeds",)),
    "ends": (step_after_the_end_is_refused, ("plays",)),
    "isolation": (replicas_share_no_state, ("resets",)),
    "snapshots": (snapshots_round_trip, ("resets",)),
    "tasks": (tasks_are_well_formed, ("plays",)),
    "unknown-task": (unknown_task_is_refused, ("resets",)),
    "closes": (close_releases, ("plays",)),
}
