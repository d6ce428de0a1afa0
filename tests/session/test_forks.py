"""Forks are independent: a tree of them is what its branches are, each played alone."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envhub.pool import Pool
from envhub.session import Sessions
from envhub.spec import find
from envhub_sdk._wire import ForkRequest, OpenRequest, ResetRequest, StepItem

REPLICAS = 8
ACTIONS = {
    "frozenlake": ["left", "down", "right", "up"],
    "webshop": [
        "search[red shoes]",
        "click[next >]",
        "click[back to search]",
        "search[tea]",
        "click[buy now]",
    ],
    "dice": ["roll", "keep", "double"],
}
KIND = {"frozenlake": "native", "webshop": "native", "dice": "replay"}

DICE = """
import random

class Env:
    def reset(self, *, seed=None, options=None):
        self._random = random.Random(seed)
        self._points = [0]
        return list(self._points), {}

    def step(self, action):
        die = self._random.randint(1, 6)
        if action != "keep":
            self._points.append(die * (2 if action == "double" else 1))
        return list(self._points), float(die), len(self._points) > 9, False, {"die": die}
"""

Branch = tuple[int, tuple[str, ...]]
"""What led to a point: the seed and the actions since."""


class Tree:
    """Sessions that fork, step and go back, each with the seed and the actions that led to where it is."""

    def __init__(self, sessions: Sessions, env: str) -> None:
        self.sessions, self.env = sessions, env
        self.branches: dict[str, Branch] = {}
        self.points: list[tuple[str, Branch]] = []
        self.seen: dict[Branch, Any] = {}
        """What was observed at each point, and the reward and the ends that led there."""

    async def start(self, seed: int) -> str:
        reply = json.loads(await self.sessions.openings.open(self.env, OpenRequest(seeds=[seed])))
        (opened,) = reply["sessions"]
        self.branches[opened["id"]] = (seed, ())
        self._note((seed, ()), opened)
        return str(opened["id"])

    async def do(self, what: str, which: int, number: int) -> None:
        session = list(self.branches)[which % len(self.branches)]
        if what == "step":
            await self.step(session, ACTIONS[self.env][number % len(ACTIONS[self.env])])
        elif what == "reset":
            await self.reset(session, number)
        elif what == "snapshot":
            reply = json.loads(await self.sessions.points.snapshot(session))
            branch = self.branches[session]
            assert (reply["step_index"], reply["kind"]) == (len(branch[1]), KIND[self.env])
            self.points.append((reply["snapshot_id"], branch))
        elif what == "restore" and self.points:
            snapshot_id, branch = self.points[number % len(self.points)]
            reply = json.loads(await self.sessions.points.restore(session, snapshot_id))
            self._arrived(session, branch, reply)
        elif what == "fork":
            snapshot_id, branch = None, self.branches[session]
            if self.points and number % 2:
                snapshot_id, branch = self.points[number % len(self.points)]
            count = min(1 + number % 3, REPLICAS - len(self.branches))
            if count:
                request = ForkRequest(count, snapshot_id)
                for fork in json.loads(await self.sessions.points.fork(session, request))["sessions"]:
                    self._arrived(fork["id"], branch, fork)
        elif what == "close" and len(self.branches) > 1:
            self.sessions.close(session)
            del self.branches[session]

    async def step(self, session: str, action: str) -> None:
        seed, actions = self.branches[session]
        if self._over((seed, actions)):
            return
        item = StepItem(session, msgspec.Raw(json.dumps(action).encode()), len(actions))
        answer = await self._answer(lambda sink: self.sessions.step(session, item, False, sink))
        self.branches[session] = (seed, (*actions, action))
        self._note(self.branches[session], answer)

    async def reset(self, session: str, seed: int) -> None:
        answer = await self._answer(lambda sink: self.sessions.reset(session, ResetRequest(seed=seed), sink))
        self.branches[session] = (seed, ())
        self._note((seed, ()), answer)

    def _over(self, branch: Branch) -> bool:
        seen = self.seen[branch]
        return bool(seen.get("terminated") or seen.get("truncated"))

    def _arrived(self, session: str, branch: Branch, reply: dict[str, Any]) -> None:
        """Note where a restore or a fork has led."""
        self.branches[session] = branch
        assert (reply["seed"], reply["step_index"]) == (branch[0], len(branch[1]))
        known = self.seen[branch]
        assert (reply["observation"], reply["info"]) == (known["observation"], known["info"])

    def _note(self, branch: Branch, answer: dict[str, Any]) -> None:
        facts = {
            name: answer[name]
            for name in ("observation", "info", "reward", "terminated", "truncated")
            if name in answer
        }
        assert self.seen.setdefault(branch, facts) == facts, f"two ways to the same point differ: {branch}"

    async def _answer(self, ask: Callable[[Any], None]) -> dict[str, Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        ask(future.set_result)
        answer: dict[str, Any] = json.loads(await future)
        return answer

    async def check_alone(self) -> None:
        """Every branch that is left is what its actions are, played on a fresh session."""
        branches = set(self.branches.values())
        for session in list(self.branches):
            record = self.sessions.find(session).trajectory()
            seed, actions = self.branches[session]
            assert (record.seed, tuple(json.loads(bytes(step.action)) for step in record.steps)) == (
                seed,
                actions,
            )
            self.sessions.close(session)
        for seed, actions in branches:
            alone = Tree(self.sessions, self.env)
            session = await alone.start(seed)
            for action in actions:
                await alone.step(session, action)
            assert alone.seen.items() <= {point: self.seen[point] for point in alone.seen}.items()
            assert len(alone.seen) == len(actions) + 1
            self.sessions.close(session)


MOVES = st.tuples(
    st.sampled_from(["step"] * 5 + ["fork"] * 2 + ["snapshot", "restore", "reset", "close"]),
    st.integers(0, REPLICAS - 1),
    st.integers(0, 11),
)
"""What is done, by which session, and a number that chooses how."""


@pytest.fixture
def served(write_spec: Callable[..., Any]) -> Callable[[str], Any]:
    def resolve(name: str) -> Any:
        return (write_spec(DICE, name="dice") if name == "dice" else find(name)).resolve({})

    return resolve


@pytest.mark.parametrize("env", ACTIONS)
def test_a_tree_of_forks_is_its_branches_each_played_alone(env: str, served: Callable[[str], Any]) -> None:
    with asyncio.Runner() as runner:
        pool = Pool(served(env), REPLICAS, 2)
        runner.run(pool.start())
        try:

            @settings(max_examples=80, deadline=None)
            @given(seed=st.integers(0, 3), moves=st.lists(MOVES, min_size=6, max_size=40))
            def check(seed: int, moves: list[tuple[str, int, int]]) -> None:
                runner.run(grow(seed, moves))

            async def grow(seed: int, moves: list[tuple[str, int, int]]) -> None:
                sessions = Sessions({env: pool})
                tree = Tree(sessions, env)
                try:
                    await tree.start(seed)
                    for move in moves:
                        await tree.do(*move)
                    await tree.check_alone()
                finally:
                    sessions.close_all()
                assert pool.status().free == REPLICAS

            check()
        finally:
            runner.run(pool.stop())


async def test_the_hubs_end_waits_for_a_fork_between_its_awaits(make_stage: Any) -> None:
    stage = make_stage(2)
    session = (await stage.open())["id"]
    leased, may_go_on = asyncio.Event(), asyncio.Event()
    acquire = stage.acquire

    async def slowly(count: int, wait_s: float) -> Any:
        replicas = await acquire(count, wait_s)
        leased.set()
        await may_go_on.wait()
        return replicas

    stage.acquire = slowly
    stage.turn_away = lambda reason: None
    forking = asyncio.ensure_future(stage.sessions.points.fork(session, ForkRequest(1)))
    await leased.wait()
    draining = asyncio.ensure_future(stage.sessions.drain(3600))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not draining.done()
    may_go_on.set()
    while not forking.done():
        await asyncio.sleep(0)
        stage.perform()
    assert json.loads(forking.result())["sessions"][0]["id"]
    await draining
