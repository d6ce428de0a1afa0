"""What a task is: a machine made ready, a question or an order, and how the end is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union


@dataclass(frozen=True)
class Script:
    """Code to run by itself, outside the agent's shell.

    Attributes:
        code: The source.
        language: "bash" or "python".
    """

    code: str
    language: str = "bash"


@dataclass(frozen=True)
class File:
    """Something to lay down before the agent comes.

    Attributes:
        path: Where, absolute.
        content: What a file holds; None makes a directory.
        mode: Permission bits.
        owner: User and group numbers.
        days_old: Days between its modification and 1 March 2024, so that listings are the same in each run.
        target: Makes a symbolic link to there.
    """

    path: str
    content: str | None = ""
    mode: int = 0o644
    owner: tuple[int, int] = (0, 0)
    days_old: float = 0.0
    target: str | None = None


@dataclass(frozen=True)
class Setup:
    """How the machine gets ready.

    Attributes:
        files: Laid down first, in one go.
        scripts: Run then, one after the other; one that fails is a failure of the setup.
        start: Typed into the agent's shell at last.
    """

    files: tuple[File, ...] = ()
    scripts: tuple[Script, ...] = ()
    start: str | None = None


@dataclass(frozen=True)
class Answer:
    """The agent's answer decides.

    Attributes:
        expected: The right one; for `compare` "regex" the pattern.
        compare: One of `compare.COMPARISONS`.
        strip: Take blanks around the answer away first.
    """

    expected: str
    compare: str = "exact"
    strip: bool = True


@dataclass(frozen=True)
class Chain:
    """Scripts decide, as in AgentBench: each gets the answer and what those before it printed.

    Attributes:
        checks: In order; None stands for the reference, a text names one of `compare.COMPARISONS`.
        reference: The reference script.
    """

    checks: tuple[Script | str | None, ...]
    reference: Script | None = None


@dataclass(frozen=True)
class Fact:
    """Something that must hold of the machine at the end.

    Attributes:
        kind: One of the kinds of `sandbox.jail.look`, or of `judge`.
        arguments: What it is asked about.
        expected: What it must say; JSON. It never enters the machine.
    """

    kind: str
    arguments: dict[str, Any]
    expected: Any


@dataclass(frozen=True)
class State:
    """The machine's final state decides; the agent only says that it is done.

    Attributes:
        facts: All must hold.
    """

    facts: tuple[Fact, ...]


Goal = Union[Answer, Chain, State]


@dataclass(frozen=True)
class Solution:
    """How the task is solved, for tests and demonstrations; never shown to an agent.

    Attributes:
        scripts: What to type, one a round.
        answer: What to answer; None: what the last script printed, or just "finished" for a `State`.
    """

    scripts: tuple[str, ...]
    answer: str | None = None


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        id: Its name.
        description: What the agent is told.
        setup: How the machine gets ready.
        goal: How the end is judged.
        solution: A way to win, where one is known.
    """

    id: str
    description: str
    setup: Setup
    goal: Goal
    solution: Solution | None = None

    @property
    def answers(self) -> bool:
        """Whether an answer decides, and not the machine's state alone."""
        return not isinstance(self.goal, State)
