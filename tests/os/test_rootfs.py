"""Root file systems: locks, repositories, images."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from envhub_os.rootfs import BuildFailed, Package, build, read_lock, unpack
from envhub_os.rootfs.building import digest
from envhub_os.rootfs.image import ImageInvalid
from envhub_os.rootfs.lockfile import LockFailed, names, parse, write_lock

SAID = """\
'http://mirror/debian/pool/main/b/bash/bash_5.2_amd64.deb' bash_5.2_amd64.deb 1491068 SHA256:{a}
offline
'http://mirror/debian/pool/main/s/sudo/sudo_1%2b2_amd64.deb' sudo_1.9_amd64.deb 1889000 SHA256:{b}
"""


def test_the_lock_has_all_that_is_asked_for_and_no_sudo() -> None:
    packages = read_lock()
    installed, offline = (
        {Path(one.path).name.partition("_")[0] for one in packages if one.kind == kind}
        for kind in ("installed", "offline")
    )
    assert set(names("packages.txt")) <= installed
    assert set(names("offline.txt")) <= offline
    assert "sudo" not in installed and not installed & offline
    assert {"bash", "coreutils", "apt"} <= installed


def test_what_apt_says_is_a_lock_and_is_read_back(tmp_path: Path) -> None:
    packages = parse(SAID.format(a="a" * 64, b="b" * 64), "http://mirror/debian/")
    assert packages[0] == Package("installed", "a" * 64, "pool/main/b/bash/bash_5.2_amd64.deb")
    assert packages[1].kind == "offline"
    write_lock(packages, "amd64", tmp_path / "lock")
    assert read_lock(tmp_path / "lock") == packages
    with pytest.raises(LockFailed):
        parse("E: nothing", "http://mirror/debian")


def test_a_damaged_lock_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.write_text("# Debian\ninstalled abc pool/x.deb\n")
    with pytest.raises(LockFailed, match="line 2"):
        read_lock(file)


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[str, Path]:
    """A mirror of one package, and a lock of it."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("no dpkg-deb here")
    control = tmp_path / "tree" / "DEBIAN" / "control"
    control.parent.mkdir(parents=True)
    control.write_text("Package: one\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\nDescription: x\n")
    pool = tmp_path / "mirror" / "pool"
    pool.mkdir(parents=True)
    archive = pool / "one_1_all.deb"
    subprocess.run(["dpkg-deb", "--build", tmp_path / "tree", archive], check=True, capture_output=True)
    lock = tmp_path / "lock"
    write_lock(
        [Package("offline", hashlib.sha256(archive.read_bytes()).hexdigest(), "pool/one_1_all.deb")],
        "all",
        lock,
    )
    return (tmp_path / "mirror").as_uri(), lock


def test_an_archive_that_is_another_one_or_gone_stops_the_build(
    mirror: tuple[str, Path], tmp_path: Path
) -> None:
    if shutil.which("mmdebstrap") is None:
        pytest.skip("no mmdebstrap here")
    address, lock = mirror
    lock.write_text(lock.read_text().replace("one_1", "two_1"))
    with pytest.raises(BuildFailed, match="two_1"):
        build(tmp_path / "root", address, lock=lock)
    lock.write_text(f"offline {'0' * 64} pool/one_1_all.deb\n")
    with pytest.raises(BuildFailed, match="the lock says 0000"):
        build(tmp_path / "root", address, lock=lock)
    assert not (tmp_path / "root").exists()


def test_what_is_there_and_of_the_same_lock_stays(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("# nothing\n")
    (tmp_path / "root").mkdir()
    with pytest.raises(BuildFailed, match="was not made from this lock"):
        build(tmp_path / "root", lock=lock)
    (tmp_path / "root.complete").write_text(digest(lock))
    build(tmp_path / "root", lock=lock)


# -- images -----------------------------------------------------------------------------------------


def layer(*members: tuple[str, str | None], links: tuple[tuple[str, str, bytes], ...] = ()) -> bytes:
    """A compressed layer: names with contents (None: a folder), and links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.uid, entry.gid, entry.mode = os.getuid(), os.getgid(), 0o755 if content is None else 0o644
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.size = len(content or "")
            archive.addfile(entry, io.BytesIO((content or "").encode()))
        for name, target, kind in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname, entry.uid, entry.gid = kind, target, os.getuid(), os.getgid()
            archive.addfile(entry)
    return packed.getvalue()


def image(file: Path, style: str, *layers: bytes) -> Path:
    """An image as docker or an OCI tool writes it."""
    files: dict[str, bytes] = {}
    blobs = []
    for data in layers:
        blobs.append(hashlib.sha256(data).hexdigest())
        files[f"blobs/sha256/{blobs[-1]}"] = data
    if style == "docker":
        files["manifest.json"] = json.dumps([{"Layers": [f"blobs/sha256/{blob}" for blob in blobs]}]).encode()
    else:
        manifest = json.dumps({"layers": [{"digest": f"sha256:{blob}"} for blob in blobs]}).encode()
        name = hashlib.sha256(manifest).hexdigest()
        files[f"blobs/sha256/{name}"] = manifest
        files["index.json"] = json.dumps({"manifests": [{"digest": f"sha256:{name}"}]}).encode()
    with tarfile.open(file, "w") as outer:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            outer.addfile(entry, io.BytesIO(data))
    return file


@pytest.mark.parametrize("style", ["docker", "oci"])
def test_layers_are_put_over_each_other(tmp_path: Path, style: str) -> None:
    first = layer(
        ("etc", None), ("etc/a", "1"), ("etc/b", "1"), ("opt", None), ("opt/x", "1"), ("bin", "file")
    )
    links = (("lib", "usr/lib", tarfile.SYMTYPE), ("etc/hard", "etc/a", tarfile.LNKTYPE))
    second = layer(
        ("etc/.wh.b", ""),
        ("opt/.wh..wh..opq", ""),
        ("opt/y", "2"),
        ("etc/a", "2"),
        ("bin", None),
        links=links,
    )
    unpack(image(tmp_path / "image.tar", style, first, second), tmp_path / "root")
    root = tmp_path / "root"
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == [
        *("bin", "etc", "etc/a", "etc/hard", "lib", "opt", "opt/y")
    ]
    assert (root / "etc/a").read_text() == (root / "etc/hard").read_text() == "2"
    assert (root / "bin").is_dir() and os.readlink(root / "lib") == "usr/lib"


@pytest.mark.parametrize(
    "evil",
    [
        layer(("../out", "x")),
        layer(("/out", "x")),
        layer(links=(("link", "/tmp", tarfile.SYMTYPE),)) + b"",
        layer(links=(("hard", "../out", tarfile.LNKTYPE),)),
    ],
    ids=["up", "absolute", "through a link", "hard link"],
)
def test_no_path_leads_out(tmp_path: Path, evil: bytes) -> None:
    through = layer(("link/out", "x"))
    with pytest.raises(ImageInvalid):
        unpack(image(tmp_path / "image.tar", "oci", evil, through), tmp_path / "root")
    assert not (tmp_path / "root").exists() and not (tmp_path / "out").exists()
    assert not Path("/tmp/out").exists()


def test_what_is_no_image_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no tar")
    with pytest.raises(ImageInvalid, match="no image"):
        unpack(tmp_path / "text", tmp_path / "root")
    assert not (tmp_path / "root").exists()
