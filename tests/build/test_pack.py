"""A spec and all it is built from in one file, taken to a place without a network."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub.build import Outcome, Pack, PackInvalid, Store, build, pack, unpack
from envhub.spec import Spec

Ready = tuple[Spec, Store, Outcome]
NO_NETWORK = ("unshare", "--user", "--map-root-user", "--net")

BUILD_AND_PLAY = """
import json, socket, subprocess, sys

assert [name for _, name in socket.if_nameindex()] in ([], ["lo"])
arguments = ["build", "--from", sys.argv[1], "--store", "store", "--dir", "spec", "--json"]
built = json.loads(subprocess.check_output([sys.executable, "-m", "envhub", *arguments]))
code = "import abacus, tally; print(abacus.BEADS, tally.root(8.0))"
print(subprocess.check_output([built["python"], "-I", "-c", code], text=True), built["digest"])
"""


def quiet(stage: str, item: str, done: int, total: int) -> None:
    """Show nothing."""


@pytest.fixture(scope="module")
def packed(ready: Ready, tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """The pack of a spec whose archives are all in a store."""
    spec, store, _ = ready
    file = tmp_path_factory.mktemp("packs") / "ready.envhub"
    return pack(spec, store, file, offline=True, report=quiet)


def members(file: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    """Every member of a pack with what it holds."""
    with tarfile.open(file) as tar:
        return [(one, content.read()) for one in tar if (content := tar.extractfile(one))]


def write(file: Path, content: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    """Write a tar of other members than `pack` would."""
    with tarfile.open(file, "w") as tar:
        for member, data in content:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file


def test_the_same_spec_gives_the_same_bytes(packed: Pack, ready: Ready, tmp_path: Path) -> None:
    spec, store, outcome = ready
    again = pack(spec, store, tmp_path / "again.envhub", offline=True, report=quiet)
    assert again.file.read_bytes() == packed.file.read_bytes()
    assert (again.spec, again.digest, again.archives) == ("ready", outcome.built.digest, 5)
    assert [one.name for one in tmp_path.iterdir()] == ["again.envhub"]


def test_what_is_taken_out_builds_the_same_environment_without_fetching(
    packed: Pack, ready: Ready, store: Store, tmp_path: Path
) -> None:
    spec = unpack(packed.file, store, tmp_path / "elsewhere", report=quiet)
    assert spec.path == tmp_path / "elsewhere"
    outcome = build(spec, store, offline=True)
    first = ready[2].built
    assert not outcome.reused and outcome.built.digest == first.digest
    assert outcome.built.archives == first.archives
    assert store.verify(outcome.built) == [] and store.leftovers() == []


def test_unpacking_twice_changes_nothing(packed: Pack, store: Store, tmp_path: Path) -> None:
    first = unpack(packed.file, store, tmp_path / "here", report=quiet)
    assert unpack(packed.file, store, tmp_path / "here", report=quiet) == first


def test_it_is_built_where_there_is_no_network_at_all(packed: Pack, tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*NO_NETWORK, "true"]).returncode:
        pytest.skip("no network namespace can be made here")
    done = subprocess.run(
        [*NO_NETWORK, sys.executable, "-c", BUILD_AND_PLAY, packed.file],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["10", "2.0", packed.digest]


def test_a_member_that_was_altered_is_refused(packed: Pack, store: Store, tmp_path: Path) -> None:
    content = members(packed.file)
    number = next(n for n, (one, _) in enumerate(content) if "/tally-" in one.name)
    member, data = content[number]
    content[number] = (member, data[:100] + bytes([data[100] ^ 1]) + data[101:])
    file = write(tmp_path / "altered.envhub", content)
    with pytest.raises(PackInvalid, match=r"tally-.* in it is not what was packed"):
        unpack(file, store, tmp_path / "spec", report=quiet)
    assert not (tmp_path / "spec").exists()
    assert store.archive(member.name.split("/")[1]) is None


def test_an_archive_in_the_place_of_another_is_refused(packed: Pack, store: Store, tmp_path: Path) -> None:
    """The list and the content agree with each other, and not with the place that the store would use."""
    (head, index), *content = members(packed.file)
    about = json.loads(index)
    listed = next(one for one in about["members"] if "/tally-" in one["name"])
    old = listed["name"]
    listed["name"] = f"archives/{'0' * 64}/{old.rpartition('/')[2]}"
    for member, _ in content:
        member.name = listed["name"] if member.name == old else member.name
    file = write(tmp_path / "swapped.envhub", [(head, json.dumps(about).encode()), *content])
    with pytest.raises(PackInvalid, match="another SHA-256 than its place says"):
        unpack(file, store, tmp_path / "spec", report=quiet)
    assert store.archive("0" * 64) is None


@pytest.mark.parametrize(
    "name", ["../evil", "spec/../../evil", "/etc/evil", "archives/x", "spec", "archives/a/b/c", "spec//a"]
)
def test_a_member_that_would_land_elsewhere_is_refused(
    name: str, packed: Pack, store: Store, tmp_path: Path
) -> None:
    (head, index), *_ = members(packed.file)
    about = json.loads(index)
    about["members"] = [{"name": name, "sha256": "0" * 64, "run": False}]
    file = write(
        tmp_path / "evil.envhub", [(head, json.dumps(about).encode()), (tarfile.TarInfo(name), b"x")]
    )
    with pytest.raises(PackInvalid, match="no place in a pack"):
        unpack(file, store, tmp_path / "a" / "spec", report=quiet)
    assert {one.name for one in tmp_path.iterdir()} <= {"evil.envhub", "envs"}


def test_links_are_never_made(packed: Pack, store: Store, tmp_path: Path) -> None:
    (head, index), *_ = members(packed.file)
    about = json.loads(index)
    about["members"] = [{"name": "spec/link", "sha256": "0" * 64, "run": False}]
    link = tarfile.TarInfo("spec/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    file = write(tmp_path / "link.envhub", [(head, json.dumps(about).encode()), (link, b"")])
    with pytest.raises(PackInvalid, match="missing"):
        unpack(file, store, tmp_path / "spec", report=quiet)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 2}, "reads format 1"),
        ({"spec": "../x"}, "no name of a spec"),
        ({"spec": "other"}, "not those it was packed with"),
        ({"digest": "sha256:0"}, "not those it was packed with"),
        ({"members": None}, "cannot be read"),
        ({"digest": 5}, "cannot be read"),
    ],
)
def test_a_pack_that_contradicts_itself_is_refused(
    change: dict[str, Any], complaint: str, packed: Pack, store: Store, tmp_path: Path
) -> None:
    (head, index), *content = members(packed.file)
    file = write(tmp_path / "odd.envhub", [(head, json.dumps(json.loads(index) | change).encode()), *content])
    with pytest.raises(PackInvalid, match=complaint):
        unpack(file, store, tmp_path / "spec", report=quiet)
    assert not (tmp_path / "spec").exists()


@pytest.mark.parametrize("kept", [0, 100, 5000, 200_000])
def test_a_file_that_was_cut_off_is_refused(kept: int, packed: Pack, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "cut.envhub"
    file.write_bytes(packed.file.read_bytes()[:kept])
    with pytest.raises(PackInvalid, match=r"cut\.envhub"):
        unpack(file, store, tmp_path / "spec", report=quiet)
    assert not (tmp_path / "spec").exists()


def test_a_file_that_is_not_there_is_told(store: Store, tmp_path: Path) -> None:
    with pytest.raises(PackInvalid, match="is not there; make a pack with: envhub pack"):
        unpack(tmp_path / "none.envhub", store, None, report=quiet)


def test_a_folder_that_holds_something_else_is_left_alone(packed: Pack, store: Store, tmp_path: Path) -> None:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "mine.txt").write_text("mine")
    with pytest.raises(PackInvalid, match="holds something else"):
        unpack(packed.file, store, tmp_path / "spec", report=quiet)
    assert [one.name for one in (tmp_path / "spec").iterdir()] == ["mine.txt"]


def test_scripts_stay_executable_and_caches_are_left_out(
    locked_spec: Callable[..., Spec], store: Store, tmp_path: Path
) -> None:
    spec = locked_spec()
    assert spec.path is not None
    (spec.path / "run.sh").write_text("#!/bin/sh\n")
    (spec.path / "run.sh").chmod(0o755)
    (spec.path / "__pycache__").mkdir()
    (spec.path / "__pycache__" / "x.pyc").write_bytes(b"")
    packed = pack(spec, store, tmp_path / "probe.envhub", report=quiet)
    copy = unpack(packed.file, Store(tmp_path / "other"), tmp_path / "copy", report=quiet)
    assert copy.path is not None
    assert (copy.path / "run.sh").stat().st_mode & 0o111
    assert not (copy.path / "__pycache__").exists()


def test_a_link_to_a_folder_is_refused(
    locked_spec: Callable[..., Spec], store: Store, tmp_path: Path
) -> None:
    spec = locked_spec()
    assert spec.path is not None
    (spec.path / "link").symlink_to(tmp_path)
    with pytest.raises(PackInvalid, match="link to a folder"):
        pack(spec, store, tmp_path / "probe.envhub", report=quiet)
    assert not (tmp_path / "probe.envhub").exists()


def test_what_belongs_to_nobody_elses_machine_is_left_out(
    locked_spec: Callable[..., Spec], store: Store, tmp_path: Path
) -> None:
    spec = locked_spec()
    assert spec.path is not None
    before = {one.name for one in spec.path.iterdir()}
    for name in (".venv", "venv", ".git", ".mypy_cache", ".env.d"):
        (spec.path / name).mkdir()
        (spec.path / name / "link").symlink_to(tmp_path)
    for name in (".env", ".env.local", "old.envhub"):
        (spec.path / name).write_text("secret")
    (spec.path / "again.toml").symlink_to("envhub.toml")
    packed = pack(spec, store, tmp_path / "probe.envhub", report=quiet)
    names = {one.name.split("/")[1] for one, _ in members(packed.file) if one.name.startswith("spec/")}
    assert names == before | {"again.toml"}


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        (__file__, "outside the spec's folder; put a copy"),
        ("nowhere", "which is not there; take it out"),
    ],
)
def test_a_link_that_leaves_the_folder_is_refused(
    locked_spec: Callable[..., Spec], store: Store, tmp_path: Path, target: str, complaint: str
) -> None:
    spec = locked_spec()
    assert spec.path is not None
    (spec.path / "link").symlink_to(target)
    with pytest.raises(PackInvalid, match=complaint) as refused:
        pack(spec, store, tmp_path / "probe.envhub", report=quiet)
    assert str(refused.value).startswith(f"{spec.path / 'link'} is a link to ")


def test_where_it_cannot_be_written_is_told(ready: Ready, tmp_path: Path) -> None:
    file = tmp_path / "none" / "x.envhub"
    with pytest.raises(
        PackInvalid, match=f"ready: {file} cannot be written: there is no folder {file.parent}"
    ):
        pack(ready[0], ready[1], file, offline=True, report=quiet)
    with pytest.raises(PackInvalid, match=f"it is a folder; name a file, as in --output {tmp_path}/"):
        pack(ready[0], ready[1], tmp_path, offline=True, report=quiet)
