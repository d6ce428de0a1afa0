"""AgentBench's dev questions: gold actions lead to gold answers, and what is wrong gets its messages."""

import json
from pathlib import Path
from typing import Any

import pytest
from envhub_kg import KGEnv, actions, freebase, official
from envhub_kg.errors import DataError
from envhub_kg.ontology import FREEBASE, Ontology
from envhub_kg.source import Source

NOT_REACHED = {
    "WebQTest-969_7621d2b69f15f44aba9e557f4af9764c_cwq": "are not of the same type",  # championship and event
    "WebQTrn-1215_20ae9a3ac5a1d4d40671f15de04edb15_cwq": "get_relations(common.topic) cannot",  # a class
}
"""The questions whose gold actions AgentBench's own tools refuse, and with what words."""
NAMED = "4301467006000_grailqa"
"""A question with the entity `Handel: Messiah (Dublin Version, 1742)`."""
HANDEL = "Handel: Messiah (Dublin Version, 1742)"


@pytest.fixture(scope="module", params=["classic", "tools"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("mode", ["fixed", "faithful"])
def test_gold_actions_lead_to_the_answers(dev: Source, form: str, mode: str) -> None:
    env = KGEnv(shared=dev, actions=form, mode=mode, expert=True)
    tasks = env.tasks("validation")
    assert len(tasks) == 20
    exact = []
    for task in tasks:
        _, info = env.reset(options={"task": task})
        terminated, said = False, ""
        while not terminated and "cannot be executed" not in said and "Error" not in said:
            said, reward, terminated, _, info = env.step(info["expert_action"])
        if task["id"] in NOT_REACHED:
            expected = NOT_REACHED[task["id"]] if form == "classic" else "Error processing tool call: "
            assert expected in said
        else:
            assert (info["success"], info["exact_match"], info["f1"], reward) == (True, True, 1.0, 1.0), task
            assert info["executable"] and info["status"] == "completed"
            exact.append(task["id"])
    assert len(exact) == 18


def _classic(dev: Source, mode: str = "fixed", task: str = NAMED) -> KGEnv:
    env = KGEnv(shared=dev, mode=mode)
    env.reset(options={"task": {"id": task}})
    return env


def _said(env: KGEnv, action: str) -> str:
    return str(env.step(action)[0])


def test_an_entity_may_have_commas_and_parentheses_in_fixed_mode(dev: Source) -> None:
    env = _classic(dev)
    observation, info = env.reset(options={"task": {"id": NAMED}})
    assert observation.endswith(f"\nEntities: [{HANDEL}]") and info["entities"] == [HANDEL]
    assert "music.album.releases" in _said(env, f"Thought: look\nAction: get_relations({HANDEL})")
    for call in (
        f"get_neighbors({HANDEL}, music.album.releases)",
        f'get_neighbors("{HANDEL}",music.album.releases)',
    ):
        assert "which are instances of music.release" in _said(env, f"Action: {call}")
    env = _classic(dev, "faithful")
    assert _said(env, f"Action: get_relations({HANDEL})") == (
        "get_relations(Handel: Messiah (Dublin Version, 1742) cannot be executed. "
        "You may make a mistake and need to fix it."
    )


RELATIONS = "music.album.releases"
FAILED = "cannot be executed. You may make a mistake and need to fix it."


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("Thought: I know it.", "No executable function found! Need to recheck the action."),
        ("Action: I look", "Function is not executed!"),
        ("Action: get_relations(#0", "I may make a syntax error when calling get_relations (e.g., unmatched"),
        ("Action: get_relations()", "I may make a syntax error when calling get_relations (e.g., unmatched"),
        ("Action: find(m.03xxf2z)", "I may make a syntax error when calling find (e.g., unmatched"),
        ("Action: final_execute(m.03xxf2z)", "I may make a syntax error when calling final_execute"),
        ("Action: get_relations(#0)", f"get_relations(#0) {FAILED}"),
        ("Action: get_relations(#x)", f"get_relations(#x) {FAILED}"),
        ("Action: get_relations(Bach)", f"get_relations(Bach) {FAILED}"),
        (
            "Action: get_neighbors(m.03xxf2z, music.album.releases)",
            f"get_neighbors(m.03xxf2z, {RELATIONS}) {FAILED}",
        ),
        ("Action: count(m.03xxf2z)", f"count(m.03xxf2z) {FAILED}"),
        ("Action: count(#0, #1)", f"count(#0, #1) {FAILED}"),
        (
            "Action: argmax(m.03xxf2z, music.recording.length)",
            f"argmax(m.03xxf2z, music.recording.length) {FAILED}",
        ),
        ("Final Answer: #0", "Invalid variable id! Need to recheck the action."),
        ("Find Answer: #12", "Invalid variable id! Need to recheck the action."),
    ],
)
@pytest.mark.parametrize("mode", ["fixed", "faithful"])
def test_what_is_malformed_or_out_of_order_is_told_so(
    dev: Source, mode: str, action: str, message: str
) -> None:
    env = _classic(dev, mode)
    before = env.get_state()["tools"]
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation.startswith(message)
    assert (reward, terminated, truncated, info["success"], info["used"]) == (0.0, False, False, False, [])
    assert env.get_state()["tools"] == before


