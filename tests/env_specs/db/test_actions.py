"""Reading actions: the classic grammar and function calls, fixed and as published."""

import json

import pytest
from envhub_db.actions import NO_CALL, UNKNOWN_CALL, Commit, Query, Unclear, read_calls, read_classic


def operation(sql: str) -> str:
    return f"I look first.\nAction: Operation\n```sql\n{sql}\n```"


@pytest.mark.parametrize("faithful", [False, True])
def test_classic_actions_are_read(faithful: bool) -> None:
    assert read_classic(operation("SELECT 1;"), faithful) == [Query("SELECT 1;")]
    (said,) = read_classic('So:\nAction: Answer\nFinal Answer: ["a", "b"]', faithful)
    assert isinstance(said, Commit)
    assert said.answer == (' ["a", "b"]' if faithful else ["a", "b"])


def test_only_the_first_statement_counts() -> None:
    text = operation("SELECT 1") + "\n```sql\nSELECT 2\n```"
    for faithful in (False, True):
        assert read_classic(text, faithful) == [Query("SELECT 1")]


def test_published_lines_are_joined_and_kept_otherwise() -> None:
    text = operation("SELECT 1 -- one\n+ 1")
    assert read_classic(text, True) == [Query("SELECT 1 -- one + 1")]
    assert read_classic(text, False) == [Query("SELECT 1 -- one\n+ 1")]


@pytest.mark.parametrize(
    "text",
    [
        "Action: Operation \n```sql\nSELECT 1\n```",  # a blank behind it
        "Action: Operation\r\n```sql\nSELECT 1\n```",
        "action: operation\n```sql\nSELECT 1\n```",
        "Action: Operation\n```SQL\nSELECT 1\n```",
    ],
)
def test_published_each_letter_counts(text: str) -> None:
    (published,) = read_classic(text, True)
    assert isinstance(published, Unclear) and published.status == "agent_validation_failed"
    assert read_classic(text, False) == [Query("SELECT 1")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I think it is 5.", "Write `Action: Operation`"),
        ("Action: Operation\nSELECT 1", "needs a statement between"),
        ("Action: Operation\n```sql\n\n```", "needs a statement between"),
        ("Action: Answer\n5", "needs a line such as"),
        ("Action: Think\nFinal Answer: 5", "Write `Action: Operation`"),
    ],
)
def test_what_is_missing_is_explained(text: str, said: str) -> None:
    (unclear,) = read_classic(text, False)
    assert isinstance(unclear, Unclear) and said in unclear.reason and not unclear.status


def test_an_answer_needs_no_line_of_its_own() -> None:
    assert read_classic('Action: Answer Final Answer: ["x"]', False) == [Commit(["x"])]
    assert read_classic("Action: Answer\nFinal Answer: just text\nmore", False) == [Commit("just text")]
    assert read_classic('Action: Answer\nFinal Answer: ["a",\n"b"] done', False) == [Commit(["a", "b"])]


CALL = {"name": "execute_sql", "arguments": {"query": "SELECT 1"}}


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(CALL),
        json.dumps([CALL]),
        json.dumps({"function": CALL, "id": "1", "type": "function"}),
        json.dumps(
            {
                "role": "assistant",
                "tool_calls": [{"function": {**CALL, "arguments": json.dumps(CALL["arguments"])}}],
            }
        ),
        f"I look.\n<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
    ],
)
def test_calls_are_found(text: str, faithful: bool) -> None:
    assert read_calls(text, faithful) == [Query("SELECT 1")]


def test_all_calls_of_a_turn_are_read_in_order() -> None:
    end = {"name": "commit_final_answer", "arguments": {"answers": ["1"]}}
    assert read_calls(json.dumps([CALL, CALL, end]), False) == [
        Query("SELECT 1"),
        Query("SELECT 1"),
        Commit(["1"]),
    ]
    tagged = "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in (CALL, end))
    assert read_calls(tagged, True) == [Query("SELECT 1"), Commit(["1"])]


def test_published_the_first_argument_counts_whatever_its_name() -> None:
    text = json.dumps({"name": "execute_sql", "arguments": {"sql": "SELECT 1"}})
    assert read_calls(text, True) == [Query("SELECT 1")]
    (unclear,) = read_calls(text, False)
    assert isinstance(unclear, Unclear) and "'query'" in unclear.reason


def test_published_calls_without_arguments() -> None:
    for name, said, status in (
        ("execute_sql", "Error executing query: list index out of range", ""),
        ("commit_final_answer", "", "task_error"),
    ):
        assert read_calls(json.dumps({"name": name, "arguments": {}}), True) == [Unclear(said, status)]


@pytest.mark.parametrize(
    "text", ["hello", "{}", "[]", "null", "[" * 5000, '{"tool_calls": []}', "<tool_call>x</tool_call>"]
)
def test_no_call(text: str) -> None:
    assert read_calls(text, True) == [Unclear(NO_CALL)]
    (unclear,) = read_calls(text, False)
    assert isinstance(unclear, Unclear) and "execute_sql" in unclear.reason


@pytest.mark.parametrize(
    "call",
    [
        {"name": "drop_all", "arguments": {}},
        {"name": ["execute_sql"], "arguments": {}},
        {"name": "execute_sql", "arguments": "{"},
        {"name": "execute_sql", "arguments": {"query": 5}},
        {"name": "execute_sql", "arguments": [1]},
        {"name": "commit_final_answer", "arguments": {}},
    ],
)
def test_a_wrong_call_is_explained(call: dict[str, object]) -> None:
    (unclear,) = read_calls(json.dumps(call), False)
    assert isinstance(unclear, Unclear) and unclear.reason and not unclear.status
    if call["name"] not in ("execute_sql", "commit_final_answer"):
        assert read_calls(json.dumps(call), True) == [Unclear(UNKNOWN_CALL)]
