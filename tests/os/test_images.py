"""Root file systems from images: layers, whiteouts, hashes, and paths that would lead out."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from envhub_os.rootfs import ImageInvalid, locate
from envhub_os.rootfs.image import unpack_once

Members = tuple[Any, ...]


def layer(*members: Members) -> bytes:
    """A layer: (name, content), (name,) for a folder, (name, target, kind) for a link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, *rest in members:
            entry = tarfile.TarInfo(name)
            entry.uid, entry.gid, entry.mode = os.getuid(), os.getgid(), 0o644 if rest else 0o755
            entry.type = tarfile.DIRTYPE
            content = b""
            if len(rest) == 1:
                entry.type, content = tarfile.REGTYPE, rest[0].encode()
            elif rest:
                entry.linkname, entry.type = rest
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def image(
    file: Path, *layers: bytes, style: str = "oci", claimed: bytes | None = None, **config: Any
) -> Path:
    """An image as docker or an OCI tool writes it; `claimed` is what the last layer is said to be."""
    said = [*layers[:-1], claimed] if claimed is not None else layers
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{sha256(data)}" for data in said]}
    settings = json.dumps({"os": "linux", "rootfs": rootfs, **config}).encode()
    packed = [gzip.compress(data, mtime=0) if style == "oci" else data for data in layers]
    files = {f"blobs/sha256/{sha256(data)}": data for data in [settings, *packed]}
    names = [f"blobs/sha256/{sha256(data)}" for data in packed]
    if style == "docker":
        files[f"{sha256(settings)}.json"] = settings
        files["manifest.json"] = json.dumps(
            [{"Config": f"{sha256(settings)}.json", "Layers": names}]
        ).encode()
    else:
        digests = [{"digest": f"sha256:{sha256(data)}"} for data in packed]
        manifest = json.dumps(
            {"config": {"digest": f"sha256:{sha256(settings)}"}, "layers": digests}
        ).encode()
        files[f"blobs/sha256/{sha256(manifest)}"] = manifest
        other = {"digest": f"sha256:{'0' * 64}", "platform": {"os": "linux", "architecture": "none"}}
        ours = {"digest": f"sha256:{sha256(manifest)}"}
        files["index.json"] = json.dumps({"manifests": [other, ours]}).encode()
    with tarfile.open(file, "w") as outer:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            outer.addfile(entry, io.BytesIO(data))
    return file


FIRST = layer(
    *(("etc",), ("etc/a", "1"), ("etc/b", "1"), ("opt",), ("opt/x", "1"), ("bin", "file")),
    *(("usr",), ("usr/lib",), ("lib", "usr/lib", tarfile.SYMTYPE)),
)
SECOND = layer(
    *(
        ("etc/.wh.b", ""),
        ("opt/y", "2"),
        ("opt/.wh..wh..opq", ""),
        ("etc/a", "2"),
        ("bin",),
        ("bin/bash", "sh"),
    ),
    *(("etc/hard", "etc/a", tarfile.LNKTYPE), ("lib/z", "2")),
)


@pytest.mark.parametrize("style", ["docker", "oci"])
def test_layers_are_put_over_each_other(tmp_path: Path, style: str) -> None:
    root = unpack_once(image(tmp_path / "image.tar", FIRST, SECOND, style=style), tmp_path / "cache")
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == [
        *("bin", "bin/bash", "etc", "etc/a", "etc/hard", "lib", "opt", "opt/y", "usr", "usr/lib", "usr/lib/z")
    ]
    assert (root / "etc/a").read_text() == (root / "etc/hard").read_text() == "2"
    assert (root / "bin").is_dir() and os.readlink(root / "lib") == "usr/lib"
    assert root.parent.parent.stat().st_mode & 0o077 == 0


def test_an_image_is_unpacked_once_whatever_was_left_of_an_earlier_try(tmp_path: Path) -> None:
    file = image(tmp_path / "image.tar", FIRST, SECOND)
    root = unpack_once(file, tmp_path / "cache")
    root.parent.rename(root.parent.with_suffix(".part"))
    (root.parent.with_suffix(".part") / "root" / "etc" / "stale").touch()
    assert unpack_once(file, tmp_path / "cache") == root and not (root / "etc" / "stale").exists()
    (root / "kept").touch()
    assert unpack_once(file, tmp_path / "cache") == root and (root / "kept").exists()
    assert not root.parent.with_suffix(".part").exists()


