"""The embedded questions: each is good, can be won with the tools, and is answered so by another engine."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
import rdflib
from envhub_kg import KGEnv, graph, own
from envhub_kg.own.facts import Facts
from envhub_kg.own.template import MOST_ANSWERS
from envhub_kg.source import Source
from envhub_kg.task import Task

from .conftest import SPEC, loaded

SPLITS = ("train", "validation", "test")
KINDS = {"1-hop", "2-hop", "3-hop", "intersection", "count", "superlative", "combination"}
PRINT = """
from envhub_kg import graph, own
for task in own.tasks(graph.triples(), graph.ontology(), 2):
    print(task.id, task.split, task.question, list(task.entities.items()), task.actions, sorted(task.answers))
"""


@pytest.fixture(scope="module")
def facts() -> Facts:
    """The graph as dictionaries."""
    return Facts(graph.triples(), graph.ontology())


@pytest.fixture(scope="module")
def source() -> Source:
    """Graph and questions as replicas share them."""
    return loaded(expert=True)


@pytest.fixture(scope="module")
def tasks() -> Sequence[Task]:
    """All questions."""
    return own.tasks(graph.triples(), graph.ontology())


def template(task: Task) -> str:
    """Return the name of a question's template."""
    return task.id.rpartition("-")[0]


def test_there_are_many_of_all_kinds_and_levels_in_three_splits(tasks: Sequence[Task]) -> None:
    sizes = Counter(task.split for task in tasks)
    assert sizes["train"] > 800 and sizes["validation"] > 120 and sizes["test"] > 300
    assert len({task.id for task in tasks}) == len({task.question for task in tasks}) == len(tasks)
    assert {template(task) for task in tasks} == {made.name for made in own.TEMPLATES}
    for split in SPLITS:
        there = [task for task in tasks if task.split == split]
        assert {task.kind for task in there} == KINDS
        assert {task.level for task in there} == {1, 2, 3}


def test_no_question_is_in_two_splits_in_other_words(tasks: Sequence[Task]) -> None:
    splits: dict[tuple[str, frozenset[str]], set[str]] = {}
    for task in tasks:
        about = template(task), frozenset(task.entities.values())
        splits.setdefault(about, set()).add(task.split)
    assert all(len(found) == 1 for found in splits.values())
    held_out = {made.name for made in own.TEMPLATES if made.held_out}
    assert held_out and {task.split for task in tasks if template(task) in held_out} == {"test"}


def test_each_names_what_it_asks_about_and_not_the_answer(tasks: Sequence[Task], facts: Facts) -> None:
    for task in tasks:
        assert all(words in task.question for words in task.entities), task.question
        assert 1 <= len(task.answers) <= MOST_ANSWERS
        assert not task.answers & set(task.entities.values())
        said = {words.casefold() for words in task.entities}
        assert not said & {facts.labels.get(name, name).casefold() for name in task.answers}, task.question
        assert task.question[0].isupper() or task.question[0] == "."
        assert task.question.endswith(("?", ".")) and "{" not in task.question


def test_no_constant_answer_wins_much(tasks: Sequence[Task]) -> None:
    for split in SPLITS:
        answers = Counter(task.answers for task in tasks if task.split == split)
        assert answers.most_common(1)[0][1] < 0.05 * answers.total()


def test_a_list_of_tasks_tells_no_answer(source: Source) -> None:
    env = KGEnv(shared=source)
    for split in SPLITS:
        assert {key for task in env.tasks(split) for key in task} == {"id", "split", "kind", "level"}


@pytest.mark.parametrize("form", ["classic", "tools"])
def test_each_is_won_by_its_actions_in_time(source: Source, form: str) -> None:
    env = KGEnv(shared=source, actions=form, expert=True)
    for split in SPLITS:
        for task in env.tasks(split):
            _, info = env.reset(options={"task": task})
            for turn in itertools.count(1):
                _, reward, terminated, _, info = env.step(info["expert_action"])
                assert turn <= 15, task
                if terminated:
                    break
            assert info["success"] and reward == 1.0, (task, info)


def test_another_engine_gives_the_same_answers(tasks: Sequence[Task]) -> None:
    known = rdflib.Graph()
    known.parse(data=graph.triples(), format="nt")
    for task in tasks[::3]:
        assert followed(known, task) == task.answers, task


def followed(known: rdflib.Graph, task: Task) -> frozenset[str]:
    """Return what a question's actions lead to in rdflib."""
    space = rdflib.Namespace(graph.ontology().namespace)
    mentioned = {space[name] for name in task.entities.values()}
    made: list[set[rdflib.term.Node]] = []
    for action in task.actions:
        name, _, rest = action[:-1].partition("(")
        first, *others = rest.split(",")
        of = made[int(first[1:])] if first.startswith("#") else {space[first]}
        if name == "get_neighbors":
            made.append({target for node in of for target in known.objects(node, space[others[0]])})
        elif name == "intersection":
            made.append(of & made[int(others[0][1:])])
        elif name == "count":
            made.append({rdflib.Literal(len(of - mentioned))})
        elif name in ("argmax", "argmin"):
            values = {node: known.value(node, space[others[0]]).toPython() for node in of - mentioned}
            best = (max if name == "argmax" else min)(values.values())
            made.append({node for node, value in values.items() if value == best})
    return frozenset(str(node).removeprefix(str(space)) for node in made[-1] - mentioned)


def test_the_examples_of_the_page_are_among_them(tasks: Sequence[Task], facts: Facts) -> None:
    page = (SPEC.parents[1] / "docs" / "environments" / "kg.md").read_text(encoding="utf-8")
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in page.splitlines()]
    told = {row for row in rows if row[0] in KINDS}
    there = {
        (task.kind, task.question, ", ".join(sorted(facts.labels.get(name, name) for name in task.answers)))
        for task in tasks
    }
    assert len(told) == len(KINDS) and told <= there
    sizes = Counter(task.split for task in tasks)
    assert all(f"| {split} | {sizes[split]} |" in page for split in SPLITS)


def test_they_are_the_same_in_every_process() -> None:
    made = [
        subprocess.run(
            [sys.executable, "-c", PRINT],
            cwd=SPEC,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=300,
        ).stdout
        for seed in ("1", "2")
    ]
    assert made[0] == made[1] and made[0].count(b"\n") > 500


def test_more_to_learn_on_leaves_the_rest_as_it_is(tasks: Sequence[Task]) -> None:
    more = own.tasks(graph.triples(), graph.ontology(), own.TRAIN_VARIANTS + 3)
    known = {task.id: task for task in more}
    assert len(more) > len(tasks) + 200
    assert all(known[task.id] == task for task in tasks)