def test_fixed_mode_says_why_and_faithful_mode_blames_the_types(dev: Source) -> None:
    for mode in ("fixed", "faithful"):
        env = _classic(dev, mode)
        _said(env, "Action: get_relations(m.03xxf2z)")
        _said(env, "Action: get_neighbors(m.03xxf2z, music.album.releases)")
        unknown = _said(env, "Action: intersection(#0, #7)")
        wrong = _said(env, "Action: get_neighbors(m.03xxf2z, film.film.director)")
        unlisted = _said(env, "Action: argmax(#0, music.release.region)")
        if mode == "faithful":
            assert "not of the same type" in unknown  # as published, whatever was wrong
            assert wrong.endswith("fix it.") and unlisted.endswith("fix it.")
        else:
            assert "there is no variable #7: the last one is #0" in unknown
            assert "'film.film.director' is not among its relations" in wrong
            assert "call get_attributes for it first" in unlisted


def test_variables_are_named_in_order_and_a_reply_is_cut_at_an_observation(dev: Source) -> None:
    env = _classic(dev)
    _said(env, "Action: get\\_relations(m.03xxf2z)\nObservation: [x]\nFinal Answer: #0")
    made = _said(env, "Action: get\\_neighbors(m.03xxf2z, music.album.releases)\nAction: count(#0)")
    assert made == "Observation: variable #0, which are instances of music.release"
    assert _said(env, "count(variable #0)") == "Observation: variable #1, which is a number"
    assert "is a number" in _said(env, "Action: count(#1)")
    assert "is a number" in _said(env, "Action: get_relations(#1)")
    assert "#0 music.release: (JOIN music.album.releases_inv m.03xxf2z)" in env.render()


def test_an_attribute_has_to_be_listed_first_in_classic_form(dev: Source) -> None:
    env = _classic(dev)
    for action in (
        "get_relations(m.03xxf2z)",
        "get_neighbors(m.03xxf2z, music.album.releases)",
        "get_relations(#0)",
        "get_neighbors(#0, music.release.track)",
    ):
        _said(env, f"Action: {action}")
    assert "cannot be executed" in _said(env, "Action: argmax(#1, music.recording.length)")
    assert _said(env, "Action: get_attributes(#1)") == "Observation: [music.recording.length]"
    assert "variable #2, which are instances of" in _said(env, "Action: argmax(#1, music.recording.length)")


def test_stale_arguments_turn_up_in_faithful_errors_as_published(dev: Source) -> None:
    env = _classic(dev, "faithful")
    _said(env, "Action: get_relations(m.03xxf2z)")
    assert _said(env, "Action: count(") == f"count(m.03xxf2z) {FAILED}"


# -- function calls ---------------------------------------------------------------------------------


def _calls(dev: Source, mode: str = "fixed") -> KGEnv:
    env = KGEnv(shared=dev, mode=mode, actions="tools")
    env.reset(options={"task": {"id": NAMED}})
    return env


def _call(name: str, ident: str = "", **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": ident, "type": "function", "function": function}


def test_all_calls_of_a_message_are_done_in_order(dev: Source) -> None:
    env = _calls(dev)
    calls = [
        _call("get_neighbors", "a", variable=HANDEL, relation="music.album.releases"),
        _call("nothing", "b"),
        _call("get_neighbors", "c", variable="#0", relation="music.release.track"),
        _call("argmax", "d", variable="#1", attribute="music.recording.length"),
    ]
    observation, _, terminated, _, info = env.step(
        json.dumps({"role": "assistant", "content": None, "tool_calls": calls})
    )
    assert not terminated and info["used"] == ["get_neighbors", "get_neighbors", "argmax"]
    assert [result["tool_call_id"] for result in info["results"]] == ["a", "b", "c", "d"]
    assert observation.split("\n")[1] == "Provide an invalid function name. Function nothing does not exist"
    assert observation.endswith("Observation: variable #2, which are instances of music.recording")
    _, reward, terminated, _, info = env.step("I am sure. Final Answer: #2")
    assert (reward, terminated, info["exact_match"]) == (1.0, True, True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            _call("get_relations"),
            "Arguments do not match the function signature. Error processing arguments for",
        ),
        (_call("get_relations", variable=3), "Arguments do not match the function signature."),
        (_call("getattr", variable="x"), "Provide an invalid function name. Function getattr does not exist"),
        (_call("count", variable="#0"), "Error processing tool call: "),
        (_call("get_relations", variable="Bach"), "Error processing tool call: get_relations: "),
        (
            _call("get_neighbors", variable=HANDEL, relation="x"),
            "Error processing tool call: get_neighbors: ",
        ),
        (_call("intersection", variable1=HANDEL, variable2="#0"), "Error processing tool call: "),
        ({"id": "x"}, "Error processing tool call: "),
        ({"function": {"name": "count", "arguments": "{"}}, "Error processing tool call: Expecting"),
        ({"function": {"name": "count", "arguments": "[]"}}, "Error processing tool call: "),
    ],
)
@pytest.mark.parametrize("mode", ["fixed", "faithful"])
def test_bad_calls_are_told_so(dev: Source, mode: str, call: dict[str, Any], message: str) -> None:
    observation, _, terminated, _, info = _calls(dev, mode).step(json.dumps({"tool_calls": [call]}))
    assert observation.startswith(message)
    assert not terminated and info["used"] == []


