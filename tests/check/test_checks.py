"""The conformance suite: a sound environment passes, and each broken one fails exactly its own check."""

from pathlib import Path

import pytest

from envhub.check import CHECKS, Result, run_checks
from envhub.spec import find, load

TOML = """
name = "walk"
version = "1.0.0"
summary = "Walk left and right."
entry_point = "walk_env:WalkEnv"
[action]
description = "left or right"
space = { type = "Text", max_length = 5 }
[observation]
description = "where the walker is"
space = { type = "Text", max_length = 20 }
[splits]
train = "some"
test = "others"
"""

SOUND = """
import json, os, random, subprocess, sys, threading, time

class Refusal(Exception):
    def __init__(self, envhub_code):
        super().__init__(envhub_code)
        self.envhub_code = envhub_code

class WalkEnv:
    def __init__(self):
        self.steps = self.place = 0
        self.held = None

    def tasks(self, split):
        if split not in ("train", "test"):
            raise Refusal("unknown_task")
        return [{"id": f"{split}-{n}", "split": split} for n in range(3)]

    def reset(self, *, seed=None, options=None):
        task = (options or {}).get("task")
        if task is not None and task not in self.tasks("train") + self.tasks("test"):
            raise Refusal("unknown_task")
        self.steps = 0
        self.place = random.Random(seed).randrange(1000)
        return self.seen()

    def seen(self):
        return f"at {self.place}", {"available_actions": ["left", "right"]}

    def step(self, action):
        self.steps += 1
        self.place += 1 if action == "right" else -1
        observation, info = self.seen()
        return observation, 1.0, self.steps >= 8, False, info

    def close(self):
        pass

    def get_state(self):
        return {"steps": self.steps, "place": self.place}

    def set_state(self, state):
        self.steps, self.place = state["steps"], state["place"]
"""

CLASS_STATE = [("self.place", "WalkEnv.place"), ("self.steps = WalkEnv.place = 0", "self.steps = 0")]
IN_CLASS = [
    *CLASS_STATE,
    ("class WalkEnv:", "class WalkEnv:\n    place = 0"),
    ("def get_state", "def get_no_state"),
]
TAMPER = "sys.modules['envhub_worker.replica'].Replica._over = property(lambda s: False, lambda s, v: None)"
NO_CLOSE = "        self.place = random"


def change(old: str, new: str) -> list[tuple[str, str]]:
    return [(old, new)]


BROKEN: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("loads", "an import fails", change("import json", "import no_such_module_anywhere, json")),
    ("loads", "the class cannot be built", change("self.held = None", "self.held = {}['x']")),
    (
        "plays",
        "reset raises",
        change("self.steps = 0\n        self.place", "self.steps = 1 // 0\n        self.place"),
    ),
    ("plays", "step raises", change("self.steps += 1", "self.steps += {}['x']")),
    ("json", "an object in info", change('{"available_actions"', '{"me": self, "available_actions"')),
    ("json", "a set as observation", change('f"at {self.place}"', "{self.place}")),
    ("json", "a list as info", change('{"available_actions": ["left", "right"]}', "[]")),
    ("spaces", "too long an observation", change('f"at {self.place}"', 'f"at {self.place}" * 9')),
    ("spaces", "a number as observation", change('f"at {self.place}"', "self.place")),
    ("spaces", "an offer outside the space", change('"right"]', '"right", "far left"]')),
    ("seeds", "unseeded randomness", change("random.Random(seed).randrange", "random.randrange")),
    ("seeds", "the hash of a text", change("random.Random(seed)", "random.Random(hash(str(seed)))")),
    ("seeds", "the clock", change("self.place += 1 if", "self.place += time.monotonic_ns() if")),
    ("resets", "a counter left over", change("self.steps = 0\n        self.place", "self.place")),
    ("resets", "a place left over", change("self.place = random", "self.place += random")),
    ("ends", "the end undone", change("    def close", f"    {TAMPER}\n\n    def close")),
    ("isolation", "state in the class", IN_CLASS),
    (
        "snapshots",
        "a state too small",
        change('return {"steps": self.steps, "place"', 'return {"steps": 0, "place"'),
    ),
    ("snapshots", "a state not restored", change('= state["steps"], state["place"]', '= state["steps"], 0')),
    (
        "snapshots",
        "a state that moves",
        change("        return {", "        self.place += 1\n        return {"),
    ),
    ("snapshots", "a state without JSON form", change('"place": self.place', '"place": self')),
    ("tasks", "one id twice", change('f"{split}-{n}"', 'f"{split}-{n // 2}"')),
    ("tasks", "no id", change('"id": f', '"name": f')),
    ("tasks", "another split", change('"split": split}', '"split": "train"}')),
    ("tasks", "no task in any split", change("range(3)]", "range(0)]")),
    (
        "tasks",
        "a task that cannot be played",
        change('self.tasks("train") + self.tasks("test")', 'self.tasks("train")'),
    ),
    ("unknown-task", "any task is played", change("if task is not None and", "if False and")),
    (
        "unknown-task",
        "a refusal of another kind",
        change(
            '            raise Refusal("unknown_task")\n        self',
            "            raise KeyError(task)\n        self",
        ),
    ),
    (
        "unknown-task",
        "a refusal that moves",
        change(
            '            raise Refusal("unknown_task")\n        self',
            '            self.place += 1\n            raise Refusal("unknown_task")\n        self',
        ),
    ),
    ("closes", "files left open", change("        pass", "        os.open(os.devnull, os.O_RDONLY)")),
    ("closes", "a close that raises", change("        pass", "        raise OSError('busy')")),
    (
        "closes",
        "threads left running",
        change(
            "        pass", "        threading.Thread(target=threading.Event().wait, daemon=True).start()"
        ),
    ),
    (
        "closes",
        "processes left running",
        change("        pass", "        os.fork() or os.execv('/bin/sleep', ['sleep', '5'])"),
    ),
]


