"""Root file systems: what is locked, what is said where none can be made, and which one is taken."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from envhub_os import OSEnv
from envhub_os.errors import InvalidOptions
from envhub_os.rootfs import HOST, building, locate
from envhub_os.rootfs.apt import MIRROR, AptFailed, mirrors, parse
from envhub_os.rootfs.building import BuildFailed, build, installer, require_machine
from envhub_os.rootfs.lockfile import Lock, LockInvalid, Package, names, read_lock

SAID = """\
'http://mirror/debian/pool/main/b/bash/bash_5.2_amd64.deb' bash_5.2_amd64.deb 1491068 SHA256:{a}
'http://mirror/debian/pool/main/s/sudo/sudo_1%2b2_amd64.deb' sudo_1.9_amd64.deb 1889000 SHA256:{b}
"""


def test_the_lock_has_all_that_is_asked_for_and_no_sudo() -> None:
    lock = read_lock()
    installed, offline = ({package.name for package in lock.of(kind)} for kind in ("installed", "offline"))
    assert set(names("packages.txt")) <= installed and set(names("offline.txt")) <= offline
    assert "sudo" not in installed and not installed & offline
    assert {"bash", "coreutils", "apt"} <= installed
    assert (lock.suite, lock.architecture) == ("bookworm", "amd64")


def test_what_apt_says_is_read_and_a_lock_is_read_back(tmp_path: Path) -> None:
    bash, sudo = parse(SAID.format(a="a" * 64, b="b" * 64), "installed", "http://mirror/debian")
    assert bash == Package("installed", "a" * 64, "pool/main/b/bash/bash_5.2_amd64.deb")
    assert (sudo.path, sudo.name, sudo.version) == ("pool/main/s/sudo/sudo_1+2_amd64.deb", "sudo", "1+2")
    with pytest.raises(AptFailed, match="E: nothing"):
        list(parse("E: nothing", "installed", "http://mirror/debian"))
    lock = read_lock()
    lock.write(tmp_path / "lock")
    assert read_lock(tmp_path / "lock") == lock


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# Debian", "# Devuan", "line 1: it does not say of which Debian"),
        ("installed ", "installed 0", "line 2: not a kind, a SHA-256 and a path"),
        ("pool/main/a/", "pool/../main/a/", "line 2: not a kind"),
        ("pool/main/j/jq/jq_", "pool/main/j/jq/yq_", r"lacks jq, which packages\.txt asks for"),
        ("/sudo_", "/sudoku_", r"lacks sudo, which offline\.txt asks for"),
    ],
)
def test_a_damaged_lock_is_refused_with_what_is_wrong(tmp_path: Path, old: str, new: str, said: str) -> None:
    read_lock().write(tmp_path / "lock")
    text = (tmp_path / "lock").read_text()
    (tmp_path / "lock").write_text(text.replace(old, new, 1))
    with pytest.raises(LockInvalid, match=said):
        read_lock(tmp_path / "lock")


def test_the_machines_own_mirrors_come_first(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://old/debian x\ndeb [arch=amd64] http://near/debian/ x main\n"
    )
    text = "URIs: https://far/debian\nSuites: x\n\nURIs: http://near/debian-security\n"
    (tmp_path / "sources.list.d" / "far.sources").write_text(text)
    assert mirrors(tmp_path) == ["http://near/debian", "https://far/debian", MIRROR]
    assert mirrors(tmp_path / "none") == [MIRROR]


def test_who_cannot_build_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    with pytest.raises(BuildFailed, match="apt-get install mmdebstrap"):
        installer()
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"/usr/bin/{name}")
    monkeypatch.setattr(building, "id_source", lambda: "single")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(BuildFailed, match="apt-get install uidmap"):
        installer()
    with pytest.raises(BuildFailed, match="is for amd64 and this machine is arm64: envhub lock os"):
        require_machine(read_lock(), "arm64")


def test_an_installer_that_fails_is_quoted(tmp_path: Path) -> None:
    """One archive is no operating system."""
    for program in ("mmdebstrap", "dpkg-deb"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    if building.id_source() == "single":
        pytest.skip("mmdebstrap needs root, or a range of user ids")
    control = tmp_path / "tree" / "DEBIAN" / "control"
    control.parent.mkdir(parents=True)
    control.write_text("Package: one\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: x\n")
    archive = tmp_path / "one_1_all.deb"
    subprocess.run(["dpkg-deb", "--build", tmp_path / "tree", archive], check=True, capture_output=True)
    one = Package(
        "installed", hashlib.sha256(archive.read_bytes()).hexdigest(), "pool/main/o/one/one_1_all.deb"
    )
    lock = Lock("bookworm", read_lock().architecture, "20260101T000000Z", (one,))
    with pytest.raises(BuildFailed, match=r"mmdebstrap failed \(\d+\):\n"):
        build(tmp_path / "root", tmp_path, lock)


def test_a_step_of_a_build_is_no_command_of_its_own() -> None:
    command = [sys.executable, "-m", "envhub_os.rootfs", "build"]
    folder = Path(sys.modules["envhub_os"].__path__[0]).parent
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={})
    assert done.returncode == 1 and "envhub build os" in done.stderr


# -- which one --------------------------------------------------------------------------------------


def test_without_one_the_machines_have_this_machines_programs() -> None:
    assert locate("").folder is None and "envhub build os" in locate("").words
    assert locate(HOST).folder is None and "envhub build os" not in locate(HOST).words


def test_what_is_no_root_file_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptions, match="there is no /nowhere"):
        locate("/nowhere")
    with pytest.raises(InvalidOptions, match="it has no /bin/bash"):
        OSEnv(rootfs=str(tmp_path))
    (tmp_path / "text").write_text("no tar")
    with pytest.raises(InvalidOptions, match="is no image of docker save or of OCI"):
        locate(str(tmp_path / "text"))


def test_a_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bash").touch()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text('NAME="x"\nPRETTY_NAME="Toy Linux 1"\n')
    assert locate(str(tmp_path)).folder == tmp_path and "Toy Linux 1" in locate(str(tmp_path)).words
