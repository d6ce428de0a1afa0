"""How actions are read from answers."""

import numpy as np
import pytest
from gymnasium import spaces as gym_spaces

from envhub_sdk.spaces import UnicodeText
from envhub_trainers._actions import FORMS, FormatError, fit, form
from envhub_trainers._hooks import HookNotFound

READ = [
    ("raw", " right\n", "right"),
    ("raw", "<think>left or\nright?</think>\n\nright", "right"),
    ("react", "Thought: it is there.\nAction: search[red shoes]", "search[red shoes]"),
    ("react", "Thought: two\nlines\n\nAction:\nclick[buy now]\n", "click[buy now]"),
    ("react", "<think>hm</think>\nThought: a\nAction: b", "b"),
    ("react", "Thought: I say Action: here\nAction: b", "b"),
    ("fenced", "I go ```right```", "right"),
    ("fenced", "```left``` no: ```\nup\n```", "up"),
    ("fenced", "```text\nleft\n```", "left"),
    ("fenced", "```left\n```", "left"),
    ("fenced", "```a b\nc```", "a b\nc"),
    ("json", '{"name": "act", "arguments": {"action": "left"}}', "left"),
    ("json", '{"name": "act", "arguments": {"action": 1}}', 1),
    (
        "json",
        '<think>x</think><tool_call>{"name": "search", "arguments": {"q": "a b"}}</tool_call>',
        "search[a b]",
    ),
    ("json", 'I buy. <tool_call>\n{"name": "buy"}\n</tool_call>', "buy"),
]


@pytest.mark.parametrize(("name", "answer", "action"), READ)
def test_an_action_is_read_in_its_form(name, answer, action):
    assert FORMS[name].parse(answer) == action


NOT_READ = [
    ("raw", " \n", "empty"),
    ("raw", "<think>all thought</think>", "empty"),
    ("react", "Action: search[x]", "Thought"),
    ("react", "Thought: x", "Action"),
    ("react", "Thought:\nAction: x", "Thought"),
    ("react", "Thought: a\nAction:", "Action"),
    ("react", "Thought: a\nAction: b\nObservation: c", "end with the action"),
    ("react", "Thought: a\nAction: b\nThought: c\nAction: d", "one thought and one action"),
    ("fenced", "right", "between"),
    ("fenced", "``` ```", "nothing between"),
    ("json", "left", "JSON object"),
    ("json", '{"name": "act"}', "takes one argument"),
    ("json", '{"name": "f", "arguments": {"a": 1, "b": 2}}', "one argument or none"),
    ("json", '{"name": 3}', "has to be text"),
    ("json", '["act"]', "JSON object"),
    ("json", "<tool_call>{}</tool_call><tool_call>{}</tool_call>", "holds 2 tool calls"),
]


@pytest.mark.parametrize(("name", "answer", "reason"), NOT_READ)
def test_what_is_not_in_its_form_is_refused_with_the_reason(name, answer, reason):
    with pytest.raises(FormatError, match=reason):
        FORMS[name].parse(answer)


@pytest.mark.parametrize("name", FORMS)
def test_each_form_reads_the_example_of_its_own_instruction(name):
    lines = FORMS[name].instruction.format(example="search[red shoes]").split("\n")
    text = "\n".join(lines[1:]).removesuffix("The last such block counts.")
    assert FORMS[name].parse(text) == "search[red shoes]"


def test_a_parser_of_the_users_own(tmp_path):
    (tmp_path / "mine.py").write_text("def number(answer):\n    return int(answer.split()[-1])\n")
    mine = form(f"{tmp_path / 'mine.py'}:number")
    assert mine.parse("I go 3") == 3
    with pytest.raises(FormatError, match="invalid literal"):
        mine.parse("I go right")


def test_an_unknown_form_is_refused_with_those_there_are():
    with pytest.raises(HookNotFound, match="raw, react, fenced, json"):
        form("xml")


def test_actions_are_fitted_to_the_action_space():
    assert fit("right", UnicodeText(10)) == "right"
    assert fit("2", gym_spaces.Discrete(3)) == 2
    assert fit(4, gym_spaces.Discrete(3, start=2)) == 4
    box = gym_spaces.Box(-1, 1, (2,))
    fitted = fit("[0.5, -1]", box)
    assert box.contains(fitted) and np.array_equal(fitted, [0.5, -1])


@pytest.mark.parametrize("action", ["3", "1.0", "true", "right", "[1]", None])
def test_what_is_not_in_the_action_space_is_refused(action):
    with pytest.raises(FormatError, match="is no action"):
        fit(action, gym_spaces.Discrete(3))


def test_text_actions_have_to_be_text():
    with pytest.raises(FormatError, match="has to be text, not 3"):
        fit(3, UnicodeText(10))
