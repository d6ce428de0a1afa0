"""Whether the agent has done what it was asked."""

from __future__ import annotations

import time

from envhub_os import probe
from envhub_os.compare import COMPARISONS, FAITHFUL
from envhub_os.sandbox import Completed, Sandbox
from envhub_os.task import Answer, Chain, Goal, Script, State

NO_ANSWER = "None"
"""What check scripts get for an agent that finished without an answer, as published."""

_PYTHON = ("python3", "-c")
_BASH = ("bash", "-c")


class Deadline:
    """A time that several things share.

    Args:
        timeout_s: How long they may take together.
    """

    def __init__(self, timeout_s: float) -> None:
        self._end = time.monotonic() + timeout_s

    @property
    def left_s(self) -> float:
        """What is left of it."""
        return max(self._end - time.monotonic(), 0.0)


def run_script(sandbox: Sandbox, script: Script, parameters: tuple[str, ...], timeout_s: float) -> Completed:
    """Run a script outside the agent's shell; bash sees the parameters from $1 on, as published."""
    if script.language == "python":
        argv = [*_PYTHON, script.code, *parameters]
    else:
        argv = [*_BASH, script.code, "--", *parameters]
    return sandbox.exec(argv, timeout_s=timeout_s)


class Judge:
    """Judges final states.

    Comparisons run here, on the host; what must look at the machine runs in it, in a process of its own.

    Args:
        faithful: Compare as published.
        timeout_s: For all scripts of a goal together; if they take longer, it is not reached.
    """

    def __init__(self, faithful: bool, timeout_s: float) -> None:
        self._comparisons = FAITHFUL if faithful else COMPARISONS
        self._timeout_s = timeout_s

    def reached(self, goal: Goal, sandbox: Sandbox, answer: str | None) -> bool:
        """Tell whether a goal is reached.

        Args:
            goal: What was to be reached.
            sandbox: The machine as the agent left it.
            answer: What the agent answered; None where it only finished.
        """
        deadline = Deadline(self._timeout_s)
        if isinstance(goal, Answer):
            return answer is not None and self._matches(goal, answer)
        if isinstance(goal, Chain):
            return self._passes(goal, sandbox, NO_ANSWER if answer is None else answer, deadline)
        return self._holds(goal, sandbox, deadline)

    def _matches(self, goal: Answer, answer: str) -> bool:
        return self._comparisons[goal.compare](answer.strip() if goal.strip else answer, goal.expected)

    def _passes(self, goal: Chain, sandbox: Sandbox, answer: str, deadline: Deadline) -> bool:
        parameters = [answer.encode("utf-8", "replace").decode()]
        for check in goal.checks:
            if isinstance(check, str):
                if len(parameters) < 2 or not self._comparisons[check](parameters[0], parameters[1]):
                    return False
                parameters.append("")
                continue
            script = goal.reference if check is None else check
            if script is None:
                return False
            try:
                done = run_script(sandbox, script, tuple(parameters), deadline.left_s)
            except ValueError:  # an answer, or an output, that no program can be given
                return False
            if done.exit_code != 0:
                return False
            parameters.append(done.stdout.decode("utf-8", "replace"))
        return True

    def _holds(self, goal: State, sandbox: Sandbox, deadline: Deadline) -> bool:
        done = sandbox.exec(
            ["python3", "-I", "-S", "-c", probe.PROGRAM],
            stdin=probe.questions(goal.facts),
            timeout_s=deadline.left_s,
        )
        return done.exit_code == 0 and probe.hold(goal.facts, done.stdout)
