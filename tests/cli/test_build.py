"""`envhub build` and `envhub store`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub.build import Archive, Built, NotBuilt, Store, host_platform
from envhub.cli import main
from envhub.cli._runtimes import holding, with_runtime
from envhub.cli.build import Bars

from ..build.pretend import ask_for, pretend_built


def run(*arguments: object) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    assert isinstance(ended.value.code, int | None)
    return ended.value.code or 0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "envs")


@pytest.fixture
def built(store: Store) -> Built:
    """An environment of one file."""
    digest = f"sha256:{'1' * 64}"
    with store.building(digest, "conda", lambda: None) as work:
        (work.prefix / "bin").mkdir(parents=True)
        (work.prefix / "bin" / "python").write_bytes(b"x" * 2**20)
        archives = (Archive("python", "3.11.7", "conda", "a" * 64),)
        return work.complete(
            kind="conda",
            digest=digest,
            spec="thing",
            python_version="3.11.7",
            platform=host_platform(),
            created=1.0,
            archives=archives,
        )


def test_build_needs_one_spec_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("build") == 2
    assert "name one spec, all bundled ones with --all, or a pack with --from FILE" in capsys.readouterr().err
    assert run("build", "echo", "--all") == 2


def test_a_spec_without_locks_is_refused_with_the_command_that_makes_them(
    write_spec: Callable[..., Any], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec("class Env: ...\n")
    assert run("build", spec.path, "--store", store.root) == 2
    message = capsys.readouterr().err
    assert message.startswith("envhub: probe:") and f"envhub lock {spec.path}" in message


def test_all_builds_what_it_can_and_says_what_it_cannot(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("build", "--all", "--offline", "--store", store.root, "--json") == 1
    printed = capsys.readouterr()
    answers = json.loads(printed.out)
    assert {"frozenlake", "webshop"} <= {one["spec"] for one in answers}
    for one in answers:
        assert "--offline fetches nothing" in one["error"]
        assert f"\n{one['spec']}: not built: " in f"\n{printed.err}" and one["error"] in printed.err


def test_store_list(store: Store, built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("store", "list", "--store", store.root) == 0
    listed = capsys.readouterr().out
    assert "thing" in listed and "3.11.7" in listed and "1.0 MB" in listed
    assert run("store", "list", "--store", store.root, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["digest"] == built.digest and found["python"] == str(built.python)
    assert found["archives"][0]["sha256"] == "a" * 64


def test_an_empty_store_is_said_to_be_empty(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("store", "list", "--store", store.root) == 0
    assert f"Nothing has been built in {store.root}." in capsys.readouterr().out
    assert run("store", "verify", "--store", store.root) == 0
    assert f"Nothing has been built in {store.root}." in capsys.readouterr().out
    assert run("store", "gc", "--store", store.root) == 0
    assert not store.root.exists()


def test_a_store_without_a_name_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("store", "gc", "--store", "") == 2
    assert "an empty name is no folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_no_store_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "work" / "mine").mkdir(parents=True)
    for command in (("gc",), ("verify", "--remove")):
        assert run("store", *command, "--store", tmp_path) == 2
        assert f"{tmp_path} is no store of EnvHub" in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["work"]


def test_store_path(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVHUB_STORE", str(store.root))
    assert run("store", "path") == 0
    assert capsys.readouterr().out.strip() == str(store.root)
    assert run("store", "path", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(store.root)}
    assert run("store", "path", "frozenlake") == 2
    message = capsys.readouterr().err
    assert "there is no conda environment of its present lock" in message
    assert "`envhub build frozenlake`" in message


def test_store_path_refuses_stale_locks_as_serve_does(
    write_spec: Callable[..., Any], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = ask_for(write_spec("class Env: ...\n"), requirements="")
    python = pretend_built(spec, store)
    assert run("store", "path", spec.path, "--store", store.root) == 0
    assert capsys.readouterr().out.strip() == str(python.parent.parent)
    (spec.path / "requirements.in").write_text("pytest\n")
    assert run("store", "path", spec.path, "--store", store.root) == 2
    assert "requirements.in has changed" in capsys.readouterr().err


def test_store_verify_removes_what_is_damaged_when_told_to(
    store: Store, built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("store", "verify", "--store", store.root) == 0
    assert "thing (conda): whole" in capsys.readouterr().out
    built.python.write_bytes(b"y" * 2**20)
    assert run("store", "verify", "--store", store.root) == 1
    said = capsys.readouterr().out
    assert f"{built.python} was altered" in said
    assert f"envhub store verify --remove --store {store.root}" in said
    assert store.find(built.digest) == built
    with store.hold(built.digest):
        assert run("store", "verify", "--remove", "--store", store.root) == 1
        said = capsys.readouterr().out
        assert f"not removed: a hub holds it (process {os.getpid()}); end that, then run: envhub" in said
        assert run("store", "verify", "--remove", "--store", store.root, "--json") == 1
        (answer,) = json.loads(capsys.readouterr().out)
        assert not answer["removed"] and answer["held_by"] == [os.getpid()]
    assert run("store", "verify", "--remove", "--store", store.root, "--json") == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["removed"] and answer["complaints"] == [f"{built.python} was altered"]
    assert store.all() == []


def test_store_verify_names_what_was_moved(
    store: Store, built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = store.root.rename(tmp_path / "there")
    assert run("store", "verify", "--store", there) == 1
    assert f"it was built as {built.prefix} and works only there" in capsys.readouterr().out
    assert run("store", "verify", "--remove", "--store", there) == 0
    assert Store(there).moved() == []


def test_store_gc_names_a_note_that_cannot_be_read(
    store: Store, built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.use(tmp_path, built)
    (note,) = (store.root / "roots").iterdir()
    note.write_text("")
    assert run("store", "gc", "--store", store.root) == 0
    assert f"{note} cannot be read" in capsys.readouterr().err
    assert store.all() == [built]


def test_an_environment_that_was_removed_before_it_was_held_is_missed(
    write_spec: Callable[..., Any], store: Store
) -> None:
    spec = ask_for(write_spec("class Env: ...\n"))
    pretend_built(spec, store)
    served = with_runtime(spec.resolve(), "conda", store)
    (built,) = store.all()
    with holding(served, store):
        assert not store.remove(built)
    assert store.remove(built)
    with pytest.raises(NotBuilt, match="was removed just now; run: envhub build"), holding(served, store):
        pass


def test_waiting_for_another_build_is_said_once_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars("maze") as bars:
        for stage in ("fetch", "wait", "install"):
            bars.report(stage, "maze", 0, 0)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "maze: waiting for another build of maze\n")


def test_store_gc_says_what_it_freed(store: Store, built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("store", "gc", "--store", store.root) == 0
    said = capsys.readouterr().out
    assert f"removed {built.prefix} (1.0 MB)" in said and f"{store.root}: 1.0 MB freed" in said
    assert run("store", "gc", "--store", store.root, "--json") == 0
    assert json.loads(capsys.readouterr().out) == []
