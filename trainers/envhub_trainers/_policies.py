"""Who plays: experts of the bundled environments, scripts, chat models behind an endpoint.

A policy is called with an observation and its info and returns the action, or awaits it. It may have
attributes that are read after each call and kept with the episode:

- `thought`: why it took the action, in words;
- `replies`: what a model wrote, the last of which named the action;
- `problems`: why those before could not be used, as the model was told.

Where it has a method `refused(problem)`, that is called when the hub refuses its action, and it is asked
again; without one the episode has failed.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envhub_trainers import _hooks

Policy = Callable[[Any, dict[str, Any]], Any | Awaitable[Any]]

EXPERTS = {
    "alfworld": "alfworld/envhub_alfworld/expert.py:Expert",
    "db": "db/envhub_db/expert.py:Expert",
    "frozenlake": "frozenlake/envhub_frozenlake/planner.py:Planner",
    "kg": "kg/envhub_kg/expert.py:Expert",
    "os": "os/envhub_os/expert.py:Expert",
    "webshop": "webshop/envhub_webshop/buyer.py:ScriptedBuyer",
}
"""Of each environment its expert, in the folder of the bundled specs."""


class Unreadable(Exception):
    """A model was asked again and again and named no action; the message is the last problem."""


class NoSuchPolicy(ValueError):
    """A policy was asked for that can't be had; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Player:
    """A policy to be played with."""

    facts: Mapping[str, Any]
    """What identifies it: a run that goes on must be played by the same."""
    make: Callable[[int], Policy]
    """Gives the policy of an episode with that seed."""


def load(reference: str, env: str, random_moves: float | None = None) -> Player:
    """Find a scripted policy.

    Args:
        reference: "expert"; or `module:name` or `file.py:name` of a function `(observation, info) -> action`
            or of a class whose objects are such functions. Of a class each episode has an object of its own,
            made with the arguments `seed` and `random_moves` where it takes them.
        env: Name of the environment, for its expert.
        random_moves: The share of random moves, for a class that takes it.

    Raises:
        NoSuchPolicy: It can't be found or used.
    """
    found = _found(reference, env)
    is_class: bool = inspect.isclass(found)
    takes = _keywords(found) if is_class else frozenset()
    if random_moves is not None and "random_moves" not in takes:
        raise NoSuchPolicy(f"{reference} has no share of random moves: leave out --random-moves")
    given: dict[str, Any] = {} if random_moves is None else {"random_moves": random_moves}
    facts = {"kind": "script", "name": reference, **given}
    if not is_class:
        return Player(facts, lambda seed: found)

    def make(seed: int) -> Policy:
        policy: Policy = found(**given, **({"seed": seed} if "seed" in takes else {}))
        return policy

    try:
        make(0)
    except Exception as reason:
        raise NoSuchPolicy(f"{reference} can't be made: {type(reason).__name__}: {reason}") from reason
    return Player(facts, make)


def _found(reference: str, env: str) -> Any:
    try:
        found = _hooks.load(_expert(env) if reference == "expert" else reference)
    except _hooks.HookNotFound as error:
        raise NoSuchPolicy(str(error)) from error
    if not callable(found):
        raise NoSuchPolicy(f"{reference} is no function or class, but {found!r:.80}")
    return found


def _expert(env: str) -> str:
    if env not in EXPERTS:
        known = ", ".join(sorted(EXPERTS))
        raise NoSuchPolicy(
            f"there is no expert for {env!r} (there are for {known}): give --policy file.py:function"
        )
    specs = importlib.util.find_spec("env_specs")
    for folder in specs.submodule_search_locations or () if specs is not None else ():
        if (Path(folder) / EXPERTS[env].partition(":")[0]).is_file():
            return str(Path(folder) / EXPERTS[env])
    raise NoSuchPolicy(f"the bundled environments are not installed, and with them the expert for {env}")


def _keywords(maker: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(maker).parameters)
    except (TypeError, ValueError):  # made in C
        return frozenset()
