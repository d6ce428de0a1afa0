"""Artifacts: what a spec's own program makes, kept by what it is made of."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub.build import (
    ArtifactFailed,
    FetchFailed,
    HashMismatch,
    LockMissing,
    NotCached,
    Outcome,
    Store,
    build_artifact,
    find_artifact,
    lock_artifact,
    pack,
    unpack,
    with_artifacts,
)
from envhub.build._build import quiet
from envhub.cli import main
from envhub.cli._runtimes import holding, with_runtime
from envhub.doctor._specs import look_at_spec
from envhub.spec import Spec, SpecInvalid, load

ENV = "class Env: ...\n"
DECLARED = """
[config.words]
type = "str"
default = ""

[[artifact]]
name = "words"
setting = "words"
inputs = ["words.lock"]
archives = ["python", "make.py", "archives"]
run = ["python", "make.py", "run"]
lock = ["python", "make.py", "lock"]
"""
PROGRAM = """
import json, os, pathlib, sys
if sys.argv[1] == "archives":
    print(pathlib.Path("words.lock").read_text())
elif sys.argv[1] == "lock":
    pathlib.Path("words.lock").write_text("[]")
else:
    target, archives = (pathlib.Path(os.environ[f"ENVHUB_{name}"]) for name in ("ARTIFACT", "ARCHIVES"))
    print("1/2 begins", flush=True)
    target.mkdir()
    for file in archives.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    exec(os.environ.get("THEN", ""))
