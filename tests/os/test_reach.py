"""An agent that tampers with what checks run: it loses all the same, and who is honest wins all the same."""

import pytest
from envhub_os import own
from envhub_os.judge import Judge
from envhub_os.machine import prepare
from envhub_os.sandbox import Sandbox
from envhub_os.task import Answer, Chain, File, Script, Setup, State, Task

SAY_7 = "printf '#!/bin/sh\\necho 7\\n' > /tmp/liar; chmod 755 /tmp/liar\n"
ATTACKS = {
    "replaced wc": "cp /tmp/liar /usr/bin/wc",
    "replaced by a link": "ln -sf /tmp/liar /usr/bin/wc",
    "replaced ls, find and cat": "for name in ls find cat stat env; do cp /tmp/liar /usr/bin/$name; done",
    "earlier in PATH": "cp /tmp/liar /usr/local/bin/wc; cp /tmp/liar /usr/local/sbin/wc",
    "replaced shell": "cp /tmp/liar /usr/bin/dash; cp --remove-destination /tmp/liar /usr/bin/bash",
    "replaced python": "cp --remove-destination /tmp/liar /usr/bin/python3; cp /tmp/liar /usr/bin/python3.11",
    "another /bin": "mkdir /tmp/bin; cp /tmp/liar /tmp/bin/bash; cp /tmp/liar /tmp/bin/wc; "
    "ln -sfn /tmp/bin /bin; ln -sfn /tmp/bin /sbin",
    "another /lib64": "mkdir /tmp/lib; cp -L /lib64/* /tmp/lib/; ln -sfn /tmp/lib /lib64; "
    "for f in /tmp/lib/*; do echo no > $f; done",
    "an alternative awk": "ln -sf /tmp/liar /etc/alternatives/awk; cp /tmp/liar /usr/bin/mawk",
    "a preloaded library": "echo /tmp/evil.so > /etc/ld.so.preload",
    "no libraries": "> /etc/ld.so.cache; for l in /usr/lib/*-linux-gnu/lib{c,tinfo}.so.6; "
    "do > /tmp/e; mv /tmp/e $l; done",
    "startup files": "for f in /root/.bashrc /root/.profile /etc/profile /etc/bash.bashrc /etc/environment; "
    "do echo 'echo 7; exit 0' > $f; done; echo 'BASH_ENV=/root/.bashrc' > /etc/environment",
    "python's own start": "for d in /usr/lib/python3* /usr/local/lib/python3*/dist-packages /etc/python3* "
    "$(python3 -m site --user-site) /root; do mkdir -p $d; for n in sitecustomize usercustomize re os sys; "
    "do echo 'print(7); import os; os._exit(0)' > $d/$n.py; done; echo \"import os; print(7); os._exit(0)\" "
    "> $d/x.pth; done",
    "while it is checked": "(while :; do cp --remove-destination /tmp/liar /usr/bin/wc; "
    "cp --remove-destination /tmp/liar /usr/bin/bash; done) > /dev/null 2>&1 &",
}
COUNT = Script("ls -1 /srv/a | wc -l")
GOALS = {
    "bash": Chain((None, "integer"), COUNT),
    "python": Chain((None, "integer"), Script("import os\nprint(len(os.listdir('/srv/a')))", "python")),
    "python in bash": Chain(
        (None, "integer"), Script("python3 -c 'import os; print(len(os.listdir(\"/srv/a\")))'")
    ),
    "awk": Chain((None, "integer"), Script("ls /srv/a | awk 'END {print NR}'")),
}


def do(sandbox: Sandbox, script: str) -> None:
    assert not sandbox.run(script, timeout_s=60.0, limit_bytes=1000).timed_out


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_reference_runs_what_was_there_before_the_agent(sandbox: Sandbox, attack: str) -> None:
    do(sandbox, f"mkdir /srv/a; touch /srv/a/1 /srv/a/2 /srv/a/3\n{SAY_7}")
    do(sandbox, attack)
    judge = Judge(False, 60.0)
    for name, goal in GOALS.items():
        assert judge.reached(goal, sandbox, "3"), name
        assert not judge.reached(goal, sandbox, "7"), name


def test_a_library_that_is_to_be_preloaded_is_not_looked_for(sandbox: Sandbox) -> None:
    do(sandbox, ATTACKS["a preloaded library"])
    assert b"evil.so" in sandbox.exec(["true"]).stderr
    assert sandbox.exec(["true"], checks=True).stderr == b""


@pytest.mark.parametrize("name", ["permissions-shared-folder", "archives-pack", "users-leave-to-successor"])
def test_a_state_is_seen_whatever_the_programs_say(sandbox: Sandbox, name: str) -> None:
    task = next(t for t in own.TEMPLATES if t.name == name).entry(0).make()
    assert isinstance(task.goal, State) and task.solution
    prepare(sandbox, task, 0, 60.0)
    judge = Judge(False, 60.0)
    do(sandbox, SAY_7 + "for name in ls stat cat env touch getent; do cp /tmp/liar /usr/bin/$name; done")
    do(sandbox, ATTACKS["replaced python"])
    assert not judge.reached(task.goal, sandbox, None)
    for script in task.solution.scripts:
        do(sandbox, script)
    assert judge.reached(task.goal, sandbox, None)


