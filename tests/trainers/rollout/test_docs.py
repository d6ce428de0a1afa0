"""What docs/rollouts.md says is so, and nothing is missing there."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from envhub_sdk import Hub
from envhub_trainers._actions import FORMS
from envhub_trainers._prompts import PROMPTS, View
from envhub_trainers._records import Records
from envhub_trainers._rollout import Rollout, Turn
from envhub_trainers._sampler import Sample
from envhub_trainers._settings import Reward, RolloutSettings, convert

PAGE = (Path(__file__).parents[3] / "docs" / "rollouts.md").read_text()


def test_every_setting_is_documented_with_its_default():
    for field in msgspec.structs.fields(RolloutSettings):
        assert f"`{field.name}`" in PAGE
        row = re.search(rf"^\| `{field.name}` \| ([^|]*) \|", PAGE, re.MULTILINE)
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            assert row is not None and float(row[1]) == field.default
    names = [*FORMS, *PROMPTS, *(kind.__struct_config__.tag for kind in get_args(Reward))]
    names += [field.name for kind in get_args(Reward) for field in msgspec.structs.fields(kind)]
    assert not [name for name in names if f"`{name}" not in PAGE]


def test_every_number_that_is_logged_is_documented():
    logs = Sample(Rollout(), None).logs([])
    assert not [name for name in logs if f"`{name}`" not in PAGE]


def test_the_example_is_a_configuration():
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    written = tomllib.loads(example)
    settings = convert(
        {"hubs": ["http://one"], "env": "webshop", **written["rollout"], "reward": written["reward"]}
    )
    assert settings.max_turns == 15 and [part.called for part in settings.reward] == ["outcome", "format"]


def test_the_snippets_run(url, tmp_path, monkeypatch, capsys):
    records = Records(tmp_path / "records")
    played = Rollout({"id": "t"}, 1, turns=[Turn("see", 1, 2, "x" * 401)], terminated=True)
    records.add(played, hub=url, reward=1.0, parts={}, faults=[])
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    for snippet in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(snippet, "rollouts.md", "exec"), space)
    assert "--> xxx" in capsys.readouterr().out
    assert space["brief"](played) == [-1.0]
    with Hub(url) as hub:
        assert "click[buy now]" in space["Short"]().system(hub.env("webshop"), FORMS["react"])
    assert space["Short"]().message(View("page", {}, 0, 4)) == "page\n(4 turns left)"


@pytest.mark.parametrize("name", ["task", "turns", "final", "terminated", "truncated_by", "success"])
def test_what_a_hook_may_use_is_there(name):
    assert hasattr(Rollout(), name) and f"`{name}`" in PAGE
