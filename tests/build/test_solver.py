"""Our solver, as conda-lock runs it: a command line in, JSON out."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from envhub.build import LockFailed, Mirrors
from envhub.build._conda import choose_solver
from envhub.build._solver import write_solver

from .channel import PYTHON, SUBDIR, VERSION, Channel

ORIGINAL = "https://conda.example/forge"


def run(executable: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [executable, "create", "--prefix", "/nowhere", "--dry-run", "--json", *arguments],
        env={**os.environ, "CONDA_SUBDIR": SUBDIR},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_it_answers_with_every_package_it_found(channel: Channel, machine: str, tmp_path: Path) -> None:
    solver = write_solver(tmp_path, Mirrors())
    channels = ("--override-channels", "--channel", channel.url, "--channel", machine)
    status, answer = run(solver, *channels, f"python {PYTHON}.*", "tally")
    assert (status, answer["success"]) == (0, True)
    fetched = {one["name"]: one for one in answer["actions"]["FETCH"] if not one["name"].startswith("__")}
    assert {one: fetched[one]["version"] for one in fetched} == {
        "libreckon": "1.4",
        "python": VERSION,
        "tally": "2.1",
    }
    record = channel.records["tally"]
    for key in ("sha256", "md5", "depends", "fn"):
        assert fetched["tally"][key] == record[key]
    assert fetched["tally"]["url"] == f"{channel.url}/noarch/{record['fn']}"
    linked = {one["name"]: one for one in answer["actions"]["LINK"]}["tally"]
    assert (linked["base_url"], linked["platform"]) == (channel.url, "noarch")


def test_it_reads_a_mirror_and_names_the_original(channel: Channel, machine: str, tmp_path: Path) -> None:
    solver = write_solver(tmp_path, Mirrors({ORIGINAL: channel.url}))
    _, answer = run(solver, "--channel", ORIGINAL, "--channel", machine, "libreckon")
    urls = [one["url"] for one in answer["actions"]["FETCH"] if one["name"] == "libreckon"]
    assert urls == [f"{ORIGINAL}/{SUBDIR}/{channel.records['libreckon']['fn']}"]


@pytest.mark.parametrize(
    "spec", ["libreckon 1.4", "libreckon=1", "libreckon 1.* 0", f"{ORIGINAL}::libreckon"]
)
def test_it_reads_specs_as_conda_does(channel: Channel, machine: str, tmp_path: Path, spec: str) -> None:
    solver = write_solver(tmp_path, Mirrors({ORIGINAL: channel.url}))
    status, answer = run(solver, "--channel", ORIGINAL, "--channel", machine, spec)
    assert (status, answer.get("message")) == (0, None)
    assert "libreckon" in {one["name"] for one in answer["actions"]["FETCH"]}


def test_what_has_no_solution_is_an_answer_too(channel: Channel, machine: str, tmp_path: Path) -> None:
    solver = write_solver(tmp_path, Mirrors())
    status, answer = run(solver, "--channel", channel.url, "--channel", machine, "tally >=3")
    assert (status, answer["success"], answer["error"]) == (1, False, "SolverError")
    assert "No candidates were found for tally >=3" in answer["message"]


def test_a_channel_that_is_not_there_is_told(tmp_path: Path) -> None:
    status, answer = run(write_solver(tmp_path, Mirrors()), "--channel", (tmp_path / "no").as_uri(), "tally")
    assert status == 1
    assert str(tmp_path / "no") in answer["message"]


def test_a_mirrors_password_is_not_told(tmp_path: Path) -> None:
    mirrors = Mirrors({ORIGINAL: "http://me:s3cr3t@127.0.0.1:9/forge"})
    status, answer = run(write_solver(tmp_path, mirrors), "--channel", ORIGINAL, "tally")
    assert status == 1
    assert "s3cr3t" not in answer["message"]


def test_it_has_a_version(tmp_path: Path) -> None:
    """conda-lock asks for it first."""
    done = subprocess.run(
        [write_solver(tmp_path, Mirrors()), "--version"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.strip().count(".")) == (0, 2)


@pytest.fixture
def machine(tmp_path: Path) -> str:
    """A channel of virtual packages, as conda-lock makes it from virtual-packages.yml."""
    folder = tmp_path / "machine"
    for subdir in ("noarch", SUBDIR):
        packages = {}
        for name, version in () if subdir == "noarch" else (("__glibc", "2.28"), ("__unix", "0")):
            packages[f"{name}-{version}-0.tar.bz2"] = {
                "name": name,
                "version": version,
                "build": "0",
                "build_number": 0,
                "depends": [],
                "subdir": subdir,
            }
        (folder / subdir).mkdir(parents=True)
        index = {"info": {"subdir": subdir}, "packages": packages}
        (folder / subdir / "repodata.json").write_text(json.dumps(index))
    return folder.as_uri()


# -- which solver -----------------------------------------------------------------------------------


@pytest.fixture
def executables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH beside the system's own tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sh").symlink_to(str(shutil.which("sh")))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CONDA_EXE", raising=False)
    return folder


def put(folder: Path, name: str, says: str) -> Path:
    file = folder / name
    file.write_text(f"#!{folder}/sh\necho '{says}'\n")
    file.chmod(0o755)
    return file


def test_a_conda_that_is_found_solves_else_our_own(executables: Path) -> None:
    assert choose_solver(None, ["conda-forge"], Mirrors()).name.startswith("py-rattler ")
    conda = put(executables, "conda", "conda 26.5.2")
    solver = choose_solver(None, ["conda-forge"], Mirrors())
    assert (solver.name, solver.path) == ("conda 26.5.2", conda)


def test_a_mamba_that_conda_lock_cannot_read_is_passed_over(executables: Path) -> None:
    newer = put(executables, "mamba", "2.6.1")
    assert choose_solver(None, ["conda-forge"], Mirrors()).path is None
    micromamba = put(executables, "micromamba", "2.5.0")
    assert choose_solver(None, ["conda-forge"], Mirrors()).path == micromamba
    with pytest.raises(LockFailed, match=r"cannot use mamba 2\.6\.1, only mamba and micromamba below 2\.6"):
        choose_solver(str(newer), ["conda-forge"], Mirrors())


def test_mirrors_are_for_our_own_solver(executables: Path) -> None:
    conda = put(executables, "conda", "conda 26.5.2")
    mirrors = Mirrors({"https://conda.anaconda.org/conda-forge": "file:///forge"})
    assert choose_solver(None, ["conda-forge"], mirrors).path is None
    assert choose_solver(None, ["bioconda"], mirrors).path == conda
    with pytest.raises(LockFailed, match=r"a mirror in .*config\.toml stands in for a channel"):
        choose_solver("conda", ["conda-forge"], mirrors)


def test_a_named_conda_must_be_there_and_say_its_version(executables: Path) -> None:
    with pytest.raises(LockFailed, match="--conda condor: there is no such executable"):
        choose_solver("condor", ["conda-forge"], Mirrors())
    put(executables, "conda", "hello")
    with pytest.raises(LockFailed, match="--version does not answer with a version"):
        choose_solver("conda", ["conda-forge"], Mirrors())
