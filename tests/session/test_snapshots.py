"""Snapshots that are not there, and why they may not be."""

import pytest

from envhub.session import HubError
from envhub.session._snapshots import Snapshots


def test_one_that_is_not_there_names_what_may_have_become_of_it() -> None:
    with pytest.raises(HubError) as unknown:
        Snapshots().find("p-1", "echo")
    assert unknown.value.code == "unknown_snapshot"
    for words in (
        "'p-1'",
        "the hub was started again since",
        "10000 newer ones",
        "take another",
    ):
        assert words in unknown.value.message
