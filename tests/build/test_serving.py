"""`envhub serve` on what was built: which interpreter an environment got is said everywhere."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from envhub.build import Store, read_lock
from envhub.cli import main
from envhub.record import Opened, Reading, Started
from envhub.spec import Spec
from envhub_sdk import Hub

from ..hubs import end
from .pretend import ask_for, pretend_built, pretend_locked

pytestmark = pytest.mark.e2e

LOOKS = """
import importlib.util, sys

class Env:
    def reset(self, *, seed=None, options=None):
        return sys.prefix, {}

    def step(self, action):
        version = "%d.%d" % sys.version_info[:2]
        return version, float(importlib.util.find_spec(action) is not None), False, False, {}
"""


@pytest.fixture
def looks(write_spec: Any) -> Spec:
    """A locked spec that needs nothing; its reward says whether the module that the action names is there."""
    spec: Spec = write_spec(LOOKS)
    assert spec.path is not None
    toml = spec.path / "envhub.toml"
    text = 'description = "any"\nspace = { type = "Text", max_length = 1000 }'
    toml.write_text(toml.read_text().replace('description = "any"', text))
    return ask_for(spec)


@pytest.fixture
def envhub(
    store: Store, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run a command on the test's store; returns its exit status and what it printed."""
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*map(str, arguments), "--store", str(store.root)])
        printed = capfd.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


@contextlib.contextmanager
def served(store: Store, *arguments: object) -> Iterator[dict[str, Any]]:
    """Run a hub that logs into the file `log` beside the store; gives what it prints when it is ready."""
    command = [sys.executable, "-m", "envhub", "serve", *map(str, arguments), "--store", str(store.root)]
    log = store.root.parent / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=stderr, text=True
        )
        assert process.stdout is not None
        try:
            ready = process.stdout.readline()
            assert ready, log.read_text()
            yield json.loads(ready)
        finally:
            end(process, signal.SIGINT)


def banner(store: Store, *arguments: object) -> str:
    """What a hub prints for people until it has told how to play it."""
    command = [sys.executable, "-m", "envhub", "serve", *map(str, arguments), "--store", str(store.root)]
    process = subprocess.Popen(
        [*command, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "COLUMNS": "300"},
    )
    assert process.stdout is not None
    text = ""
    try:
        for line in process.stdout:
            text += line
            if "env.reset" in line:
                break
    finally:
        end(process, signal.SIGINT)
    return text


def test_a_spec_is_locked_built_served_recorded_and_replayed(
    locked_spec: Callable[..., Spec], store: Store, tmp_path: Path, envhub: Any
) -> None:
    source = """
import importlib.util, sys
import abacus, tally

class Env:
    def reset(self, *, seed=None, options=None):
        return f"{tally.root(27.0):.0f}", {}

    def step(self, action):
        ours = [name for name in ("envhub", "msgspec", "pytest") if importlib.util.find_spec(name)]
        return str(abacus.BEADS), 1.0, True, False, {"prefix": sys.prefix, "ours": ours}
"""
    spec = locked_spec(source=source)
    digest = read_lock(spec).digest
    status, _, said = envhub("serve", "--env", spec.path, "--isolation", "conda")
    assert status == 2 and f"`{store.command('build', spec.path)}`" in said and digest in said

    record = tmp_path / "record"
    arguments = ("--env", spec.path, "--isolation", "conda", "--build", "--record", record)
    with served(store, *arguments) as ready, Hub(ready["url"]) as hub:
        assert (ready["isolation"], ready["lock_digest"]) == ({"probe": "conda"}, {"probe": digest})
        info = hub.env("probe")
        assert (info.isolation, info.lock_digest, info.conda_locked) == ("conda", digest, True)
        env = hub.make("probe")
        first, _ = env.reset(seed=1)
        second, reward, terminated, _, seen = env.step("look")
        assert (first, second, reward, terminated) == ("3", "10", 1.0, True)
        assert seen == {"prefix": str(store.prefix(digest)), "ours": []}
        (session,) = hub.sessions()
        assert (session.isolation, session.lock_digest) == ("conda", digest)
        assert env.trajectory().lock_digest == digest
        env.close()
    for event in Reading(record).events():
        if isinstance(event, Opened | Started):
            assert (event.isolation, event.conda_locked, event.lock_digest) == ("conda", True, digest)

    status, out, _ = envhub("replay", record, "--env", spec.path)
    assert (status, out) == (0, "1 episode the same, 0 different, 0 not compared\n")
    status, out, _ = envhub("check", spec.path, "--isolation", "conda")
    assert f"isolation: conda, lock {digest}" in out
    assert "plays         PASS" in out


