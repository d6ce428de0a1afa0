"""Hooks named by where they are."""

import pytest

from envhub_trainers._hooks import HookNotFound, load


def test_a_module_and_a_file_are_imported_once(tmp_path, monkeypatch):
    (tmp_path / "hooks.py").write_text(
        "made = []\ndef one():\n    return made\ndef two():\n    return made\n"
    )
    monkeypatch.chdir(tmp_path)
    assert load("json:dumps")([1]) == "[1]"
    assert load("hooks.py:one")() is load(f"{tmp_path}/hooks.py:two")()


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("json", "write module:name"),
        (":dumps", "write module:name"),
        ("json:", "write module:name"),
        ("no_such_module:f", "ModuleNotFoundError"),
        ("json:no_such_name", "json has no 'no_such_name'"),
        ("nowhere.py:f", "FileNotFoundError"),
        ("broken.py:f", "ZeroDivisionError"),
    ],
)
def test_what_is_not_there_is_named(where, reason, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HookNotFound, match=reason):
        load(where)
