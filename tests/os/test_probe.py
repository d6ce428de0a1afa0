"""Facts of a machine: what the program finds, here on this machine, and how it is compared."""

import grp
import os
import pwd
import socket
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from envhub_os import probe
from envhub_os.task import Fact


def holds(*facts: Fact) -> bool:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe.PROGRAM], input=probe.questions(facts), capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return probe.hold(facts, done.stdout)


def fact(kind: str, expected: Any, **arguments: Any) -> Fact:
    return Fact(kind, arguments, expected)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with one of everything."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "text.txt").write_text("one  \ntwo\n\n")
    (tmp_path / "a" / "b" / "tool").write_text("#!/bin/sh\ntr a-z A-Z\nexit 3\n")
    (tmp_path / "a" / "b" / "tool").chmod(0o4750)
    (tmp_path / "link").symlink_to("a/text.txt")
    with tarfile.open(tmp_path / "packed.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a" / "text.txt", "./text.txt")
    return tmp_path


def test_what_is_there(tree: Path) -> None:
    me = pwd.getpwuid(os.getuid())
    assert holds(
        fact("lines", ["one", "two"], path=f"{tree}/a/text.txt"),
        fact("lines", None, path=f"{tree}/none"),
        fact("type", "file", path=f"{tree}/a/text.txt"),
        fact("type", "dir", path=f"{tree}/a"),
        fact("type", "link", path=f"{tree}/link"),
        fact("type", None, path=f"{tree}/none"),
        fact("mode", "4750", path=f"{tree}/a/b/tool"),
        fact("tree", ["b/", "b/tool", "text.txt"], path=f"{tree}/a"),
        fact("archive", {"text.txt": ["one", "two"]}, path=f"{tree}/packed.tar.gz"),
        fact("run", [3, ["ABC"]], argv=["sh", f"{tree}/a/b/tool"], stdin="abc\n"),
    )
    assert holds(fact("owner", f"{me.pw_name}:{_group(me.pw_gid)}", path=f"{tree}/a"))


def _group(number: int) -> str:

    return grp.getgrgid(number).gr_name


def test_accounts() -> None:
    root = pwd.getpwnam("root")
    groups = sorted(_group(number) for number in os.getgrouplist("root", root.pw_gid))
    assert holds(fact("user", {"shell": root.pw_shell, "home": root.pw_dir, "groups": groups}, name="root"))
    assert not holds(fact("user", {}, name="no-such-account"))
    assert not holds(fact("group", [], name="no-such-group"))


def test_a_service_is_asked(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{tmp_path}/s")
        server.listen()

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.sendall(b"you said " + client.makefile("rb").readline())

        thread = threading.Thread(target=serve)
        thread.start()
        assert holds(fact("ask", ["you said hello"], path=f"{tmp_path}/s", line="hello"))
        thread.join()
    assert not holds(fact("ask", [], path=f"{tmp_path}/none", line="hello"))


def test_what_can_not_be_asked_does_not_hold() -> None:
    assert not holds(fact("mode", "644", path="/no/such/file"))
    assert not holds(fact("no-such-kind", None))
    assert not holds(fact("run", [0, []], argv=["/no/such/program"]))


@pytest.mark.parametrize(
    "printed", [b"", b"[", b"{}", b"[]", b'["dir", "dir"]', b"null", b'[{"error": "x"}]', b"\xff"]
)
def test_nonsense_holds_nothing(printed: bytes) -> None:
    assert not probe.hold([fact("type", "dir", path="/")], printed)
    assert probe.hold([fact("type", "dir", path="/")], b'["dir"]\n')


def test_what_should_be_there_is_not_asked_for() -> None:
    assert probe.questions([fact("lines", ["secret"], path="/x")]) == b'[["lines", {"path": "/x"}]]'