def test_the_banner_and_the_log_name_the_isolation_and_the_lock(
    looks: Spec, store: Store, tmp_path: Path
) -> None:
    pretend_built(looks, store)
    pretend_built(looks, store, "venv")
    conda, venv = (read_lock(looks).digest_for(kind) for kind in ("conda", "venv"))
    assert f"isolation: conda, lock {conda}\n" in banner(store, "--env", looks.path)
    assert f"isolation: venv (not conda-locked), lock {venv}\n" in banner(
        store, "--env", looks.path, "--isolation", "venv"
    )
    assert "isolation: host (the hub's own Python environment, not conda-locked)\n" in banner(
        store, "--env", looks.path, "--isolation", "host"
    )
    arguments = ("--env", looks.path, "--isolation", "venv", "--log-format", "json")
    with served(store, *arguments) as ready:
        answer = httpx.get(f"{ready['url']}/v1/envs/probe").json()
        assert (answer["isolation"], answer["conda_locked"], answer["lock_digest"]) == ("venv", False, venv)
    said = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (isolation,) = [one for one in said if "isolation: " in one["message"]]
    assert isolation["env"] == "probe"
    assert isolation["message"].endswith(f"isolation: venv (not conda-locked), lock {venv}")


def test_each_environment_has_its_own_isolation(looks: Spec, store: Store, tmp_path: Path) -> None:
    python = pretend_built(looks, store)
    file = tmp_path / "hub.toml"
    file.write_text(
        f'[serve]\nisolation = "host"\n[[env]]\nspec = "{looks.path}"\nisolation = "conda"\n'
        '[[env]]\nspec = "echo"\n'
    )
    by_hand = ("--env", looks.path, "--env", "echo", "--isolation", "host", "--isolation", "probe=conda")
    for arguments in (("--config", file), by_hand):
        with served(store, *arguments) as ready, Hub(ready["url"]) as hub:
            assert ready["isolation"] == {"probe": "conda", "echo": "host"}
            env = hub.make("probe")
            prefix, _ = env.reset(seed=0)
            assert prefix == str(python.parent.parent)
            assert [env.step(name)[1] for name in ("json", "msgspec", "envhub_sdk")] == [1.0, 0.0, 0.0]
            (built,) = store.all()
            assert not store.remove(built), "a hub holds it"


@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_a_prefix_of_another_python_than_the_hubs_is_served(
    looks: Spec, store: Store, empty_venv: Callable[[str], Path], version: str
) -> None:
    pretend_built(looks, store, python=empty_venv(version))
    with served(store, "--env", f"{looks.path}=2") as ready, Hub(ready["url"]) as hub:
        assert ready["isolation"] == {"probe": "conda"}
        env = hub.make("probe")
        env.reset(seed=0)
        assert env.step("json")[0] == version


def test_a_session_of_another_lock_is_refused_when_a_hub_goes_on(
    looks: Spec, store: Store, tmp_path: Path
) -> None:
    state = ("--env", looks.path, "--state-dir", tmp_path / "state")
    with served(store, *state) as ready:
        opened = httpx.post(f"{ready['url']}/v1/envs/probe/sessions", json={"seeds": [1]}).json()
        session = opened["sessions"][0]["id"]
        assert httpx.get(f"{ready['url']}/v1/sessions/{session}").json()["isolation"] == "host"
    with served(store, *state) as ready:
        assert httpx.get(f"{ready['url']}/v1/sessions/{session}").status_code == 200
    pretend_built(looks, store)
    digest = read_lock(looks).digest
    with served(store, *state) as ready:
        answer = httpx.get(f"{ready['url']}/v1/sessions/{session}")
        assert answer.json()["error"]["code"] == "session_lost"
        assert "it ran in host" in answer.json()["error"]["message"]
        assert f"now runs in conda, lock {digest}" in answer.json()["error"]["message"]


def test_a_record_is_replayed_in_what_it_was_made_in_or_not_at_all(
    looks: Spec, store: Store, tmp_path: Path, envhub: Any
) -> None:
    record = tmp_path / "record"
    for isolation in ("host", "conda"):
        if isolation == "conda":
            pretend_built(looks, store)
        arguments = ("--env", looks.path, "--isolation", isolation, "--record", record)
        with served(store, *arguments) as ready, Hub(ready["url"]) as hub:
            env = hub.make("probe")
            env.reset(seed=1)
            env.step("msgspec")
            env.close()
    status, out, _ = envhub("replay", record, "--env", looks.path)
    assert (status, out) == (0, "2 episodes the same, 0 different, 0 not compared\n")

    digest = read_lock(looks).digest
    pretend_locked(looks, "openjdk")
    status, out, _ = envhub("replay", record, "--env", looks.path)  # it is still built
    assert (status, out) == (0, "2 episodes the same, 0 different, 0 not compared\n")

    (built,) = store.all()
    assert store.remove(built)
    status, out, said = envhub("replay", record, "--env", looks.path)
    assert (status, out) == (1, "1 episode the same, 0 different, 1 not compared\n")
    assert f"probe was recorded in conda, lock {digest}, which is not built in {store.root}" in said
    command = store.command("build", looks.path, "--isolation", "conda")
    assert f"by now: restore the locks it had then and run: {command}" in said
