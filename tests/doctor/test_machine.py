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


def test_a_sandbox_is_tried_and_what_holds_it_is_told() -> None:
    findings = list(look_at_sandbox())
    assert {one.check for one in findings} == {"sandbox"} and {one.about for one in findings} == {"os"}
    if findings[0].status == "ok":
        assert findings[0].words.startswith("auto is ") and "control groups" in findings[1].words
        assert any("bwrap" in one.words for one in findings)
    else:
        assert "no sandbox can be made" in findings[0].words and findings[0].mend


def test_a_trial_that_says_nothing_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/true")
    (finding,) = look_at_sandbox()
    assert finding.status == "warning" and "the trial failed" in finding.words
