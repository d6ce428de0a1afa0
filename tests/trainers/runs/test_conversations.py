"""Conversations: each form is read back, and an episode reads as a model would have met it."""

import json
from pathlib import Path
from typing import Any

import pytest

from envhub_sdk import EnvInfo
from envhub_trainers import _conversations
from envhub_trainers._actions import form
from envhub_trainers._conversations import SILENT, Style, conversation, written
from envhub_trainers._hooks import HookNotFound

TEXT = {"type": "Text", "min_length": 0, "max_length": 100, "charset": None}


def served(**changes: Any) -> EnvInfo:
    known: dict[str, Any] = {
        "name": "frozenlake",
        "version": "1.0.0",
        "summary": "a lake",
        "action": {"description": "a move", "space": TEXT},
        "observation": {"description": "a grid", "space": TEXT},
        "splits": {},
        "limits": {"max_episode_steps": 10.0},
        "config": {},
        "data": None,
        "replicas": {"total": 1, "free": 1, "queued": 0},
        "workers": 1,
        "isolation": "host",
        "lock_digest": None,
        "native_snapshot": False,
        "render": False,
    }
    return EnvInfo(**(known | changes))


@pytest.mark.parametrize("name", ["raw", "react", "fenced", "json"])
@pytest.mark.parametrize("thought", [None, "I go where the goal is."])
@pytest.mark.parametrize("action", ["right", "search[red shoes, size 9]", "click[a `quoted` label]"])
def test_what_is_written_is_read_back(name: str, thought: str | None, action: str) -> None:
    assert form(name).parse(written(name, thought, action)) == action


def test_an_action_that_is_no_text_is_written_as_json() -> None:
    assert written("raw", None, 1) == "1"
    assert written("fenced", None, [0.5, 1]) == "```[0.5,1]```"
    assert form("json").parse(written("json", None, {"move": 2})) == {"move": 2}


def test_a_silent_script_thinks_something_where_a_thought_belongs() -> None:
    assert written("react", None, "right") == f"Thought: {SILENT}\nAction: right"


def test_an_episode_of_a_script_ends_with_its_last_action(made: Any) -> None:
    episode = made.episode(0, thoughts=["I go right.", None])
    found = conversation(episode, Style(served()))
    assert found["id"] == "frozenlake-test-0"
    roles = [message["role"] for message in found["conversations"]]
    assert roles == ["system", "user", "assistant", "user", "assistant"]
    contents = [message["content"] for message in found["conversations"]]
    assert contents[2] == "I go right.\n```right```" and contents[4] == "```right```"
    assert "Moves left: 10" in contents[1] and "Moves left: 9" in contents[3]
    assert "had no effect" in contents[3]  # the observation is the same


def test_a_models_own_words_are_kept_with_what_it_was_told_of_them(made: Any) -> None:
    episode = made.episode(
        0, steps=1, replies=[["hm", "wait", "```right```"]], problems=[["no block", "still none"]]
    )
    contents = [message["content"] for message in conversation(episode, Style(served()))["conversations"]]
    assert contents[2] == "hm" and "no block" in contents[3]
    assert contents[4] == "wait" and "still none" in contents[5]
    assert contents[6] == "```right```" and len(contents) == 7


def test_the_style_can_be_chosen(made: Any) -> None:
    bare = conversation(made.episode(0, steps=1), Style(served(), "bare", "raw"))["conversations"]
    assert [message["content"] for message in bare] == [" P \t G \t", "right"]
    assert Style(served(), max_steps=4).turns == 4
    with pytest.raises(HookNotFound):
        Style(served(), form_name="nothing")


def test_a_file_of_conversations_is_whole_or_not_there(tmp_path: Path, made: Any) -> None:
    file = tmp_path / "conversations.jsonl"
    episodes = [made.episode(0), made.episode(1, steps=0), made.episode(2)]
    assert _conversations.write(file, episodes, Style(served())) == 2  # one took no step
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["id"] for line in lines] == ["frozenlake-test-0", "frozenlake-test-2"]
    assert all(set(line) == {"id", "conversations"} for line in lines)

    def breaks() -> Any:
        yield episodes[0]
        raise OSError("the disk is full")

    before = file.read_bytes()
    with pytest.raises(OSError, match="full"):
        _conversations.write(file, breaks(), Style(served()))
    assert file.read_bytes() == before
