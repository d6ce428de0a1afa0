"""Reading --env and --set."""

import pytest

from envhub.spec import Assignment, EnvArgument, SettingsInvalid, settings_of


@pytest.mark.parametrize(
    ("text", "ref", "replicas"),
    [
        ("webshop", "webshop", None),
        ("webshop=64", "webshop", 64),
        ("gymnasium:CartPole-v1", "gymnasium:CartPole-v1", None),
        ("gymnasium:CartPole-v1=4", "gymnasium:CartPole-v1", 4),
        ("gymnasium:ALE/Pong-v5=4", "gymnasium:ALE/Pong-v5", 4),
        ("./envs/maze", "./envs/maze", None),
        ("./envs/maze=2", "./envs/maze", 2),
        ("./a=b/maze", "./a=b/maze", None),
        ("./a=b/maze=2", "./a=b/maze", 2),
    ],
)
def test_env_arguments(text: str, ref: str, replicas: int | None) -> None:
    assert EnvArgument.parse(text) == EnvArgument(ref, replicas)


@pytest.mark.parametrize(
    "text", ["", "=", "=4", "webshop=", "webshop=0", "webshop=-1", "webshop=x", "webshop=²"]
)
def test_wrong_env_arguments_say_what_to_write(text: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        EnvArgument.parse(text)
    assert f"--env {text!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("webshop.mode=faithful", ("webshop", "mode", "faithful")),
        ("webshop.data_dir=/a=b.c", ("webshop", "data_dir", "/a=b.c")),
        ("ALE.Pong-v5.frameskip=4", ("ALE.Pong-v5", "frameskip", "4")),
        ("webshop.mode=", ("webshop", "mode", "")),
    ],
)
def test_assignments(text: str, parts: tuple[str, str, str]) -> None:
    assert Assignment.parse(text) == Assignment(*parts)


@pytest.mark.parametrize("text", ["", "webshop", "webshop.mode", "mode=x", ".mode=x", "webshop.=x"])
def test_wrong_assignments_say_what_to_write(text: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"SPEC\.KEY=VALUE"):
        Assignment.parse(text)


def test_assignments_are_sorted_by_spec() -> None:
    texts = ["webshop.mode=faithful", "echo.length=3", "webshop.seed=3", "webshop.mode=faithful"]
    assert settings_of(map(Assignment.parse, texts), ["webshop", "echo", "frozenlake"]) == {
        "webshop": {"mode": "faithful", "seed": "3"},
        "echo": {"length": "3"},
        "frozenlake": {},
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("webshop.mode=fixed", "webshop.mode=faithful"),
        ("alfworld.task_types=[pick_two_obj_and_place]", "alfworld.task_types=[look_at_obj_in_light]"),
        ("echo.step_timeout_s=1", "echo.step_timeout_s=2"),
    ],
)
def test_assignments_that_contradict_each_other_are_refused_with_both_values(first: str, second: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        settings_of(map(Assignment.parse, [first, second]), ["webshop", "alfworld", "echo"])
    assert f"--set {first} and --set {second} contradict each other" in str(caught.value)
    assert f"--set {first.partition('=')[0]}=A,B" in str(caught.value)


def test_an_assignment_to_a_spec_that_is_not_served_names_the_nearest() -> None:
    with pytest.raises(SettingsInvalid, match=r"no spec 'websop' is served \(did you mean 'webshop'\?\)"):
        settings_of([Assignment("websop", "mode", "x")], ["webshop", "echo"])
