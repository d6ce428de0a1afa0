"""The loop of a worker: read a frame, do what it asks, slot by slot, answer.

Replies to steps are gathered and sent together, `FLUSH_S` worth of them at a time and never behind
anything but a step. The loop ends when the hub closes its end of the socket.
"""

from __future__ import annotations

import importlib
import signal
import socket
import sys
import time
from bisect import bisect_left
from typing import Any, Callable, Optional

from . import codec, frames
from .alarm import alarm
from .replica import Answer, Replica
from .times import BOUNDS_S, Times

FLUSH_S = 0.001
STEPS = (frames.STEP, frames.REPLAY)
RECEIVE_BYTES = 1 << 16


class Environment:
    """What a worker builds its replicas from: the entry point, its config, its shared data.

    Args:
        order: The hub's order: `entry_point`, `path`, `config`, `limits`, `action`, `observation`, `splits`.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        if order["path"]:
            sys.path.insert(0, order["path"])
        module_name, _, attribute = order["entry_point"].partition(":")
        module = importlib.import_module(module_name)
        self._entry = getattr(module, attribute)
        load = getattr(self._entry, "load_shared", None) or getattr(module, "load_shared", None)
        self._arguments = dict(order["config"])
        if load is not None:
            self._arguments["shared"] = load(dict(order["config"]))

    def make(self) -> Any:
        """Builds one environment object."""
        return self._entry(**self._arguments)

    def describe(self, env: Any) -> dict[str, Any]:
        """What the hub tells its clients about this environment."""
        data_info = getattr(env, "data_info", None)
        metadata = getattr(env, "metadata", None) or {}
        return {
            "action_space": self.order["action"] or codec.space_to_json(getattr(env, "action_space", None)),
            "observation_space": self.order["observation"]
            or codec.space_to_json(getattr(env, "observation_space", None)),
            "splits": self._split_sizes(env),
            "data": data_info() if callable(data_info) else None,
            "native_snapshot": hasattr(env, "get_state") and hasattr(env, "set_state"),
            "render": bool(metadata.get("render_modes")) or "render" in vars(type(env)),
            "python": sys.version.split()[0],
        }

    def _split_sizes(self, env: Any) -> dict[str, Optional[int]]:
        tasks = getattr(env, "tasks", None)
        if not callable(tasks):
            return {split: None for split in self.order["splits"]}
        return {split: len(tasks(split)) for split in self.order["splits"]}


class Host:
    """The replicas of one worker and the operations on them."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._replicas: dict[int, Replica] = {}
        self.times = Times()
        """How long steps took since the last report."""
        self._resets = 0
        self._operations: dict[int, Callable[[Replica, bytes], Answer]] = {
            frames.MAKE: Replica.make,
            frames.RESET: Replica.reset,
            frames.RENDER: Replica.render,
            frames.TASKS: Replica.tasks,
            frames.GET_STATE: Replica.get_state,
            frames.SET_STATE: Replica.set_state,
            frames.CLOSE: Replica.close,
            frames.DESCRIBE: self._describe,
            frames.PING: self._report,
        }

    def _describe(self, replica: Replica, payload: bytes) -> Answer:
        return replica.describe(self._environment.describe)

    def _report(self, replica: Replica, payload: bytes) -> Answer:
        """What was done since the last report."""
        counts, seconds = self.times.take()
        resets, self._resets = self._resets, 0
        return frames.DONE, codec.dump({"resets": resets, "steps": counts, "seconds": seconds})

    def replica(self, slot: int) -> Replica:
        """The replica in a slot; an empty slot gets one."""
        found = self._replicas.get(slot)
        if found is None:
            order = self._environment.order
            found = self._replicas[slot] = Replica(self._environment.make, order["action"], order["limits"])
        return found

    def answer(self, operation: int, slot: int, payload: bytes) -> Answer:
        """Does one operation."""
        replica = self._replicas.get(slot) or self.replica(slot)
        if operation in STEPS:
            return replica.step(payload)
        self._resets += operation == frames.RESET
        return self._operations[operation](replica, payload)

    def close(self) -> None:
        """Closes every environment."""
        for replica in self._replicas.values():
            replica.close()


def serve(environment: Environment, channel: socket.socket) -> None:
    """Answers the hub until it closes the channel."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is the hub's to handle
    alarm.install()
    host = Host(environment)
    reader = frames.FrameReader()
    received = memoryview(bytearray(RECEIVE_BYTES))  # one for all: many leave the heap in pieces
    clock, step = time.perf_counter, frames.STEP
    counts = host.times.counts
    try:
        while True:
            size = channel.recv_into(received)
            if not size:
                break
            replies: list[frames.Message] = []
            begun = last = clock()
            seconds = 0.0
            for number, operation, slot, payload in reader.feed(received[:size]):
                if operation not in STEPS and replies:  # it may take long, and the hub times each kind
                    channel.sendall(frames.pack(replies))
                    replies, last = [], clock()
                code, body = host.answer(operation, slot, payload)
                replies.append((number, code, slot, body))
                now = clock()
                if operation == step:
                    counts[bisect_left(BOUNDS_S, now - begun)] += 1
                    seconds += now - begun
                begun = now
                if now - last > FLUSH_S:
                    channel.sendall(frames.pack(replies))
                    replies, last, begun = [], now, clock()
            host.times.seconds += seconds
            if replies:
                channel.sendall(frames.pack(replies))
    except (ConnectionResetError, BrokenPipeError):
        pass  # the hub is gone: nobody is left to answer
    finally:
        host.close()
