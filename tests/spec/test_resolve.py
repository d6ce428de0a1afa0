"""Filling in a spec's settings."""

import pytest

from envhub.spec import ConfigError, ConfigKey, Limits, Spec

SPEC = Spec(
    name="maze",
    version="1.0.0",
    summary="A maze.",
    entry_point="envhub_maze:MazeEnv",
    config={
        "mode": ConfigKey("str", "easy", choices=("easy", "hard")),
        "size": ConfigKey("int", 4),
        "ratio": ConfigKey("float", 0.5),
        "walls": ConfigKey("bool", True),
        "tags": ConfigKey("list[str]", []),
        "seeds": ConfigKey("list[int]", [1]),
    },
    limits=Limits(max_episode_steps=7),
)


def test_without_overrides_the_defaults_hold() -> None:
    served = SPEC.resolve()
    assert served.spec is SPEC
    assert served.config == {
        "mode": "easy",
        "size": 4,
        "ratio": 0.5,
        "walls": True,
        "tags": [],
        "seeds": [1],
    }
    assert served.limits == Limits(max_episode_steps=7)


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("mode", "hard", "hard"),
        ("size", "12", 12),
        ("size", 12, 12),
        ("ratio", "0.25", 0.25),
        ("ratio", 1, 1.0),
        ("walls", "false", False),
        ("walls", "True", True),
        ("walls", False, False),
        ("tags", "a, b", ["a", "b"]),
        ("tags", '["a, b", "c"]', ["a, b", "c"]),
        ("tags", "", []),
        ("tags", ["x"], ["x"]),
        ("seeds", "1,2", [1, 2]),
        ("seeds", "[3]", [3]),
        ("seeds", (4, 5), [4, 5]),
    ],
)
def test_text_is_parsed_to_the_declared_type_and_values_are_taken_as_they_are(
    key: str, given: object, value: object
) -> None:
    resolved = SPEC.resolve({key: given}).config[key]
    assert resolved == value
    assert type(resolved) is type(value)


def test_limits_are_set_like_settings() -> None:
    limits = SPEC.resolve({"max_episode_steps": "0", "step_timeout_s": "2.5", "load_timeout_s": 9}).limits
    assert limits == Limits(max_episode_steps=0, step_timeout_s=2.5, load_timeout_s=9.0)


@pytest.mark.parametrize(
    ("key", "given", "said"),
    [
        ("size", "four", "'four' is not an integer"),
        ("size", True, "True is not an integer"),
        ("size", 1.5, "1.5 is not an integer"),
        ("ratio", "half", "'half' is not a number"),
        ("walls", "yes", "'yes' is not true or false"),
        ("mode", "hrad", "'hrad' is not a choice (did you mean 'hard'?); allowed: easy, hard"),
        ("mode", 3, "3 is not a string"),
        ("tags", [1], "[1] is not a list of strings"),
        ("seeds", "1,x", "'1,x' is not a list of integers"),
        ("seeds", "[1", "'[1' is not a list of integers"),
        ("max_episode_steps", "-1", "below 0"),
        ("step_timeout_s", "0", "not a positive number of seconds"),
        ("step_timeout_s", "nan", "not a positive number of seconds"),
    ],
)
def test_a_wrong_value_names_the_spec_and_the_key(key: str, given: object, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SPEC.resolve({key: given})
    assert f"spec 'maze', setting {key!r}" in str(caught.value)
    assert said in str(caught.value)


def test_an_unknown_key_names_the_nearest_and_all_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        SPEC.resolve({"mod": "easy"})
    assert "spec 'maze' has no setting 'mod' (did you mean 'mode'?)" in str(caught.value)
    assert "mode, size, ratio, walls, tags, seeds" in str(caught.value)
    assert "max_episode_steps, step_timeout_s" in str(caught.value)


def test_resolving_never_changes_the_declared_defaults() -> None:
    SPEC.resolve({"tags": "a"}).config["tags"].append("b")
    SPEC.resolve().config["tags"].append("c")
    assert SPEC.resolve().config["tags"] == []
