"""Processes beside the shell, and files put in and taken out."""

from __future__ import annotations

import pytest
from envhub_os.sandbox import Completed, Sandbox

from .conftest import say


def test_a_helper_shares_files_and_processes_with_the_shell(box: Sandbox) -> None:
    say(box, "cd /tmp; touch a; sleep 1234 &")
    assert (
        box.exec(["bash", "-c", "pwd; ls /tmp; pgrep -x -f 'sleep 1234' | wc -l"]).stdout == b"/root\na\n1\n"
    )


def test_it_gets_its_input_and_gives_its_output_apart(box: Sandbox) -> None:
    done = box.exec(["bash", "-c", "cat; echo oops >&2; exit 4"], stdin=b"x" * 300_000)
    assert done == Completed(4, b"x" * 300_000, b"oops\n")


def test_it_has_an_environment_of_its_own(box: Sandbox) -> None:
    say(box, "export LEAK=1 PATH=/nowhere")
    assert box.exec(["bash", "-c", "echo ${LEAK-none} $ADDED"], env={"ADDED": "2"}).stdout == b"none 2\n"


@pytest.mark.parametrize(
    ("argv", "code"), [(["nope"], 127), (["bash", "-c", "kill -9 $$"], -9), (["/etc/passwd"], 127)]
)
def test_how_it_ended_is_told(box: Sandbox, argv: list[str], code: int) -> None:
    assert box.exec(argv).exit_code == code


def test_it_is_killed_when_its_time_is_up(box: Sandbox) -> None:
    assert box.exec(["bash", "-c", "sleep 1000; echo never"], timeout_s=1.0) == Completed(None, b"", b"")
    assert box.exec(["bash", "-c", "while pgrep -x sleep; do :; done"]).exit_code == 0


def test_its_output_is_cut_at_the_limit(box: Sandbox) -> None:
    assert box.exec(["seq", "100000"], limit_bytes=10).stdout == b"1\n2\n3\n4\n5\n"


def test_its_children_live_on_and_may_go_on_talking(box: Sandbox) -> None:
    box.exec(
        ["bash", "-c", "(until [ -e /tmp/go ]; do sleep 0.01; done; seq 50000; touch /tmp/said) & echo ok"]
    )
    say(box, "touch /tmp/go; until [ -e /tmp/said ]; do sleep 0.01; done")


def test_it_runs_as_another_user(box: Sandbox) -> None:
    if say(box, "useradd -m bob && su bob -s /bin/bash -c true").exit_code:
        pytest.skip("no useradd, or only one user id here")
    assert box.exec(["id", "-un"], user="bob").stdout == b"bob\n"
    assert b"no user" in box.exec(["id"], user="alice").stderr


@pytest.mark.parametrize("argv", [["a\0b"], ["bash", "-c", "x" * 200_000]])
def test_what_no_process_can_be_given_is_refused(box: Sandbox, argv: list[str]) -> None:
    with pytest.raises(ValueError):
        box.exec(argv)
    assert box.exec(["true"]).exit_code == 0


def test_files_go_in_and_come_out_whole(box: Sandbox) -> None:
    data = bytes(range(256)) * 4096
    box.write("/tmp/new/folder/file", data, mode=0o755)
    assert say(box, "stat -c '%a %U %s' /tmp/new/folder/file").output == "755 root 1048576\n"
    assert box.read("/tmp/new/folder/file") == data
    assert box.read("/tmp/new/folder/file", limit_bytes=3) == data[:3]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/nope", FileNotFoundError),
        ("/tmp", IsADirectoryError),
        ("/tmp/fifo", OSError),
        ("/dev/zero", OSError),
    ],
)
def test_what_is_no_file_is_an_error_and_not_a_wait(box: Sandbox, path: str, error: type[OSError]) -> None:
    say(box, "mkfifo /tmp/fifo")
    with pytest.raises(error):
        box.read(path)
