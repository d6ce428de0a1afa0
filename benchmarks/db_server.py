"""A MariaDB server for a while: Debian's, on a socket, with its data in memory."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

OPTIONS = (
    "--skip-networking",
    "--skip-log-bin",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_unicode_520_nopad_ci",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=16M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--performance-schema=OFF",
    "--local-infile=0",
    "--group-concat-max-len=1024",
)
"""Small, quick, and like MySQL 8 in what shows: collation and the limit of GROUP_CONCAT."""


def missing() -> str:
    """Why no server can be started here; empty where one can."""
    for name in ("mariadbd", "mariadb-install-db"):
        if find(name) is None:
            return f"{name} is not installed (Debian: apt-get install mariadb-server)"
    return ""


def find(name: str) -> str | None:
    """Where a program of MariaDB's is."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


@contextlib.contextmanager
def server() -> Iterator[Path]:
    """Start a server, and stop it in the end.

    Yields:
        Its socket. The administrator is root, without a password.

    Raises:
        RuntimeError: it did not come up; with the end of its log.
    """
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="mariadb-", dir=memory))
    data, socket, log = folder / "data", folder / "socket", folder / "log"
    user = f"--user={getpass.getuser()}"
    process: subprocess.Popen[bytes] | None = None
    try:
        install = [
            str(find("mariadb-install-db")),
            "--no-defaults",
            user,
            f"--datadir={data}",
            "--skip-test-db",
        ]
        install.append("--auth-root-authentication-method=normal")
        subprocess.run(install, check=True, capture_output=True, timeout=120)
        command = [
            str(find("mariadbd")),
            "--no-defaults",
            user,
            f"--datadir={data}",
            f"--socket={socket}",
            *OPTIONS,
        ]
        with log.open("wb") as out:
            process = subprocess.Popen([*command, f"--pid-file={folder / 'pid'}"], stdout=out, stderr=out)
        deadline = time.monotonic() + 60
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"MariaDB did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield socket
    finally:
        if process is not None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)
