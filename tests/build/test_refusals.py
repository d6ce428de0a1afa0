"""What a build refuses: each message names the package and the file, and nothing that was built is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from envhub.build import (
    BuildError,
    DiskFull,
    FetchFailed,
    HashMismatch,
    InstallFailed,
    LockInvalid,
    LockStale,
    Mirrors,
    NotCached,
    Outcome,
    Store,
    WrongPlatform,
    build,
    read_lock,
)
from envhub.spec import Spec

from .channel import VERSION, Channel, conda
from .tampering import edit, package, point

LockedSpec = Callable[..., Spec]
PLAIN = "class Env: pass\n"


def refused(spec: Spec, store: Store, kind: type[BuildError], offline: bool = False) -> str:
    """The message of a build that is refused, and that leaves nothing."""
    before = store.all()
    with pytest.raises(kind) as caught:
        build(spec, store, offline=offline)
    assert type(caught.value) is kind
    assert store.all() == before and store.leftovers() == []
    return str(caught.value)


# -- hashes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value"), [("sha256", "0" * 64), ("md5", "0" * 32)])
def test_a_lock_with_a_wrong_hash(locked_spec: LockedSpec, store: Store, name: str, value: str) -> None:
    spec = locked_spec()
    edit(spec, lambda lock: package(lock, "tally")["hash"].update({name: value}))
    message = refused(spec, store, HashMismatch)
    assert "tally 2.1: tally-2.1-0.conda is not the archive that was locked" in message
    assert f"its {name} is" in message and value in message and f"{spec.path}/conda-lock.yml" in message


def test_an_archive_that_was_replaced_on_the_channel(
    locked_spec: LockedSpec, store: Store, channel: Channel, tmp_path: Path
) -> None:
    spec = locked_spec()
    conda(tmp_path, "tally", "2.1", [("site-packages/tally/__init__.py", b"evil = 1\n", 0o644)], noarch=True)
    replaced = tmp_path / "noarch" / "tally-2.1-0.conda"
    edit(spec, lambda lock: package(lock, "tally").update(url=replaced.as_uri()))
    message = refused(spec, store, HashMismatch)
    assert "tally 2.1: tally-2.1-0.conda is not the archive that was locked: its sha256 is" in message
    assert f"{replaced.as_uri()} was replaced" in message
    assert channel.records["tally"]["sha256"] in message


def test_an_archive_that_was_altered_in_the_store_is_fetched_again(
    locked_spec: LockedSpec, store: Store
) -> None:
    spec = locked_spec(conda=["python"], pypi=[], source=PLAIN)
    outcome = build(spec, store)
    (kept,) = (store.root / "archives").glob("*/python-*")
    good = kept.read_bytes()
    for offline in (True, False):
        assert store.remove(outcome.built)
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(good[:-1] + b"!")
        if offline:
            assert "not in the store" in refused(spec, store, NotCached, offline=True)
        else:
            assert not build(spec, store).reused and kept.read_bytes() == good


def test_a_wrong_hash_of_a_wheel(locked_spec: LockedSpec, store: Store) -> None:
    spec = locked_spec()
    assert spec.path is not None
    file = spec.path / "requirements.lock"
    (right,) = read_lock(spec).pypi[0].hashes
    file.write_text(file.read_text().replace(right, "0" * 64))
    message = refused(spec, store, LockInvalid)
    assert "none of the locked archives of abacus 1.2 is on the index" in message and str(file) in message
    assert "The lock was altered, or the index lacks it: restore requirements.lock" in message
    assert message.endswith(f"with: envhub lock {spec.path}")


def test_a_version_that_the_index_does_not_have(locked_spec: LockedSpec, store: Store) -> None:
    spec = locked_spec()
    assert spec.path is not None
    file = spec.path / "requirements.lock"
    file.write_text(file.read_text().replace("abacus==1.2", "abacus==1.3"))
    message = refused(spec, store, LockInvalid)
    assert f"{file}: the package index does not have what is locked" in message and "abacus==1.3" in message
    assert "restore requirements.lock, or make the locks again with" in message
    assert "network" not in message


def test_a_wheel_that_was_replaced_on_the_index(
    locked_spec: LockedSpec, store: Store, channel: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = locked_spec()
    page = tmp_path / "simple" / "abacus" / "index.html"
    page.parent.mkdir(parents=True)
    (tmp_path / channel.archives["abacus"].name).write_bytes(b"something else")
    (right,) = read_lock(spec).pypi[0].hashes
    name = "abacus-1.2-py3-none-any.whl"
    page.write_text(f'<a href="../../{name}#sha256={right}">{name}</a>')
    monkeypatch.setenv("UV_DEFAULT_INDEX", (tmp_path / "simple").as_uri())
    message = refused(spec, store, HashMismatch)
    assert "abacus 1.2: abacus-1.2-py3-none-any.whl is not the archive that was locked" in message
    assert f"{spec.path}/requirements.lock" in message


# -- what archives say of themselves ------------------------------------------------------------------


def test_an_archive_that_holds_another_package(locked_spec: LockedSpec, store: Store, tmp_path: Path) -> None:
    spec = locked_spec()
    other = conda(tmp_path, "toggle", "2.1", [("share/x", b"x", 0o644)])
    point(spec, "tally", other.rename(other.with_name("tally-2.1-0.conda")))
    message = refused(spec, store, LockInvalid)
    assert "package 'tally': its archive tally-2.1-0.conda holds toggle 2.1 0, not tally 2.1 0" in message
    assert f"{spec.path}/conda-lock.yml" in message and f"envhub lock {spec.path}" in message


def test_an_archive_that_needs_what_is_not_locked(
    locked_spec: LockedSpec, store: Store, tmp_path: Path
) -> None:
    spec = locked_spec()
    point(spec, "tally", conda(tmp_path, "tally", "2.1", [("share/x", b"x", 0o644)], depends=["ghost >=3"]))
    message = refused(spec, store, LockInvalid)
    assert "tally" in message and "ghost >=3" in message and f"{spec.path}/conda-lock.yml" in message


def test_an_archive_that_needs_another_version(locked_spec: LockedSpec, store: Store, tmp_path: Path) -> None:
    spec = locked_spec()
    needs = ["python >=3.9", "libreckon >=2"]
    point(spec, "tally", conda(tmp_path, "tally", "2.1", [("share/x", b"x", 0o644)], depends=needs))
    assert "libreckon >=2" in refused(spec, store, LockInvalid)


def test_an_archive_that_needs_another_machine(locked_spec: LockedSpec, store: Store, tmp_path: Path) -> None:
    spec = locked_spec()
    needs = ["__glibc >=99"]
    point(spec, "libreckon", conda(tmp_path, "libreckon", "1.4", [("lib/x", b"x", 0o644)], depends=needs))
    message = refused(spec, store, WrongPlatform)
    assert "package 'libreckon' needs __glibc >=99, and this machine has __glibc" in message


def test_an_archive_that_is_none(locked_spec: LockedSpec, store: Store, tmp_path: Path) -> None:
    spec = locked_spec()
    broken = tmp_path / "tally-2.1-0.conda"
    broken.write_bytes(b"PK but not really")
    point(spec, "tally", broken)
    message = refused(spec, store, InstallFailed)
    assert "package 'tally'" in message and "is no conda package" in message


# -- locks --------------------------------------------------------------------------------------------


def test_a_stale_lock_even_where_it_is_built(
    ready: tuple[Spec, Store, Outcome], locked_spec: LockedSpec
) -> None:
    spec = locked_spec(pypi=["abacus", "slate"])
    assert spec.path is not None
    assert build(spec, ready[1]).reused  # the same lock
    file = spec.path / "environment.yml"
    file.write_text(file.read_text() + "  - libreckon 1.5\n")
    message = refused(spec, ready[1], LockStale)
    assert "environment.yml has changed" in message and f"envhub lock {spec.path}" in message


def test_a_refused_build_leaves_the_last_good_one(
    ready: tuple[Spec, Store, Outcome], locked_spec: LockedSpec
) -> None:
    spec, store = locked_spec(pypi=["abacus", "slate"]), ready[1]
    good = build(spec, store).built
    assert spec.path is not None
    lock = (spec.path / "conda-lock.yml").read_text()
    edit(spec, lambda content: package(content, "tally")["hash"].update(sha256="0" * 64))
    refused(spec, store, HashMismatch)
    assert store.verify(good) == []
    assert good.prefix not in [removed.path for removed in store.gc()]
    (spec.path / "conda-lock.yml").write_text(lock)
    assert build(spec, store).built == good


# -- disk and network ---------------------------------------------------------------------------------


def test_packages_that_unpack_to_more_than_the_disk_has(
    locked_spec: LockedSpec, store: Store, tmp_path: Path
) -> None:
    spec = locked_spec()
    huge = 2 * shutil.disk_usage(tmp_path).total
    point(spec, "libreckon", conda(tmp_path, "libreckon", "1.4", [("lib/x", b"x", 0o644)], claimed=huge))
    message = refused(spec, store, DiskFull)
    assert "the packages unpack to" in message and "MB left" in message
    assert f"free some space (envhub store gc --store {store.root})" in message


def test_a_channel_that_cannot_be_reached(locked_spec: LockedSpec, store: Store) -> None:
    spec = locked_spec()
    edit(spec, lambda lock: package(lock, "tally").update(url="http://127.0.0.1:9/noarch/tally-2.1-0.conda"))
    message = refused(spec, store, FetchFailed)
    assert f"tally 2.1 ({spec.path}/conda-lock.yml)" in message
    assert "http://127.0.0.1:9/noarch/tally-2.1-0.conda cannot be fetched" in message
    assert "name a mirror under [mirrors]" in message
    assert "--isolation venv" not in message  # it has native packages


def test_a_channel_that_cannot_be_reached_for_packages_that_can_do_without(
    locked_spec: LockedSpec, store: Store
) -> None:
    spec = locked_spec(conda=["python"], pypi=[], source=PLAIN)
    edit(
        spec, lambda lock: package(lock, "python").update(url=f"http://127.0.0.1:9/python-{VERSION}-0.conda")
    )
    message = refused(spec, store, FetchFailed)
    command = store.command("build", spec.path, "--isolation", "venv")
    assert message.endswith(f"or do without conda: {command}")
    assert "--offline" not in message


def test_a_mirror_that_leads_nowhere(locked_spec: LockedSpec, store: Store, channel: Channel) -> None:
    spec = locked_spec()
    with pytest.raises(FetchFailed, match=r"A mirror in .* leads there: correct it"):
        build(spec, store, mirrors=Mirrors({channel.url: "file:///nowhere"}))


def test_an_index_that_cannot_be_reached(
    locked_spec: LockedSpec, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    spec = locked_spec()
    message = refused(spec, store, FetchFailed)
    assert f"{spec.path}/requirements.lock" in message and "127.0.0.1:9" in message
    assert "Check the network" in message and "--offline" not in message


def test_an_index_that_cannot_be_reached_where_the_store_has_all(
    locked_spec: LockedSpec, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = locked_spec(conda=["python"], source="import abacus\nclass Env: pass\n")
    assert store.remove(build(spec, store).built)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    assert "in the store already: --offline uses those" in refused(spec, store, FetchFailed)
    assert not build(spec, store, offline=True).reused


@pytest.mark.parametrize("conda_cached", [False, True])
def test_offline_with_an_empty_store(locked_spec: LockedSpec, store: Store, conda_cached: bool) -> None:
    spec = locked_spec(pypi=["abacus"] if conda_cached else [])
    if conda_cached:
        other = locked_spec("other", pypi=[], source=PLAIN)
        build(other, store)
    message = refused(spec, store, NotCached, offline=True)
    assert ("abacus 1.2" if conda_cached else "libreckon 1.4") in message
    assert f"the store {store.root}" in message and "run it without --offline where" in message
    assert "in a pack (envhub pack)" in message