def write(folder: Path, changes: list[tuple[str, str]]) -> Path:
    code = SOUND
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    (folder / "envhub.toml").write_text(TOML, encoding="utf-8")
    (folder / "walk_env.py").write_text(code, encoding="utf-8")
    return folder


async def results_of(folder: Path) -> dict[str, Result]:
    return {result.check: result async for result in run_checks(load(folder).resolve())}


async def test_a_sound_environment_passes_every_check(tmp_path: Path) -> None:
    results = await results_of(write(tmp_path, []))
    assert tuple(results) == CHECKS
    assert {name: (result.outcome, result.next_step) for name, result in results.items()} == {
        name: ("PASS", "") for name in CHECKS
    }


async def test_a_split_that_its_data_leave_empty_is_no_fault(tmp_path: Path) -> None:
    folder = write(tmp_path, change("range(3)]", 'range(0 if split == "train" else 3)]'))
    results = await results_of(folder)
    assert {result.outcome for result in results.values()} == {"PASS"}
    assert results["tasks"].reason == "train: 0, test: 3"


async def test_no_state_to_give_as_it_stands_is_no_fault(tmp_path: Path) -> None:
    folder = write(tmp_path, change('return {"steps": self.steps, "place": self.place}', "return None"))
    results = await results_of(folder)
    assert [(name, result.outcome) for name, result in results.items() if result.outcome != "PASS"] == [
        ("snapshots", "SKIP")
    ]
    assert "the hub replays" in results["snapshots"].reason


@pytest.mark.parametrize(
    ("check", "changes"),
    [(check, changes) for check, _, changes in BROKEN],
    ids=[what for _, what, _ in BROKEN],
)
async def test_a_broken_environment_fails_exactly_its_check(
    tmp_path: Path, check: str, changes: list[tuple[str, str]]
) -> None:
    results = await results_of(write(tmp_path, changes))
    assert [name for name, result in results.items() if result.outcome == "FAIL"] == [check]
    assert results[check].next_step


def test_every_check_has_a_broken_environment() -> None:
    assert {check for check, _, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
async def test_what_an_environment_does_not_claim_is_skipped(env_id: str) -> None:
    served = find(f"gymnasium:{env_id}").resolve()
    outcomes = {result.check: result.outcome async for result in run_checks(served)}
    skipped = {"snapshots", "tasks", "unknown-task"}
    assert outcomes == {name: "SKIP" if name in skipped else "PASS" for name in CHECKS}


async def test_an_endless_episode_skips_the_check_of_its_end() -> None:
    results = {result.check: result async for result in run_checks(find("echo").resolve())}
    assert (results["ends"].outcome, results["isolation"].outcome) == ("SKIP", "PASS")
    assert "max_episode_steps" in results["ends"].next_step


async def test_webshops_own_form_of_offers_is_played(tmp_path: Path) -> None:
    offers = '{"has_search_bar": self.steps == 0, "clickables": ["left", "right"]}'
    folder = write(
        tmp_path,
        [
            ('["left", "right"]', offers),
            ("self.steps += 1", "self.steps += 1\n        assert action[:6] in ('search', 'click[')"),
        ],
    )
    toml = TOML.replace("max_length = 5", "max_length = 20")
    (folder / "envhub.toml").write_text(toml, encoding="utf-8")
    outcomes = {name: result.outcome for name, result in (await results_of(folder)).items()}
    assert outcomes == dict.fromkeys(CHECKS, "PASS")


async def test_without_any_action_to_try_the_suite_says_what_to_declare(tmp_path: Path) -> None:
    folder = write(tmp_path, [('{"available_actions": ["left", "right"]}', "{}")])
    toml = TOML.replace('space = { type = "Text", max_length = 5 }\n', "", 1)
    (folder / "envhub.toml").write_text(toml, encoding="utf-8")
    results = await results_of(folder)
    assert results["loads"].outcome == "SKIP"
    assert "declare [action] space" in results["loads"].next_step


@pytest.mark.parametrize(
    ("check", "change", "said"),
    [
        ("plays", ("self.steps >= 8, False, info", "self.steps >= 8, info"), "it returned 4 values"),
        ("plays", ("return self.seen()\n\n    def seen", "return self.seen()[0]\n\n    def seen"), "one str"),
        ("json", ('{"available_actions"', '{"lock": threading.Lock(), "available_actions"'), 'info["lock"]'),
    ],
)
async def test_a_result_of_the_wrong_form_points_at_the_authors_function(
    tmp_path: Path, check: str, change: tuple[str, str], said: str
) -> None:
    results = await results_of(write(tmp_path, [change]))
    assert said in results[check].reason
    assert "walk_env.py" in results[check].next_step
    assert "envhub/worker" not in results[check].next_step + results[check].traceback


async def test_a_failure_names_the_line_that_raised(tmp_path: Path) -> None:
    results = await results_of(write(tmp_path, [("self.steps += 1", "self.steps += {}['x']")]))
    assert "KeyError: 'x'" in results["plays"].reason
    assert "walk_env.py" in results["plays"].next_step
    assert "in step" in results["plays"].next_step
