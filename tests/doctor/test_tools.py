"""What is said of the store, the mirrors and the channels."""

import socket
from pathlib import Path

import pytest

from envhub.build import Store
from envhub.doctor._tools import look_at_channels, look_at_solver, look_at_store, look_at_tools


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration file, empty."""
    file = tmp_path / "config.toml"
    file.write_text("")
    monkeypatch.setenv("ENVHUB_CONFIG", str(file))
    return file


def test_the_tools_are_there_with_their_versions() -> None:
    finding = look_at_tools()
    assert finding.status == "ok" and "conda-lock 4" in finding.words and "uv " in finding.words


def test_a_missing_tool_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envhub.doctor._tools._TOOLS", ("uv", "no-such-tool"))
    finding = look_at_tools()
    assert finding.status == "warning" and finding.words.startswith("no-such-tool missing")
    assert finding.mend is not None and "envhub[build]" in finding.mend


def test_a_store_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    (finding,) = look_at_store(Store(tmp_path / "a" / "b"))
    assert finding.status == "ok" and finding.words.startswith("0 environments")
    assert not (tmp_path / "a").exists()


def test_a_store_that_cannot_be_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (finding,) = look_at_store(Store(tmp_path / "file" / "store"))
    assert finding.status == "problem" and finding.mend is not None and "--store" in finding.mend


def test_what_a_build_left_is_named(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with store.building(f"sha256:{'0' * 64}", "venv", lambda: None) as work:
        work.prefix.mkdir(parents=True)
    _, left = look_at_store(store)
    assert left.mend == f"envhub store gc --store {store.root}" and "0" * 32 in left.words


def test_a_folder_that_is_no_store_has_no_leftovers(tmp_path: Path) -> None:
    (tmp_path / "venvs" / "mine").mkdir(parents=True)
    (finding,) = look_at_store(Store(tmp_path))
    assert finding.status == "ok" and [one.name for one in tmp_path.iterdir()] == ["venvs"]


def test_what_was_moved_is_no_leftover(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with store.building(f"sha256:{'0' * 64}", "conda", lambda: None) as work:
        (work.prefix / "bin").mkdir(parents=True)
        (work.prefix / "bin" / "python").touch()
        built = work.complete(
            kind="conda",
            digest=f"sha256:{'0' * 64}",
            spec="thing",
            python_version="3.11.14",
            platform="linux-64",
            created=0.0,
            archives=(),
        )
    there = Store(store.root.rename(tmp_path / "there"))
    _, moved = look_at_store(there)
    assert moved.status == "note" and f"was built as {built.prefix} and works only there" in moved.words
    assert moved.mend is not None
    assert moved.mend.startswith(f"envhub build thing --offline --store {there.root}")


def test_little_room_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envhub.doctor._tools.ENOUGH_BYTES", 2**62)
    (finding,) = look_at_store(Store(tmp_path))
    assert finding.status == "warning" and finding.mend == f"envhub store gc --store {tmp_path}"


def test_channels_and_their_mirrors_are_asked(config: Path, tmp_path: Path) -> None:
    (tmp_path / "mirror" / "noarch").mkdir(parents=True)
    (tmp_path / "mirror" / "noarch" / "repodata.json").write_text("{}")
    config.write_text(f'[mirrors]\n"https://conda.anaconda.org/here" = "file://{tmp_path}/mirror"\n')
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    here, gone, refused = look_at_channels(["here", f"file://{tmp_path}/gone", f"http://127.0.0.1:{port}/c"])
    assert here.status == "ok" and f"{tmp_path}/mirror" in here.words
    assert gone.status == "warning" and "repodata.json is not there" in gone.words
    assert refused.status == "warning" and refused.mend is not None and str(config) in refused.mend


def test_mirrors_that_cannot_be_read_are_a_problem(config: Path) -> None:
    config.write_text('[mirrors]\n"conda-forge" = "elsewhere"\n')
    (finding,) = look_at_solver(["conda-forge"])
    assert finding.status == "problem" and str(config) in finding.words
    assert not list(look_at_channels(["conda-forge"]))


def test_the_solver_is_named(config: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CONDA_EXE", raising=False)
    (finding,) = look_at_solver(["conda-forge"])
    assert finding.status == "ok" and finding.words.startswith("py-rattler ")
