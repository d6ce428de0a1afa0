"""Sandboxes of a hub that does not run as root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from envhub_os.sandbox import Completed, Report, launcher

PYTHON = "/usr/bin/python3"
NOBODY = 65534
PROGRAM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from envhub_os.sandbox import Sandbox, Settings, report
found = report(Settings(backend=sys.argv[3]))
if found.problem:
    sys.exit(found.problem)
with Sandbox.start(Settings(memory_mb=2000, backend=sys.argv[3])) as box:
    def say(command):
        return box.run(command, timeout_s=60, limit_bytes=10_000).output
    def checks():
        say("printf '#!/bin/sh\\necho 7\\n' > /usr/local/bin/wc; chmod 755 /usr/local/bin/wc")
        say("echo 1 > /root/a")
        say("echo /none.so > /etc/ld.so.preload")
        return str(box.exec(["bash", "-c", "wc -l < /root/a"], checks=True))
    print(json.dumps({
        "ids": found.ids,
        "who": say("id -u; touch /tmp/a /etc/b /usr/bin/c /root/d && ls -1 /etc/b /usr/bin/c; pwd"),
        "shadow": say("cut -d: -f2 /etc/shadow | sort -u"),
        "secret": say("cat " + sys.argv[2]),
        "limits": say("ulimit -u; ulimit -v; ulimit -n"),
        "checks": checks(),
        "left": box.pid,
    }))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """The package where every user can read it."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(launcher.__file__).parent
        shutil.copytree(source, f"{name}/envhub_os/sandbox", ignore=shutil.ignore_patterns("__pycache__"))
        Path(name, "envhub_os/__init__.py").touch()
        subprocess.run(["chmod", "-R", "a+rX", name], check=True)
        yield Path(name)


def test_without_root_there_is_one_id_and_limits_by_process(held: Report, folder: Path) -> None:
    if os.geteuid() != 0 or not os.access(PYTHON, os.X_OK):
        pytest.skip(f"to become another user takes root and {PYTHON}")
    secret = folder / "secret"
    secret.write_text("x")
    command = [PYTHON, "-c", PROGRAM, str(folder), str(secret), held.backend]
    try:
        done = subprocess.run(
            command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True
        )
    except PermissionError:
        pytest.skip("this root may not become another user")
    if "no sandbox can be made" in done.stderr:
        pytest.skip("this machine allows user namespaces to root only")
    said = json.loads(done.stdout)
    assert said["ids"] in ("single", "subuid")
    assert said["who"] == "0\n/etc/b\n/usr/bin/c\n/root\n"
    assert said["shadow"] == "*\n"
    assert "No such file" in said["secret"]
    assert said["checks"] == str(Completed(0, b"1\n", b""))
    assert said["limits"] == "256\n2048000\n4096\n"
    assert not os.path.exists(f"/proc/{said['left']}")
