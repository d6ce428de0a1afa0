"""Looking at the final state: one small program inside the machine says what is there, the host compares.

What should be there never enters the machine, so that nothing in it can be made to agree. The kinds of facts:

    lines    a file's lines without blanks at their ends, None if there is no such file  {path}
    type     "file", "dir", "link", "other" or None                                     {path}
    mode     permission bits such as "640"                                              {path}
    owner    "user:group"                                                               {path}
    tree     sorted names of all files below a folder, folders with a "/" at the end    {path}
    archive  name to lines of each file in a tar archive                                {path}
    user     {"shell", "home", "groups"} of an account                                  {name}
    group    sorted members of a group                                                  {name}
    running  how many processes have the text in their command line                     {text}
    run      [exit status, lines of the output] of a program                            {argv, user, stdin}
    ask      what a service at a Unix socket answers to a line                          {path, line}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from envhub_os.task import Fact

PROGRAM = r"""
import grp, json, os, pwd, socket, stat, subprocess, sys, tarfile

def lines(data):
    found = [line.rstrip() for line in data.decode("utf-8", "replace").split("\n")]
    while found and not found[-1]:
        found.pop()
    return found

def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)

class Facts:
    def lines(self, path):
        return lines(read(path)) if os.path.isfile(path) else None

    def type(self, path):
        if not os.path.lexists(path):
            return None
        mode = os.lstat(path).st_mode
        kinds = (("link", stat.S_ISLNK), ("dir", stat.S_ISDIR), ("file", stat.S_ISREG))
        return next((name for name, test in kinds if test(mode)), "other")

    def mode(self, path):
        return "%o" % stat.S_IMODE(os.stat(path).st_mode)

    def owner(self, path):
        found = os.stat(path)
        return pwd.getpwuid(found.st_uid).pw_name + ":" + grp.getgrgid(found.st_gid).gr_name

    def tree(self, path):
        found = []
        for folder, folders, files in os.walk(path):
            below = os.path.relpath(folder, path)
            found += [os.path.normpath(os.path.join(below, name)) for name in files]
            found += [os.path.normpath(os.path.join(below, name)) + "/" for name in folders]
        return sorted(found)

    def archive(self, path):
        with tarfile.open(path) as archive:
            files = [member for member in archive.getmembers() if member.isfile()]
            return {os.path.normpath(m.name): lines(archive.extractfile(m).read(1 << 20)) for m in files}

    def user(self, name):
        entry = pwd.getpwnam(name)
        groups = sorted(grp.getgrgid(number).gr_name for number in os.getgrouplist(name, entry.pw_gid))
        return {"shell": entry.pw_shell, "home": entry.pw_dir, "groups": groups}

    def group(self, name):
        return sorted(grp.getgrnam(name).gr_mem)

    def running(self, text):
        count = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                state = read("/proc/%s/stat" % pid).rpartition(b")")[2].split()[0]
                command = read("/proc/%s/cmdline" % pid).replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            count += text in command and state != b"Z" and int(pid) != os.getpid()
        return count

    def run(self, argv, user=None, stdin=""):
        def become():
            if user is not None:
                entry = pwd.getpwnam(user)
                os.initgroups(user, entry.pw_gid)
                os.setgid(entry.pw_gid)
                os.setuid(entry.pw_uid)
        done = subprocess.run(
            argv, input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20,
            preexec_fn=become, cwd="/",
        )
        return [done.returncode, lines(done.stdout)]

    def ask(self, path, line):
        with socket.socket(socket.AF_UNIX) as service:
            service.settimeout(20)
            service.connect(path)
            service.sendall(line.encode() + b"\n")
            return lines(service.makefile("rb").read(1 << 16))

found = []
for kind, arguments in json.loads(sys.stdin.read()):
    try:
        found.append(getattr(Facts(), kind)(**arguments))
    except Exception as error:
        found.append({"error": "%s: %s" % (type(error).__name__, error)})
print(json.dumps(found))
"""
"""Runs inside, as root, with Python 3.5 or newer: prints what it found for the questions on its input."""


def questions(facts: Sequence[Fact]) -> bytes:
    """Return what the program gets to read."""
    return json.dumps([[fact.kind, fact.arguments] for fact in facts]).encode()


def hold(facts: Sequence[Fact], printed: bytes) -> bool:
    """Tell whether all facts hold, given what the program printed. Nonsense holds nothing."""
    try:
        found = json.loads(printed)
    except ValueError:
        return False
    if not isinstance(found, list) or len(found) != len(facts):
        return False
    return all(value == fact.expected and not _failed(value) for fact, value in zip(facts, found))


def _failed(value: Any) -> bool:
    return isinstance(value, dict) and "error" in value
