"""Episodes: forms, modes, ends, states; on each engine where it matters."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_db import DBEnv, digests
from envhub_db.engine import DatabaseError
from envhub_db.errors import (
    EpisodeOver,
    InvalidAction,
    InvalidOptions,
    JudgementFailed,
    SetupFailed,
    UnknownTask,
)
from envhub_db.expert import Expert

Make = Callable[..., DBEnv]

QUESTION = {
    "description": "Who won in 1987?",
    "label": ["Fuji"],
    "table": {
        "table_name": "Races",
        "table_info": {
            "columns": [{"name": "Year"}, {"name": "Winner"}],
            "rows": [["1987", "Fuji"], ["1988", "Eno"]],
        },
    },
    "add_description": "The table is called Races.",
    "type": ["other"],
}
INSERT = {
    **QUESTION,
    "description": "Add Ida for 1989.",
    "label": ["INSERT INTO Races VALUES ('1989', 'Ida')"],
    "type": ["INSERT"],
    "answer_md5": "",
    "evidence": "Ida won.",
}


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Two tasks in DBBench's format: dev-0 asks, dev-1 inserts."""
    file = tmp_path / "dev.jsonl"
    file.write_text("\n".join(map(json.dumps, (QUESTION, INSERT))))
    return str(file)


def operation(sql: str) -> str:
    return f"Action: Operation\n```sql\n{sql}\n```"


def answer(*values: str) -> str:
    return f"So it is.\nAction: Answer\nFinal Answer: {json.dumps(values)}"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def start(env: DBEnv, task: str) -> tuple[str, dict[str, Any]]:
    return env.reset(seed=0, options={"task": {"id": task}})


def test_a_question_is_answered(make_env: Make, where: str, data: str) -> None:
    env = make_env(data_dir=data, url=where)
    observation, info = start(env, "dev-0")
    assert observation == "Who won in 1987?\nThe table is called Races."
    assert info["task"] == {"id": "dev-0", "split": "validation", "type": "other"}
    assert info["instruction"] == "Who won in 1987?" and "Action: Operation" in info["rules"]
    assert "tools" not in info and "Fuji" not in json.dumps(info)
    seen, reward, terminated, truncated, info = env.step(
        operation("SELECT Winner FROM Races WHERE Year < 1988")
    )
    assert (seen, reward, terminated, truncated) == ("[('Fuji',)]", 0.0, False, False)
    assert info == {"action": "query", "success": False, "error": None, "output_cut": False}
    seen, _, _, _, info = env.step(operation("SELECT * FROM Nowhere"))
    assert seen == "1146 (42S02): Table 'dbbench.Nowhere' doesn't exist" and info["error"] == 1146
    seen, reward, terminated, truncated, info = env.step(answer("Fuji"))
    assert (seen, reward, terminated, truncated) == ("", 1.0, True, False)
    assert info == {"action": "commit", "status": "completed", "success": True}
    with pytest.raises(EpisodeOver):
        env.step(answer("Fuji"))


def test_a_change_is_made(make_env: Make, where: str, data: str) -> None:
    env = make_env(data_dir=data, url=where)
    observation, _ = start(env, "dev-1")
    assert observation == "Ida won.\nAdd Ida for 1989.\nThe table is called Races."
    assert env.step(operation("INSERT INTO Races SET Winner = 'Ida', Year = 1989"))[0] == "[]"
    assert env.step(answer())[1] == 1.0
    start(env, "dev-1")
    assert env.step(answer())[1] == 0.0


def test_function_calls_are_played(make_env: Make, where: str, data: str) -> None:
    env = make_env(data_dir=data, url=where, actions="tools")
    observation, info = start(env, "dev-1")
    assert observation == (
        "Evidence about the question: Ida won.\nAdditional table information about the question: "
        "The table is called Races.\nQuestion: Add Ida for 1989.\n"
    )
    assert [tool["function"]["name"] for tool in info["tools"]] == ["execute_sql", "commit_final_answer"]
    queries = ("INSERT INTO Races VALUES ('1989', 'Ida')", "SELECT COUNT(*) FROM Races")
    calls = [call("execute_sql", query=sql) for sql in queries]
    assert env.step(json.dumps({"tool_calls": calls}))[0] == "[]\n[(3,)]"
    last = [call("execute_sql", query="SELECT 1"), call("commit_final_answer", answers=[]), call("no_such")]
    seen, reward, terminated, _, _ = env.step(json.dumps(last))
    assert (seen, reward, terminated) == ("[(1,)]", 1.0, True)


