"""What a machine is like: found here on this machine, and inside a sandbox."""

import grp
import gzip
import os
import pwd
import socket
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_os.sandbox import Sandbox, Settings
from envhub_os.sandbox.jail import look

from .conftest import say


def found(kind: str, **arguments: Any) -> Any:
    """What is found here."""
    return look.answers([(kind, arguments)])[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with one of everything."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "text.txt").write_text("one  \ntwo\n\n")
    (tmp_path / "a" / "b" / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "a" / "b" / "tool").chmod(0o4750)
    (tmp_path / "link").symlink_to("a/text.txt")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    for form in ("gz", "bz2", "xz"):
        with tarfile.open(tmp_path / f"packed.tar.{form}", f"w:{form}") as archive:  # type: ignore[call-overload]
            archive.add(tmp_path / "a" / "text.txt", "./text.txt")
    return tmp_path


def test_files(tree: Path) -> None:
    me = pwd.getpwuid(os.getuid())
    assert found("lines", path=f"{tree}/a/text.txt") == ["one", "two"]
    assert found("lines", path=f"{tree}/none") is None
    assert [found("type", path=f"{tree}/{n}") for n in ("a/text.txt", "a", "link", "none")] == [
        "file",
        "dir",
        "link",
        None,
    ]
    assert found("mode", path=f"{tree}/a/b/tool") == "4750"
    assert found("tree", path=f"{tree}/a") == ["b/", "b/tool", "text.txt"]
    assert found("unzipped", path=f"{tree}/packed.gz") == ["one", "two"]
    assert found("owner", path=f"{tree}/a") == f"{me.pw_name}:{grp.getgrgid(me.pw_gid).gr_name}"


@pytest.mark.parametrize("form", ["gz", "bz2", "xz"])
def test_archives(tree: Path, form: str) -> None:
    for said in (form, "*"):
        assert found("archive", path=f"{tree}/packed.tar.{form}", form=said) == {"text.txt": ["one", "two"]}
    other = "xz" if form == "gz" else "gz"
    assert "error" in found("archive", path=f"{tree}/packed.tar.{form}", form=other)


def test_accounts() -> None:
    root = pwd.getpwnam("root")
    groups = sorted(grp.getgrgid(number).gr_name for number in os.getgrouplist("root", root.pw_gid))
    assert found("user", name="root") == {"shell": root.pw_shell, "home": root.pw_dir, "groups": groups}
    assert found("user", name="no-such-account") is None
    assert "error" in found("group", name="no-such-group")


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
        assert found("ask", path=f"{tmp_path}/s", line="hello") == ["you said hello"]
        thread.join()
    assert "error" in found("ask", path=f"{tmp_path}/none", line="hello")


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("mode", {"path": "/no/such/file"}),
        ("no-such-kind", {}),
        ("lines", {}),
        ("unzipped", {"path": "/dev"}),
    ],
)
def test_what_can_not_be_found_is_an_error(kind: str, arguments: dict[str, Any]) -> None:
    assert list(found(kind, **arguments)) == ["error"]


def test_inside_each_kind_is_found_without_a_program_or_library(box: Sandbox) -> None:
    script = """
mkdir /srv/a; echo 1 > /srv/a/x; chmod 600 /srv/a/x; gzip -k /srv/a/x; cd /srv
tar -cf u.tar a; tar -czf z.tar a; mkfifo /srv/fifo
bash -c 'exec -a something sleep 1000000' > /dev/null 2>&1 &
until grep -q something /proc/$!/cmdline; do :; done
"""
    say(box, script)
    say(box, "rm -rf /usr/bin/* /usr/lib/python3*; > /etc/ld.so.cache; > /etc/nsswitch.conf")
    questions: list[tuple[str, dict[str, Any]]] = [
        ("lines", {"path": "/srv/a/x"}),
        ("lines", {"path": "/srv/fifo"}),
        ("owner", {"path": "/srv/a"}),
        ("tree", {"path": "/srv/a"}),
        ("unzipped", {"path": "/srv/a/x.gz"}),
        ("archive", {"path": "/srv/u.tar"}),
        ("archive", {"path": "/srv/z.tar", "form": "gz"}),
        ("running", {"text": "something 1000000"}),
        ("group", {"name": "root"}),
    ]
    entries = {"a/x": ["1"]}
    with_gz = {"a/x", "a/x.gz"}
    answers = box.look(questions)
    assert answers is not None
    assert answers[:5] == [["1"], None, "root:root", ["x", "x.gz"], ["1"]]
    for archive in answers[5:7]:
        assert set(archive) == with_gz and archive["a/x"] == entries["a/x"]
    assert answers[7:] == [1, []]