@pytest.mark.parametrize(
    "evil",
    [
        layer(("../out", "x")),
        layer(("/out", "x")),
        layer(("a/../../out", "x")),
        layer(("hard", "../out", tarfile.LNKTYPE)),
        layer(("hard", "/etc/passwd", tarfile.LNKTYPE)),
        layer(("../.wh.out", "")),
        layer(("round", "round", tarfile.SYMTYPE), ("round/out", "x")),
        layer(("hard", "none", tarfile.LNKTYPE)),
    ],
    ids=[
        "up",
        "absolute",
        "down and up",
        "hard link up",
        "hard link away",
        "whiteout",
        "round",
        "link to none",
    ],
)
def test_a_path_that_leads_out_is_refused_and_nothing_stays(tmp_path: Path, evil: bytes) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ImageInvalid):
        unpack_once(image(tmp_path / "image.tar", FIRST, evil), tmp_path / "cache")
    assert (tmp_path / "out").read_text() == "mine"
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_link_leads_where_it_would_on_the_machine_itself(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "secret").write_text("mine")
    links = [("away", str(out), tarfile.SYMTYPE), ("up", "../../../../..", tarfile.SYMTYPE)]
    into = [
        ("away/file", "x"),
        ("up/top", "x"),
        ("up/.wh.gone", ""),
        ("secret", f"{out}/secret", tarfile.SYMTYPE),
    ]
    through = layer(*into, ("copy", "secret", tarfile.LNKTYPE), ("gone", "x"))
    root = unpack_once(image(tmp_path / "image.tar", layer(*links), through), tmp_path / "cache")
    assert [path.name for path in out.iterdir()] == ["secret"]
    assert (root / str(out)[1:] / "file").read_text() == "x" and (root / "top").read_text() == "x"
    assert (root / "copy").is_symlink() and (out / "secret").stat().st_nlink == 1


def test_damage_is_found(tmp_path: Path) -> None:
    file = image(tmp_path / "image.tar", FIRST, SECOND, claimed=b"another")
    with pytest.raises(ImageInvalid, match=f"has the SHA-256 {sha256(SECOND)}, not {sha256(b'another')}"):
        unpack_once(file, tmp_path / "cache")
    whole = image(tmp_path / "image.tar", FIRST, SECOND).read_bytes()
    for number, damaged in enumerate((whole[:1500], whole.replace(b'"linux"', b'"linus"'))):
        file = tmp_path / f"{number}.tar"
        file.write_bytes(damaged)
        with pytest.raises(ImageInvalid):
            unpack_once(file, tmp_path / "cache")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"architecture": "none"}, "is for linux on none"),
        ({"os": "windows"}, "is for windows"),
        ({"rootfs": {"diff_ids": []}}, "its configuration names 0"),
        ({"rootfs": {"diff_ids": ["md5:0"]}}, "is no SHA-256"),
        ({"rootfs": []}, "is no image"),
    ],
)
def test_an_image_for_others_is_refused(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    with pytest.raises(ImageInvalid, match=said):
        unpack_once(image(tmp_path / "image.tar", FIRST, **config), tmp_path / "cache")


def test_a_layer_that_is_compressed_otherwise_is_named(tmp_path: Path) -> None:
    zstd = b"\x28\xb5\x2f\xfd rest"
    with pytest.raises(ImageInvalid, match="zstd: save it with docker save"):
        unpack_once(image(tmp_path / "image.tar", zstd, style="docker"), tmp_path / "cache")


def test_an_image_is_what_machines_are_made_of(tmp_path: Path) -> None:
    file = image(tmp_path / "image.tar", FIRST, SECOND)
    root = locate(str(file), tmp_path / "cache")
    assert root.folder is not None and (root.folder / "bin" / "bash").read_text() == "sh"
    assert str(file) in root.words
