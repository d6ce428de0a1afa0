"""Fresh or stale: what a change of an input means for the locks."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from envhub.build import LockMissing, LockStale, SpecFiles, check_fresh, relock, require_fresh
from envhub.spec import Spec, load

from .channel import PYTHON, SUBDIR, VERSION, Channel
from .inputs import write_inputs


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


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def reasons(files: SpecFiles, *, ask_conda_lock: bool = False) -> tuple[str, ...]:
    before = {file.name: file.read_bytes() for file in files.folder.iterdir()}
    found = check_fresh(load(files.folder), ask_conda_lock=ask_conda_lock)
    assert {file.name: file.read_bytes() for file in files.folder.iterdir()} == before
    assert found.fresh == (found.reasons == ())
    return found.reasons


def test_new_locks_are_fresh(files: SpecFiles) -> None:
    assert reasons(files, ask_conda_lock=True) == ()
    require_fresh(load(files.folder))


def test_comments_blank_lines_and_quotes_change_nothing(files: SpecFiles) -> None:
    change(files.environment, "dependencies:\n", "\n# what it needs\ndependencies:  # all of it\n")
    change(files.environment, "- tally", '- "tally"')
    change(files.requirements, "abacus\n", "# counts\n\nabacus   # beads\n")
    change(files.virtual_packages, '__unix: "0"', "__unix: '0'  # always")
    assert reasons(files, ask_conda_lock=True) == ()


def test_without_virtual_packages_the_usual_ones_hold(files: SpecFiles) -> None:
    files.virtual_packages.unlink()
    assert reasons(files, ask_conda_lock=True) == ()


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
    assert reasons(files, ask_conda_lock=True) == (
        f"conda-lock.yml was made from something else: conda-lock has another content_hash for {SUBDIR}",
    )


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
