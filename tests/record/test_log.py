"""The log: torn tails, rotation, one writer, a full disk."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envhub.record import Log, LogBusy
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
