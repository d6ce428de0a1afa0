"""Templates: functions that make a task from a random generator, and the tasks made from them.

Variant 0 of a template is a test task, variant 1 one for validation, those from 2 on are for training; all
variants of a template that is held out are test tasks. So a task's name never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envhub_os.library import Entry
from envhub_os.own.draw import Draw
from envhub_os.task import Goal, Setup, Solution, Task

HELD_OUT_VARIANTS = 3
"""Test tasks of a template that is held out."""


@dataclass(frozen=True)
class Made:
    """What a template makes.

    Attributes:
        description: What the agent is told.
        setup: How the machine gets ready.
        goal: How the end is judged.
        solution: A way to win.
    """

    description: str
    setup: Setup
    goal: Goal
    solution: Solution


@dataclass(frozen=True)
class Template:
    """A kind of task.

    Attributes:
        name: Begins with what it is about.
        level: 1 to 3.
        make: Makes a task.
        held_out: Only test tasks are made of it.
    """

    name: str
    level: int
    make: Callable[[Draw], Made]
    held_out: bool = False

    def entry(self, variant: int) -> Entry:
        """Return one of its tasks."""
        name = f"{self.name}-{variant}"

        def make() -> Task:
            made = self.make(Draw(name))
            return Task(name, made.description, made.setup, made.goal, made.solution)

        split = "test" if self.held_out or variant == 0 else "validation" if variant == 1 else "train"
        return Entry(name, split, (self.name.partition("-")[0],), self.level, make)

    def entries(self, train_variants: int) -> list[Entry]:
        """Return its tasks."""
        return [self.entry(n) for n in range(HELD_OUT_VARIANTS if self.held_out else 2 + train_variants)]


class Family:
    """The templates of one subject, in the order in which they are written.

    Args:
        name: The subject, with which their names begin.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.templates: list[Template] = []

    def template(
        self, level: int, held_out: bool = False
    ) -> Callable[[Callable[[Draw], Made]], Callable[[Draw], Made]]:
        """Make a template of a function; its name is the function's."""

        def add(make: Callable[[Draw], Made]) -> Callable[[Draw], Made]:
            name = f"{self._name}-{make.__name__.replace('_', '-')}"
            self.templates.append(Template(name, level, make, held_out))
            return make

        return add
