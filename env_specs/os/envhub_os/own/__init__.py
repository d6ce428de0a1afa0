"""The embedded tasks: of our own making, from templates, each with a way to win.

No file holds them: each is made when it is played.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from envhub_os.library import Library
from envhub_os.own import archives, files, git, logs, permissions, processes, services, text, users
from envhub_os.own.template import Template

LEVELS = (1, 2, 3)
PROGRAMS = tuple("awk bash find flock getent git gpasswd gzip pgrep ps python3 setsid tar useradd xz".split())
"""What setups, checks and solutions use, beside what every Linux has."""
TEMPLATES: tuple[Template, ...] = tuple(
    template
    for module in (files, text, processes, users, permissions, archives, git, services, logs)
    for template in module.FAMILY.templates
)


def library(train_variants: int, levels: Collection[int]) -> Library:
    """Return the tasks of some levels, with so many of each template in the train split.

    Its digest is that of the templates' source, and of which tasks there are.
    """
    entries = [
        entry
        for template in TEMPLATES
        if template.level in levels
        for entry in template.entries(train_variants)
    ]
    digest = hashlib.sha256("\n".join(entry.id for entry in entries).encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return Library("embedded", f"sha256:{digest.hexdigest()}", entries, PROGRAMS)
