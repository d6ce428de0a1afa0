"""What a recorder wrote is read back, as events and as episodes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envhub.record import (
    Dropped,
    Facts,
    Log,
    Reading,
    RecordedEpisode,
    Recorder,
    SessionRecord,
    Stepped,
    now_us,
    read_exported,
)
from envhub.record._events import encode

FACTS = Facts("walk", "1.2.0", {"size": 3}, {"max_episode_steps": 5}, "sha256:0", {"run": "a"}, "ann")
START = b'{"observation":[0],"info":{"task":{"id":"t-1","split":"test"}}}'


def answer(index: int, reward: float = 0.5, ends: bool = False) -> bytes:
    step: dict[str, Any] = {"observation": [index + 1], "reward": reward, "terminated": ends}
    return json.dumps({**step, "truncated": False, "info": {}, "step_index": index}).encode()


def begin(session: SessionRecord, episode: str, seed: int = 7) -> None:
    session.episode(episode, [session.episode_line(episode, seed, b"null", b"{}", START)])


def take(session: SessionRecord, index: int, ends: bool = False, action: bytes = b'"go"') -> None:
    session.step(action, answer(index, ends=ends), now_us() * 1000)


@pytest.fixture
async def recorder(tmp_path: Path) -> Recorder:
    return Recorder(Log(tmp_path))


def test_there_must_be_a_record(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no record at"):
        Reading(tmp_path)


async def test_interleaved_episodes_come_back_whole(recorder: Recorder, tmp_path: Path) -> None:
    one, two = (recorder.session(name, FACTS, 60.0) for name in ("s-1", "s-2"))
    for session in (one, two):
        session.opened()
        begin(session, f"{session._session}.1")
    for index in range(3):
        take(one, index, ends=index == 2)
        take(two, index)
    begin(one, "s-1.2", seed=8)
    take(one, 0)
    two.failed("s-2.1", "environment_error", "it broke")
    two.ended("session_closed", "closed")
    recorder.flush()
    first, second, third = Reading(tmp_path).episodes()
    assert (first.id, first.outcome, len(first.steps), first.total_reward) == ("s-1.1", "terminated", 3, 1.5)
    assert (second.id, second.outcome, second.ended) == ("s-2.1", "failed", "session_closed")
    assert second.error == ("environment_error", "it broke")
    assert (third.id, third.outcome, third.started.seed, third.ended) == ("s-1.2", "unfinished", 8, None)
    assert first.started.config == {"size": 3} and first.started.owner == "ann"
    assert (first.task_id, first.split, first.success) == ("t-1", "test", True)


async def test_actions_and_answers_are_kept_as_they_were(recorder: Recorder, tmp_path: Path) -> None:
    session = recorder.session("s-1", FACTS, 60.0)
    begin(session, "s-1.1")
    spaced = b'{ "go" :\n [1.0,\n 2e0, "\\n"] }'
    take(session, 0, action=spaced)
    recorder.flush()
    (event,) = [event for event in Reading(tmp_path).events() if isinstance(event, Stepped)]
    assert bytes(event.action) == spaced.replace(b"\n", b" ")
    assert bytes(event.answer) == answer(0)


async def test_a_step_is_written_before_whoever_waits_for_it_wakes(
    recorder: Recorder, tmp_path: Path
) -> None:
    session = recorder.session("s-1", FACTS, 60.0)
    begin(session, "s-1.1")
    recorder.flush()
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    async def waiter(future: asyncio.Future[None]) -> None:
        await future
        seen.append(sum(len(episode.steps) for episode in Reading(tmp_path).episodes()))

    waiters = []
    for index in range(3):
        future = loop.create_future()
        waiters.append(asyncio.create_task(waiter(future)))
        await asyncio.sleep(0)
        take(session, index)
        future.set_result(None)
    await asyncio.gather(*waiters)
    assert seen == [1, 2, 3]


async def test_a_step_that_can_not_be_read_damages_its_episode_and_no_other(
    recorder: Recorder, tmp_path: Path
) -> None:
    forged, whole = recorder.session("s-1", FACTS, 60.0), recorder.session("s-2", FACTS, 60.0)
    begin(forged, "s-1.1")
    begin(whole, "s-2.1")
    forged.step(b'"go"', b'{"observation":1,"step_index":0}', 0)
    take(forged, 1)
    take(whole, 0, ends=True)
    recorder.flush()
    reading = Reading(tmp_path)
    found = {episode.id: (len(episode.steps), episode.whole) for episode in reading.episodes()}
    assert found == {"s-1.1": (1, False), "s-2.1": (1, True)}
    assert reading.damaged == 1


async def test_damaged_and_headless_lines_are_left_out_and_counted(
    recorder: Recorder, tmp_path: Path
) -> None:
    session = recorder.session("s-1", FACTS, 60.0)
    begin(session, "s-1.1")
    take(session, 0)
    recorder.flush()
    file = tmp_path / "events-000001.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    other = lines[1].replace(b"s-1.1", b"s-9.1")
    file.write_bytes(lines[0] + b"\0\0\0\n" + other + lines[1] + lines[1][:-5])
    reading = Reading(tmp_path)
    (episode,) = reading.episodes()
    assert (len(episode.steps), reading.damaged, reading.headless) == (1, 1, 1)


async def test_an_export_is_read_back(recorder: Recorder, tmp_path: Path) -> None:
    session = recorder.session("s-1", FACTS, 60.0)
    begin(session, "s-1.1")
    take(session, 0)
    take(session, 1, ends=True)
    recorder.flush()
    (episode,) = Reading(tmp_path).episodes()
    file = tmp_path / "export.jsonl"
    file.write_bytes(msgspec.json.encode(episode.export()) + b"\n")
    (again,) = read_exported(file)
    assert told(again) == told(episode)
    file.write_text('{"env": 1}\n')
    with pytest.raises(ValueError, match="line 1: not an exported episode"):
        list(read_exported(file))


def told(episode: RecordedEpisode) -> bytes:
    return msgspec.json.encode(episode.export())


async def test_episodes_whose_steps_were_dropped_are_incomplete(recorder: Recorder, tmp_path: Path) -> None:
    gap, tail, whole, over = (recorder.session(f"s-{number}", FACTS, 60.0) for number in range(4))
    for session in (gap, tail, whole, over):
        session.opened()
        begin(session, f"{session._session}.1")
        take(session, 0, ends=session is over)
    recorder.add(encode(Dropped(bytes=99, time_us=1)) + b"\n")
    take(gap, 3, ends=True)
    take(whole, 1, ends=True)
    for session in (gap, tail, whole, over):
        session.ended("session_closed", "closed")
    recorder.flush()
    episodes = list(Reading(tmp_path).episodes())
    outcomes = [episode.outcome for episode in episodes]
    assert outcomes == ["incomplete", "incomplete", "terminated", "terminated"]
    assert [episode.finished for episode in episodes] == [False, False, True, True]
    file = tmp_path / "export.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(one.export()) + b"\n" for one in episodes))
    exported = list(read_exported(file))
    assert [episode.outcome for episode in exported] == outcomes
    assert [told(episode) for episode in exported] == [told(episode) for episode in episodes]
    assert [json.loads(told(episode))["complete"] for episode in episodes] == [False, False, True, True]
