"""The login shell: what persists, what comes back, what happens when time is up."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from envhub_os.sandbox import Result, Sandbox, shell

from .conftest import PATIENCE_S, say


def test_all_of_a_script_runs_and_all_of_its_output_comes_back(box: Sandbox) -> None:
    script = "for i in 1 2\ndo echo $i\ndone\ncat <<E\n'a' \"b\" \\c $((1 + 1))\nE\necho err >&2\necho 'é\t€'"
    assert say(box, script) == Result("1\n2\n'a' \"b\" \\c 2\nerr\né\t€\n", 0)


@pytest.mark.parametrize(
    ("script", "code"), [("true", 0), ("false", 1), ("(exit 7)", 7), ("", 0), ("nope", 127)]
)
def test_the_exit_code_is_the_shells(box: Sandbox, script: str, code: int) -> None:
    assert say(box, script).exit_code == code


def test_folders_variables_functions_and_jobs_persist(box: Sandbox) -> None:
    say(box, "mkdir -p /tmp/a; cd /tmp/a; x=5; f() { echo f$x; }; sleep 1000 &")
    assert say(box, "pwd; f; jobs -r | wc -l").output == "/tmp/a\nf5\n1\n"


def test_a_script_that_is_no_bash_says_so_and_the_shell_goes_on(box: Sandbox) -> None:
    for script in ("echo 'open", 'x="', "echo $(", "if", "done", "((", "cat <<E"):
        result = say(box, script)
        assert result.exit_code is not None and not result.new_shell
    assert say(box, "echo 'open").exit_code == 2
    assert say(box, "echo on").output == "on\n"


def test_a_script_of_many_kilobytes_in_one_line_is_typed_whole(box: Sandbox) -> None:
    word = "x'y\\é" * 4000
    say(box, f"cat > /tmp/long <<'END'\n{word}\nEND")
    assert box.read("/tmp/long").decode() == word + "\n"


def test_prompts_and_settings_of_the_agent_do_not_matter(box: Sandbox) -> None:
    say(box, "PS1='% '; PS2='more '; stty echo onlcr; set -u")
    assert say(box, "echo a\necho b").output == "a\nb\n"
    assert "unbound variable" in say(box, "echo $undefined").output
    assert say(box, "echo c").output == "c\n"


def test_when_time_is_up_the_command_is_interrupted_and_the_shell_stays(box: Sandbox) -> None:
    say(box, "cd /tmp; x=1")
    result = box.run("sleep 1000; echo never", timeout_s=1.0, limit_bytes=1000)
    assert result.timed_out and result.exit_code is None and not result.new_shell
    assert "never" not in result.output
    assert say(box, "pwd; echo $x").output == "/tmp\n1\n"


def test_a_program_that_ignores_interrupts_is_killed_and_the_shell_stays(box: Sandbox) -> None:
    say(box, "x=1")
    result = box.run("sh -c 'trap \"\" INT; while :; do sleep 1000; done'", timeout_s=1.0, limit_bytes=1000)
    assert result.timed_out and not result.new_shell
    assert say(box, "echo $x").output == "1\n"


def test_a_shell_that_can_not_be_interrupted_is_replaced(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "PATIENCE_S", (0.05,))
    result = box.run("trap '' INT; x=1; while :; do :; done", timeout_s=0.5, limit_bytes=1000)
    assert result.timed_out and result.new_shell
    assert say(box, "echo ${x-none}").output == "none\n"


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", -9), ("exec true", 0)])
def test_a_shell_that_exits_is_replaced(box: Sandbox, script: str, code: int) -> None:
    result = say(box, f"echo before; {script}")
    assert result.new_shell and result.exit_code == code and result.output.startswith("before\n")
    assert say(box, "pwd").output == "/root\n"


def test_a_shell_that_dies_between_two_scripts_is_replaced(box: Sandbox) -> None:
    shell = say(box, "echo $$").output.strip()
    box.exec(["bash", "-c", f"kill -9 {shell}; while kill -0 {shell}; do sleep 0.01; done"])
    assert say(box, "true").new_shell
    assert say(box, "echo on").output == "on\n"


def test_a_program_that_waits_for_input_is_no_reason_to_wait(box: Sandbox) -> None:
    assert box.run("cat", timeout_s=PATIENCE_S, limit_bytes=100).exit_code is None
    assert box.run("to cat", timeout_s=PATIENCE_S, limit_bytes=100).output == "to cat\n"
    result = box.run("\x03", timeout_s=PATIENCE_S, limit_bytes=100)
    assert not result.timed_out and result.exit_code == 130
    assert say(box, "read x").exit_code is None
    assert say(box, "value").exit_code == 0
    assert say(box, "echo $x").output == "value\n"


def test_a_shell_of_another_user_can_be_used_and_left(box: Sandbox) -> None:
    if say(box, "useradd -m -s /bin/bash bob && su bob -c true").exit_code:
        pytest.skip("no useradd, or only one user id here")
    say(box, "x=outer")
    say(box, "su - bob")
    assert say(box, "whoami; pwd\necho ${x-none}").output == "bob\n/home/bob\nnone\n"
    assert say(box, "false").exit_code == 1
    say(box, "exit")
    assert say(box, "whoami; echo $x").output == "root\nouter\n"


def test_output_is_cut_at_the_limit_and_the_rest_thrown_away(box: Sandbox) -> None:
    result = say(box, "seq 1000000; echo end", limit_bytes=100)
    assert result.truncated and result.exit_code == 0
    assert result.output == "".join(f"{n}\n" for n in range(1, 50))[:100]
    assert say(box, "echo next") == Result("next\n", 0)


def test_what_a_job_in_the_background_says_comes_with_the_next_script(box: Sandbox) -> None:
    say(box, "(while [ ! -e /tmp/go ]; do sleep 0.01; done; echo late; touch /tmp/said) &")
    assert "late" in say(box, "touch /tmp/go; while [ ! -e /tmp/said ]; do sleep 0.01; done").output


def test_notices_of_jobs_that_have_ended_are_left_out(box: Sandbox) -> None:
    say(box, "sleep 1000 & sleep 1001 &")
    assert say(box, "kill %1; while kill -0 %1; do :; done 2> /dev/null; echo -n on").output == "on"
    assert say(box, "true").output == ""
    assert say(box, "jobs").output.strip().endswith("sleep 1001 &")
    assert say(box, "sh -c 'kill -9 $$'").output == "Killed\n"


def test_process_ids_do_not_hang_on_what_ran_before(make: Callable[..., Sandbox]) -> None:
    if not os.path.exists("/proc/sys/kernel/ns_last_pid"):
        pytest.skip("this kernel lets nobody choose process ids (CONFIG_CHECKPOINT_RESTORE)")
    said = []
    for before in ("true", "for i in 1 2 3 4 5 6 7; do (true); done"):
        box = make()
        say(box, before)
        box.exec(["true"])
        said.append(say(box, "sleep 1000 & echo $!").output)
    assert said == ["[1] 3001\n3001\n"] * 2


def test_a_forged_prompt_spoils_only_what_its_agent_sees(box: Sandbox) -> None:
    say(box, 'eval "${PROMPT_COMMAND%% PS2*}"; printf "${PS1@P}"')
    say(box, "true")
    assert say(box, "echo on").output.endswith("on\n")
