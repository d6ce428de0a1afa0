"""What is said of specs: their data, their locks, what is built of them."""

import shutil
from pathlib import Path

import pytest

from envhub.build import Store, read_lock
from envhub.cli.new import write_skeleton
from envhub.doctor._finding import Finding
from envhub.doctor._specs import look_at_spec
from envhub.spec import Spec, find, load


@pytest.fixture
def webshop(tmp_path: Path) -> Spec:
    """A copy of a bundled spec that a test may damage."""
    source = find("webshop").path
    assert source is not None
    return load(shutil.copytree(source, tmp_path / "webshop", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def look(spec: Spec, store: Store, deep: bool = True) -> dict[str, Finding]:
    return {finding.check: finding for finding in look_at_spec(spec, store, deep=deep)}


def build_pretended(spec: Spec, store: Store) -> Path:
    """A complete environment of one file, made the way a build makes one."""
    digest = read_lock(spec).digest
    with store.building(digest, "conda", lambda: None) as work:
        (work.prefix / "bin").mkdir(parents=True)
        (work.prefix / "bin" / "python").write_text("#!/bin/sh\n")
        return work.complete(
            kind="conda",
            digest=digest,
            spec=spec.name,
            python_version="3.11.14",
            platform="linux-64",
            created=0.0,
            archives=(),
        ).prefix


def test_a_whole_spec_has_nothing_to_mend_but_the_build(webshop: Spec, store: Store) -> None:
    found = look(webshop, store)
    assert {name: one.status for name, one in found.items()} == {
        "data": "ok",
        "lock": "ok",
        "built": "note",
        "serves": "ok",
    }
    assert found["built"].mend == f"envhub build {webshop.path} --store {store.root}"
    assert read_lock(webshop).digest in found["lock"].words
    assert "host" in found["serves"].words


def test_altered_data_is_a_problem(webshop: Spec, store: Store) -> None:
    assert webshop.path is not None
    (webshop.path / webshop.data[0].name).write_bytes(b"other")
    finding = look(webshop, store)["data"]
    assert finding.status == "problem" and webshop.data[0].name in finding.words


def test_a_stale_lock_is_a_problem_with_the_command_that_mends_it(webshop: Spec, store: Store) -> None:
    assert webshop.path is not None
    file = webshop.path / "environment.yml"
    file.write_text(file.read_text().replace("python 3.11", "python 3.12"))
    found = look(webshop, store)
    assert found["lock"].status == "problem" and "environment.yml has changed" in found["lock"].words
    assert found["lock"].mend == f"envhub lock {webshop.path}"
    assert "built" not in found


@pytest.mark.parametrize("missing", ["conda-lock.yml", "requirements.lock"])
def test_a_missing_lock_is_a_problem(missing: str, webshop: Spec, store: Store) -> None:
    assert webshop.path is not None
    (webshop.path / missing).unlink()
    finding = look(webshop, store)["lock"]
    assert finding.status == "problem" and missing in finding.words and finding.mend is not None


def test_a_lock_that_cannot_be_read_is_a_problem(webshop: Spec, store: Store) -> None:
    assert webshop.path is not None
    (webshop.path / "conda-lock.yml").write_text("{")
    assert look(webshop, store)["lock"].status == "problem"


def test_a_spec_that_was_never_locked_is_worth_a_note(tmp_path: Path, store: Store) -> None:
    spec = load(write_skeleton("my-maze", tmp_path))
    found = look(spec, store)
    assert (found["lock"].status, found["lock"].mend) == ("note", f"envhub lock {spec.path}")
    assert found["serves"].status == "ok" and "built" not in found


def test_a_spec_that_has_lost_both_locks_is_a_problem(webshop: Spec, store: Store) -> None:
    assert webshop.path is not None
    for name in ("conda-lock.yml", "requirements.lock"):
        (webshop.path / name).unlink()
    assert look(webshop, store)["lock"].status == "problem"


def test_setup_steps_that_cannot_be_read_are_mended_by_hand(webshop: Spec, store: Store) -> None:
    assert webshop.path is not None
    (webshop.path / "setup").mkdir()
    (webshop.path / "setup" / "setup.toml").write_text("[[step]\n")
    found = look(webshop, store)
    mend = f"edit {webshop.path}/setup/setup.toml"
    assert (found["lock"].status, found["lock"].mend) == ("problem", mend)
    assert (found["serves"].status, found["serves"].mend) == ("problem", mend)


def test_what_was_moved_is_to_be_built_again_from_what_is_kept(webshop: Spec, store: Store) -> None:
    prefix = build_pretended(webshop, store)
    there = Store(store.root.rename(store.root.with_name("elsewhere")))
    finding = look(webshop, there)["built"]
    assert finding.status == "note" and f"was built as {prefix} and works only there" in finding.words
    assert finding.mend == f"envhub build {webshop.path} --offline --store {there.root}"


def test_a_spec_that_has_to_be_built_before_it_can_run_is_worth_a_note(
    webshop: Spec, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envhub.build._runtime.host_lacks", lambda spec: ["openjdk (a conda package)"])
    finding = look(webshop, store)["serves"]
    assert finding.status == "note" and "openjdk" in finding.words
    assert finding.mend == f"envhub build {webshop.path} --store {store.root}"
    assert webshop.path is not None
    (webshop.path / "conda-lock.yml").unlink()
    finding = look(webshop, store)["serves"]
    assert (finding.status, finding.mend) == ("problem", f"envhub lock {webshop.path}")


def test_a_spec_without_locks_is_worth_a_note(store: Store) -> None:
    found = look(find("gymnasium:CartPole-v1"), store)
    assert found["lock"].status == "note" and found["serves"].status == "ok"


def test_what_is_built_is_compared_with_what_was_built(webshop: Spec, store: Store) -> None:
    prefix = build_pretended(webshop, store)
    finding = look(webshop, store)["built"]
    assert finding.status == "ok" and "3.11.14" in finding.words and str(prefix) in finding.words
    assert "conda" in look(webshop, store)["serves"].words
    assert look(webshop, store)["serves"].status == "ok"
    (prefix / "bin" / "python").write_text("#!/bin/false\n")
    assert look(webshop, store, deep=False)["built"].status == "ok"
    found = look(webshop, store)
    assert found["built"].status == "problem" and "bin/python was altered" in found["built"].words
    here = f"--store {store.root}"
    mend = f"envhub store verify --remove {here}, then envhub build {webshop.path} {here}"
    assert found["built"].mend == mend
    assert (found["serves"].status, found["serves"].mend) == ("problem", mend)
    assert "which is damaged" in found["serves"].words


def test_a_spec_that_nothing_here_can_run_is_a_problem(webshop: Spec, store: Store) -> None:
    assert webshop.path is not None
    toml = webshop.path / "envhub.toml"
    for name in ("environment.yml", "requirements.in", "conda-lock.yml", "requirements.lock"):
        (webshop.path / name).unlink()
    (webshop.path / "requirements.in").write_text("a-package-nobody-has>=1\n")
    finding = look(load(toml.parent), store)["serves"]
    assert finding.status == "problem" and "a-package-nobody-has" in finding.words
