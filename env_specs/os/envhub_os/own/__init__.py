"""The embedded tasks: of our own making, from templates, each with a way to win.

`tasks` makes them in well under a second, so no file holds them.
"""

from __future__ import annotations

from envhub_os.own import archives, files, git, logs, permissions, processes, services, text, users
from envhub_os.own.template import Template
from envhub_os.task import Task

LEVELS = (1, 2, 3)
TEMPLATES: tuple[Template, ...] = tuple(
    template
    for module in (files, text, processes, users, permissions, archives, git, services, logs)
    for template in module.FAMILY.templates
)


def tasks(train_variants: int) -> list[Task]:
    """Return all tasks, with so many of each template in the train split."""
    return [task for template in TEMPLATES for task in template.tasks(train_variants)]
