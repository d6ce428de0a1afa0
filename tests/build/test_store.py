"""The store: what counts as built, what `gc` may remove, and what `verify` notices."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from envhub.build import Archive, Built, Kind, Store, StoreInvalid
from envhub.build._store import default_root

Put = Callable[..., Built]
ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"


@pytest.fixture
def put(store: Store) -> Put:
    """Put an environment of a few files and one archive into the store."""

    def call(digest: str = ONE, kind: Kind = "conda", archive: str = "a" * 64, created: float = 1.0) -> Built:
        with store.building(digest, kind, lambda: None) as work:
            (work.prefix / "bin").mkdir(parents=True)
            (work.prefix / "bin" / "python3").write_bytes(b"an interpreter")
            (work.prefix / "bin" / "python").symlink_to("python3")
            part = work.scratch / "part"
            part.write_bytes(b"an archive")
            store.keep(part, archive, "thing-1.0-0.conda")
            return work.complete(
                kind=kind,
                digest=digest,
                spec="thing",
                python_version="3.11.7",
                platform="linux-64",
                created=created,
                archives=(Archive("thing", "1.0", "conda", archive),),
            )

    return call


def spec_folder(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    (folder / "envhub.toml").touch()
    return folder


def test_what_is_complete_is_found_by_kind_and_digest(store: Store, put: Put) -> None:
    assert store.all() == [] and store.find(ONE) is None
    conda, venv = put(), put(kind="venv", created=2.0)
    assert store.find(ONE) == conda and store.find(ONE, "venv") == venv and store.find(TWO) is None
    assert store.python(ONE) == conda.prefix / "bin" / "python"
    assert store.all() == [venv, conda]
    assert conda.size == len(b"an interpreter")


def test_nothing_counts_before_it_is_complete(store: Store) -> None:
    with store.building(ONE, "conda", lambda: None) as work:
        work.prefix.mkdir(parents=True)
        assert store.find(ONE) is None and store.all() == []
        assert store.leftovers() == []  # somebody works on it
    assert store.leftovers() == [work.prefix]
    with store.building(ONE, "conda", lambda: None) as work:
        assert not work.prefix.exists()


@pytest.mark.parametrize("marker", ["", "{}", "[]", '{"kind": "conda"}', "\x00"])
def test_a_marker_that_is_not_understood_is_none(store: Store, put: Put, marker: str) -> None:
    built = put()
    (built.prefix / ".envhub.json").write_text(marker)
    assert store.find(ONE) is None and store.leftovers() == [built.prefix]


def test_verify_names_every_file_that_differs(store: Store, put: Put) -> None:
    built = put()
    assert store.verify(built) == []
    (built.prefix / "bin" / "python3").write_bytes(b"another interp")
    (built.prefix / "bin" / "python").unlink()
    (built.prefix / "added.py").touch()
    (built.prefix / "added.pyc").touch()
    assert store.verify(built) == [
        f"{built.prefix}/added.py was added",
        f"{built.prefix}/bin/python is missing",
        f"{built.prefix}/bin/python3 was altered",
    ]
    (built.prefix / "bin" / "python").symlink_to("/usr/bin/python3")
    assert f"{built.prefix}/bin/python was altered" in store.verify(built)
    (built.prefix / ".envhub-files.json").write_text("{}")
    assert store.verify(built) == [f"{built.prefix}/.envhub-files.json is missing or altered"]


def test_gc_keeps_what_a_spec_uses_and_the_archives_of_that(store: Store, put: Put, tmp_path: Path) -> None:
    used, unused = put(), put(TWO, archive="b" * 64)
    store.use(spec_folder(tmp_path, "spec"), used)
    removed = [one.path for one in store.gc()]
    assert removed == [unused.prefix, store.root / "archives" / ("b" * 64)]
    assert store.all() == [used] and store.archive("a" * 64) is not None
    assert store.gc() == []


def test_gc_removes_what_a_spec_used_before(store: Store, put: Put, tmp_path: Path) -> None:
    folder, other = spec_folder(tmp_path, "spec"), spec_folder(tmp_path, "other")
    old, new = put(), put(TWO)
    store.use(folder, old)
    store.use(other, old)
    store.use(folder, new)
    assert store.gc() == []
    (other / "envhub.toml").unlink()
    assert [one.path for one in store.gc()] == [old.prefix]  # both need the same archive


def test_gc_leaves_what_is_held(store: Store, put: Put) -> None:
    built = put()
    with store.hold(ONE):
        assert store.gc() == [] and not store.remove(built)
    assert store.find(ONE) == built
    assert {one.path for one in store.gc()} == {built.prefix, store.root / "archives" / ("a" * 64)}


def test_who_holds_an_environment_is_told(store: Store, put: Put) -> None:
    built = put()
    assert store.held_by(built) == []
    with store.hold(ONE):
        assert store.held_by(built) == [os.getpid()]


def test_verify_sees_what_can_be_run(store: Store, put: Put) -> None:
    built = put()
    file = built.prefix / "bin" / "python3"
    file.chmod(0o755)
    assert store.verify(built) == [f"{file} can be run now"]
    shutil.rmtree(built.prefix)
    with store.building(ONE, "conda", lambda: None) as work:
        file.parent.mkdir(parents=True)
        file.write_bytes(b"an interpreter")
        file.chmod(0o755)
        (file.parent / "python").symlink_to("python3")
        facts = {name: getattr(built, name) for name in ("kind", "digest", "spec", "python_version")}
        built = work.complete(**facts, platform="linux-64", created=1.0, archives=())
    assert store.verify(built) == []
    file.chmod(0o644)
    assert store.verify(built) == [f"{file} cannot be run any more"]


def test_gc_refuses_a_folder_that_is_no_store(tmp_path: Path) -> None:
    for name in ("store", "venvs", "archives", "work"):
        (tmp_path / name / "mine").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreInvalid, match=r"is no store of EnvHub: it has no \.envhub-store"):
        Store(tmp_path).gc()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_with_somebody_elses_files_becomes_no_store(tmp_path: Path) -> None:
    (tmp_path / "work" / "mine").mkdir(parents=True)
    with (
        pytest.raises(StoreInvalid, match="there is something in its folder work"),
        Store(tmp_path).building(ONE, "conda", lambda: None),
    ):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["work"]


def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path: Path, put: Put) -> None:
    store = Store(tmp_path / "nowhere")
    assert store.gc() == [] and store.all() == [] and store.moved() == [] and store.leftovers() == []
    assert store.claim(tmp_path, ONE, "conda") is None
    assert not store.root.exists()


def test_a_store_without_a_mark_is_known_by_what_is_built_there(store: Store, put: Put) -> None:
    built = put()
    (store.root / ".envhub-store").unlink()
    with pytest.raises(StoreInvalid, match="is no store"):
        store.remove(built)
    put(TWO)
    assert store.made and store.find(ONE) == built


def test_gc_keeps_what_was_moved_and_what_that_was_built_from(store: Store, put: Put, tmp_path: Path) -> None:
    built = put()
    there = Store(store.root.rename(tmp_path / "there"))
    (moved,) = there.moved()
    assert moved.origin == built.prefix and moved.built.prefix == there.root / "store" / ("1" * 32)
    assert there.moved_from(ONE) == built.prefix and there.moved_from(TWO) is None
    assert there.leftovers() == [] and there.all() == []
    assert there.gc() == [] and there.archive("a" * 64) is not None
    assert there.remove(moved.built)
    assert [one.path.name for one in there.gc()] == ["a" * 64]


def test_gc_keeps_what_a_removed_environment_can_be_built_from_again(
    store: Store, put: Put, tmp_path: Path
) -> None:
    built = put()
    store.use(spec_folder(tmp_path, "spec"), built)
    assert store.remove(built)
    assert store.gc() == [] and store.archive("a" * 64) is not None


@pytest.mark.parametrize("content", ["", "{}", "[]", "\x00"])
def test_gc_keeps_everything_where_a_note_cannot_be_read(
    store: Store, put: Put, tmp_path: Path, content: str
) -> None:
    built = put()
    folder = spec_folder(tmp_path, "spec")
    store.use(folder, built)
    (note,) = (store.root / "roots").iterdir()
    note.write_text(content)
    put(TWO, archive="b" * 64)
    unreadable: list[Path] = []
    assert store.gc(unreadable.append) == [] and unreadable == [note]
    store.use(folder, built)
    assert {one.path.name for one in store.gc(unreadable.append)} == {"2" * 32, "b" * 64}
    assert unreadable == [note]


def test_commands_name_the_store_unless_it_is_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = Store(tmp_path / "my envs")
    assert store.command("store", "gc") == f"envhub store gc --store '{store.root}'"
    monkeypatch.setenv("ENVHUB_STORE", str(store.root))
    assert store.command("store", "gc") == "envhub store gc"


def test_gc_and_builds_exclude_each_other(store: Store, put: Put) -> None:
    put()
    with (
        store.building(TWO, "conda", lambda: None),
        pytest.raises(StoreInvalid, match="a build is running; run it again when that is done"),
    ):
        store.gc()
    assert store.find(ONE) is not None


def test_a_folder_that_cannot_be_a_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file")
    with (
        pytest.raises(StoreInvalid, match=r"file: the store cannot be written to.* --store or the"),
        store.building(ONE, "conda", lambda: None),
    ):
        pass
    assert store.all() == []


def test_the_store_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ENVHUB_STORE", str(tmp_path))
    assert default_root() == Store().root == tmp_path
    monkeypatch.delenv("ENVHUB_STORE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store().root == tmp_path / ".cache" / "envhub"


def test_what_is_claimed_is_safe_from_gc_from_then_on(store: Store, put: Put, tmp_path: Path) -> None:
    folder, built = spec_folder(tmp_path, "spec"), put()
    assert store.claim(folder, TWO, "conda") is None
    assert store.claim(folder, ONE, "conda") == built
    assert store.gc() == [] and store.find(ONE) == built
