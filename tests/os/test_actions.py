"""What is read out of a model's text."""

import json
from typing import Any

import pytest
from envhub_os.actions import BAD_CALL, NO_CALL, TOOLS, Bash, Commit, Unclear, read_call, read_classic


@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Think: look\nAct: bash\n\n```bash\nls -1\nwc -l x\n```", Bash("ls -1\nwc -l x")),
        ("Act: bash\n```bash\na\n```\nand\n```bash\nb\n```", Bash("a\n\nb")),
        ("Act: BASH\n```bash\nls\n```", Bash("ls")),
        ("Think: done\n\nAct: finish", Commit(None)),
        ("Act: Finish(whatever)", Commit(None)),
        ("Act: answer(220)", Commit("220")),
        ("Act: answer( f(x) )", Commit(" f(x) ")),
        ("Act: answer()", Commit("")),
        ("Act: answer(a) or (b", Commit("a")),
        ("Act: answer(1)\nAct: answer(2)", Commit("2")),
        ("Act: answer(1)\nAct: answer 2", Commit("1")),  # no parentheses: that line does not count
        ("Act: answer(1)\nAct: wait", Commit("1")),
        ("Act: bash\n```bash\nls\n```\nAct: answer(3)", Commit("3")),
        ("Act:\n\nanswer(4)", Commit("4")),
    ],
)
def test_classic_text_as_published(text: str, action: object, faithful: bool) -> None:
    assert read_classic(text, faithful) == action


@pytest.mark.parametrize(
    "text", ["", "ls", "Act: look around", "act: finish", "Act: answer 5", "```bash\nls\n```"]
)
def test_no_action_is_unclear(text: str) -> None:
    for faithful in (True, False):
        assert isinstance(read_classic(text, faithful), Unclear)


def test_bash_without_a_block_is_an_empty_script_only_as_published() -> None:
    assert read_classic("Act: bash\nls", True) == Bash("")
    assert isinstance(read_classic("Act: bash\nls", False), Unclear)


def test_a_fence_must_begin_and_end_a_line_unless_as_published() -> None:
    text = "Act: bash\n```bash\ncat <<'E'\na ```\nE\n```"
    assert read_classic(text, False) == Bash("cat <<'E'\na ```\nE")
    assert read_classic("Act: bash\n  x ```bash\nls\n```", True) == Bash("ls")
    assert isinstance(read_classic("Act: bash\n  x ```bash\nls\n```", False), Unclear)


CALL = {"name": "bash_action", "arguments": {"script": "ls"}}


@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        CALL,
        [CALL, {"name": "finish_action", "arguments": {"thought": "x"}}],
        {"type": "function", "function": CALL},
        {"function": {"name": "bash_action", "arguments": '{"script": "ls"}'}},
        {"role": "assistant", "content": "let me see", "tool_calls": [{"id": "1", "function": CALL}]},
    ],
)
def test_a_call_in_any_of_its_forms(call: Any, faithful: bool) -> None:
    assert read_call(json.dumps(call), faithful) == Bash("ls")
    assert read_call(f"I look.\n<tool_call>\n{json.dumps(call)}\n</tool_call>", faithful) == Bash("ls")


def test_the_other_calls() -> None:
    answer = json.dumps({"name": "answer_action", "arguments": {"answer": "12"}})
    finish = json.dumps({"name": "finish_action", "arguments": {"thought": "done"}})
    assert read_call(answer, True) == read_call(answer, False) == Commit("12")
    assert read_call(finish, True) == Commit("done")  # as published, the thought is judged
    assert read_call(finish, False) == Commit(None)


def test_the_first_argument_counts_whatever_its_name_only_as_published() -> None:
    call = json.dumps({"name": "bash_action", "arguments": {"command": "ls", "script": "rm x"}})
    assert read_call(call, True) == Bash("ls")
    assert read_call(call, False) == Bash("rm x")
    call = json.dumps({"name": "answer_action", "arguments": {"value": 7}})
    assert read_call(call, True) == Commit("7")
    assert isinstance(read_call(call, False), Unclear)


@pytest.mark.parametrize("text", ["", "Act: finish", "{}", "[]", '{"tool_calls": []}', "[" * 100_000, "3"])
def test_no_call(text: str) -> None:
    assert read_call(text, True) == read_call(text, False) == Unclear(NO_CALL)


def test_a_call_that_can_not_be_made() -> None:
    unknown = json.dumps({"name": "python_action", "arguments": {"script": "1"}})
    assert read_call(unknown, True) == Unclear(BAD_CALL)
    found = read_call(unknown, False)
    assert isinstance(found, Unclear) and "bash_action" in found.reason
    for arguments in ("{", '"ls"', None, ["ls"], {}):
        call = json.dumps({"name": "bash_action", "arguments": arguments})
        assert isinstance(read_call(call, True), Unclear)
        assert isinstance(read_call(call, False), Unclear)


def test_the_tools_are_those_that_are_read() -> None:
    for tool in TOOLS:
        parameters = tool["function"]["parameters"]
        (key,) = parameters["required"]
        assert list(parameters["properties"]) == [key] and parameters["additionalProperties"] is False
        call = json.dumps({"name": tool["function"]["name"], "arguments": {key: "x"}})
        assert not isinstance(read_call(call, False), Unclear)
