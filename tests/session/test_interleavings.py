"""Any interleaving of requests, answers, losses and ends keeps the promises of a session."""

import asyncio
import json
import zlib
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from envhub.session import HubError

ACTIONS = st.sampled_from(["go", "left", "right", "go", "left", "end", "fail", "poison", "stuck"])
MAYBE = st.sampled_from(["current", "before", "none"])
"""Which episode a request names."""


class Interleavings(RuleBasedStateMachine):
    """Two sessions on one worker; their client sends, repeats and loses patience, and the worker dies.

    What is answered must be what an undisturbed run answers: the same seed, index and action, and a trace of
    exactly the actions that were answered before.
    """

    stage_class: Any
    env_class: Any

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.asked: list[tuple[dict[str, Any], Any]] = []
        self.answers: dict[tuple[str, int], bytes] = {}
        self.serials: dict[str, int] = {}
        self.episodes: dict[str, list[str]] = {}
        self.actions: dict[str, dict[int, str]] = {}

    def run(self, work: Any) -> Any:
        """Do something inside the event loop, as everything of a session is done."""

        async def inside() -> Any:
            result = work()
            return await result if asyncio.iscoroutine(result) else result

        return self.loop.run_until_complete(inside())

    @initialize()
    def open(self) -> None:
        self.stage = self.run(lambda: self.stage_class(2, slots=2, env=self.env_class))
        for opened in self.run(lambda: self.stage.open_all(count=2)):
            self.episodes[opened["id"]] = [opened["episode_id"]]
            self.serials[opened["episode_id"]] = opened["observation"][0]
        self.ids = list(self.episodes)

    def session(self, number: int) -> Any:
        return self.stage.sessions._sessions.get(self.ids[number])

    def under_suspicion(self, number: int) -> bool:
        """Whether one death more would make a session's request, or its replay, the one to blame."""
        session = self.session(number)
        if session is None:
            return False
        asked, replays = session._lease._asked, session._lease._replay_deaths
        return replays > 6 or (asked is not None and asked.deaths == 2)

    # -- what may happen ----------------------------------------------------------------------------

    @rule(number=st.integers(0, 1), action=ACTIONS, back=st.integers(-1, 2), named=MAYBE, auto=st.booleans())
    def step(self, number: int, action: str, back: int, named: str, auto: bool) -> None:
        session = self.session(number)
        at = session.history.episode.next_index if session else 0
        known = self.episodes[self.ids[number]]
        episode = {"current": known[-1], "before": known[max(len(known) - 2, 0)], "none": None}[named]
        request = {"id": self.ids[number], "action": action, "index": max(at - back, 0), "episode": episode}
        answers = self.run(
            lambda: self.stage.step(request["id"], action, request["index"], episode, autoreset=auto)
        )
        self.asked.append((request, answers))

    @rule(number=st.integers(0, 1))
    def reset(self, number: int) -> None:
        answers = self.run(lambda: self.stage.reset(self.ids[number]))
        self.asked.append(({"id": self.ids[number], "reset": True}, answers))

    @rule(count=st.integers(1, 3))
    def perform(self, count: int) -> None:
        self.run(lambda: self.stage.perform(count))
        self.check()

    @precondition(lambda self: self.stage.waiting)
    @rule()
    def perform_all(self) -> None:
        self.run(self.stage.perform)
        self.check()

    @rule(number=st.integers(0, 1), fate=st.sampled_from(["close"] + ["live"] * 7))
    def end(self, number: int, fate: str) -> None:
        session = self.session(number)
        if session is not None and fate == "close":
            self.run(lambda: self.stage.sessions.close(session.id))
            self.check()

    @precondition(lambda self: self.stage.workers[0].ready and not any(map(self.under_suspicion, (0, 1))))
    @rule()
    def die(self) -> None:
        self.run(self.stage.workers[0].die)
        self.check()

    @precondition(lambda self: not self.stage.workers[0].ready)
    @rule()
    def come_back(self) -> None:
        self.run(self.stage.workers[0].come_back)
        self.check()

    # -- what must hold -----------------------------------------------------------------------------

    def check(self) -> None:
        assert all(len(answers) <= 1 for _, answers in self.asked)
        waiting = [entry for entry in self.asked if not entry[1]]
        for request, answers in (entry for entry in self.asked if entry[1]):
            if isinstance(answers[0], HubError):
                self.check_error(request, answers[0])
            elif "reset" in request:
                self.note_start(request["id"], json.loads(answers[0]))
            else:
                self.check_step(request, answers[0])
        self.asked = waiting

    def check_step(self, request: dict[str, Any], answer: bytes) -> None:
        told = json.loads(answer)
        serial, count, action = told["observation"]
        assert told["info"]["trace"] == self.trace(request["id"], serial, count, action)
        if "reset" in told:
            self.note_start(request["id"], told["reset"])
        assert told["step_index"] == request["index"]
        assert (count, action) == (request["index"] + 1, request["action"])
        key = (f"{request['id']}/{serial}", count)
        assert self.answers.setdefault(key, answer) == answer, "one step was answered in two ways"
        if request["episode"] is not None and request["episode"] in self.serials:
            assert serial == self.serials[request["episode"]], "the step of another episode"

    def trace(self, session_id: str, serial: int, count: int, action: str) -> int:
        """The trace of an undisturbed run, from the steps that were answered."""
        taken = self.actions.setdefault(f"{session_id}/{serial}", {})
        assert taken.setdefault(count, action) == action
        value = 0
        for number in range(1, count + 1):
            value = zlib.crc32(json.dumps(taken[number]).encode(), value)
        return value

    def check_error(self, request: dict[str, Any], error: HubError) -> None:
        if error.code == "step_index_conflict":
            assert error.details["received"] == request["index"]
        else:
            assert error.code in {
                "environment_error",
                "step_timeout",
                "episode_failed",
                "episode_over",
                "session_closed",
            }
            if error.code == "environment_error":
                assert request["action"] in ("fail", "poison", "stuck"), "an innocent one was blamed"
            if error.code == "step_timeout":
                assert request["action"] == "stuck", "an innocent one was blamed"

    def note_start(self, session_id: str, start: dict[str, Any]) -> None:
        if start["episode_id"] not in self.serials:
            self.serials[start["episode_id"]] = start["observation"][0]
            self.episodes[session_id].append(start["episode_id"])

    def teardown(self) -> None:
        try:
            if hasattr(self, "stage"):
                self.check_end()
        finally:
            self.loop.close()

    def check_end(self) -> None:
        for _ in range(40):  # every poison takes some workers more
            if not self.stage.workers[0].ready:
                self.run(self.stage.workers[0].come_back)
            self.run(self.stage.perform)
        self.check()
        assert not self.asked, "a request was never answered"
        for session_id in self.ids:
            self.run(lambda session_id=session_id: self.stage.sessions.close(session_id))
        assert len(self.stage.free) == self.stage.total, "a replica leaked"


@pytest.mark.parametrize("native", [False, True], ids=["replayed", "native"])
def test_interleavings(make_stage: Any, native_tally: Any, native: bool) -> None:
    Interleavings.stage_class = make_stage
    Interleavings.env_class = native_tally if native else native_tally.__base__
    run_state_machine_as_test(
        Interleavings, settings=settings(max_examples=100, stateful_step_count=30, deadline=None)
    )
