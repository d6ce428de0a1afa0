"""Attempts to reach other processes and files, or whoever sees what is shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from envhub_os.sandbox import Report, Sandbox

from .conftest import CALLS, PYTHON, REFUSED, inside, say

pytestmark = pytest.mark.usefixtures("neighbours")


# -- processes ------------------------------------------------------------------------------------------


def test_the_first_process_is_not_killed_traced_or_read(box: Sandbox) -> None:
    for name in ("KILL", "TERM", "INT", "STOP", "HUP", "CHLD", "USR1", "SEGV", "ALRM", "PIPE"):
        say(box, f"kill -{name} 1")
    for path in ("environ", "mem", "maps", "root", "cwd", "exe", "fd/0", "fd/3"):
        for command in (f"ls -l /proc/1/{path}/ || cat /proc/1/{path}", f"true > /proc/1/{path}"):
            assert say(box, command).exit_code != 0, path
            assert box.exec(["bash", "-c", command]).exit_code != 0, path  # the agent's if it replaced bash
    for path in ("fd", "fdinfo", "map_files", "ns"):
        shown = say(box, f"ls -A /proc/1/{path} /proc/1/task/1/{path} 2> /dev/null | grep -v :").output
        assert shown.strip() == "", path
    assert say(box, "tr '\\0' ' ' < /proc/1/cmdline").output.strip() == "init"
    assert box.exec(["true"]).exit_code == 0


def test_the_first_processs_limits_are_not_changed(box: Sandbox) -> None:
    script = "import resource as r; r.prlimit(%s, r.RLIMIT_NOFILE, (20, 20)); print(r.prlimit(1, 7))"
    assert "PermissionError" in say(box, f'python3 -c "{script % 1}"').output
    assert say(box, f'python3 -c "{script % 0}"').exit_code == 0
    assert say(box, f'sleep 100 & python3 -c "{script % "$!"}"').exit_code == 0
    assert box.exec(["true"]).exit_code == 0


def test_what_becomes_of_devices_does_not_matter_to_the_first_process(box: Sandbox) -> None:
    say(box, "rm -f /dev/*; mkfifo /dev/ptmx /dev/null /dev/tty; chmod 0 /dev/pts; mv /dev/pts /dev/gone")
    assert say(box, "kill -9 $$").new_shell
    assert say(box, "echo on").output == "on\n"
    assert box.exec(["echo", "on"]).stdout == b"on\n"


@pytest.mark.usefixtures("users")
def test_what_walks_through_everything_meets_no_error(box: Sandbox) -> None:
    for command in ("find / -xdev > /dev/null", "find /proc /dev /sys > /dev/null", "ps aux > /dev/null"):
        assert say(box, command).exit_code == 0, command
        for checks in (False, True):
            done = box.exec(["bash", "-c", command], checks=checks)
            assert (done.exit_code, done.stderr) == (0, b""), command


def test_killing_everything_ends_the_shell_alone(box: Sandbox) -> None:
    box.run("kill -9 -1", timeout_s=60.0, limit_bytes=100)
    say(box, "true")
    assert say(box, "echo on").output == "on\n"


def test_no_process_outside_is_seen_or_signalled(box: Sandbox, neighbour: Sandbox) -> None:
    pids = [os.getpid(), os.getppid(), box.pid, neighbour.pid]
    answers = inside(box, f"print(json.dumps([attempt(os.kill, pid, 0) for pid in {pids} if pid > 1000]))")
    assert set(answers) <= {"ESRCH"}
    assert len(say(box, "ls -d /proc/[0-9]*").output.split()) < 10


def test_a_helper_is_neither_traced_nor_read(box: Sandbox) -> None:
    box.exec(["bash", "-c", "SECRET=42 sleep 1000 & echo $! > /tmp/helper"])
    assert say(box, "readlink /proc/$(< /tmp/helper)/fd/0").exit_code == 1
    assert "Permission denied" in say(box, "cat /proc/$(< /tmp/helper)/environ").output
    code = """
pid = open("/tmp/helper").read().strip()
print(json.dumps(attempt(open, f"/proc/{pid}/mem", "r+b")))
"""
    assert inside(box, code) in REFUSED


def test_programs_get_no_files_but_the_terminal(box: Sandbox) -> None:
    assert say(box, "ls /proc/self/fd").output.split() == [
        "0",
        "1",
        "2",
        "3",
    ]  # the last is the folder itself
    assert say(box, "readlink /proc/self/fd/[012]").output == "/dev/pts/0\n" * 3
    helper = box.exec(["bash", "-c", "ls -l /proc/self/fd | grep -c -e pipe -e socket -e pts"])
    assert helper.stdout == b"3\n"


def test_the_maps_of_ids_are_settled(box: Sandbox) -> None:
    assert say(box, "echo 0 0 1 > /proc/self/uid_map").exit_code != 0
    assert say(box, "echo 0 0 1 > /proc/self/gid_map").exit_code != 0


def test_no_process_is_spared_before_the_hub_when_memory_runs_out(box: Sandbox) -> None:
    status = Path("/proc/self/status").read_text()
    may_set_the_least = os.geteuid() == 0 and int(status.split("CapEff:")[1].split()[0], 16) >> 24 & 1
    less = 299 if may_set_the_least else int(Path("/proc/self/oom_score_adj").read_text()) - 1
    assert say(box, f"echo {less} > /proc/self/oom_score_adj").exit_code != 0
    assert say(box, "echo 900 > /proc/self/oom_score_adj").exit_code == 0


def test_what_a_user_may_have_is_used_up_inside_alone(box: Sandbox, neighbour: Sandbox, held: Report) -> None:
    if held.ids != "root":
        pytest.skip("without root all sandboxes are charged to this user: only their own limits hold")
    watch = """