def test_a_long_result_is_cut(make_env: Make, data: str) -> None:
    env = make_env(data_dir=data, observation_limit=20)
    start(env, "dev-0")
    seen, _, _, _, info = env.step(operation("SELECT REPEAT('x', 100)"))
    assert seen == "[('xxxxxxxxxxxxxxxxx[TRUNCATED]" and info["output_cut"]


def test_what_is_unclear_costs_a_turn_and_is_explained(make_env: Make, data: str) -> None:
    env = make_env(data_dir=data)
    start(env, "dev-0")
    seen, reward, terminated, truncated, info = env.step("I wonder.")
    assert seen.startswith("Write `Action: Operation`") and info["action"] is None
    assert (reward, terminated, truncated) == (0.0, False, False)
    with pytest.raises(InvalidAction):
        env.step(5)  # type: ignore[arg-type]
    assert env.step(answer("Fuji"))[1] == 1.0


def test_published_what_is_unclear_is_the_end_and_changes_count_still(make_env: Make, data: str) -> None:
    env = make_env(data_dir=data, mode="faithful")
    for task, reward in (("dev-0", 0.0), ("dev-1", 1.0)):
        start(env, task)
        env.step(operation("INSERT INTO Races VALUES ('1989', 'Ida')"))
        _, got, terminated, _, info = env.step("I wonder.")
        assert (got, terminated, info["status"]) == (reward, True, "agent_validation_failed")


def test_published_an_episode_has_fifteen_statements_and_an_answer(make_env: Make, data: str) -> None:
    env = make_env(data_dir=data, mode="faithful")
    for last, reward, status in (
        (operation("SELECT 1"), 0.0, "task_limit_reached"),
        (answer("Fuji"), 1.0, "completed"),
        (operation("SELECT 1") + '\nFinal Answer: ["Fuji"]', 1.0, "completed"),
    ):
        start(env, "dev-0")
        for _ in range(15):
            assert env.step(operation("SELECT 1"))[2:4] == (False, False)
        _, got, terminated, truncated, info = env.step(last)
        assert (got, info["status"]) == (reward, status)
        assert truncated == (status == "task_limit_reached") != terminated


def test_published_function_calls_have_fifteen_turns(make_env: Make, data: str) -> None:
    env = make_env(data_dir=data, mode="faithful", actions="tools")
    start(env, "dev-1")
    for _ in range(14):
        assert env.step(json.dumps(call("execute_sql", query="INSERT INTO Races VALUES ('1989', 'Ida')")))[
            2:4
        ] == (False, False)
    _, reward, terminated, truncated, info = env.step("hello")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["status"], info["truncated_by"]) == ("task_limit_reached", "rounds")
    start(env, "dev-1")
    assert env.step(json.dumps(call("commit_final_answer")))[4]["status"] == "task_error"


def test_published_each_classic_statement_has_a_connection_of_its_own(
    make_env: Make, where: str, data: str
) -> None:
    for mode, seen in (("faithful", "[(None,)]"), ("fixed", "[(5,)]")):
        env = make_env(data_dir=data, mode=mode, url=where)
        start(env, "dev-0")
        env.step(operation("SET @x = 5"))
        assert env.step(operation("SELECT @x"))[0] == seen
    two = operation("SELECT ';'; SELECT 2")
    assert env.step(two)[4]["error"] == 1064
    env = make_env(data_dir=data, mode="faithful", url=where)
    start(env, "dev-0")
    assert env.step(two)[0] == "Commands out of sync; you can't run this command now"
    assert env.step(operation("SELECT ';' /* ; */ ;"))[0] == "[(';',)]"


