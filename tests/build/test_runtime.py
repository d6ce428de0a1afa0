"""Which interpreter a spec gets, from what its locks say and what is built; nothing is built here."""

import platform
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from envhub.build import (
    HostUnsuitable,
    LockInvalid,
    LockMissing,
    LockStale,
    NotBuilt,
    Store,
    VenvRefused,
    find_runtime,
    read_lock,
)
from envhub.spec import HOST, Spec, find

from .pretend import ask_for, pretend_built, pretend_locked

ENV = "class Env: ...\n"


@pytest.fixture
def make_spec(write_spec: Any) -> Callable[..., Spec]:
    """Write a spec with `environment.yml`, `requirements.in` and locks of both."""

    def make(*natives: str, python: str = ">=3.9", **asked: Any) -> Spec:
        return ask_for(write_spec(ENV, f'requires_python = "{python}"\n'), *natives, **asked)

    return make


# -- the host ---------------------------------------------------------------------------------------


def test_a_spec_without_requirements_runs_on_the_host(write_spec: Any, store: Store) -> None:
    for spec in (write_spec(ENV), find("gymnasium:CartPole-v1")):
        assert find_runtime(spec, "auto", store) == HOST
        assert find_runtime(spec, "host", store) == HOST


def test_the_host_is_taken_if_it_satisfies_what_is_asked_for(make_spec: Any, store: Store) -> None:
    requirements = "# what the tests run in\npytest>=7\nPackaging\nnowhere; python_version < '3'\n"
    spec = make_spec(requirements=requirements)
    assert [find_runtime(spec, wanted, store) for wanted in ("auto", "host")] == [HOST, HOST]


@pytest.mark.parametrize(
    ("natives", "requirements", "python", "said"),
    [
        ((), "nowhere-to-be-found>=2", ">=3.9", "nowhere-to-be-found>=2 (not installed)"),
        ((), "pytest<1", ">=3.9", "pytest<1 (installed is "),
        (("openjdk", "faiss"), None, ">=3.9", "openjdk (a conda package), faiss (a conda package)"),
        ((), None, "<3.9", f"Python <3.9 (here it is {platform.python_version()})"),
    ],
)
def test_what_the_host_lacks_is_named(
    make_spec: Any, store: Store, natives: tuple[str, ...], requirements: str, python: str, said: str
) -> None:
    spec = make_spec(*natives, requirements=requirements, python=python)
    for wanted in ("auto", "host"):
        with pytest.raises(HostUnsuitable) as refused:
            find_runtime(spec, wanted, store)
        assert said in str(refused.value)
        assert sys.executable in str(refused.value)
        assert f"`envhub build {spec.path} --store {store.root}`" in str(refused.value)


def test_requirements_count_without_an_environment_file_too(write_spec: Any, store: Store) -> None:
    spec = write_spec(ENV)
    (spec.path / "requirements.in").write_text("nowhere-to-be-found\n")
    with pytest.raises(HostUnsuitable, match=r"nowhere-to-be-found \(not installed\)"):
        find_runtime(spec, "host", store)
    with pytest.raises(HostUnsuitable, match=r"nothing is built.*envhub lock .*then `envhub build "):
        find_runtime(spec, "auto", store)


# -- what is built ----------------------------------------------------------------------------------


def test_what_is_not_built_is_an_error_that_names_the_command(make_spec: Any, store: Store) -> None:
    spec = make_spec()
    for wanted, command in (("conda", ()), ("venv", ("--isolation", "venv"))):
        with pytest.raises(NotBuilt) as refused:
            find_runtime(spec, wanted, store)
        assert f"`{store.command('build', spec.path, *command)}`" in str(refused.value)
        assert read_lock(spec).digest_for(wanted) in str(refused.value)
    assert find_runtime(spec, "auto", store) == HOST


def test_what_is_built_is_taken_with_its_lock(make_spec: Any, store: Store) -> None:
    spec = make_spec()
    python = pretend_built(spec, store)
    for wanted in ("conda", "auto"):
        runtime = find_runtime(spec, wanted, store)
        assert (runtime.isolation, runtime.python) == ("conda", python)
        assert runtime.lock_digest == read_lock(spec).digest
        assert runtime.conda_locked and str(runtime) == f"conda, lock {runtime.lock_digest}"
    assert find_runtime(spec, "host", store) == HOST, "when asked for by name"


def test_a_virtual_environment_is_taken_only_by_name_and_is_not_conda_locked(
    make_spec: Any, store: Store
) -> None:
    spec = make_spec()
    python = pretend_built(spec, store, "venv")
    assert find_runtime(spec, "auto", store) == HOST
    runtime = find_runtime(spec, "venv", store)
    assert (runtime.isolation, runtime.python, runtime.conda_locked) == ("venv", python, False)
    assert runtime.lock_digest != read_lock(spec).digest
    assert "not conda-locked" in str(runtime)


def test_a_virtual_environment_is_refused_where_only_conda_has_the_packages(
    make_spec: Any, store: Store
) -> None:
    with pytest.raises(VenvRefused, match=r"openjdk.*--isolation conda"):
        find_runtime(make_spec("openjdk"), "venv", store)


def test_what_was_built_from_locks_that_are_stale_by_now_is_refused(make_spec: Any, store: Store) -> None:
    spec = make_spec(requirements="")
    pretend_built(spec, store)
    assert find_runtime(spec, "auto", store).isolation == "conda"
    (spec.path / "requirements.in").write_text("# a remark changes nothing\n")
    assert find_runtime(spec, "auto", store).isolation == "conda"
    (spec.path / "requirements.in").write_text("pytest\n")
    for wanted in ("conda", "auto"):
        with pytest.raises(LockStale, match=r"requirements\.in has changed.*envhub lock .*envhub build "):
            find_runtime(spec, wanted, store)


def test_a_new_lock_leaves_the_old_environment_behind(make_spec: Any, store: Store) -> None:
    spec = make_spec()
    pretend_built(spec, store)
    pretend_locked(spec, "openjdk")
    with pytest.raises(NotBuilt):
        find_runtime(spec, "conda", store)


def test_a_lock_that_is_missing_or_broken_is_never_passed_over_in_silence(
    make_spec: Any, store: Store
) -> None:
    spec = make_spec(locked=False)
    assert find_runtime(spec, "auto", store) == HOST
    for wanted in ("conda", "venv"):
        with pytest.raises(LockMissing, match="envhub lock"):
            find_runtime(spec, wanted, store)
    (spec.path / "conda-lock.yml").write_text("version: 2\n")
    for wanted in ("auto", "conda", "venv"):
        with pytest.raises(LockInvalid, match=r"conda-lock\.yml"):
            find_runtime(spec, wanted, store)


def test_the_import_is_light() -> None:
    """`envhub list` and `envhub serve` import it, so it brings along no solver and no parser."""
    script = "import sys, envhub.build; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"yaml", "rattler", "conda_lock", "httpx", "rich"} & set(done.stdout.split())
