"""Check scripts on a real machine, as AgentBench's chains run them."""

import pytest
from envhub_os.judge import Judge
from envhub_os.machine import prepare
from envhub_os.sandbox import Sandbox
from envhub_os.task import Answer, Chain, File, Goal, Script, Setup, Task


def reached(sandbox: Sandbox, goal: Goal, answer: str | None, faithful: bool = False) -> bool:
    return Judge(faithful, 60.0).reached(goal, sandbox, answer)


def test_match_needs_no_machine_but_an_answer(sandbox: Sandbox) -> None:
    assert reached(sandbox, Answer("yes"), " yes ")
    assert not reached(sandbox, Answer("yes", strip=False), " yes ")
    assert not reached(sandbox, Answer("None"), None)


def test_the_reference_is_run_where_the_agent_left_off(sandbox: Sandbox) -> None:
    goal = Chain((None, "integer"), Script("ls | wc -l"))
    sandbox.run("touch a b c; cd /tmp", timeout_s=60.0, limit_bytes=100)
    assert reached(sandbox, goal, "3")
    assert not reached(sandbox, goal, "4")
    assert not reached(sandbox, goal, None)


def test_scripts_get_the_answer_and_what_was_printed(sandbox: Sandbox) -> None:
    goal = Chain(
        (
            Script("from sys import argv\nassert argv[1] == 'a b'\nprint('one')", "python"),
            Script('[ "$0" = -- ] && [ "$1" = "a b" ] && [ "$2" = "one" ] && [ $# = 2 ] && printf two'),
            Script('[ "$3" = two ] && [ $# = 3 ]'),
        )
    )
    assert not reached(sandbox, goal, "a b")  # $2 still has its line end
    goal = Chain((goal.checks[0], Script('[ "$2" = "one\n" ] && printf two'), goal.checks[2]))
    assert reached(sandbox, goal, "a b")
    assert not reached(sandbox, goal, "a  b")


def test_who_only_finishes_has_answered_none(sandbox: Sandbox) -> None:
    assert reached(sandbox, Chain((Script('[ "$1" = None ]'),)), None)


def test_a_script_that_fails_or_takes_too_long_fails(sandbox: Sandbox) -> None:
    assert not reached(sandbox, Chain((Script("exit 1"),)), "x")
    assert not Judge(False, 0.5).reached(Chain((Script("sleep 1000"),)), sandbox, "x")


@pytest.mark.parametrize("answer", ["a\0b", "x" * 200_000, "☂" * 40_000, "\ud800"])
def test_answers_that_no_program_takes_are_wrong(sandbox: Sandbox, answer: str) -> None:
    goal = Chain((Script("echo 5"), "integer"))
    assert not reached(sandbox, goal, answer)


def test_sizes_compare_as_published_only_if_faithful(sandbox: Sandbox) -> None:
    goal = Chain((None, "size"), Script("echo 4.0K"))
    assert reached(sandbox, goal, "4.0K")
    assert not reached(sandbox, goal, "4.0K", faithful=True)


def test_files_are_laid_down_as_they_are_described(sandbox: Sandbox) -> None:
    files = (
        File("/srv/x", None, 0o2770, (0, 3001)),
        File("/srv/x/a", "naïve\n", 0o600, (3001, 0), days_old=1.5),
        File("/srv/l", target="x/a"),
    )
    prepare(sandbox, Task("t", "", Setup(files), Answer("")), 0, 60.0)
    done = sandbox.exec(["stat", "-c", "%F,%a,%u,%g,%Y", "/srv/x", "/srv/x/a"])
    assert done.stdout.decode().splitlines() == [
        "directory,2770,0,3001,1709251200",
        "regular file,600,3001,0,1709121600",
    ]
    assert sandbox.exec(["readlink", "/srv/l"]).stdout == b"x/a\n"
    assert sandbox.read("/srv/x/a") == "naïve\n".encode()
