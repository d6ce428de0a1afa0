"""Says, as JSON, what would hold a sandbox on this machine: `python -m envhub_os.sandbox`."""

from __future__ import annotations

import json

from .report import report
from .settings import Settings

if __name__ == "__main__":
    found = report(Settings())
    print(json.dumps({"problem": found.problem, "lines": found.lines()}))
