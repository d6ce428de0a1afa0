"""Fresh or stale: what a change of an input means for the locks."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub.build import LockMissing, LockStale, SpecFiles, check_fresh, relock, require_fresh
from envhub.build._yaml import load_yaml
from envhub.spec import Spec, load

from .channel import PYTHON, SUBDIR, VERSION, Channel
from .inputs import write_inputs
from .tampering import package


@pytest.fixture(scope="module")
def original(channel: Channel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locked") / "probe"
    spec = write_inputs(folder, channel)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in channel.environ().items():
            patch.setenv(name, value)
        relock(spec)
    return folder


@pytest.fixture
def files(original: Path, tmp_path: Path) -> SpecFiles:
    """The files of a spec with fresh locks."""
    shutil.copytree(original, tmp_path / "probe")
    return SpecFiles(tmp_path / "probe")


def take_out(file: Path, name: str) -> None:
    """Remove a package from a conda lock."""
    content = load_yaml(file)
    content["package"].remove(package(content, name))
    file.write_text(json.dumps(content))


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def reasons(files: SpecFiles, *, thorough: bool = False) -> tuple[str, ...]:
    before = {file.name: file.read_bytes() for file in files.folder.iterdir()}
    found = check_fresh(load(files.folder), thorough=thorough)
    assert {file.name: file.read_bytes() for file in files.folder.iterdir()} == before
    assert found.fresh == (found.reasons == ())
    return found.reasons


def test_new_locks_are_fresh(files: SpecFiles) -> None:
    assert reasons(files, thorough=True) == ()
    require_fresh(load(files.folder))


def test_comments_blank_lines_and_quotes_change_nothing(files: SpecFiles) -> None:
    change(files.environment, "dependencies:\n", "\n# what it needs\ndependencies:  # all of it\n")
    change(files.environment, "- tally", '- "tally"')
    change(files.requirements, "abacus\n", "# counts\n\nabacus   # beads\n")
    change(files.virtual_packages, '__unix: "0"', "__unix: '0'  # always")
    assert reasons(files, thorough=True) == ()


def test_without_virtual_packages_the_usual_ones_hold(files: SpecFiles) -> None:
    files.virtual_packages.unlink()
    assert reasons(files, thorough=True) == ()


def test_another_conda_package_is_named(files: SpecFiles) -> None:
    change(files.environment, "- tally", "- tally\n  - zz-unrelated >=0.1")
    assert reasons(files) == (
        "environment.yml has changed since conda-lock.yml was made",
        "environment.yml asks for zz-unrelated, not locked in conda-lock.yml",
    )


def test_a_comment_that_selects_a_platform_is_none(files: SpecFiles) -> None:
    change(files.environment, "- tally", "- tally  # [osx]")
    assert reasons(files) == ("environment.yml has changed since conda-lock.yml was made",)


def test_another_machine_makes_both_stale(files: SpecFiles) -> None:
    change(files.virtual_packages, "2.28", "2.31")
    assert reasons(files) == (
        "virtual-packages.yml has changed since conda-lock.yml was made",
        f"requirements.lock was made for {SUBDIR} (glibc 2.28) and this is to be {SUBDIR} (glibc 2.31)",
    )


def test_a_requirement_that_is_not_met_is_named(files: SpecFiles) -> None:
    files.requirements.write_text("abacus>=99\nslate\nother; python_version < '3.5'\n")
    changed, *unmet = reasons(files)
    assert changed == "requirements.in has changed since requirements.lock was made"
    assert unmet == [
        "requirements.in asks for abacus>=99, and requirements.lock has 1.2",
        "requirements.in asks for slate, not locked in requirements.lock",
    ]


def test_what_is_asked_for_and_was_taken_out_of_a_lock_is_named(files: SpecFiles) -> None:
    """Even where the digests say that the inputs are those the locks were made from."""
    take_out(files.conda_lock, "tally")
    files.requirements_lock.write_text(files.requirements_lock.read_text().partition("abacus")[0])
    assert reasons(files) == (
        "environment.yml asks for tally, not locked in conda-lock.yml",
        "requirements.in asks for abacus, not locked in requirements.lock",
    )
    with pytest.raises(LockStale, match="asks for tally, not locked"):
        require_fresh(load(files.folder))


@pytest.mark.parametrize("version", ["0.9", "nonsense"])
def test_a_version_that_was_changed_in_a_lock_is_compared_with_what_is_asked_for(
    channel: Channel, tmp_path: Path, only_local: None, version: str
) -> None:
    spec = write_inputs(tmp_path / "probe", channel, pypi=("abacus>=1; python_version >= '3'",))
    relock(spec)
    assert check_fresh(spec).fresh
    change(SpecFiles.of(spec).requirements_lock, "abacus==1.2", f"abacus=={version}")
    (reason,) = check_fresh(spec).reasons
    assert reason.endswith(f", and requirements.lock has {version}")


def test_without_python_the_lock_is_told_to_lack_it_and_nothing_else(files: SpecFiles) -> None:
    take_out(files.conda_lock, "python")
    assert reasons(files) == ("environment.yml asks for python, not locked in conda-lock.yml",)


def no_sha256(lock: dict[str, Any]) -> None:
    del package(lock, "tally")["hash"]["sha256"]


def another_version(lock: dict[str, Any]) -> None:
    package(lock, "tally")["version"] = "2.2"


def twice(lock: dict[str, Any]) -> None:
    lock["package"].append(package(lock, "tally"))


def nothing_it_needs(lock: dict[str, Any]) -> None:
    lock["package"].remove(package(lock, "libreckon"))


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (no_sha256, "package 'tally' has no sha256"),
        (another_version, "package 'tally' version 2.2 points to 'tally-2.1-0.conda'"),
        (twice, "package 'tally' is there more than once"),
        (nothing_it_needs, "package 'tally' needs 'libreckon >=1.4,<2', which is not locked"),
    ],
)
def test_a_thorough_look_finds_a_lock_that_no_build_would_take(
    files: SpecFiles, broken: Callable[[dict[str, Any]], None], complaint: str
) -> None:
    content = load_yaml(files.conda_lock)
    broken(content)
    files.conda_lock.write_text(json.dumps(content))
    (reason,) = reasons(files, thorough=True)
    assert f"{files.conda_lock}: {complaint}" in reason


def test_a_thorough_look_finds_pypi_packages_without_hashes(files: SpecFiles) -> None:
    files.requirements_lock.write_text(files.requirements_lock.read_text().partition(" \\\n")[0] + "\n")
    (reason,) = reasons(files, thorough=True)
    assert "package 'abacus' has no sha256" in reason


def test_locks_of_two_pythons_do_not_go_together(files: SpecFiles) -> None:
    change(files.requirements_lock, f"# python: {VERSION}", "# python: 3.8.1")
    assert reasons(files) == (
        f"requirements.lock was made for Python 3.8.1 and conda-lock.yml has {VERSION}",
    )


def test_the_code_must_run_on_the_locked_python(files: SpecFiles) -> None:
    change(files.folder / "envhub.toml", 'version = "1"', 'version = "1"\nrequires_python = ">=3.99"')
    assert reasons(files) == (f"envhub.toml requires Python >=3.99 and conda-lock.yml has {VERSION}",)


@pytest.mark.parametrize(
    ("file", "note"), [("conda_lock", "    environment.yml: "), ("requirements_lock", "# requirements.in: ")]
)
def test_a_lock_that_does_not_say_what_it_is_from_counts_as_stale(
    files: SpecFiles, file: str, note: str
) -> None:
    lock: Path = getattr(files, file)
    lock.write_text("".join(line for line in lock.read_text().splitlines(True) if not line.startswith(note)))
    (reason,) = reasons(files)
    assert reason.startswith(f"{lock.name} does not say what it was made from")


@pytest.mark.parametrize("text", ["", "version: 1\n", "package: [{}]\n", "{", "package: 3"])
def test_what_is_no_lock_counts_as_stale(files: SpecFiles, text: str) -> None:
    files.conda_lock.write_text(text)
    assert reasons(files) == ("conda-lock.yml cannot be read as a conda-lock file",)


def test_conda_lock_itself_finds_a_lock_that_is_from_something_else(files: SpecFiles) -> None:
    change(files.conda_lock, f"    {SUBDIR}: ", f"    {SUBDIR}: 0")
    assert reasons(files) == ()
    assert reasons(files, thorough=True) == (
        f"conda-lock.yml was made from something else: conda-lock has another content_hash for {SUBDIR}",
    )


def test_without_conda_lock_the_rest_is_compared_and_a_note_says_so(
    files: SpecFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that asks finds, first on its path, what an import of a missing package raises."""
    missing = "raise ModuleNotFoundError(\"No module named 'conda_lock'\", name='conda_lock')"
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "conda_lock.py").write_text(missing)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    found = check_fresh(load(files.folder), thorough=True)
    assert (found.fresh, found.reasons) == (True, ())
    (note,) = found.notes
    assert note.startswith("content_hash was not compared: conda-lock is not installed")
    change(files.environment, PYTHON, "3.10")
    assert not check_fresh(load(files.folder), thorough=True).fresh


def test_building_is_refused_with_the_next_command(files: SpecFiles) -> None:
    change(files.environment, PYTHON, "3.10")
    with pytest.raises(LockStale, match=r"environment\.yml has changed since") as caught:
        require_fresh(load(files.folder))
    assert str(caught.value).startswith("probe: ")
    assert str(caught.value).endswith(f"run: envhub lock {files.folder}")


@pytest.mark.parametrize("name", ["conda-lock.yml", "requirements.lock"])
def test_a_missing_lock_is_named(files: SpecFiles, name: str) -> None:
    (files.folder / name).unlink()
    assert reasons(files) == (f"{name} is missing",)
    with pytest.raises(LockMissing, match=f"{name} is missing"):
        require_fresh(load(files.folder))


def test_a_look_is_quick_enough_for_every_start(
    files: SpecFiles, write_spec: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts no process and does not import conda-lock."""
    monkeypatch.setattr("subprocess.run", None)
    require_fresh(load(files.folder))