def test_published_nothing_can_be_rolled_back(make_env: Make, where: str, data: str) -> None:
    for mode, rows in (("faithful", 0), ("fixed", 2)):
        env = make_env(data_dir=data, mode=mode, actions="tools", url=where)
        start(env, "dev-0")
        queries = ("START TRANSACTION", "DELETE FROM Races", "ROLLBACK", "SELECT COUNT(*) FROM Races")
        seen = env.step(json.dumps([call("execute_sql", query=sql) for sql in queries]))[0]
        assert seen == f"[]\n[]\n[]\n[({rows},)]"


@pytest.mark.parametrize("form", ["classic", "tools"])
def test_an_episode_goes_on_elsewhere(make_env: Make, where: str, data: str, form: str) -> None:
    def written(sql: str) -> str:
        return operation(sql) if form == "classic" else json.dumps(call("execute_sql", query=sql))

    one, other = (make_env(data_dir=data, url=where, actions=form, expert=True) for _ in range(2))
    with pytest.raises(EpisodeOver):
        one.get_state()
    start(one, "dev-1")
    one.step(written("CREATE TABLE Notes (a INT)"))
    one.step(written("INSERT INTO Races VALUES ('1989', 'Ida')"))
    state = json.loads(json.dumps(one.get_state()))
    start(other, "dev-0")
    other.set_state(state)
    one.step(written("DELETE FROM Races"))
    seen, _, _, _, info = other.step(written("SELECT COUNT(*) FROM Races UNION SELECT COUNT(*) FROM Notes"))
    assert sorted(json.loads(seen.translate(str.maketrans("()", "[]")).replace(",]", "]"))) == [[0], [3]]
    end = info["expert_action"]
    assert other.step(end)[1] == 1.0
    assert one.step(end)[1] == 0.0
    other.set_state(state)
    assert other.step(end)[1] == 1.0
    over = other.get_state()
    one.set_state(over)
    with pytest.raises(EpisodeOver):
        one.step(end)


def test_the_expert_solves_each_kind_of_task(make_env: Make, data: str) -> None:
    for form in ("classic", "tools"):
        for mode in ("fixed", "faithful"):
            for source in ("", data):
                env = make_env(data_dir=source, actions=form, mode=mode, expert=True)
                tasks = env.tasks("validation")[:28]
                assert len(tasks) == (2 if source else 28)
                for task in tasks:
                    observation, info = env.reset(seed=0, options={"task": task})
                    expert, reward, ended = Expert(), 0.0, False
                    while not ended:
                        observation, reward, ended, truncated, info = env.step(expert(observation, info))
                        assert not truncated and not info.get("error")
                    assert reward == 1.0, task
    with pytest.raises(ValueError, match=r"db\.expert=true"):
        Expert()("", {})


def test_the_same_seed_draws_the_same_task(make_env: Make) -> None:
    one, other = make_env(), make_env()
    for seed in range(5):
        assert one.reset(seed=seed) == other.reset(seed=seed)
    drawn = {one.reset(seed=seed, options={"split": "test"})[1]["task"]["id"] for seed in range(20)}
    assert len(drawn) > 15


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "odd"}, "mode must be one of fixed, faithful"),
        ({"actions": "odd"}, "actions must be one of classic, tools"),
        ({"scoring": "odd"}, "scoring must be one of fc, classic"),
        ({"levels": [4]}, r"levels are of 1, 2, 3, not \[4\]"),
        ({"train_variants": 0}, "train_variants must be at least 1"),
        ({"observation_limit": 0}, "observation_limit must be more than 0"),
        ({"statement_timeout_s": 0.0}, "statement_timeout_s must be more than 0"),
        ({"url": "localhost"}, "url needs mysql://"),
        ({"url": "mysql://localhost/"}, "and a user"),
        ({"url": "mysql://u@localhost/shop"}, "leave it out"),
        ({"url": "mysql://u@localhost/?socket=x"}, "no parameter 'socket'"),
        ({"url": "mysql://u:secret@localhost:x/"}, "url can't be read"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOptions, match=said) as refused:
        DBEnv(**settings)
    assert "secret" not in str(refused.value)