"""
WORD = b"a word"


@pytest.fixture
def archive(tmp_path: Path) -> dict[str, Any]:
    """An archive on this disk, as a step names it."""
    (tmp_path / "word.txt").write_bytes(WORD)
    url = (tmp_path / "word.txt").as_uri()
    return {"name": "word.txt", "sha256": hashlib.sha256(WORD).hexdigest(), "urls": [url]}


@pytest.fixture
def make(write_spec: Any, archive: dict[str, Any]) -> Callable[..., Spec]:
    """Write a spec with an artifact of one archive."""

    def write(**changed: Any) -> Spec:
        spec: Spec = write_spec(ENV, DECLARED)
        assert spec.path is not None
        write_program(spec.path, {**archive, **changed})
        return spec

    return write


def write_program(folder: Path, archive: dict[str, Any]) -> None:
    (folder / "make.py").write_text(PROGRAM)
    (folder / "words.lock").write_text(json.dumps([archive]))


def build(spec: Spec, store: Store, **options: Any) -> Outcome:
    return build_artifact(spec, spec.artifacts[0], store, **options)


def test_it_is_made_once_and_given_to_the_environment(make: Callable[..., Spec], store: Store) -> None:
    spec, told = make(), list[tuple[Any, ...]]()
    assert with_artifacts(spec.resolve(), store) == {"words": ""}
    made = build(spec, store, report=lambda *words: told.append(words))
    assert not made.reused and (made.built.content / "word.txt").read_bytes() == WORD
    assert ("make", "words: begins", 1, 2) in told
    assert made.built.prefix.stat().st_mode & 0o077 == 0
    again = build(spec, store, offline=True)
    assert again.reused and again.built == made.built == find_artifact(spec, spec.artifacts[0], store)
    assert with_artifacts(spec.resolve(), store) == {"words": str(made.built.content)}
    assert with_artifacts(spec.resolve({"words": "mine"}), store) == {"words": "mine"}
    assert store.all() == [made.built] and store.leftovers() == []


def test_other_inputs_make_another_one(make: Callable[..., Spec], store: Store) -> None:
    spec = make()
    first = build(spec, store).built
    assert spec.path is not None
    assert lock_artifact(spec, spec.artifacts[0]) == [spec.path / "words.lock"]
    assert lock_artifact(spec, spec.artifacts[0]) == []
    assert find_artifact(spec, spec.artifacts[0], store) is None
    second = build(spec, store).built
    assert second.digest != first.digest and list(second.content.iterdir()) == []
    assert first.prefix in [one.path for one in store.gc()] and store.all() == [second]


def test_what_a_hub_uses_stays(make: Callable[..., Spec], store: Store) -> None:
    spec = make()
    built = build(spec, store).built
    with holding(with_runtime(spec.resolve(), "host", store), store):
        assert not store.remove(built)
    (built.content / "word.txt").write_text("another")
    assert store.verify(built) == [f"{built.content}/word.txt was altered"]
    assert store.remove(built) and store.all() == []


def test_an_archive_of_another_hash_is_refused(make: Callable[..., Spec], store: Store) -> None:
    spec = make(sha256="0" * 64)
    with pytest.raises(HashMismatch, match=rf"word\.txt.*0000.*envhub lock {spec.path}"):
        build(spec, store)
    assert store.all() == [] == store.leftovers()


def test_an_archive_is_looked_for_elsewhere(
    make: Callable[..., Spec], store: Store, archive: dict[str, Any]
) -> None:
    spec = make(urls=["file:///nowhere/word.txt", *archive["urls"]])
    assert (build(spec, store).built.content / "word.txt").read_bytes() == WORD


def test_an_archive_that_is_nowhere_is_named(make: Callable[..., Spec], store: Store) -> None:
    spec = make(urls=["file:///nowhere/word.txt", "file:///neither/word.txt"])
    with pytest.raises(FetchFailed) as failed:
        build(spec, store)
    said = str(failed.value)
    assert f"envhub lock {spec.path}" in said and "word.txt" in said
    assert said.endswith("It is not to be had from file:///neither/word.txt either")
    with pytest.raises(NotCached, match="--offline fetches nothing"):
        build(spec, store, offline=True)


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("sys.exit('no tool: install it')", "failed with status 1:\nno tool: install it"),
        ("os.rename(target, target.with_name('other'))", "made no folder"),
    ],
)
def test_a_step_that_fails_says_so_and_leaves_nothing(
    make: Callable[..., Spec], store: Store, monkeypatch: pytest.MonkeyPatch, then: str, said: str
) -> None:
    spec = make()
    monkeypatch.setenv("THEN", then)
    with pytest.raises(ArtifactFailed) as failed:
        build(spec, store)
    assert "artifact 'words': python make.py run" in str(failed.value) and said in str(failed.value)
    assert store.all() == [] == store.leftovers()
    monkeypatch.delenv("THEN")
    assert not build(spec, store, offline=True).reused


@pytest.mark.parametrize(
    "listed", ["text", '[{"name": "x"}]', '[{"name": "a/b", "sha256": "", "urls": []}]', "[1]"]
)
def test_a_step_that_names_no_archives_is_told_the_form(
    make: Callable[..., Spec], store: Store, listed: str
) -> None:
    spec = make()
    assert spec.path is not None
    (spec.path / "words.lock").write_text(listed)
    with pytest.raises(ArtifactFailed, match="must print"):
        build(spec, store)


def test_a_missing_input_is_named(make: Callable[..., Spec], store: Store) -> None:
    spec = make()
    assert spec.path is not None
    (spec.path / "words.lock").unlink()
    assert find_artifact(spec, spec.artifacts[0], store) is None
    with pytest.raises(LockMissing, match=r"words\.lock is missing; make it with: envhub lock"):
        build(spec, store)


def test_one_that_is_killed_leaves_nothing_that_counts(make: Callable[..., Spec], store: Store) -> None:
    spec = make()
    # the step waits for its builder's end
    then = "p = os.getppid(); print('2/2 waits', flush=True)\nwhile os.getppid() == p: pass"
    program = (
        "import sys; from pathlib import Path; from envhub.build import *; from envhub.spec import load\n"
        "spec = load(Path(sys.argv[1]))\n"
        "say = lambda *words: print(words, flush=True)\n"
        "build_artifact(spec, spec.artifacts[0], Store(Path(sys.argv[2])), report=say)"
    )
    command = [sys.executable, "-c", program, str(spec.path), str(store.root)]
    environ = {**os.environ, "THEN": then}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout is not None
        for line in builder.stdout:
            if "waits" in line:
                break
        builder.send_signal(signal.SIGKILL)
    assert find_artifact(spec, spec.artifacts[0], store) is None
    made = build(spec, store)  # as soon as what the dead one started has ended
    assert not made.reused and store.leftovers() == []


def test_a_pack_carries_its_archives(
    locked_spec: Callable[..., Spec], archive: dict[str, Any], tmp_path: Path, store: Store
) -> None:
    folder = locked_spec().path
    assert folder is not None
    without = pack(load(folder), store, tmp_path / "without.envhub", report=quiet).archives
    with (folder / "envhub.toml").open("a") as file:
        file.write(DECLARED)
    write_program(folder, archive)
    assert pack(load(folder), store, tmp_path / "it.envhub", report=quiet).archives == without + 1
    other = Store(tmp_path / "other")
    unpacked = unpack(tmp_path / "it.envhub", other, tmp_path / "there", report=quiet)
    (tmp_path / "word.txt").unlink()
    assert (build(unpacked, other, offline=True).built.content / "word.txt").read_bytes() == WORD


def run(*arguments: object) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    assert isinstance(ended.value.code, int | None)
    return ended.value.code or 0


def test_the_command_builds_it_alone(
    make: Callable[..., Spec], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = make()
    (before,) = [one for one in look_at_spec(spec, store, deep=True) if one.check == "artifact"]
    assert before.status == "note" and before.mend is not None and "--isolation host" in before.mend
    command = ("build", spec.path, "--isolation", "host", "--store", store.root)
    assert run(*command, "--json") == 0
    (artifact,) = json.loads(capsys.readouterr().out)["artifacts"]
    assert (artifact["name"], artifact["reused"], artifact["archives"]) == ("words", False, 1)
    assert (Path(artifact["path"]) / "word.txt").is_file()
    assert run(*command) == 0
    assert "words there already (1 archives, 0 MB)" in capsys.readouterr().out
    (after,) = [one for one in look_at_spec(spec, store, deep=True) if one.check == "artifact"]
    assert after.status == "ok" and artifact["path"] in after.words
    assert run("store", "list", "--store", store.root, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["path"] == artifact["path"]
    assert run("build", "echo", "--isolation", "host") == 2
    assert "echo has no artifacts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('setting = "words"', 'setting = "word"', "must be a setting of the type str"),
        ('inputs = ["words.lock"]', 'inputs = ["../words.lock"]', "must lie inside"),
        ('inputs = ["words.lock"]', "inputs = []", "must be an array of strings"),
        ('run = ["python", "make.py", "run"]', "run = [1]", "must be an array of strings"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(
    make: Callable[..., Spec], old: str, new: str, said: str
) -> None:
    spec = make()
    assert spec.path is not None
    file = spec.path / "envhub.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(SpecInvalid, match=said):
        load(spec.path)
    file.write_text(file.read_text().replace(new, old) + DECLARED[DECLARED.index("[[artifact]]") :])
    with pytest.raises(SpecInvalid, match="the name of another artifact"):
        load(spec.path)
