"""The environment behind a real hub: experts, killed workers, forks, and a server that stays clean."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_db.server.address import Address

from envhub_sdk import Hub

pytestmark = pytest.mark.e2e

TASK = {"task": {"id": "books-0-count-one"}}


def operation(sql: str) -> str:
    return f"Action: Operation\n```sql\n{sql}\n```"


def serving(where: str, *arguments: str) -> list[str]:
    """The arguments of a hub with two workers, on an engine."""
    return ["--env", "db=5", "--workers", "2", *(["--set", f"db.url={where}"] if where else []), *arguments]


def left(url: str) -> list[Any]:
    """What there is of ours on a server."""
    connection = Address.parse(url).connect()
    with connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES LIKE 'envhub%'")
        found = list(cursor.fetchall())
        cursor.execute("SELECT User FROM mysql.user WHERE User LIKE 'envhub%'")
        found += cursor.fetchall()
        cursor.execute(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE ID NOT IN (CONNECTION_ID()) AND HOST != ''"
        )
        found += cursor.fetchall()
    connection.close()
    return found


def test_episodes_go_on_when_workers_are_killed_and_nothing_is_left(
    where: str, mortal: Callable[..., Any], processes: Any, wait_until: Callable[..., None]
) -> None:
    hub = mortal(*serving(where))
    (template,) = processes.children(hub.pid)
    with Hub(hub.url) as client:
        envs = [client.make("db") for _ in range(4)]
        for env in envs:
            env.reset(seed=1, options=TASK)
            env.step(operation("CREATE TABLE notes (a INT)"))
            env.step(operation("INSERT INTO notes VALUES (5), (7)"))
        wait_until(lambda: len(processes.children(template)) == 2)
        for pid in processes.children(template):
            os.kill(pid, signal.SIGKILL)
        for env in envs:
            assert env.step(operation("SELECT SUM(a) FROM notes"))[0] == "[(Decimal('12'),)]"
        (twin,) = envs[0].fork(1)
        with twin:
            twin.step(operation("DELETE FROM notes"))
            assert envs[0].step(operation("SELECT COUNT(*) FROM notes"))[0] == "[(2,)]"
            assert twin.step(operation("SELECT COUNT(*) FROM notes"))[0] == "[(0,)]"
    os.kill(hub.pid, signal.SIGTERM)
    if where:
        wait_until(lambda: left(where) == [])


def test_the_expert_is_evaluated(where: str, mortal: Callable[..., Any], tmp_path: Path) -> None:
    hub = mortal(*serving(where, "--set", "db.expert=true", "--set", "db.actions=tools"))
    command = [sys.executable, "-m", "envhub", "eval", "--env", "db", "--hub", hub.url, "--policy", "expert"]
    command += ["--split", "validation", "--limit", "28", "--out", str(tmp_path / "run"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["total"]["episodes"], report["total"]["successes"]) == (28, 28)
    assert {"counting", "join", "INSERT"} <= set(report["types"])


def test_a_server_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    address = f"mysql://root:secret@localhost/?unix_socket={tmp_path}/none"
    command = [
        sys.executable,
        "-m",
        "envhub",
        "serve",
        "--env",
        "db",
        "--set",
        f"db.url={address}",
        "--port",
        "0",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "there is no such socket" in done.stderr
    assert "Traceback" not in done.stderr
