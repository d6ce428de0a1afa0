from pathlib import Path

from envhub.server._schema import CALLS
from envhub_sdk._wire import CODES

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text()


def test_every_error_code_is_in_the_reference_with_its_status():
    for name, code in CODES.items():
        assert f"| `{name}` | {code.status} | {code.meaning}" in PAGE


def test_every_call_is_in_the_reference():
    for call in CALLS:
        path = call.path.replace("{session_id}", "{id}")
        tail = path.rsplit("/", 1)[-1]
        assert path in PAGE or f"`/{tail}`" in PAGE, f"{call.method} {call.path} is not in docs/http.md"
