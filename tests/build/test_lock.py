"""Reading locks: what they say, and every way in which they may not say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envhub.build import LockInvalid, LockMissing, WrongPlatform, read_lock
from envhub.spec import Spec

from .channel import PYTHON, SUBDIR, VERSION, Channel
from .tampering import edit, package

LockedSpec = Callable[..., Spec]


def refusal(spec: Spec, kind: type[Exception] = LockInvalid) -> str:
    with pytest.raises(kind) as refused:
        read_lock(spec)
    return str(refused.value)


def test_a_lock_says_what_the_environment_is_made_of(locked_spec: LockedSpec, channel: Channel) -> None:
    lock = read_lock(locked_spec(pypi=["abacus", "slate"]))
    assert (lock.spec, lock.platform, lock.python) == ("probe", SUBDIR, PYTHON)
    assert [(one.name, one.version, one.build) for one in lock.conda] == [
        ("libreckon", "1.4", "0"),
        ("python", VERSION, "0"),
        ("tally", "2.1", "0"),
    ]
    assert lock.conda[0].url == f"{channel.url}/{SUBDIR}/libreckon-1.4-0.conda"
    assert lock.conda[0].sha256 == channel.records["libreckon"]["sha256"]
    assert lock.conda[2].depends == ("libreckon >=1.4,<2", "python >=3.9")
    assert [(one.name, one.version, len(one.hashes)) for one in lock.pypi] == [
        ("abacus", "1.2", 1),
        ("slate", "0.3", 1),
    ]
    assert lock.setup == ()


def test_the_digest_does_not_depend_on_the_order_of_the_file(locked_spec: LockedSpec) -> None:
    spec = locked_spec()
    before = read_lock(spec).digest
    edit(spec, lambda content: content["package"].reverse())
    assert read_lock(spec).digest == before
    assert before.startswith("sha256:") and len(before) == len("sha256:") + 64


@pytest.mark.parametrize("key", ["version", "url", "sha256"])
def test_the_digest_is_another_when_anything_installed_is_another(locked_spec: LockedSpec, key: str) -> None:
    spec = locked_spec()
    lock = read_lock(spec)
    first = lock.conda[0]
    values = {key: {"version": "9", "url": first.url + "x", "sha256": "0" * 64}[key]}
    changed = replace(first, **values)
    assert replace(lock, conda=(changed, *lock.conda[1:])).digest != lock.digest
    assert replace(lock, pypi=()).digest != lock.digest


def test_a_plain_virtual_environment_has_a_digest_without_the_conda_packages(locked_spec: LockedSpec) -> None:
    one, other = read_lock(locked_spec()), read_lock(locked_spec("other", conda=["python"]))
    assert one.digest_for("venv") == other.digest_for("venv")
    assert one.digest_for("venv") != one.digest != other.digest
    assert (one.native, other.native) == (("libreckon", "tally"), ())


def test_other_categories_and_platforms_are_not_installed(locked_spec: LockedSpec) -> None:
    spec = locked_spec()

    def add(content: dict[str, Any]) -> None:
        extra = package(content, "libreckon")
        content["package"] += [
            {**extra, "name": "a", "category": "dev"},
            {**extra, "name": "b", "platform": "osx-64"},
        ]

    before = read_lock(spec).digest
    edit(spec, add)
    assert read_lock(spec).digest == before


def test_missing_locks_are_named_with_the_command_that_makes_them(locked_spec: LockedSpec) -> None:
    spec = locked_spec()
    assert spec.path is not None
    (spec.path / "requirements.lock").unlink()
    assert f"{spec.path / 'requirements.lock'} is missing; make it with: envhub lock {spec.path}" in refusal(
        spec, LockMissing
    )
    (spec.path / "requirements.in").unlink()
    assert read_lock(spec).pypi == ()
    (spec.path / "conda-lock.yml").unlink()
    assert f"{spec.path / 'conda-lock.yml'} is missing" in refusal(spec, LockMissing)


def test_a_spec_without_a_folder_has_no_locks() -> None:
    assert "no folder" in refusal(Spec("CartPole-v1", "1", "", "gymnasium:make"), LockMissing)


def test_another_platform_is_refused_with_both_names(locked_spec: LockedSpec) -> None:
    spec = locked_spec()
    edit(spec, lambda content: content["metadata"].update(platforms=["win-64"]))
    message = refusal(spec, WrongPlatform)
    assert (
        "is for win-64" in message
        and f"this is {SUBDIR}" in message
        and f"envhub lock {spec.path}" in message
    )


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "version": (lambda content: content.update(version=2), "no conda-lock file of version 1"),
    "packages": (lambda content: content.pop("package"), "has no packages"),
    "not-a-package": (lambda content: content["package"].append(3), "3 is no package"),
    "no-sha256": (lambda content: package(content, "tally")["hash"].pop("sha256"), "'tally' has no sha256"),
    "bad-md5": (lambda content: package(content, "tally")["hash"].update(md5="?"), "'tally': '?' is no md5"),
    "renamed": (
        lambda content: package(content, "libreckon").update(name="libx"),
        "'libx' version 1.4 points to 'libreckon-1.4-0.conda'",
    ),
    "other-version": (
        lambda content: package(content, "tally").update(version="2.2"),
        "'tally' version 2.2 points to 'tally-2.1-0.conda'",
    ),
    "other-file": (
        lambda content: package(content, "tally").update(url="file:///x/tally-2.1-0.zip"),
        "another package's",
    ),
    "removed": (
        lambda content: content["package"].remove(package(content, "libreckon")),
        "'tally' needs 'libreckon >=1.4,<2', which is not locked",
    ),
    "twice": (
        lambda content: content["package"].append(package(content, "tally")),
        "'tally' is there more than once",
    ),
    "pip": (lambda content: package(content, "tally").update(manager="pip"), "belong in requirements.in"),
    "no-depends": (lambda content: package(content, "tally").pop("dependencies"), "what it depends on"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_conda_lock_that_was_tampered_with_is_refused(locked_spec: LockedSpec, name: str) -> None:
    spec = locked_spec()
    change, complaint = CHANGES[name]
    edit(spec, change)
    message = refusal(spec)
    assert complaint in message
    assert str(spec.path) in message and f"envhub lock {spec.path}" in message


def test_a_lock_without_python_is_refused(locked_spec: LockedSpec) -> None:
    assert "locks no python" in refusal(locked_spec(conda=["libreckon"]))


@pytest.mark.parametrize("text", ["{", "\x00", "- a\n- b\n", ""])
def test_what_is_no_lock_is_refused(locked_spec: LockedSpec, text: str) -> None:
    spec = locked_spec()
    assert spec.path is not None
    (spec.path / "conda-lock.yml").write_text(text)
    assert "conda-lock.yml" in refusal(spec)


DIGEST = "0" * 64


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("abacus==1.2", "'abacus' has no sha256"),
        (f"abacus>=1.2 --hash=sha256:{DIGEST}", "'abacus>=1.2' is not of the form"),
        (f"abacus==1.* --hash=sha256:{DIGEST}", "not of the form"),
        (f"abacus @ https://example.org/a.whl --hash=sha256:{DIGEST}", "not of the form"),
        ("-e ./abacus", "'-e ./abacus' is not of the form"),
        ("--index-url https://example.org/simple", "not of the form"),
        ("abacus==1.2 --hash=md5:00", "not of the form"),
        (f"a-b==1 --hash=sha256:{DIGEST}\nA_B==1 --hash=sha256:{DIGEST}", "'a-b' is there more than once"),
    ],
)
def test_requirements_that_are_not_pinned_to_bytes_are_refused(
    locked_spec: LockedSpec, line: str, complaint: str
) -> None:
    spec = locked_spec()
    assert spec.path is not None
    (spec.path / "requirements.lock").write_text(line + "\n")
    message = refusal(spec)
    assert complaint in message and "requirements.lock" in message


def test_requirements_may_have_comments_extras_and_many_hashes(
    locked_spec: LockedSpec, tmp_path: Path
) -> None:
    spec = locked_spec()
    assert spec.path is not None
    (spec.path / "requirements.lock").write_text(
        "# made by uv\n"
        f"Aba_Cus[fast,small]==1.2+local \\\n    --hash=sha256:{'b' * 64} \\\n    --hash=sha256:{'a' * 64}\n"
        "    # via -r requirements.in\n"
    )
    (found,) = read_lock(spec).pypi
    assert (found.name, found.version, found.hashes) == ("aba-cus", "1.2+local", ("a" * 64, "b" * 64))


def write_steps(spec: Spec, text: str) -> None:
    assert spec.path is not None
    (spec.path / "setup").mkdir()
    (spec.path / "setup" / "make.py").write_text("")
    (spec.path / "setup" / "setup.toml").write_text(text)


STEP = '[[step]]\nname = "make"\nrun = ["python", "setup/make.py"]\n'


def test_setup_steps_are_part_of_the_lock_and_of_its_digest(locked_spec: LockedSpec) -> None:
    spec = locked_spec()
    before = read_lock(spec).digest
    write_steps(spec, STEP + f'[[step.inputs]]\npath = "setup/make.py"\nsha256 = "{DIGEST}"\n')
    lock = read_lock(spec)
    assert lock.digest != before
    assert [(step.name, step.run, step.inputs[0].path) for step in lock.setup] == [
        ("make", ("python", "setup/make.py"), "setup/make.py")
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (STEP, "'setup/make.py' is a file of the spec: declare it"),
        (STEP + f'[[step.inputs]]\npath = "../x"\nsha256 = "{DIGEST}"\n', "must lie inside"),
        (STEP + '[[step.inputs]]\npath = "setup/make.py"\nsha256 = "abc"\n', "64 lower-case"),
        ('[[step]]\nname = "make"\nrun = []\n', "array of strings"),
        ('[[step]]\nrun = ["true"]\n', "step[0].name: missing"),
        (STEP.replace("run", "runs"), "step[0].run: missing"),
        ("steps = 1\n", "unknown key"),
    ],
)
def test_setup_steps_that_are_not_understood_are_refused(
    locked_spec: LockedSpec, text: str, complaint: str
) -> None:
    spec = locked_spec()
    write_steps(spec, text)
    message = refusal(spec)
    assert complaint in message and "setup.toml" in message
