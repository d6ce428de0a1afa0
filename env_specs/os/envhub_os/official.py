"""AgentBench's own data: the folder `data/os_interaction` of its repository, read where it lies.

    data/1/*.json … data/7/*.json   test, with scripts/1 … scripts/7
    data/dev.json                   validation, with scripts/dev
    train_0317/training.json        train, with scripts/7

Tasks have the published classic names, such as std-001-stock-00000.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from envhub_os.errors import DataError
from envhub_os.library import Entry, Library
from envhub_os.task import Answer, Chain, Goal, Script, Setup, Solution, Task

_KNOWN_CHECKERS = {
    "1f1fd1b34581794346c577bea54d50c87a547f483e552259cb66563c25f5fed8": "integer",
    "9717a8a15f466f93ef02606257fe3ab3bb0c0ed1d1804783d8d393d16b6ad533": "integer",
    "c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec": "string",
    "b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29": "size",
    "35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8": "in",
    "107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31": "containing",
}
"""SHA-256 of the published checkers that only compare two texts: those comparisons run on the host."""

_LANGUAGES = ("bash", "python")

T = TypeVar("T")


def load(folder: Path) -> Library:
    """Read the tasks of a folder in the official layout; parts of it may be missing, not all.

    Raises:
        DataError: No part is there, or an entry can't be used.
    """
    entries: list[Entry] = []
    digest = hashlib.sha256()
    for split, prefix, scripts, files in _parts(folder):
        for file in files:
            for position, entry in enumerate(_entries(file)):
                reader = _Reader(f"{file}, entry {position}", folder / "scripts" / scripts)
                task = reader.task(f"{prefix}{file.stem}-{position:05d}", entry)
                digest.update(json.dumps(asdict(task), sort_keys=True).encode())
                entries.append(Entry(task.id, split, reader.labels(entry), 0, functools.partial(_same, task)))
    if not entries:
        raise DataError(
            f"{folder} has no tasks of AgentBench: it needs data/1/*.json to data/7/*.json, data/dev.json or "
            "train_0317/training.json, and scripts (all in data/os_interaction of AgentBench's repository)"
        )
    return Library(folder.name, f"sha256:{digest.hexdigest()}", entries)


def _same(task: Task) -> Task:
    return task


def _parts(folder: Path) -> list[tuple[str, str, str, list[Path]]]:
    """Return split, prefix of the names, folder of scripts and files of each part."""
    parts = [
        ("train", "train-0223-", "7", [folder / "train_0317" / "training.json"]),
        ("validation", "dev-001-", "dev", [folder / "data" / "dev.json"]),
    ]
    for number in range(1, 8):
        files = sorted((folder / "data" / str(number)).glob("*.json"))
        parts.append(("test", f"std-00{number}-", str(number), files))
    return [
        (split, prefix, scripts, [f for f in files if f.is_file()]) for split, prefix, scripts, files in parts
    ]


def _entries(file: Path) -> list[Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file} can't be read: {error}") from None
    return content if isinstance(content, list) else [content]


class _Reader:
    """Reads one entry.

    Args:
        place: What to call it in errors.
        scripts: Where the script files that it names are.
    """

    def __init__(self, place: str, scripts: Path) -> None:
        self._place = place
        self._scripts = scripts

    def task(self, name: str, entry: Any) -> Task:
        if not isinstance(entry, dict):
            raise self._wrong("the entry", "an object", entry)
        goal = self._goal(self._field(entry, "evaluation", dict))
        return Task(
            id=name,
            description=self._field(entry, "description", str),
            setup=self._setup(entry),
            goal=goal,
            solution=_solution(goal),
        )

    def labels(self, entry: dict[str, Any]) -> tuple[str, ...]:
        labels = entry.get("labels") or []
        if not isinstance(labels, list):
            raise self._wrong("labels", "a list", labels)
        return tuple(map(str, labels))

    def _setup(self, entry: dict[str, Any]) -> Setup:
        create = entry.get("create")
        init = (
            create.get("init") if isinstance(create, dict) else None
        )  # one entry has a list: it means nothing
        start = self._script("start", entry["start"]) if entry.get("start") is not None else None
        return Setup(
            scripts=tuple(self._script("create.init", script) for script in _as_list(init)),
            start=start.code if start else None,
        )

    def _goal(self, evaluation: dict[str, Any]) -> Goal:
        if "match" in evaluation:
            return self._match(evaluation["match"])
        if "check" not in evaluation:
            raise DataError(f"{self._place}: evaluation has neither match nor check")
        example = evaluation.get("example")
        reference = None if example is None else self._script("evaluation.example", example)
        checks = [self._check(script) for script in _as_list(evaluation["check"], none_is_one=True)]
        if None in checks and reference is None:
            raise DataError(f"{self._place}: a check is null, for evaluation.example, which is missing")
        return Chain(tuple(checks), reference)

    def _match(self, match: Any) -> Answer:
        if isinstance(match, str):
            return Answer(match)
        if isinstance(match, dict):
            for key, compare in (("answer", "exact"), ("regex", "regex")):
                if isinstance(match.get(key), str):
                    return Answer(match[key], compare, strip=bool(match.get("strip")))
        raise self._wrong("evaluation.match", "a text, or an object with answer or regex", match)

    def _check(self, script: Any) -> Script | str | None:
        if script is None:
            return None
        read = self._script("evaluation.check", script)
        digest = hashlib.sha256(read.code.encode()).hexdigest()
        return _KNOWN_CHECKERS.get(digest, read) if read.language == "python" else read

    def _script(self, field: str, script: Any) -> Script:
        if isinstance(script, str):
            return Script(script)
        if not isinstance(script, dict):
            raise self._wrong(field, "a text or an object with code or file", script)
        language = script.get("language", "bash")
        if language not in _LANGUAGES:
            raise self._wrong(f"{field}.language", " or ".join(_LANGUAGES), language)
        if "file" in script:
            return Script(self._file(field, self._field(script, "file", str)), language)
        return Script(self._field(script, "code", str), language)

    def _file(self, field: str, name: str) -> str:
        path = self._scripts / name
        if not path.resolve().is_relative_to(self._scripts.resolve()):
            raise DataError(f"{self._place}: {field} names {name}, which is outside of {self._scripts}")
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise DataError(f"{self._place}: {field} names {name}, which can't be read: {error}") from None

    def _field(self, entry: dict[str, Any], key: str, kind: type[T]) -> T:
        value = entry.get(key)
        if not isinstance(value, kind):
            raise self._wrong(key, "a text" if kind is str else "an object", value)
        return value

    def _wrong(self, field: str, wanted: str, found: Any) -> DataError:
        return DataError(f"{self._place}: {field} must be {wanted}, not {found!r:.80}")


def _solution(goal: Goal) -> Solution | None:
    """Return how the data itself solves the task: its reference, or the answer to match.

    Where the answer is what the reference prints, its warnings are no part of it.
    """
    if isinstance(goal, Answer):
        return Solution((), goal.expected) if goal.compare == "exact" else None
    if isinstance(goal, Chain) and goal.reference is not None and goal.reference.language == "bash":
        code = goal.reference.code
        return Solution((f"{{\n{code}\n}} 2> /dev/null" if None in goal.checks else code,))
    return None


def _as_list(value: Any, none_is_one: bool = False) -> list[Any]:
    if isinstance(value, list):
        return value
    return [value] if value is not None or none_is_one else []
