"""`envhub build` and `envhub store`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub.build import Archive, Built, Store, host_platform
from envhub.cli import main


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
        assert f"not built: {one['error']}" in printed.err


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


def test_store_path(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVHUB_STORE", str(store.root))
    assert run("store", "path") == 0
    assert capsys.readouterr().out.strip() == str(store.root)
    assert run("store", "path", "frozenlake") == 2
    message = capsys.readouterr().err
    assert "nothing is built from its present locks" in message
    assert "envhub build frozenlake --isolation conda" in message


def test_store_verify_removes_what_is_damaged_when_told_to(
    store: Store, built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("store", "verify", "--store", store.root) == 0
    assert "thing (conda): whole" in capsys.readouterr().out
    built.python.write_bytes(b"y" * 2**20)
    assert run("store", "verify", "--store", store.root) == 1
    said = capsys.readouterr().out
    assert f"{built.python} was altered" in said and "envhub store verify --remove" in said
    assert store.find(built.digest) == built
    assert run("store", "verify", "--remove", "--store", store.root, "--json") == 1
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["removed"] and answer["complaints"] == [f"{built.python} was altered"]
    assert store.all() == []


def test_store_gc_says_what_it_freed(store: Store, built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("store", "gc", "--store", store.root) == 0
    said = capsys.readouterr().out
    assert f"removed {built.prefix} (1.0 MB)" in said and f"{store.root}: 1.0 MB freed" in said
    assert run("store", "gc", "--store", store.root, "--json") == 0
    assert json.loads(capsys.readouterr().out) == []
