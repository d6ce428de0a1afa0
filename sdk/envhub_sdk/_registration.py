"""Environments of a hub under Gymnasium's own `make` and `make_vec`, in the namespace `envhub`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

import gymnasium

from envhub_sdk._env import Env
from envhub_sdk._hub import Hub
from envhub_sdk._vector import VectorEnv

__all__ = ["register_envs"]

NAMESPACE = "envhub"
BUNDLED = ("alfworld", "db", "echo", "frozenlake", "kg", "os", "webshop")
"""Environments that come with EnvHub. Whether a hub serves one is found out by `make`."""


def register_envs(envs: Hub | Iterable[str]) -> list[str]:
    """Register environments with Gymnasium, as `envhub/NAME`.

    Importing the SDK registers the ones that come with EnvHub. `gymnasium.make` takes the arguments of
    `Hub.make` and, to say which hub, `url` and `token`; `gymnasium.make_vec` those of `Hub.make_vec`.

    Args:
        envs: A hub, to register everything it serves; or names.

    Returns:
        The ids, for `gymnasium.make`.
    """
    url = envs.url if isinstance(envs, Hub) else None
    names = [info.name for info in envs.envs()] if isinstance(envs, Hub) else list(envs)
    return [_register(name, url) for name in names]


def _register(name: str, url: str | None) -> str:
    env_id = f"{NAMESPACE}/{name}"
    gymnasium.registry.pop(env_id, None)  # registering again is no mistake here, so no warning
    gymnasium.register(
        env_id,
        entry_point=f"{__name__}:make",
        vector_entry_point=f"{__name__}:make_vec",
        kwargs={"name": name} | ({} if url is None else {"url": url}),
    )
    return env_id


def make(name: str, *, url: str | None = None, token: str | None = None, **kwargs: Any) -> Env:
    """Entry point of `gymnasium.make("envhub/NAME")`."""
    hub = _share(url, token)
    try:
        env = hub.make(name, **kwargs)
    except BaseException:
        _give_back(hub)
        raise
    env._on_close = lambda: _give_back(hub)
    env._on_fork = lambda: _share_more(hub)
    return env


def make_vec(
    name: str, *, num_envs: int, url: str | None = None, token: str | None = None, **kwargs: Any
) -> VectorEnv:
    """Entry point of `gymnasium.make_vec("envhub/NAME")`."""
    hub = _share(url, token)
    try:
        env = hub.make_vec(name, num_envs, **kwargs)
    except BaseException:
        _give_back(hub)
        raise
    env._on_close = lambda: _give_back(hub)
    return env


# Environments made by Gymnasium share a client for each hub; the last one to be closed closes it.
_Key = tuple[str | None, str | None, int]
_lock = threading.Lock()
_hubs: dict[_Key, Hub] = {}
_users: dict[_Key, int] = {}


def _share(url: str | None, token: str | None) -> Hub:
    key = (url or os.environ.get("ENVHUB_URL"), token or os.environ.get("ENVHUB_TOKEN"), os.getpid())
    with _lock:
        if key not in _hubs:
            _hubs[key] = Hub(url, token=token)
        _users[key] = _users.get(key, 0) + 1
        return _hubs[key]


def _share_more(hub: Hub) -> None:
    with _lock:
        _users[_key_of(hub)] += 1


def _key_of(hub: Hub) -> _Key:
    return next(key for key, shared in _hubs.items() if shared is hub)


def _give_back(hub: Hub) -> None:
    with _lock:
        key = _key_of(hub)
        _users[key] -= 1
        if _users[key] > 0:
            return
        del _hubs[key], _users[key]
    hub.close()


register_envs(BUNDLED)