def test_faithful_calls_have_the_published_words(dev: Source) -> None:
    env = _calls(dev, "faithful")
    for call, words in (
        (_call("count", variable="#0"), "list index out of range"),
        (_call("count", variable="#x"), "invalid literal for int() with base 10: 'x'"),
        (_call("count", variable="m.1"), "'str' object has no attribute 'program'"),
        (_call("intersection", variable1="m.1", variable2="m.2"), "'str' object has no attribute 'type'"),
        (_call("get_relations", variable="g.1"), "get_relations: variable must be a variable or an entity"),
    ):
        assert env.step(json.dumps([call]))[0] == f"Error processing tool call: {words}"


@pytest.mark.parametrize("text", ["I wonder.", "", "[1, 2]", "null", '{"a": 1}', '"x"', '{"content": "Hm."}'])
def test_a_message_without_call_and_answer_costs_a_turn(dev: Source, text: str) -> None:
    observation, _, terminated, _, _ = _calls(dev).step(text)
    assert observation == "No valid function calls found! Need to recheck the function calls."
    assert not terminated


def test_an_answer_that_does_not_exist_ends_faithful_calls_alone(dev: Source) -> None:
    observation, _, terminated, _, _ = _calls(dev).step("Final Answer: #3")
    assert (observation, terminated) == ("Invalid variable id! Need to recheck the action.", False)
    _, reward, terminated, _, info = _calls(dev, "faithful").step('{"content": "Final Answer: #3"}')
    assert (reward, terminated, info["status"]) == (0.0, True, "agent_validation_failed")
    assert (info["success"], info["executable"], info["f1"]) == (False, False, 0.0)


def test_calls_may_stand_in_text_between_tags(dev: Source) -> None:
    call = json.dumps({"name": "get_relations", "arguments": {"variable": HANDEL}})
    observation, *_ = _calls(dev).step(f"I look.\n<tool_call>\n{call}\n</tool_call><tool_call>{{</tool_call>")
    first, second = observation.split("\n")
    assert "music.album.releases" in first
    assert second.startswith("Error processing tool call: Expecting")


def test_a_program_can_not_grow_without_limit(dev: Source) -> None:
    env = _calls(dev)
    env.step(json.dumps([_call("get_neighbors", variable=HANDEL, relation="music.album.releases")]))
    doubled = [_call("intersection", variable1=f"#{number}", variable2=f"#{number}") for number in range(40)]
    observation, *_ = env.step(json.dumps(doubled))
    said = observation.split("\n")
    assert "takes more than 64 operations" in said[5] and "no more than 32 calls" in said[32]
    assert len(env.get_state()["tools"]["variables"]) < 10


# -- the files --------------------------------------------------------------------------------------


def test_the_ontology_has_types(freebase_ontology: Ontology) -> None:
    assert len(freebase_ontology.relations) == 13100 and len(freebase_ontology.attributes) == 3384
    role = freebase_ontology.relations["basketball.basketball_player.position_s"]
    assert (role.domain, role.range) == ("basketball.basketball_player", "basketball.basketball_position")
    assert freebase_ontology.namespace == FREEBASE and not freebase_ontology.both_ways


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ([], "entry 0: the entry must be an object"),
        ({"question": 1, "entities": {}}, "entry 0: question must be a text, not 1"),
        ({"question": "?", "entities": []}, "entities must be an object of ids by words"),
        ({"question": "?", "entities": {"a": 1}}, "entities must be an object of ids by words"),
        ({"question": "?", "entities": {}, "answer": "x"}, "answer must be a list"),
        ({"question": "?", "entities": {}, "answer": [None]}, "answer must be a list of names and values"),
        ({"question": "?", "entities": {}, "answer": [], "actions": [1]}, "actions must be a list of texts"),
        ({"question": "?", "entities": {}, "answer": [], "level": "1"}, "level must be a whole number"),
    ],
)
def test_an_entry_that_can_not_be_used_is_named(tmp_path: Path, entry: Any, words: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([entry]), encoding="utf-8")
    with pytest.raises(DataError, match=r"mine\.json, entry 0") as refused:
        official.load(file, str)
    assert words in str(refused.value)


