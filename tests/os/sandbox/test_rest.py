"""A sandbox is saved only where its files and its shell are all there is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from envhub_os.sandbox import NotAtRest, Sandbox, Settings, box
from envhub_os.sandbox.jail import mounts

from .conftest import say

Make = Callable[..., Sandbox]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sleep 1000 & true", "beside"),
        ("setsid sleep 1000 & disown; true", "beside"),
        ("su -", "prompt"),
        ("bash", "prompt"),
        ("cat", "prompt"),
        ("exec 5< /etc/passwd", "files open"),
        ("set -- a b", "arguments"),
        ("true & wait", "background"),
        ("set -x", "shows what"),
        ("trap 'echo x' DEBUG", "traps|add up"),
        ("enable -n printf test", "disabled|say what it holds"),
        ("ulimit -n 100", "limits"),
        ("renice 5 $$", "priority"),
        ("touch /dev/shm/x", "/dev"),
        ("touch /dev/x", "/dev"),
        ("ipcmk -M 10 || exit 9", "System V"),
        ("mkdir /tmp/d; cd /tmp/d; rmdir /tmp/d", "removed"),
        ("printf() { :; }; builtin() { :; }", "say what it holds"),
        ("HISTIGNORE='x*'", "history"),
        ("exec sh", "another program"),
    ],
)
def test_what_is_more_than_files_and_a_shell_is_not_saved(root: Sandbox, command: str, why: str) -> None:
    result = root.run(command, timeout_s=60, limit_bytes=1000)
    if result.new_shell or "su: cannot" in result.output:
        pytest.skip(f"this can't be tried here: {result.output}")
    with pytest.raises(NotAtRest, match=why):
        root.save()
    root.exec(["true"])


def test_a_folder_that_a_link_leads_to_is_none_of_the_roots_own(tmp_path: Path) -> None:
    (tmp_path / "root/lib/dpkg").mkdir(parents=True)
    (tmp_path / "root/var").symlink_to("/")
    (tmp_path / "root/lib/link").symlink_to("dpkg")
    root = str(tmp_path / "root")
    for place, there in (("/", True), ("/lib/dpkg", True), ("/var", False), ("/var/lib", False)):
        assert mounts.is_in_place(root, place) == there
    assert not mounts.is_in_place(root, "/lib/link") and not mounts.is_in_place(root, "/none")


def test_links_in_the_places_of_the_bases_folders_lead_nowhere_outside(make: Make, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the machine")
    box = make()
    place = max(
        (
            line.split()[4]
            for line in box.read("/proc/self/mountinfo").decode().splitlines()
            if "- overlay " in line
        ),
        key=lambda path: path.count("/"),
    )
    if place.count("/") < 2:
        pytest.skip("no folder of the base can be moved here: all are at the top")
    top, _, below = place[1:].partition("/")
    say(box, f"mv /{top} /moved; mkdir -p /new/$(dirname {below}); ln -s /dev /new/{below}")
    say(box, f"ln -s /tmp/root/new /{top}; ln -sf {secret} /moved/{below}/zero; cd /moved/{below}")
    say(box, "touch null full random urandom tty; cd; history -c")
    with pytest.raises(NotAtRest, match="was moved"):
        box.save()


def test_the_sandbox_goes_on_after_it_was_not_saved(root: Sandbox) -> None:
    say(root, "sleep 1000 & X=1")
    with pytest.raises(NotAtRest):
        root.save()
    assert say(root, "echo $X; kill $!").output.startswith("1\n")


@pytest.mark.usefixtures("users")
def test_much_is_not_saved(root: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "MAX_FILES_BYTES", 1 << 20)
    say(root, "head -c 2000000 /dev/zero > /srv/file")
    with pytest.raises(NotAtRest, match="too large"):
        root.save()
    say(root, "rm /srv/file; truncate -s 100M /srv/hole")
    root.save()


def test_a_sandbox_without_walls_is_not_saved(tmp_path: object) -> None:
    with Sandbox.start(Settings(backend="none", i_know=True, cwd=str(tmp_path))) as machine:
        with pytest.raises(NotAtRest, match="not made for that"):
            machine.save()
