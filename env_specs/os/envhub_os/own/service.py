"""A small service to practise on: a daemon with a configuration, a log, a socket and a control command."""

from __future__ import annotations

from dataclasses import dataclass, field

from envhub_os.own.draw import folder
from envhub_os.own.programs import with_programs
from envhub_os.own.users import account, accounts
from envhub_os.task import Fact, File, Setup

_DAEMON = r'''#!/usr/bin/env python3
"""The service NAME. Answers each line at its socket."""
import fcntl, os, pwd, socket, sys

NAME = "@NAME@"
LOG = open("/var/log/@NAME@.log", "a", buffering=1)

def stop(reason):
    LOG.write("error: " + reason + "\n")
    sys.exit(1)

try:
    lines = [line.split("#")[0].strip() for line in open("/etc/@NAME@.conf")]
except OSError as error:
    stop("cannot read the configuration: %s" % error)
settings = {}
for line in filter(None, lines):
    key, equals, value = line.partition("=")
    if not equals or key.strip() not in ("user", "data", "greeting", "lock"):
        stop("configuration: what does %r mean?" % line)
    settings[key.strip()] = value.strip()
for key in ("user", "data", "greeting", "lock"):
    if key not in settings:
        stop("configuration: %s is missing" % key)
lock = open(settings["lock"], "a")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    stop("another process holds %s" % settings["lock"])
path = "/run/@NAME@.sock"
if os.path.exists(path):
    os.unlink(path)
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen(8)
os.chmod(path, 0o666)
try:
    entry = pwd.getpwnam(settings["user"])
except KeyError:
    stop("there is no user %s" % settings["user"])
os.initgroups(entry.pw_name, entry.pw_gid)
os.setgid(entry.pw_gid)
os.setuid(entry.pw_uid)
try:
    with open(os.path.join(settings["data"], "state"), "a") as state:
        state.write("started\n")
except OSError as error:
    stop("cannot write to the data folder as %s: %s" % (entry.pw_name, error))
LOG.write("serving\n")
while True:
    client, _ = server.accept()
    with client:
        question = client.makefile().readline().strip()
        if question:
            client.sendall(("%s %s\n" % (settings["greeting"], question)).encode())
'''
_CONTROL = r"""#!/bin/sh
# Controls the service @NAME@: @NAME@ctl start, stop, restart, status
running() { [ -e /run/@NAME@.pid ] && [ -d /proc/$(cat /run/@NAME@.pid) ]; }
start() {
    if [ -e /run/@NAME@.pid ]; then
        echo "/run/@NAME@.pid exists: running already?"; return 1
    fi
    setsid /usr/local/sbin/@NAME@d < /dev/null > /dev/null 2>&1 &
    echo $! > /run/@NAME@.pid
    while running; do
        [ "$(tail -n 1 /var/log/@NAME@.log 2>/dev/null)" = serving ] && [ -S /run/@NAME@.sock ] && return 0
        sleep 0.02
    done
    rm -f /run/@NAME@.pid; echo "@NAME@ did not start: see /var/log/@NAME@.log"; return 1
}
stop() {
    if running; then kill $(cat /run/@NAME@.pid); while running; do sleep 0.02; done; fi
    rm -f /run/@NAME@.pid /run/@NAME@.sock; echo stopped >> /var/log/@NAME@.log
}
case "$1" in
    start) start;;
    stop) stop;;
    restart) stop; start;;
    status) if running; then echo running; else echo "not running"; fi;;
    *) echo "usage: $0 start|stop|restart|status"; exit 2;;
esac
"""


@dataclass
class Service:
    """A service of one task.

    Attributes:
        name: What it is called; its account and its files are named after it.
        greeting: The setting that shows in its answers.
        changed: Settings that are not as they should be; None: missing.
    """

    name: str
    greeting: str
    changed: dict[str, str | None] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """What its configuration should say."""
        return {
            "user": self.name,
            "data": f"/var/lib/{self.name}",
            "greeting": self.greeting,
            "lock": f"/run/{self.name}.lock",
        }

    @property
    def conf(self) -> str:
        """Where its configuration is."""
        return f"/etc/{self.name}.conf"

    @property
    def lines(self) -> list[str]:
        """What its configuration says."""
        settings = {**self.settings, **self.changed}
        lines = [f"{key} = {value}" for key, value in settings.items() if value is not None]
        return [f"# the service {self.name}", *lines]

    def setup(self, programs: str = ":", owner: int = 3001, number: int = 3001) -> Setup:
        """Return what installs it.

        Args:
            programs: Bash that starts programs, see `with_programs`.
            owner: Who has its data folder.
            number: The number of its account.
        """
        return with_programs(
            programs,
            (
                File(f"/usr/local/sbin/{self.name}d", _DAEMON.replace("@NAME@", self.name), 0o755),
                File(f"/usr/local/bin/{self.name}ctl", _CONTROL.replace("@NAME@", self.name), 0o755),
                File(self.conf, "\n".join(self.lines) + "\n"),
                folder(f"/var/lib/{self.name}", 0o750, (owner, owner)),
            ),
            (accounts([account(self.name, number, shell="/usr/sbin/nologin")]),),
        )

    def answers(self, question: str, greeting: str = "") -> tuple[Fact, ...]:
        """Facts: it runs as its account should, once, and answers with a greeting."""
        ask = {"path": f"/run/{self.name}.sock", "line": question}
        return (
            Fact("ask", ask, [f"{greeting or self.greeting} {question}"]),
            Fact("running", {"text": f"/usr/local/sbin/{self.name}d"}, 1),
        )