def test_files_that_are_missing_or_no_json_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no questions"):
        official.load(tmp_path, str)
    (tmp_path / "std.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"std\.json can't be read"):
        official.load(tmp_path, str)
    (tmp_path / "std.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="must be a list of questions, not dict"):
        official.load(tmp_path, str)
    with pytest.raises(DataError, match=r"vocab\.json can't be read"):
        freebase.load(tmp_path)
    (tmp_path / "vocab.json").write_text('{"relations": []}', encoding="utf-8")
    (tmp_path / "fb_roles").write_text("a b c\n", encoding="utf-8")
    with pytest.raises(DataError, match="attributes must be a list"):
        freebase.load(tmp_path)
    (tmp_path / "vocab.json").write_text('{"relations": ["b"], "attributes": []}', encoding="utf-8")
    assert freebase.load(tmp_path).relations["b"].range == "c"
    (tmp_path / "fb_roles").write_text("a b c\na b\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        freebase.load(tmp_path)


def test_an_id_that_is_there_twice_gets_a_number(tmp_path: Path) -> None:
    entry = {"qid": "q", "question": "?", "entities": {}, "answer": []}
    (tmp_path / "mine.json").write_text(json.dumps([entry, entry]), encoding="utf-8")
    assert [task.id for task in official.load(tmp_path / "mine.json", str)] == ["q", "q-2"]


@pytest.mark.parametrize("calls", [5, True, 1.5, "count", {"name": "count"}])
@pytest.mark.parametrize("mode", ["fixed", "faithful"])
def test_calls_that_are_no_list_are_told_so(dev: Source, mode: str, calls: Any) -> None:
    observation, _, terminated, _, info = _calls(dev, mode).step(json.dumps({"tool_calls": calls}))
    assert observation == "Error processing tool call: tool_calls must be a list of calls"
    assert not terminated and info["used"] == []


def test_what_is_answered_to_many_calls_is_bounded(dev: Source) -> None:
    observation, _, _, _, info = _calls(dev, "fixed").step(json.dumps({"tool_calls": [0] * 33_000}))
    assert len(info["results"]) == 33 and len(observation) < 10_000
    named = [{"id": str(number), "function": {}} for number in range(40)]
    _, _, _, _, info = _calls(dev, "fixed").step(json.dumps({"tool_calls": named}))
    assert [result["tool_call_id"] for result in info["results"]] == [str(number) for number in range(40)]


@pytest.mark.parametrize(
    "action",
    [
        "Action: get_relations(" + "<a>" * 30_000,
        "Action: get_relations(" + "<" * 90_000,
        "Action: " + "get_relations(" * 7_000,
        "Action: " + "a(" * 45_000,
        "Action: " + "x" * 90_000,
        "Action: get_relations(" + " " * 90_000 + ")",
        "<tool_call>" * 9_000,
        "<tool_call>" + " " * 90_000,
    ],
)
@pytest.mark.parametrize("mode", ["fixed", "faithful"])
@pytest.mark.parametrize("form", ["classic", "tools"])
def test_long_nonsense_is_read_without_backtracking(dev: Source, form: str, mode: str, action: str) -> None:
    env = _classic(dev, mode) if form == "classic" else _calls(dev, mode)  # takes hours if it is backtracked
    assert not env.step(action)[2]


@pytest.mark.parametrize(
    ("line", "fixed", "faithful"),
    [
        ("count( #0 ,\t#1 )", ["#0", "#1"], [" #0", "#1 "]),
        ("count(<a(b)>, c)", ["<a(b)>", "c"], ["<a(b"]),
        ("count(<a)>", ["<a"], ["<a"]),
        ("count(a <b, c)", ["a <b", "c"], ["a <b", "c"]),
        ("count())", None, [")"]),
        ("count(,)", ["", ""], ["", ""]),
        ("count(x", None, None),
    ],
)
def test_arguments(line: str, fixed: list[str] | None, faithful: list[str] | None) -> None:
    for mode, arguments in ((False, fixed), (True, faithful)):
        attempts = actions.read_classic(f"Action: {line}", [], mode)
        assert attempts is not None and attempts[0] == actions.Attempt("count", arguments)