def test_wrong_resets_are_refused_and_change_nothing(make_env: Make, data: str) -> None:
    env = make_env(data_dir=data)
    start(env, "dev-0")
    for options, error, said in (
        ({"task": {"id": "dev-7"}}, UnknownTask, "no task 'dev-7'"),
        ({"task": "dev-0"}, InvalidOptions, "an object with an id"),
        ({"split": "odd"}, UnknownTask, "no split 'odd'"),
        ({"split": "train"}, InvalidOptions, "has no task here"),
        ({"tasks": {}}, InvalidOptions, "did you mean task"),
    ):
        with pytest.raises(error, match=said):
            env.reset(seed=0, options=options)
    assert env.step(answer("Fuji"))[1] == 1.0


def test_tables_that_can_not_be_created_are_no_score(make_env: Make, tmp_path: Path) -> None:
    odd = json.loads(json.dumps(QUESTION))
    odd["table"] = [odd["table"], odd["table"]]
    (tmp_path / "dev.jsonl").write_text(json.dumps(odd))
    env = make_env(data_dir=str(tmp_path))
    with pytest.raises(SetupFailed, match="dev-0 can't be created: 1050"):
        start(env, "dev-0")


def test_the_data_says_what_it_is(make_env: Make, data: str, tmp_path: Path) -> None:
    info = make_env(data_dir=data).data_info()
    assert info["name"] == "dev.jsonl" and info["digest"].startswith("sha256:") and info["tasks"] == 2
    assert "note" not in info
    nameless = json.loads(json.dumps(QUESTION))
    nameless["table"]["table_info"]["columns"][0]["name"] = ""
    Path(data).write_text("\n".join(map(json.dumps, (QUESTION, nameless))))
    assert make_env(data_dir=data).data_info()["note"].startswith("1 left out (dev-1: a column")


def judged(env: DBEnv, *statements: str) -> float:
    """The reward for statements, each in a turn of its own."""
    env.reset(options={"task": {"id": "dev-1"}})
    for sql in statements:
        env.step(f"Action: Operation\n```sql\n{sql}\n```")
    return env.step('Action: Answer\nFinal Answer: ["done"]')[1]


DONE = "INSERT INTO Races VALUES ('1989', 'Ida')"
COPY = "CREATE TABLE Other AS SELECT * FROM Races"


@pytest.mark.parametrize(
    ("statements", "reward"),
    [
        ((DONE,), 1.0),
        (("BEGIN", DONE), 1.0),
        (("SET autocommit = 0", DONE), 1.0),
        ((DONE, "SET sql_big_selects = 0, max_join_size = 1"), 1.0),
        ((DONE, "SET sql_select_limit = 1"), 1.0),
        ((DONE, "SET PASSWORD = PASSWORD('mine')"), 1.0),
        ((DONE, "INSERT INTO Races VALUES ('1990', 'x')", "SET sql_select_limit = 3"), 0.0),
        (("CREATE TEMPORARY TABLE Races AS SELECT * FROM Races", DONE), 0.0),
        ((COPY, "INSERT INTO Other VALUES ('1989', 'Ida')", "DROP TABLE Races",
          "CREATE VIEW Races AS SELECT * FROM Other"), 0.0),
        ((COPY, "INSERT INTO Other VALUES ('1989', 'Ida')", "DROP TABLE Races",
          "RENAME TABLE Other TO Races"), 1.0),
        (("DROP TABLE Races",), 0.0),
    ],
    ids=range(11),
)  # fmt: skip
def test_the_tables_are_judged_and_not_what_a_session_sees_of_them(
    make_env: Make, data: str, where: str, statements: tuple[str, ...], reward: float
) -> None:
    assert judged(make_env(data_dir=data, url=where), *statements) == reward


@pytest.mark.parametrize("number", [2013, 3024, 1040])
def test_tables_that_can_not_be_read_are_no_score(
    make_env: Make, data: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    env = make_env(data_dir=data)

    def fail(*_: Any) -> str:
        raise DatabaseError(number, "out of order")

    monkeypatch.setattr(digests, "of_tables", fail)
    with pytest.raises(JudgementFailed, match="out of order"):
        judged(env, DONE)
