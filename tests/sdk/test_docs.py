"""The reference documentation names everything, and what it shows runs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import envhub_sdk
from envhub_sdk import _wire

DOCS = Path(__file__).resolve().parents[2] / "docs" / "sdk.md"
TEXT = DOCS.read_text()


@pytest.mark.parametrize("name", envhub_sdk.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert f"`{name}" in TEXT


@pytest.mark.parametrize("kind", ["Hub", "AsyncHub", "Env", "AsyncEnv", "VectorEnv", "Trajectory"])
def test_every_public_member_is_documented(kind: str) -> None:
    for member, value in vars(getattr(envhub_sdk, kind)).items():
        if not member.startswith("_") and (callable(value) or isinstance(value, property)):
            assert f"`{kind}.{member}" in TEXT, f"{kind}.{member}"


@pytest.mark.parametrize("code", sorted(_wire.CODES))
def test_every_code_is_documented(code: str) -> None:
    assert f"`{code}`" in TEXT


def test_every_field_of_a_trajectory_is_documented() -> None:
    for name in envhub_sdk.Trajectory.__dataclass_fields__:
        assert f"`{name}`" in TEXT


def test_the_snippets_run(url: str, monkeypatch: pytest.MonkeyPatch, wait_until: Callable[..., None]) -> None:
    monkeypatch.setenv("ENVHUB_URL", url)
    scope: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(snippet.replace("http://127.0.0.1:8000", url), str(DOCS), "exec"), scope)
    hub = scope["hub"]
    assert isinstance(hub, envhub_sdk.Hub)
    wait_until(lambda: hub.sessions() == [])  # a hub that is late closes all the same
    hub.close()
