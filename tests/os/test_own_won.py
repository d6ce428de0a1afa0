"""Embedded tasks, played: one of each kind is won by its solution, and by nothing less.

`benchmarks/os_tasks.py` plays all of them.
"""

import pytest
from envhub_os import own
from envhub_os.judge import Judge, run_script
from envhub_os.machine import prepare
from envhub_os.own.template import Template
from envhub_os.sandbox import Sandbox, Settings
from envhub_os.task import Answer, Script, State, Task

LIMIT_S = 60.0


def play(task: Task) -> None:
    """Look at the machine before the agent comes, then solve the task."""
    judge = Judge(False, LIMIT_S)
    with Sandbox.start(Settings()) as sandbox:
        prepare(sandbox, task, 0, LIMIT_S)
        if isinstance(task.goal, State):
            assert not judge.reached(task.goal, sandbox, None), f"{task.id} is won by finishing at once"
        assert task.solution is not None
        printed = ""
        for script in task.solution.scripts:
            result = sandbox.run(script, timeout_s=LIMIT_S, limit_bytes=1 << 16)
            assert not result.timed_out, f"{task.id}: {script} took too long"
            printed = result.output.strip()
        answer = None if isinstance(task.goal, State) else printed
        assert judge.reached(task.goal, sandbox, answer), f"{task.id} is not won: {printed}"
        if isinstance(task.goal, Answer):
            assert len(printed) < 200 and not judge.reached(task.goal, sandbox, None)


@pytest.mark.parametrize("template", own.TEMPLATES, ids=lambda template: template.name)
def test_every_task_is_won_by_its_solution_alone(machine: None, template: Template) -> None:
    play(template.entry(len(template.name) % 3).make())


def test_doing_half_of_it_is_not_enough(sandbox: Sandbox) -> None:
    task = next(t for t in own.TEMPLATES if t.name == "processes-stop-one").entry(0).make()
    prepare(sandbox, task, 0, LIMIT_S)
    run_script(sandbox, Script("pkill -f -- '-worker 1000000'"), (), LIMIT_S)  # ends the others too
    assert not Judge(False, LIMIT_S).reached(task.goal, sandbox, None)
