"""What is said of the machine itself."""

import platform
import resource
import socket

import pytest

from envhub.doctor._machine import (
    look_at_interpreter,
    look_at_open_files,
    look_at_port,
    look_at_sandbox,
)


def test_the_interpreter_is_named() -> None:
    finding = look_at_interpreter()
    assert platform.python_version() in finding.words and finding.status == "ok"


def test_a_platform_without_conda_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    finding = look_at_interpreter()
    assert finding.status == "warning" and "abacus" in finding.words
    assert finding.mend is not None and "--isolation host" in finding.mend


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        taken = look_at_port("127.0.0.1", port)
    assert taken.status == "warning" and taken.about == f"127.0.0.1:{port}"
    assert look_at_port("127.0.0.1", 0).status == "ok"


def test_few_open_files_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (256, 8192))
    finding = look_at_open_files()
    assert finding.status == "warning" and finding.mend == "ulimit -n 8192"
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda what: unlimited)
    assert look_at_open_files().words == "no limit"


def test_what_sandboxes_are_made_of_is_looked_at() -> None:
    findings = list(look_at_sandbox())
    assert [one.about for one in findings] == ["namespaces", "cgroups", "overlay", "seccomp", "programs"]
    assert all(one.check == "sandbox" and one.words for one in findings)


def test_namespaces_that_cannot_be_made_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bin")
    (folder / "unshare").write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    (folder / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    finding = next(look_at_sandbox())
    assert finding.status == "warning" and "Operation not permitted" in finding.words