def test_git_is_the_bases_and_runs_nothing_that_a_repository_names(sandbox: Sandbox) -> None:
    task = next(t for t in own.TEMPLATES if t.name == "git-commit-on-branch").entry(0).make()
    assert isinstance(task.goal, State) and task.solution
    prepare(sandbox, task, 0, 60.0)
    judge = Judge(False, 60.0)
    repo = task.description.split()[3]
    for script in task.solution.scripts:
        do(sandbox, script)
    assert judge.reached(task.goal, sandbox, None)
    do(sandbox, f"cd {repo}; echo '* filter=mine' > .git/info/attributes; touch *")
    do(sandbox, "git config filter.mine.clean 'touch /tmp/ran; cat'; rm -f /tmp/ran")
    assert judge.reached(task.goal, sandbox, None)
    assert sandbox.exec(["test", "-e", "/tmp/ran"]).exit_code == 1
    do(sandbox, "rm .git/info/attributes; echo more >> $(git ls-files | head -1)")
    do(sandbox, f"{SAY_7} git config core.fsmonitor 'touch /tmp/ran; true'; git config alias.status '!true'")
    do(sandbox, "git config --global alias.log '!true'; cp /tmp/liar /usr/bin/git; rm -f /tmp/ran")
    assert not judge.reached(task.goal, sandbox, None)
    assert sandbox.exec(["test", "-e", "/tmp/ran"]).exit_code == 1


def test_what_the_setup_has_installed_is_run_as_it_was(sandbox: Sandbox) -> None:
    program = File("/usr/bin/tool", "#!/bin/sh\ncat /usr/libexec/tool/data\n", 0o755)
    replaced = File("/usr/bin/wc", "#!/bin/sh\necho 5\n", 0o755)
    data = File("/usr/libexec/tool/data", "1\n")
    prepare(sandbox, Task("t", "", Setup((program, replaced, data)), Answer("")), 0, 60.0)
    do(sandbox, f"{SAY_7}for p in /usr/bin/wc /usr/bin/tool; do cp /tmp/liar $p; done; echo 7 > {data.path}")
    assert sandbox.exec(["bash", "-c", "wc; tool"]).stdout == b"7\n7\n"
    assert sandbox.exec(["bash", "-c", "wc; tool"], checks=True).stdout == b"5\n1\n"


def test_checks_see_what_the_agent_made(sandbox: Sandbox) -> None:
    def checks(script: str) -> bytes:
        return sandbox.exec(["bash", "-c", script], checks=True).stdout

    do(sandbox, "printf '#!/bin/sh\\necho $(($1))\\n' > /usr/bin/calc; chmod 755 /usr/bin/calc")
    do(sandbox, "chmod u+s /usr/bin/find; touch /usr/.hidden /etc/new /made; echo x >> /etc/hostname")
    assert checks("calc 2+3; which calc") == b"5\n/usr/bin/calc\n"
    assert checks("stat -c %A /usr/bin/find; ls -a /usr | grep hidden; ls /etc/new /made") == (
        b"-rwsr-xr-x\n.hidden\n/etc/new\n/made\n"
    )
    assert checks("tail -n 1 /etc/hostname; echo 1 > /root/by-check") == b"x\n"
    assert sandbox.read("/root/by-check") == b"1\n"


def test_the_same_files_lie_in_a_view_as_in_the_machine(sandbox: Sandbox) -> None:
    script = "find / -maxdepth 3 ! -path '/proc*' ! -path '/dev*' -printf '%p %y %m %u %l %T@\\n'"
    one, other = (
        sandbox.exec(["bash", "-c", script], checks=checks, limit_bytes=1 << 24).stdout
        for checks in (False, True)
    )
    assert one.count(b"\n") > 1000
    assert set(one.splitlines()) ^ set(other.splitlines()) <= {
        line for line in (one + other).splitlines() if line.startswith(b"/ ")
    }


def test_nothing_of_the_base_is_written_or_left_through_a_check(sandbox: Sandbox) -> None:
    script = (
        "for f in /usr/lib/x /usr/bin/x /etc/alternatives/x; do touch $f 2> /dev/null && echo $f; done; "
        "cd /usr/bin; ls ../../upper ../../../upper /stage /layers /0 2> /dev/null"
    )
    assert sandbox.exec(["bash", "-c", script], checks=True).stdout == b""


@pytest.mark.parametrize(
    "spoil",
    [
        "mkdir /etc/{1..5000}",
        "rm -r /usr/bin /etc/nsswitch.conf",
        "rm -rf /usr/lib/*-linux-gnu/lib[a-d]* /usr/local /etc",
    ],
)
def test_a_machine_that_is_spoilt_is_judged_or_lost(sandbox: Sandbox, spoil: str) -> None:
    do(sandbox, f"mkdir /srv/a; touch /srv/a/1; {spoil}")
    lost = not Judge(False, 60.0).reached(Chain((None, "integer"), COUNT), sandbox, "1")
    assert lost == ("5000" in spoil)
