"""Sessions out of a log: any torn log gives a session as it was at some moment, and nothing is invented."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from envhub.record import Facts, Log, Reading, Recorder, SessionRecord, _recorder, now_us
from envhub.session._episode import Episode
from envhub.session._saved import SavedSession, read_saved

FACTS = Facts("walk", "1.0.0", {}, {}, None, {})
START = b'{"observation":"start","info":{}}'


def transition(index: int, ends: bool) -> bytes:
    said: dict[str, Any] = {"observation": f"at {index}", "reward": 0.25, "terminated": ends}
    return json.dumps({**said, "truncated": False, "info": {}}).encode()


def play(record: SessionRecord, episode: Episode, steps: int) -> list[bytes]:
    """Plays as a session does; returns what it answered."""
    answers = []
    for index in range(steps):
        ends = index == steps - 1
        answer = episode.record(b'"go"', transition(index, ends), int(ends))
        record.step(b'"go"', answer, now_us() * 1000)
        answers.append(answer)
    return answers


def begin(record: SessionRecord, number: int, more: bytes = b"") -> Episode:
    episode = Episode(f"s-1.{number}", 10 + number, {"id": "t"}, {"split": "test"}, START)
    record.episode(episode.id, [episode.line(record, more)])
    return episode


async def write(folder: Path) -> tuple[list[Episode], list[bytes]]:
    """A session with two episodes, the second begun by the last step of the first."""
    recorder = Recorder(Log(folder))
    record = recorder.session("s-1", FACTS, 600.0)
    record.opened()
    first = begin(record, 1)
    answers = play(record, first, 3)
    second = begin(record, 2, b',"autoreset":true')
    answers[-1] = first.amend(b'"reset":%b' % second.reply())
    answers += play(record, second, 2)
    recorder.close()
    return [first, second], answers


def read(folder: Path) -> list[SavedSession]:
    sessions, _ = read_saved(Reading(folder).events())
    return sessions


async def test_every_answer_is_repeated_byte_for_byte(tmp_path: Path) -> None:
    (first, second), answers = await write(tmp_path)
    (saved,) = read(tmp_path)
    assert saved.episode is not None and saved.before is not None
    assert (saved.episodes, saved.episode.id, saved.before.id) == (2, "s-1.2", "s-1.1")
    assert saved.before.again(2, b'"go"') == answers[2]
    assert saved.episode.again(1, b'"go"') == answers[4]
    assert saved.episode.plan() == second.plan()
    assert saved.episode.request() == second.request()
    assert saved.episode.reply() == second.reply()
    assert (saved.episode.total_reward, saved.episode.flags) == (0.5, 1)
    assert saved.before.total_reward == first.total_reward


async def test_a_log_torn_at_any_byte_gives_the_session_as_it_was(tmp_path: Path) -> None:
    _, answers = await write(tmp_path)
    file = tmp_path / "events-000001.jsonl"
    whole = file.read_bytes()
    reached = set()
    for length in range(len(whole) + 1):
        file.write_bytes(whole[:length])
        Log(tmp_path).close()
        lines = whole[:length].count(b"\n")
        sessions = read(tmp_path)
        assert len(sessions) == (lines > 0)
        for saved in sessions:
            assert not saved.damaged
            steps = saved.episode.next_index if saved.episode else 0
            reached.add((saved.episodes, steps))
            assert steps == lines - 2 - (4 if saved.episodes == 2 else 0) or lines == 1
            if saved.episode is not None and steps:
                played = answers[steps - 1] if saved.episodes == 1 else answers[2 + steps]
                unamended = played.partition(b',"reset":')[0]
                assert saved.episode.again(steps - 1, b'"go"') in (played, unamended + b"}")
    assert reached == {(0, 0), *((1, step) for step in range(4)), *((2, step) for step in range(3))}


async def test_what_is_compacted_is_the_same_session(tmp_path: Path) -> None:
    (first, second), answers = await write(tmp_path)
    second.rebase(1, b'{"state":1}')
    state = Log(tmp_path / "state")
    recorder = Recorder(state=state)
    record = recorder.session("s-1", FACTS, 600.0)
    recorder.open_sessions = lambda: [
        record.opened_line(),
        *first.lines(record, last=1),
        *second.lines(record),
    ]
    record.ended("session_closed", "something older")
    recorder.flush()
    await recorder.compact()
    (saved,) = read(tmp_path / "state")
    assert saved.episode is not None and saved.before is not None
    assert saved.before.again(2, b'"go"') == answers[2]
    assert saved.episode.again(1, b'"go"') == answers[4]
    assert saved.episode.plan() == second.plan() == (b'{"state":1}', [(b'"go"', answers[4])])
    assert (saved.before.total_reward, saved.episode.total_reward) == (0.75, 0.5)
    assert saved.episode.next_index == 2


async def test_a_session_with_a_missing_step_is_not_gone_on_with(tmp_path: Path) -> None:
    await write(tmp_path)
    file = tmp_path / "events-000001.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:3] + lines[4:5]))
    (saved,) = read(tmp_path)
    assert saved.damaged


async def test_a_step_that_can_not_be_read_damages_its_session_and_no_other(tmp_path: Path) -> None:
    await write(tmp_path)
    recorder = Recorder(Log(tmp_path))
    forged = recorder.session("s-2", FACTS, 600.0)
    forged.opened()
    episode = Episode("s-2.1", 5, None, {}, START)
    forged.episode(episode.id, [episode.line(forged)])
    forged.step(b'"go"', b'{"observation":1,"step_index":0}', 0)
    recorder.close()
    assert [saved.damaged for saved in read(tmp_path)] == [False, True]


async def test_an_ended_session_is_gone(tmp_path: Path) -> None:
    await write(tmp_path)
    recorder = Recorder(Log(tmp_path))
    recorder.session("s-1", FACTS, 600.0).ended("session_closed", "closed")
    recorder.close()
    assert read(tmp_path) == []


async def test_a_compaction_lets_the_loop_turn_and_loses_nothing_that_happens_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_recorder, "SLICE_BYTES", 2000)
    recorder = Recorder(state=Log(tmp_path))
    played = [Played(recorder, number) for number in range(40)]
    recorder.open_sessions = lambda: (one.lines() for one in list(played) if not one.ended)
    for one in played:
        one.step()
    recorder.flush()
    steps = [0]

    async def go_on() -> None:
        while True:
            for one in played[::3]:
                one.step()
            for one in played[1::3]:
                one.reset()
            if steps[0] == 2:
                played.append(Played(recorder, 40))
                played[38].end()
                played[2].end()
            steps[0] += 1
            await asyncio.sleep(0)

    going = asyncio.create_task(go_on())
    await asyncio.sleep(0)
    await recorder.compact()
    assert steps[0] > 10, "the loop must turn between slices"
    going.cancel()
    recorder.close()
    assert not (tmp_path / "events-000001.jsonl").exists()
    saved = {one.opened.session: one for one in read(tmp_path)}
    assert saved.keys() == {one.id for one in played if not one.ended}
    for one in played:
        if not one.ended:
            episode = saved[one.id].episode
            assert episode is not None and not saved[one.id].damaged
            assert (episode.id, episode.next_index) == (one.episode.id, one.episode.next_index)


class Played:
    """A session that writes down what it does, as the hub's do."""

    def __init__(self, recorder: Recorder, number: int) -> None:
        self.id, self.ended = f"s-{number}", False
        self._record = recorder.session(self.id, FACTS, 600.0)
        self._record.opened()
        self._episodes = 0
        self.reset()

    def reset(self) -> None:
        self._episodes += 1
        self.episode = Episode(f"{self.id}.{self._episodes}", self._episodes, None, {}, START)
        self._record.episode(self.episode.id, [self.episode.line(self._record)])

    def step(self) -> None:
        answer = self.episode.record(b'"go"', transition(self.episode.next_index, False), 0)
        self._record.step(b'"go"', answer, 0)

    def end(self) -> None:
        self.ended = True
        self._record.ended("session_closed", "closed")

    def lines(self) -> bytes:
        return b"".join([self._record.opened_line(), *self.episode.lines(self._record)])
