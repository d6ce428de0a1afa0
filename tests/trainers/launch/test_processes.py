"""What a family of processes started is gone afterwards, whatever it did to hide."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub_trainers._processes import Family

ORPHANS = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN if sys.argv[1] == "stubborn" else signal.SIG_DFL)
deaf = '''
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
'''
middle = '''
import subprocess, sys
deaf = subprocess.Popen(
    [sys.executable, "-c", sys.argv[1]],
    start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
)
deaf.stdout.readline()
print(deaf.pid, flush=True)
'''
said = subprocess.run([sys.executable, "-c", middle, deaf], stdout=subprocess.PIPE, text=True).stdout
print(said, end="", flush=True)
time.sleep(600)
"""
"""A program whose grandchild has lost its parent, has a session of its own and does not listen to SIGTERM."""


@pytest.mark.parametrize("manner", ["obedient", "stubborn"])
def test_orphans_of_a_program_end_with_it(manner: str, processes: Any) -> None:
    with Family(patience_s=2.0) as family:
        program = family.start([sys.executable, "-c", ORPHANS, manner])
        assert program.stdout is not None
        orphan = int(program.stdout.readline())
        assert processes.alive(orphan)
    assert program.poll() is not None
    assert not processes.alive(orphan)


def test_children_that_were_there_before_are_left_alone(processes: Any) -> None:
    mine = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with Family(patience_s=2.0) as family:
            other = family.start([sys.executable, "-c", "import time; time.sleep(600)"])
        assert other.poll() is not None
        assert processes.alive(mine.pid)
    finally:
        mine.communicate(b"\n")


def test_a_program_ends_when_what_started_it_is_killed(
    tmp_path: Path, processes: Any, wait_until: Callable[..., None]
) -> None:
    script = (
        "import sys, time\n"
        "from envhub_trainers._processes import Family\n"
        "with Family() as family:\n"
        "    print(family.start([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    started = int(starter.stdout.readline())
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    wait_until(lambda: not processes.alive(started))