def test_inside_a_process_that_is_told_to_end_has_ended(box: Sandbox) -> None:
    for _ in range(30):
        say(
            box,
            "bash -c 'exec -a something sleep 1000000' &\n"
            "until grep -q something /proc/$!/cmdline; do :; done",
        )
        say(box, "kill $!")
        assert box.look([("running", {"text": "something 1000000"})]) == [0]


def test_inside_a_process_that_takes_no_notice_is_counted(box: Sandbox) -> None:
    say(box, "bash -c 'trap \"\" TERM; > /tmp/ready; while :; do :; done' something &")
    say(box, "until [ -e /tmp/ready ]; do :; done; kill $!")
    assert box.look([("running", {"text": "something"})]) == [1]


def test_inside_an_account_may_do_what_it_may(box: Sandbox) -> None:
    if say(box, "useradd -m bob && su bob -s /bin/bash -c true").exit_code:
        pytest.skip("no useradd, or only one user id here")
    say(box, "chmod 700 /root; echo 1 > /tmp/mine; chmod 600 /tmp/mine; mkdir /tmp/open; chmod 777 /tmp/open")
    asked = [("/root", "list"), ("/tmp/open", "list"), ("/tmp/mine", "read"), ("/etc/passwd", "read")]
    asked += [("/root/new", "create"), ("/tmp/open/new", "create")]
    questions = [("may", {"path": path, "user": "bob", "do": do}) for path, do in asked]
    assert box.look(questions) == [False, True] * 3
    assert box.look([("owner", {"path": "/tmp/open/new"})]) == ["bob:bob"]
    assert box.look([("may", {"path": "/", "user": "alice", "do": "list"})]) != [True]


def test_who_renumbers_an_account_or_group_has_given_it_nothing(
    make: Callable[..., Sandbox], small: Settings
) -> None:
    box = make()
    lines = {"passwd": "ann:x:3001:3001::/:/bin/sh", "group": "crew:x:3001:"}
    say(box, "; ".join(f"echo {line} >> /etc/{name}" for name, line in lines.items()))
    box.seal()
    asked: list[tuple[str, dict[str, Any]]] = [
        ("owner", {"path": "/srv"}),
        ("user", {"name": "ann"}),
        ("may", {"path": "/", "user": "ann", "do": "list"}),
    ]
    owner, user, _ = box.look(asked) or [None] * 3
    assert owner == "root:root" and user["shell"] == "/bin/sh"
    say(box, "sed -i '1i ann:x:0:0::/:/bin/sh' /etc/passwd; sed -i '1i crew:x:0:' /etc/group")
    for one in (box, make(small, box.save())):
        assert all("error" in found for found in one.look(asked) or [""])
    say(box, "sed -i 1d /etc/passwd; sed -i 1d /etc/group; echo eve:x:3009:3001::/:/bin/sh >> /etc/passwd")
    assert (box.look([*asked[:2], ("user", {"name": "eve"})]) or [])[:2] == [owner, user]
    say(box, "sed -i s/ann:x:3001/eve:x:3001/ /etc/passwd")
    assert "error" in (box.look([("user", {"name": "eve"})]) or [""])[0]


def test_what_an_account_may_is_not_known_where_it_cannot_be_tried(box: Sandbox) -> None:
    say(box, "echo ann:x:3999999999:0::/:/bin/sh >> /etc/passwd; chmod 700 /root")
    for path, user in (("/root", "ann"), ("/none", "root")):
        found = box.look([("may", {"path": path, "user": user, "do": "list"})])
        assert found is not None and "error" in found[0], path


def test_a_file_of_which_only_the_beginning_would_be_read_is_not_read(box: Sandbox) -> None:
    say(box, "echo 1 > /srv/x; head -c 1100000 /dev/zero | tr '\\0' '\\n' >> /srv/x; echo 2 >> /srv/x")
    say(box, "gzip -k /srv/x; cd /srv; tar -czf x.tar x; cp x /etc/passwd")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("lines", {"path": "/srv/x"}),
        ("unzipped", {"path": "/srv/x.gz"}),
        ("archive", {"path": "/srv/x.tar"}),
        ("user", {"name": "root"}),
    ]
    assert all("error" in found for found in box.look(asked) or [""])


def test_who_leaves_no_process_for_it_gets_no_answers(box: Sandbox) -> None:
    assert box.look([]) == []
    box.run("while :; do kill -9 -1; done", timeout_s=0.5, limit_bytes=10)
    assert box.look([("type", {"path": "/"})]) == ["dir"]
