"""Building: what comes out of it, and what it does when it is there already."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from envhub.build import (
    Built,
    HashMismatch,
    NotBuilt,
    Outcome,
    SetupFailed,
    SmokeFailed,
    Store,
    StoreInvalid,
    VenvRefused,
    build,
    find_runtime,
    read_lock,
)
from envhub.spec import Spec, load

from .channel import SUBDIR, VERSION, Channel, conda, python_files, where
from .tampering import edit, package, point

LockedSpec = Callable[..., Spec]
PLAIN = "class Env: pass\n"


def inside(built: Built, code: str) -> str:
    """What a few lines print that run in the environment as workers do."""
    done = subprocess.run([built.python, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_environment_holds_what_is_locked_and_nothing_else(ready: tuple[Spec, Store, Outcome]) -> None:
    spec, store, outcome = ready
    built, lock = outcome.built, read_lock(spec)
    assert not outcome.reused
    assert (built.spec, built.kind, built.digest) == ("ready", "conda", lock.digest)
    assert (built.python_version, built.platform) == (VERSION, SUBDIR)
    assert store.prefix(lock.digest) == built.prefix
    assert store.python(lock.digest) == built.prefix / "bin" / "python"
    assert [(one.name, one.manager) for one in built.archives] == [
        ("libreckon", "conda"),
        ("python", "conda"),
        ("tally", "conda"),
        ("abacus", "pypi"),
        ("slate", "pypi"),
    ]
    assert inside(built, "import sys; print(sys.prefix)") == str(built.prefix)
    assert inside(built, "import tally; print(tally.root(8.0))") == "2.0"  # the native library
    assert inside(built, "import abacus, slate; print(abacus.BEADS, slate.LINES)") == "10 3"
    hubs = "envhub envhub_sdk pytest msgspec rattler numpy pip".split()
    found = f"import importlib.util as u; print([n for n in {hubs} if u.find_spec(n)])"
    assert inside(built, found) == "[]"
    path = inside(built, "import sys; print(*sys.path, sep='\\n')").splitlines()
    assert path and all(one.startswith(str(built.prefix)) for one in path)


def test_its_own_records_name_the_locked_addresses(
    ready: tuple[Spec, Store, Outcome], channel: Channel
) -> None:
    prefix = ready[2].built.prefix
    record = json.loads((prefix / "conda-meta" / "tally-2.1-0.json").read_text())
    assert record["url"] == f"{channel.url}/noarch/tally-2.1-0.conda"
    assert record["channel"] == channel.url
    assert record["sha256"] == channel.records["tally"]["sha256"]


def test_what_does_not_run_any_more_is_built_again_unless_a_hub_holds_it(
    locked_spec: LockedSpec, store: Store
) -> None:
    spec = locked_spec(conda=["python"], pypi=[], source=PLAIN)
    built = build(spec, store).built
    built.python.resolve().chmod(0o644)
    assert [one.endswith("cannot be run any more") for one in store.verify(built)] == [True]
    with store.hold(built.digest):
        with pytest.raises(StoreInvalid) as refused:
            build(spec, store)
        assert f"a hub holds it (process {os.getpid()})" in str(refused.value)
        assert str(refused.value).endswith(f"run: envhub build {spec.path} --store {store.root}")
    again = build(spec, store, offline=True)
    assert not again.reused and inside(again.built, "print(1)") == "1"
    assert build(spec, store).reused


def test_what_was_moved_is_built_again_from_the_kept_archives(
    locked_spec: LockedSpec, store: Store, tmp_path: Path
) -> None:
    spec = locked_spec()
    built = build(spec, store).built
    there = Store(store.root.rename(tmp_path / "there"))
    command = f"`envhub build {spec.path} --offline --store {there.root}`"
    with pytest.raises(NotBuilt) as refused:
        find_runtime(spec, "conda", there)
    assert f"it was built as {built.prefix} and works only there" in str(refused.value)
    assert command in str(refused.value)
    assert there.gc() == []
    again = build(spec, there, offline=True)
    assert not again.reused and there.moved() == [] and there.verify(again.built) == []


def test_a_second_build_finds_it_and_touches_nothing(ready: tuple[Spec, Store, Outcome]) -> None:
    spec, store, outcome = ready
    marker = outcome.built.prefix / ".envhub.json"
    before = marker.stat().st_mtime_ns
    events: list[object] = []
    again = build(spec, store, report=lambda *event: events.append(event))
    assert again.reused and again.built == outcome.built
    assert events == [] and marker.stat().st_mtime_ns == before


def test_finding_it_needs_none_of_the_tools(ready: tuple[Spec, Store, Outcome]) -> None:
    spec, store, _ = ready
    code = (
        "import sys\nfrom envhub.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code, end\n"
        "print([name for name in ('rattler', 'conda_lock', 'uv', 'httpx') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, "build", str(spec.path), "--store", str(store.root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "there already" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_store_that_was_moved_has_nothing_complete(
    ready: tuple[Spec, Store, Outcome], tmp_path: Path
) -> None:
    spec, _, outcome = ready
    moved = tmp_path / "store" / outcome.built.prefix.name
    moved.mkdir(parents=True)
    (moved / ".envhub.json").write_bytes((outcome.built.prefix / ".envhub.json").read_bytes())
    store = Store(tmp_path)
    assert store.find(read_lock(spec).digest) is None
    assert store.all() == [] and store.leftovers() == []
    assert [one.built.prefix for one in store.moved()] == [moved]


def test_progress_is_told_package_by_package(locked_spec: LockedSpec, store: Store) -> None:
    events: list[tuple[str, str, int, int]] = []
    build(locked_spec(), store, report=lambda *event: events.append(event))
    fetched = {item: (done, total) for stage, item, done, total in events if stage == "fetch"}
    assert set(fetched) == {"libreckon 1.4", f"python {VERSION}", "tally 2.1", "abacus 1.2"}
    assert all(done == total > 0 for done, total in fetched.values())
    assert sum(stage == "fetch" and item == f"python {VERSION}" for stage, item, _, _ in events) > 10
    installed = [(item, done) for stage, item, done, total in events if stage == "install" and total == 3]
    assert {item for item, _ in installed} == {"conda packages", "libreckon", "python", "tally"}
    assert [done for _, done in installed] == [0, 1, 2, 3]
    assert events[-1][:2] == ("try", "probe_env:Env")


def test_it_is_rebuilt_from_the_store_when_nothing_can_be_reached(
    ready: tuple[Spec, Store, Outcome], locked_spec: LockedSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = locked_spec(pypi=["abacus", "slate"])
    assert spec.path is not None
    lock = spec.path / "conda-lock.yml"
    lock.write_text(lock.read_text().replace("file:///", "http://127.0.0.1:9/"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    store = ready[1]
    outcome = build(spec, store, offline=True)
    assert not outcome.reused and outcome.built != ready[2].built
    assert inside(outcome.built, "import tally, slate; print(tally.root(8.0), slate.LINES)") == "2.0 3"
    assert store.remove(outcome.built)


@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_a_prefix_may_have_another_python_than_the_hub(
    locked_spec: LockedSpec, store: Store, tmp_path: Path, empty_venv: Callable[[str], Path], version: str
) -> None:
    interpreter = empty_venv(version)
    whole = where(interpreter)[4]
    spec = locked_spec()
    assert spec.path is not None
    edit(spec, lambda lock: package(lock, "python").update(version=whole))
    point(spec, "python", conda(tmp_path, "python", whole, python_files(interpreter), subdir=SUBDIR))
    requirements = spec.path / "requirements.lock"
    requirements.write_text(requirements.read_text().replace(f"python: {VERSION}", f"python: {whole}"))
    built = build(spec, store).built
    assert built.python_version == whole
    seen = inside(built, "import sys, tally, abacus; print('%d.%d' % sys.version_info[:2], tally.root(8.0))")
    assert seen == f"{version} 2.0"


# -- the plain virtual environment --------------------------------------------------------------------


def test_a_virtual_environment_has_the_same_pypi_packages(locked_spec: LockedSpec, store: Store) -> None:
    spec = locked_spec(conda=["python"], source="import abacus\n" + PLAIN)
    outcome = build(spec, store, "venv")
    digest = read_lock(spec).digest_for("venv")
    assert (outcome.built.kind, outcome.built.digest) == ("venv", digest)
    assert outcome.built.prefix.parent == store.root / "venvs"
    assert store.python(digest, "venv") == outcome.built.python and store.python(digest) is None
    assert [one.name for one in outcome.built.archives] == ["abacus"]
    assert inside(outcome.built, "import sys, abacus; print(sys.prefix)") == str(outcome.built.prefix)
    assert inside(outcome.built, "import importlib.util as u; print(u.find_spec('pytest'))") == "None"
    assert store.verify(outcome.built) == []
    assert build(spec, store, "venv").reused


def test_a_virtual_environment_is_refused_where_native_packages_are_locked(
    locked_spec: LockedSpec, store: Store
) -> None:
    with pytest.raises(VenvRefused, match="conda packages libreckon, tally; use --isolation conda"):
        build(locked_spec(), store, "venv")


def test_a_virtual_environment_needs_the_locked_python(
    locked_spec: LockedSpec, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = locked_spec(conda=["python"], pypi=[])
    assert spec.path is not None
    lock = spec.path / "conda-lock.yml"
    lock.write_text(lock.read_text().replace(f'"{VERSION}"', '"3.4.10"').replace(f"-{VERSION}-", "-3.4.10-"))
    notes = spec.path / "requirements.lock"
    notes.write_text(notes.read_text().replace(VERSION, "3.4.10"))
    (spec.path / "envhub.toml").write_text(
        'requires_python = ">=3.4"\n' + (spec.path / "envhub.toml").read_text()
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(VenvRefused, match=r"no python3\.4 on the PATH"):
        build(load(spec.path), store, "venv")


# -- setup steps and the trial ------------------------------------------------------------------------

MAKE = """
import os, pathlib, sys
folder = pathlib.Path(os.environ["ENVHUB_PREFIX"], "share", "probe")
folder.mkdir(parents=True, exist_ok=True)
(folder / "index.txt").write_text(f"{sys.prefix} {pathlib.Path.cwd()} {list(pathlib.Path.home().iterdir())}")
"""
INSTALL = """
import pathlib, sysconfig
folder = pathlib.Path(sysconfig.get_path("purelib"))
(folder / "smuggled-1.dist-info").mkdir()
"""


def with_step(spec: Spec, script: str) -> Spec:
    assert spec.path is not None
    (spec.path / "setup").mkdir()
    (spec.path / "setup" / "make.py").write_text(script)
    sha256 = hashlib.sha256(script.encode()).hexdigest()
    (spec.path / "setup" / "setup.toml").write_text(
        '[[step]]\nname = "make"\nrun = ["python", "setup/make.py"]\n'
        f'[[step.inputs]]\npath = "setup/make.py"\nsha256 = "{sha256}"\n'
    )
    return spec


def test_setup_steps_run_in_the_environment_and_are_part_of_it(locked_spec: LockedSpec, store: Store) -> None:
    spec = with_step(locked_spec(conda=["python"], pypi=[], source=PLAIN), MAKE)
    built = build(spec, store).built
    made = built.prefix / "share" / "probe" / "index.txt"
    assert made.read_text() == f"{built.prefix} {spec.path} []"
    assert store.verify(built) == []
    made.write_text("")
    assert store.verify(built) == [f"{made} was altered"]


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (INSTALL, r"'make' installed or removed packages \(smuggled-1\.dist-info\); packages belong in"),
        (
            "print('no index today')\nraise SystemExit(3)",
            r"failed with status 3:\nno index today\nMend .*setup\.toml.*envhub build .* conda --store .*$",
        ),
    ],
    ids=["installs", "fails"],
)
def test_a_setup_step_that_fails_or_installs_is_refused(
    locked_spec: LockedSpec, store: Store, script: str, complaint: str
) -> None:
    spec = with_step(locked_spec(conda=["python"], pypi=[], source=PLAIN), script)
    with pytest.raises(SetupFailed, match=complaint):
        build(spec, store)
    assert store.all() == [] and store.leftovers() == []


def test_a_setup_step_with_another_input_is_refused(locked_spec: LockedSpec, store: Store) -> None:
    spec = with_step(locked_spec(conda=["python"], pypi=[], source=PLAIN), MAKE)
    assert spec.path is not None
    (spec.path / "setup" / "make.py").write_text(MAKE + "# changed")
    with pytest.raises(
        HashMismatch, match=r"'make': its input .*make\.py is not the declared one.*setup\.toml says"
    ):
        build(spec, store)


def test_an_environment_in_which_the_entry_point_fails_is_refused(
    locked_spec: LockedSpec, store: Store
) -> None:
    with pytest.raises(
        SmokeFailed, match=r"probe_env:Env cannot be imported.*(?s:.)*No module named 'slate'"
    ):
        build(locked_spec(conda=["python"], source="import slate\n" + PLAIN), store)
    assert store.all() == [] and store.leftovers() == []


def test_scripts_that_packages_run_after_they_are_linked_are_run(
    locked_spec: LockedSpec, store: Store, tmp_path: Path
) -> None:
    spec = locked_spec(conda=["python", "libreckon"], pypi=[], source=PLAIN)
    script = b'#!/bin/sh\necho "$PREFIX" > "$PREFIX/linked.txt"\n'
    files = [("lib/x", b"x", 0o644), ("bin/.libreckon-post-link.sh", script, 0o755)]
    point(spec, "libreckon", conda(tmp_path, "libreckon", "1.4", files))
    built = build(spec, store).built
    assert (built.prefix / "linked.txt").read_text().strip() == str(built.prefix)


def test_an_environment_whose_interpreter_is_gone_is_built_again(
    locked_spec: LockedSpec, store: Store
) -> None:
    spec = locked_spec(conda=["python"], pypi=[], source=PLAIN)
    first = build(spec, store, "venv").built
    first.python.unlink()
    first.python.symlink_to("/nowhere/python3.11")  # the machine's Python was removed or upgraded
    assert store.find(first.digest, "venv") is None
    again = build(spec, store, "venv")
    assert not again.reused and inside(again.built, "print(1)") == "1"
