"""Says, as JSON, what would hold a sandbox on this machine: `python -m envhub_os.sandbox`."""

from __future__ import annotations

import json

from .report import report
from .settings import AUTO, Settings

if __name__ == "__main__":
    found = report(Settings())
    lines = [f"auto is {line}" if not number else line for number, line in enumerate(found.lines())]
    for backend in AUTO:
        if not found.problem and backend != found.backend:
            lines.append(f"{backend}: {report(Settings(backend=backend)).problem or 'works here, too'}")
    print(json.dumps({"problem": found.problem, "lines": lines}))
