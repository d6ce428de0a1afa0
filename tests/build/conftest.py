"""A channel for the whole run, and specs that are locked to it."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from envhub.build import Outcome, Store, build, read_inputs
from envhub.build._fresh import platforms_note
from envhub.spec import Spec, load

from .channel import PYTHON, SUBDIR, VERSION, Channel, make_channel

ENVIRONMENT = """
import abacus, tally

class Env:
    def reset(self, *, seed=None, options=None):
        return f"{tally.root(27.0):.0f}", {}
    def step(self, action):
        return str(abacus.BEADS), 1.0, True, False, {}
"""


@pytest.fixture(scope="session")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Channel:
    """A conda channel and a PyPI index on this disk; tests read them and change copies only."""
    if "dist-packages" in sysconfig.get_path("purelib"):
        pytest.skip("this interpreter is the distribution's own, tied to its folders: it can't be repacked")
    return make_channel(tmp_path_factory.mktemp("channel"))


@pytest.fixture
def only_local(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the PyPI part come from the local index."""
    for name, value in channel.environ().items():
        monkeypatch.setenv(name, value)


def write_locked_spec(
    channel: Channel,
    parent: Path,
    name: str = "probe",
    conda: Iterable[str] = ("python", "libreckon", "tally"),
    pypi: Iterable[str] = ("abacus",),
    source: str = ENVIRONMENT,
) -> Spec:
    """Write a spec with locks, made by hand from the channel's own index, and load it."""
    folder = parent / name
    folder.mkdir()
    (folder / f"{name}_env.py").write_text(source)
    (folder / "envhub.toml").write_text(
        f'name = "{name}"\nversion = "1"\nsummary = "a test"\nentry_point = "{name}_env:Env"\n'
        '[action]\ndescription = "any"\nspace = { type = "Text", max_length = 9 }\n'
        '[observation]\ndescription = "any"\nspace = { type = "Text", max_length = 9 }\n'
    )
    wanted = "".join(f"  - {one}\n" for one in conda if one != "python")
    (folder / "environment.yml").write_text(
        f"channels:\n  - {channel.url}\nplatforms:\n  - {SUBDIR}\n"
        f"dependencies:\n  - python {PYTHON}.*\n{wanted}"
    )
    (folder / "requirements.in").write_text("".join(f"{one}\n" for one in pypi))
    spec = load(folder)
    inputs = read_inputs(spec)
    lock = channel.conda_lock(conda)
    lock["metadata"]["custom_metadata"] = inputs.conda_digests
    (folder / "conda-lock.yml").write_text(json.dumps(lock, indent=1))
    notes = {"requirements.in": inputs.requirements_digest, "python": VERSION}
    notes["platforms"] = platforms_note(inputs)
    head = "".join(f"# {key}: {value}\n" for key, value in notes.items())
    (folder / "requirements.lock").write_text(head + channel.requirements_lock(pypi))
    return spec


@pytest.fixture
def locked_spec(channel: Channel, tmp_path: Path, only_local: None) -> Callable[..., Spec]:
    """Write a spec with locks into the test's folder; takes what `write_locked_spec` takes."""
    return partial(write_locked_spec, channel, tmp_path)


@pytest.fixture(scope="session")
def ready(channel: Channel, tmp_path_factory: pytest.TempPathFactory) -> tuple[Spec, Store, Outcome]:
    """A spec that has been built, in a store of its own; tests change neither."""
    folder = tmp_path_factory.mktemp("ready")
    spec = write_locked_spec(channel, folder, "ready", pypi=("abacus", "slate"))
    store = Store(folder / "envs")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in channel.environ().items():
            patch.setenv(name, value)
        return spec, store, build(spec, store)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return Store(tmp_path / "envs")
