"""Making locks from a channel and an index on this disk, by the real conda-lock and uv."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from envhub.build import (
    LockFailed,
    LockInvalid,
    LockMissing,
    Mirrors,
    SpecFiles,
    Store,
    build,
    check_fresh,
    lock_pypi,
    read_inputs,
    read_lock,
    relock,
)
from envhub.build._inputs import DEFAULT_VIRTUAL_PACKAGES
from envhub.build._solver import write_solver
from envhub.spec import Spec, load

from .channel import SUBDIR, VERSION, Channel
from .inputs import write_inputs

pytestmark = pytest.mark.usefixtures("only_local")


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("locked")


@pytest.fixture
def locked(channel: Channel, module_folder: Path) -> Iterator[Spec]:
    """A spec that was locked once; tests read it only."""
    folder = module_folder / "probe"
    if not folder.is_dir():
        relock(write_inputs(folder, channel, conda=("tally",), pypi=("abacus", "slate")))
    before = contents(folder)
    yield load(folder)
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_both_locks_hold_what_was_asked_for_and_what_that_needs(channel: Channel, locked: Spec) -> None:
    lock = read_lock(locked, SUBDIR)
    assert {one.name: one.version for one in lock.conda} == {
        "libreckon": "1.4",
        "python": VERSION,
        "tally": "2.1",
    }
    for package in lock.conda:
        record = channel.records[package.name]
        assert (package.sha256, package.md5) == (record["sha256"], record["md5"])
        assert package.url == f"{channel.url}/{record['subdir']}/{record['fn']}"
    assert [one.name for one in lock.pypi] == ["abacus", "slate"]
    assert check_fresh(locked, thorough=True).fresh


def test_no_lock_of_pypi_packages_names_an_address(locked: Spec) -> None:
    text = SpecFiles.of(locked).requirements_lock.read_text()
    assert "://" not in text and "--index" not in text and "--find-links" not in text
    assert "--hash=sha256:" in text
    assert f"# python: {VERSION}\n" in text


def test_locking_twice_gives_the_same_bytes(channel: Channel, locked: Spec, tmp_path: Path) -> None:
    again = write_inputs(tmp_path / "again", channel, conda=("tally",), pypi=("abacus", "slate"))
    done = relock(again)
    assert [file.name for file in done.changed] == [
        "virtual-packages.yml",
        "conda-lock.yml",
        "requirements.lock",
    ]
    assert (done.python, done.conda, done.pypi) == (VERSION, 3, 2)
    assert contents(tmp_path / "again") == contents(SpecFiles.of(locked).folder)


def test_settings_for_other_tools_change_no_lock(
    locked: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONDA_FLAGS", "--channel nowhere")
    monkeypatch.setenv("CONDA_OVERRIDE_GLIBC", "2.5")
    monkeypatch.setenv("CONDA_LOCK_MAMBA", "1")
    monkeypatch.setenv("UV_CONSTRAINT", "/nowhere/constraints.txt")
    monkeypatch.setenv("UV_EXCLUDE_NEWER", "2001-01-01")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "virtual-packages.yml").write_text("subdirs: {}")
    again = load(shutil.copytree(SpecFiles.of(locked).folder, tmp_path / "again"))
    assert relock(again).changed == ()


def test_a_mirror_may_be_of_a_channel_that_is_called_by_name(
    channel: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[mirrors]\n"https://conda.anaconda.org/conda-forge" = "{channel.url}"\n')
    monkeypatch.setenv("ENVHUB_CONFIG", str(config))
    spec = write_inputs(tmp_path / "probe", "conda-forge", pypi=None)
    done = relock(spec)
    assert done.solver.startswith("py-rattler ")
    text = SpecFiles.of(spec).conda_lock.read_text()
    assert "- url: conda-forge\n" in text
    assert f"https://conda.anaconda.org/conda-forge/noarch/{channel.records['tally']['fn']}" in text


def test_with_a_mirror_the_lock_names_the_original_and_is_built_through_the_mirror(
    channel: Channel, tmp_path: Path, store: Store
) -> None:
    mirrors = Mirrors({"https://conda.example/forge": channel.url})
    spec = write_inputs(tmp_path / "probe", "https://conda.example/forge", pypi=("abacus",))
    (tmp_path / "probe" / "probe_env.py").write_text("import abacus, tally\nclass Env: ...\n")
    relock(spec, mirrors=mirrors)
    assert {one.url.rpartition("/")[0] for one in read_lock(spec, SUBDIR).conda} == {
        f"https://conda.example/forge/{subdir}" for subdir in (SUBDIR, "noarch")
    }
    assert "file://" not in SpecFiles.of(spec).conda_lock.read_text()

    built = build(spec, store, mirrors=mirrors).built
    code = "import abacus, tally; print(round(tally.root(27.0)), abacus.BEADS)"
    ran = subprocess.run([built.python, "-I", "-c", code], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("3 10\n", "")


def test_a_channel_may_be_given_instead_of_the_declared_one(channel: Channel, tmp_path: Path) -> None:
    spec = write_inputs(tmp_path / "probe", "https://conda.example/forge", pypi=None)
    relock(spec, channels=[channel.url])
    assert f"- url: {channel.url}\n" in SpecFiles.of(spec).conda_lock.read_text()
    assert check_fresh(spec, thorough=True).fresh


def test_a_conda_may_be_named(channel: Channel, tmp_path: Path) -> None:
    """Any executable that answers as conda does; here it is our own under another name."""
    conda = write_solver(tmp_path, Mirrors()).rename(tmp_path / "my-conda")
    spec = write_inputs(tmp_path / "probe", channel, pypi=None)
    assert relock(spec, conda=str(conda)).solver.startswith("my-conda ")
    assert len(read_lock(spec, SUBDIR).conda) == 3


def test_without_requirements_there_is_no_lock_of_them(channel: Channel, tmp_path: Path) -> None:
    spec = write_inputs(tmp_path / "probe", channel, conda=(), pypi=())
    relock(spec)
    files = SpecFiles.of(spec)
    assert [line for line in files.requirements_lock.read_text().splitlines() if line[0] != "#"] == []
    files.requirements.unlink()
    assert "requirements.lock is left over" in check_fresh(spec).reasons[0]
    assert relock(spec).changed == (files.requirements_lock,)
    assert not files.requirements_lock.exists() and check_fresh(spec).fresh


# -- refusals ---------------------------------------------------------------------------------------


def refused(spec: Spec, error: type[Exception] = LockFailed) -> str:
    """Lock, which must fail and change nothing; return the message."""
    before = contents(SpecFiles.of(spec).folder)
    with pytest.raises(error) as caught:
        relock(spec)
    assert contents(SpecFiles.of(spec).folder) == before
    message = str(caught.value)
    assert message.startswith("probe: ")
    return message


def test_no_solution_names_the_package_and_leaves_the_locks(
    channel: Channel, locked: Spec, tmp_path: Path
) -> None:
    folder = shutil.copytree(SpecFiles.of(locked).folder, tmp_path / "probe")
    message = refused(write_inputs(folder, channel, conda=("tally >=3",)))
    assert f"{folder}/environment.yml: there is no lock for it on {SUBDIR}: " in message
    assert "No candidates were found for tally >=3" in message
    assert message.endswith(f"run: envhub lock {folder}")


def test_no_pypi_solution_names_the_package_and_leaves_the_locks(
    channel: Channel, locked: Spec, tmp_path: Path
) -> None:
    folder = shutil.copytree(SpecFiles.of(locked).folder, tmp_path / "probe")
    message = refused(write_inputs(folder, channel, pypi=("abacus", "abacus>=99")))
    assert f"{folder}/requirements.in: no packages for Python {VERSION} on {SUBDIR}" in message
    assert "abacus>=99" in message


def test_a_channel_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    url = (tmp_path / "nowhere").as_uri()
    message = refused(write_inputs(tmp_path / "probe", url))
    assert f"a channel cannot be read ({url})" in message
    assert "under [mirrors] in" in message and "--channel URL" in message


def test_a_mirror_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, nowhere = tmp_path / "config.toml", (tmp_path / "nowhere").as_uri()
    config.write_text(f'[mirrors]\n"https://conda.anaconda.org" = "{nowhere}"\n')
    monkeypatch.setenv("ENVHUB_CONFIG", str(config))
    message = refused(write_inputs(tmp_path / "probe", "conda-forge"))
    assert "a channel cannot be read (conda-forge)" in message and "Name a mirror" not in message
    leads = f"lead from https://conda.anaconda.org/conda-forge to {nowhere}/conda-forge"
    assert message.endswith(f"The mirrors in {config} {leads}: correct them there if they are wrong")


def test_the_platform_without_a_solution_is_named(channel: Channel, tmp_path: Path) -> None:
    spec = write_inputs(tmp_path / "probe", channel)
    (other,) = {"linux-64", "linux-aarch64"} - {SUBDIR}
    with SpecFiles.of(spec).environment.open("a") as environment:
        environment.write(f"  - {other}\n")
    assert f"there is no lock for it on {other}: " in refused(spec)


def test_a_glibc_that_uv_does_not_know_is_refused_with_those_it_knows(
    channel: Channel, tmp_path: Path
) -> None:
    spec = write_inputs(tmp_path / "probe", channel)
    files = SpecFiles.of(spec)
    files.virtual_packages.write_text(DEFAULT_VIRTUAL_PACKAGES.replace("2.28", "2.29"))
    message = refused(spec)
    assert f"{files.virtual_packages}: __glibc '2.29' of {SUBDIR} is none that uv can lock" in message
    assert "write one of 2.17, 2.28, " in message and message.endswith(f"envhub lock {files.folder}")

    files.virtual_packages.write_text(DEFAULT_VIRTUAL_PACKAGES.replace('"2.28"', "2.28"))
    assert "__glibc of linux-64 must have its version in quotes" in refused(spec, LockInvalid)


def test_a_python_that_the_code_does_not_run_on_is_refused(channel: Channel, tmp_path: Path) -> None:
    spec = write_inputs(tmp_path / "probe", channel, head='requires_python = "<3.10"')
    message = refused(spec)
    assert f'leads to Python {VERSION}, and envhub.toml has requires_python = "<3.10"' in message


def test_a_spec_without_an_environment_is_told_what_to_write(tmp_path: Path, channel: Channel) -> None:
    spec = write_inputs(tmp_path / "probe", channel)
    SpecFiles.of(spec).environment.unlink()
    message = refused(spec, LockMissing)
    assert "it has no " in message and "docs/locks.md" in message


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ("channels: [", "cannot be read: not YAML"),
        ("- python", "must have the keys channels, dependencies and platforms"),
        ("dependencies: [python]", "'channels' must be a list with something in it"),
        ("channels: [a]\ndependencies: []", "'dependencies' must be a list with something in it"),
        ("channels: [a]\ndependencies: [numpy, python-dateutil]", "asks for no python"),
        ("channels: [a]\ndependencies: [python, pip: [x]]", "has a pip section; its packages belong in"),
        ("channels: [a]\ndependencies: [python, 3]", "dependency 3 is not of the form"),
        (
            "channels: [a]\ndependencies: [python]\nplatforms: [win-64]",
            "'win-64' is none of linux-64, linux-aarch64, osx-64, osx-arm64",
        ),
        (
            "channels: [a]\ndependencies: [python]\nplatforms: [osx-64]",
            "says nothing about osx-64, which environment.yml locks for; it has linux-64, linux-aarch64",
        ),
        (
            "channels: [a]\ndependencies:\n- python\n- tally  # see [docs]",
            "'- tally' would be left out: [docs] in its comment is read as a platform",
        ),
    ],
)
def test_an_environment_that_cannot_be_locked_is_refused(
    tmp_path: Path, channel: Channel, environment: str, complaint: str
) -> None:
    spec = write_inputs(tmp_path / "probe", channel)
    SpecFiles.of(spec).environment.write_text(environment)
    assert complaint in refused(spec, LockInvalid)


@pytest.mark.parametrize("place", ["me:secret@conda.example/forge", "conda.example/t/secret/forge"])
def test_a_secret_in_a_channels_address_is_refused(tmp_path: Path, place: str) -> None:
    message = refused(write_inputs(tmp_path / "probe", f"https://{place}"), LockInvalid)
    assert (
        "secret" not in message and "name it without, and put the address with it under [mirrors]" in message
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("abacus @ https://files.example/abacus.whl", "names an address"),
        ("--index-url https://index.example/simple", "is no requirement"),
        ("-r others.txt", "is no requirement"),
        ("abacus=1", "is no requirement"),
    ],
)
def test_requirements_are_names_and_versions(
    tmp_path: Path, channel: Channel, line: str, complaint: str
) -> None:
    spec = write_inputs(tmp_path / "probe", channel, pypi=("abacus  # fine", "", line))
    message = refused(spec, LockInvalid)
    assert f"requirements.in: line 3: {line!r} {complaint}" in message


def test_one_lock_of_pypi_packages_holds_for_all_platforms(channel: Channel, tmp_path: Path) -> None:
    spec = write_inputs(tmp_path / "probe", channel)
    files = SpecFiles.of(spec)
    with files.environment.open("a") as environment:
        environment.write("".join(f"  - {one}\n" for one in {"linux-64", "linux-aarch64"} - {SUBDIR}))
    text = lock_pypi(spec, read_inputs(spec), VERSION)
    assert "abacus==1.2" in text
    assert "linux-64 (glibc 2.28)" in text and "linux-aarch64 (glibc 2.28)" in text

    files.requirements.write_text("abacus\nslate; platform_machine == 'aarch64'\n")
    with pytest.raises(LockFailed, match=r"requirements\.in: linux-\w+ and linux-\w+ need different"):
        lock_pypi(spec, read_inputs(spec), VERSION)
