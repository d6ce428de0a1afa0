"""Questions from files: AgentBench's, or your own in its form.

A file is a JSON list. Of each entry there must be `question`, `entities` (id by the words that the question
has for it) and `answer` (a list of ids and values, or of AgentBench's objects with `answer_argument`); there
may be `qid` or `id`, `actions` (a way to the answer), `source` or `kind`, and `level`. Ids are names of the
graph, or whole IRIs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from envhub_kg.engine import answer_text
from envhub_kg.errors import DataError
from envhub_kg.task import Task

FILES = {
    "kg_rl_all.json": "train",
    "dev.json": "validation",
    "std.json": "test",
    "train.json": "train",
    "validation.json": "validation",
    "test.json": "test",
}
"""Split by name of file; the first three are AgentBench's."""


def load(path: Path, name: Callable[[str], str]) -> list[Task]:
    """Read the questions of a file, or of a folder with some of `FILES`.

    A file of another name is "train".

    Args:
        path: The file or folder.
        name: Gives the name of an IRI in the graph.

    Raises:
        DataError: There are none, or an entry can't be used.
    """
    files = [path] if path.is_file() else [path / name for name in FILES if (path / name).is_file()]
    tasks = [task for file in files for task in _tasks(file, name)]
    if not tasks:
        raise DataError(
            f"{path} has no questions: it must be a JSON file or a folder with {', '.join(FILES)}"
        )
    return tasks


def _tasks(file: Path, name: Callable[[str], str]) -> Iterator[Task]:
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file} can't be read: {error}") from None
    if not isinstance(entries, list):
        raise DataError(f"{file} must be a list of questions, not {type(entries).__name__}")
    split = FILES.get(file.name, "train")
    seen: dict[str, int] = {}
    for position, entry in enumerate(entries):
        task = _Reader(f"{file}, entry {position}", name).task(entry, f"{file.stem}-{position:05d}", split)
        seen[task.id] = seen.get(task.id, 0) + 1
        yield task if seen[task.id] == 1 else _renamed(task, f"{task.id}-{seen[task.id]}")


def _renamed(task: Task, name: str) -> Task:
    """Give a question another id: some of AgentBench's ids are there twice."""
    return Task(**{**task.__dict__, "id": name})


class _Reader:
    """Reads one entry.

    Args:
        place: What to call it in errors.
        name: Gives the name of an IRI in the graph.
    """

    def __init__(self, place: str, name: Callable[[str], str]) -> None:
        self._place = place
        self._iri_name = name

    def task(self, entry: Any, position: str, split: str) -> Task:
        if not isinstance(entry, dict):
            raise self._wrong("the entry", "an object", entry)
        entities = entry.get("entities")
        if not isinstance(entities, dict) or not all(isinstance(ident, str) for ident in entities.values()):
            raise self._wrong("entities", "an object of ids by words", entities)
        question, level = entry.get("question"), entry.get("level", 0)
        if not isinstance(question, str):
            raise self._wrong("question", "a text", question)
        if not isinstance(level, int):
            raise self._wrong("level", "a whole number", level)
        return Task(
            id=self._text(entry, "qid", "id") or position,
            split=split,
            question=question,
            entities={words: self._name(ident) for words, ident in entities.items()},
            answers=frozenset(self._answers(entry.get("answer"))),
            actions=self._actions(entry.get("actions")),
            level=level,
            kind=self._text(entry, "kind", "source"),
        )

    def _answers(self, answers: Any) -> Iterator[str]:
        if not isinstance(answers, list):
            raise self._wrong("answer", "a list", answers)
        for answer in answers:
            found = answer.get("answer_argument") if isinstance(answer, dict) else answer
            if isinstance(found, bool) or not isinstance(found, (str, int, float)):
                raise self._wrong(
                    "answer", "a list of names and values, or of objects with answer_argument", answer
                )
            yield answer_text(self._name(str(found)))

    def _actions(self, actions: Any) -> tuple[str, ...]:
        actions = actions or []
        if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
            raise self._wrong("actions", "a list of texts", actions)
        return tuple(actions)

    def _text(self, entry: dict[str, Any], *keys: str) -> str:
        for key in keys:
            value = entry.get(key)
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                return str(value)
        return ""

    def _name(self, ident: str) -> str:
        return self._iri_name(ident) if ident.startswith(("http://", "https://", "urn:")) else ident

    def _wrong(self, field: str, wanted: str, found: Any) -> DataError:
        return DataError(f"{self._place}: {field} must be {wanted}, not {found!r:.80}")