files = []
while len(files) < 2000 and (file := libc.inotify_init1(0)) >= 0: files.append(file)
print(json.dumps(len(files)), flush=True)
"""
    hold = f"({PYTHON} /tmp/attack.py > /tmp/made &); until [ -s /tmp/made ]; do :; done; cat /tmp/made"
    box.write("/tmp/attack.py", (CALLS + watch + "import signal; signal.pause()").encode())
    if say(box, f"test -x {PYTHON}").exit_code:
        pytest.skip(f"this machine has no {PYTHON}")
    made = int(say(box, hold).output)
    assert 0 < made <= 64
    assert inside(neighbour, watch) == made


def test_the_hubs_variables_and_memory_are_nowhere(
    make: Callable[..., Sandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVHUB_TOKEN", "very-secret-token")
    box = make()
    everything = ["bash", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; env; ls -l /proc/[0-9]*/fd"]
    seen = say(box, everything[2]).output.encode() + box.exec(everything).stdout
    assert b"PROMPT_COMMAND" in seen
    for secret in (b"very-secret-token", str(Path.cwd()).encode(), b"ENVHUB"):
        assert secret not in seen


def test_setuid_programs_raise_nobody(box: Sandbox) -> None:
    if say(box, "useradd -m bob && su bob -s /bin/bash -c true").exit_code:
        pytest.skip("no useradd, or only one user id here")
    say(box, "cp $(command -v id) /tmp/id && chmod 4755 /tmp/id")
    assert say(box, "su bob -s /bin/bash -c /tmp/id").output.startswith("uid=100")
    assert say(box, "su bob -s /bin/bash -c 'grep NoNewPrivs /proc/self/status'").output == "NoNewPrivs:\t1\n"


def test_the_capabilities_are_few_and_do_not_come_back(box: Sandbox) -> None:
    kept = {0, 1, 3, 4, 5, 6, 7, 10, 18}
    script = "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | cut -f2"
    for line in say(box, script).output.split() + say(box, f'bash -c "{script}"').output.split():
        assert {number for number in range(64) if int(line, 16) >> number & 1} <= kept


# -- files ----------------------------------------------------------------------------------------------


def test_files_of_the_machine_are_not_there(box: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    assert say(box, f"cat {secret}").exit_code == 1
    assert say(box, "ls -A /root /home /mnt /opt /srv /run/* /tmp").output.replace("\n", "").count(".") <= 2
    assert say(box, f"ls {Path(__file__).parent}").exit_code != 0
    for line in say(box, "cat /etc/shadow").output.splitlines():
        assert line.split(":")[1] == "*"


def test_what_is_written_stays_inside(box: Sandbox, neighbour: Sandbox) -> None:
    before = Path("/etc/passwd").read_bytes()
    say(
        box,
        "echo x:x:0:0::/:/bin/sh >> /etc/passwd; touch /usr/bin/evil /tmp/evil /etc/evil",
    )
    assert Path("/etc/passwd").read_bytes() == before
    for name in ("/usr/bin/evil", "/tmp/evil", "/etc/evil"):
        assert not os.path.exists(name)
        assert say(neighbour, f"test -e {name}").exit_code == 1


def test_a_root_above_the_root_is_the_root(box: Sandbox) -> None:
    code = """
os.makedirs("/tmp/jail", exist_ok=True)
top = os.open("/", os.O_RDONLY)
os.chroot("/tmp/jail"); os.fchdir(top)
for _ in range(64): os.chdir("..")
os.chroot(".")
print(json.dumps(sorted(os.listdir("/"))))
"""
    assert inside(box, code) == sorted(say(box, "ls -A /").output.split())


# -- what the agent says --------------------------------------------------------------------------------


def test_output_does_not_act_on_the_terminal_that_shows_it(box: Sandbox) -> None:
    say(box, "true")
    result = say(box, r"printf '\e]0;title\a\e]52;c;cGF5\a\e[2Jshown\e[31m\x9b1m\e[6n\x07'")
    assert result.output == "shown\ufffd1m"  # a byte that is no UTF-8 shows as such
    assert say(box, "echo on").output == "on\n"
