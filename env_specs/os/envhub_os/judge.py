"""Whether the agent has done what it was asked."""

from __future__ import annotations

import time
from typing import Any

from envhub_os.compare import COMPARISONS, FAITHFUL
from envhub_os.sandbox import Completed, Sandbox
from envhub_os.task import Answer, Chain, Fact, Goal, Script, State

NO_ANSWER = "None"
"""What check scripts get for an agent that finished without an answer, as published."""

RUN, GIT = "run", "git"
"""The kinds of facts that take a program; the others are what `Sandbox.look` is asked.

    run  [exit status, lines of the output] of a program that the agent was to make  {argv, stdin}
    git  the same of git in a repository                                             {repo, arguments}
"""
_GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
}
_GIT_SETTINGS = {
    "safe.directory": "*",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.preloadIndex": "false",
    "log.showSignature": "false",
    "gpg.program": "/bin/false",
}
"""A repository's own configuration changes little. What it has git run (filters, hooks and others) is not
run, since git can start no process; nor any thread, then, and so it is told to need none."""


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


def run_script(
    sandbox: Sandbox, script: Script, parameters: tuple[str, ...], timeout_s: float, checks: bool = False
) -> Completed:
    """Run a script outside the agent's shell; bash sees the parameters from $1 on, as published.

    One that checks what the agent did has the programs that were there before the agent.
    """
    if script.language == "python":
        argv = ["python3", *(("-I", "-S") if checks else ()), "-c", script.code, *parameters]
    else:
        argv = ["bash", "-c", script.code, "--", *parameters]
    return sandbox.exec(argv, timeout_s=timeout_s, checks=checks)


class Judge:
    """Judges final states.

    Comparisons run here, on the host; what must look at the machine runs in it, in a process of its own, and
    with no program that the agent could have changed. What should be there never enters the machine.

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
                done = run_script(sandbox, script, tuple(parameters), deadline.left_s, checks=True)
            except ValueError:  # an answer, or an output, that no program can be given
                return False
            if done.exit_code != 0:
                return False
            parameters.append(done.stdout.decode("utf-8", "replace"))
        return True

    def _holds(self, goal: State, sandbox: Sandbox, deadline: Deadline) -> bool:
        looks = [fact for fact in goal.facts if fact.kind not in (RUN, GIT)]
        questions = [(fact.kind, fact.arguments) for fact in looks]
        found = sandbox.look(questions, timeout_s=deadline.left_s)
        if found is None or any(fact.expected != value for fact, value in zip(looks, found)):
            return False
        return all(
            fact.expected == _ran(sandbox, fact, deadline.left_s)
            for fact in goal.facts
            if fact.kind in (RUN, GIT)
        )


def _ran(sandbox: Sandbox, fact: Fact, timeout_s: float) -> list[Any]:
    """Run a program for a fact: exit status and lines of the output."""
    asked = fact.arguments
    if fact.kind == RUN:
        done = sandbox.exec(asked["argv"], stdin=asked.get("stdin", "").encode(), timeout_s=timeout_s)
    else:
        settings = [word for pair in _GIT_SETTINGS.items() for word in ("-c", "=".join(pair))]
        argv = ["git", *settings, "-C", asked["repo"], *asked["arguments"]]
        done = sandbox.exec(argv, env=_GIT, timeout_s=timeout_s, checks=True, alone=True)
    lines = [line.rstrip() for line in done.stdout.decode("utf-8", "replace").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return [done.exit_code, lines]
