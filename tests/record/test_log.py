"""The log: torn tails, rotation, one writer, a full disk."""

import errno
import logging
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envhub.record import Log, LogBusy, Recorder, _backlog, _log
from envhub.record._events import Compacted, Dropped, decode
from envhub.record._log import segments


def content(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in segments(folder))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=6)
)
def test_a_tail_torn_at_any_byte_is_cut_and_nothing_else(
    lines: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    whole = b"".join(line + b"\n" for line in lines)
    file = folder / "events-000001.jsonl"
    for length in range(len(whole) + 1):
        file.write_bytes(whole[:length])
        log = Log(folder)
        good = whole[: whole[:length].rfind(b"\n") + 1]
        assert content(folder) == good
        log.write(b"next\n")
        log.close()
        assert content(folder) == good + b"next\n"


def test_a_torn_line_longer_than_a_block_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "events-000001.jsonl"
    file.write_bytes(b"good\n" + b"x" * 200_000)
    Log(tmp_path).close()
    assert file.read_bytes() == b"good\n"


def test_a_full_file_is_followed_by_the_next(tmp_path: Path) -> None:
    log = Log(tmp_path, segment_bytes=10)
    for number in range(4):
        log.write(b"line %d\n" % number)
        if log.full:
            log.rotate()
    log.close()
    assert [file.read_bytes() for file in segments(tmp_path)] == [
        b"line 0\nline 1\n",
        b"line 2\nline 3\n",
        b"",
    ]


def test_replacing_leaves_one_file_with_what_matters(tmp_path: Path) -> None:
    log = Log(tmp_path, segment_bytes=10)
    log.write(b"old\n" * 10)
    log.begin_next()
    log.write_next(b"kept 1\n")
    log.write(b"meanwhile\n")
    assert content(tmp_path).endswith(b"old\nmeanwhile\n"), "until it is whole the old file counts"
    log.write_next(b"kept 2\n")
    log.end_next()
    assert not log.full, "a log that is mostly needed must not be replaced again at once"
    log.write(b"new\n")
    log.close()
    (only,) = segments(tmp_path)
    assert only.read_bytes() == b"kept 1\nmeanwhile\nkept 2\nnew\n"
    assert only.stat().st_mode & 0o077 == 0, "what clients said is for the owner only"


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    log = Log(tmp_path)
    with pytest.raises(LogBusy, match=f"another hub .process {os.getpid()}."):
        Log(tmp_path)
    log.close()
    Log(tmp_path).close()


def test_what_a_full_disk_refuses_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path)
    log.write(b"one\n")
    write = os.write

    def half_then_full(file: int, data: bytes) -> int:
        if len(data) > 2:
            return write(file, data[:2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", half_then_full)
    log.write(b"two\n")
    assert content(tmp_path) == b"one\n"
    monkeypatch.undo()
    log.write(b"three\n")
    log.close()
    assert content(tmp_path) == b"one\ntwo\nthree\n"


class FullDisk:
    """Takes no log's bytes while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = True
        self.tried: list[int] = []
        self._write = os.write
        monkeypatch.setattr(os, "write", self)

    def __call__(self, file: int, data: bytes) -> int:
        if not self.full:
            return self._write(file, data)
        self.tried.append(len(data))
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_left_alone_for_a_while_and_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_backlog, "RETRY_S", 1000.0)
    log, disk = Log(tmp_path), FullDisk(monkeypatch)
    lines = [b"line %d\n" % number for number in range(50)]
    for line in lines:
        log.write(line)
    assert disk.tried == [len(lines[0])], "each try costs the event loop time"
    assert log.waiting == len(b"".join(lines))
    log.retry(now=True)
    assert len(caplog.messages) == 1 and "kept in memory" in caplog.messages[0]
    disk.full = False
    log.retry()
    assert content(tmp_path) == b"", "not before it is time"
    log.retry(now=True)
    assert (content(tmp_path), log.waiting, log.dropped) == (b"".join(lines), 0, 0)
    assert len(caplog.messages) == 2 and "can be written to again" in caplog.messages[1]
    log.write(b"next\n")
    assert content(tmp_path).endswith(b"line 49\nnext\n")
    log.close()


def test_dropped_lines_leave_a_mark_and_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_backlog, "RETRY_S", 0.0)
    monkeypatch.setattr(_log, "MAX_UNWRITTEN", 100)
    log, disk = Log(tmp_path), FullDisk(monkeypatch)
    for _ in range(12):
        log.write(b"x" * 29 + b"\n")
    assert log.dropped + log.waiting - log._backlog._mark == 360 and log.lossy  # type: ignore[union-attr]
    dropped = log.dropped
    disk.full = False
    log.write(b"kept\n")
    log.close()
    first, *others = content(tmp_path).splitlines()
    mark = decode(first)
    assert isinstance(mark, Dropped) and mark.bytes == dropped
    assert others == [b"x" * 29] * ((360 - dropped) // 30) + [b"kept"]
    said = [(record.levelno, "lost" in record.message) for record in caplog.records]
    assert said == [(logging.ERROR, False), (logging.ERROR, True), (logging.WARNING, True)]


async def test_a_state_that_misses_events_is_made_whole_as_soon_as_the_disk_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_backlog, "RETRY_S", 0.0)
    monkeypatch.setattr(_log, "MAX_UNWRITTEN", 100)
    recorder = Recorder(state=Log(tmp_path))
    recorder.open_sessions = lambda: iter([b"all that matters\n"])
    disk = FullDisk(monkeypatch)
    for _ in range(10):
        recorder.add(b"x" * 29 + b"\n")
        recorder.flush()
    assert recorder.waiting and recorder.dropped
    disk.full = False
    recorder.retry()
    assert recorder._compacting is not None
    await recorder._compacting
    recorder.close()
    head, *kept = content(tmp_path).splitlines()
    assert isinstance(decode(head), Compacted) and kept == [b"all that matters"]


def test_a_full_disk_leaves_the_log_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path, segment_bytes=10)
    log.write(b"needed 1\n")
    log.begin_next()
    write = os.write

    def full(file: int, data: bytes) -> int:
        if data.startswith(b"kept"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    log.write_next(b"kept\n")
    assert not log.replacing
    log.write(b"needed 2\n")
    log.end_next()
    log.close()
    assert content(tmp_path) == b"needed 1\nneeded 2\n"
    assert [file.suffix for file in tmp_path.iterdir() if file.name != "lock"] == [".jsonl"]


def test_a_death_amid_a_replacement_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.write(b"needed 1\n")
    log.begin_next()
    log.write_next(b"half of what mat")
    log.write(b"needed 2\n")
    os.close(log._lock)  # as the kernel does
    after = Log(tmp_path)
    after.write(b"needed 3\n")
    after.close()
    assert content(tmp_path) == b"needed 1\nneeded 2\nneeded 3\n"
    assert not list(tmp_path.glob("*.tmp"))
