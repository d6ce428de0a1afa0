"""The bundled expert."""

import pytest
from envhub_alfworld import AlfworldEnv
from envhub_alfworld.data import Library
from envhub_alfworld.expert import Expert


def test_the_expert_wins(library: Library) -> None:
    env, expert = AlfworldEnv(library, expert=True), Expert()
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        for _ in range(50):
            observation, _, terminated, _, info = env.step(expert(observation, info))
            if terminated:
                break
        assert info["success"] is True


def test_the_expert_looks_where_nothing_wins_and_says_how_to_serve_it() -> None:
    assert Expert()("", {"expert_action": None}) == "look"
    with pytest.raises(ValueError, match=r"serve with --set alfworld\.expert=true"):
        Expert()("", {})
