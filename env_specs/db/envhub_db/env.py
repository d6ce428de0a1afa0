"""The DB environment: a task, a database, statements."""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envhub_db import actions as reading
from envhub_db import engines, official, own, words
from envhub_db.actions import TOOLS, Action, Commit, Query, Unclear
from envhub_db.engine import Database, DatabaseError, Limits, Settings
from envhub_db.errors import EpisodeOver, InvalidAction, InvalidOptions, SetupFailed
from envhub_db.expert import Plan
from envhub_db.judge import SCORINGS, Judge
from envhub_db.library import Entry, Library, Listing
from envhub_db.task import Change, Task

MODES = ("fixed", "faithful")
FORMS = ("classic", "tools")
DATABASE = "dbbench"
"""What every episode's database is called."""
ROUNDS = 15
"""Published: statements of an episode in classic form, before the answer; turns with function calls."""

_OPTIONS = ("task", "split")
_COMPLETED, _LIMIT_REACHED = "completed", "task_limit_reached"
_NO_CODE = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|/\*.*?\*/|(?:#|--[ \t])[^\n]*", re.DOTALL
)
_OUT_OF_SYNC = "Commands out of sync; you can't run this command now"


class DBEnv:
    """A database, and a question about it or a change to be made.

    The reward is 1.0 for the answer that ends the episode with the goal reached, and 0.0 otherwise. `info`
    has after each step `action` ("query", "commit" or None) and `success`, after statements also `error`
    (MySQL's number, None where all went well) and `output_cut`, and at the end `status`, which is
    AgentBench's word in small letters: "completed", "agent_validation_failed", "task_limit_reached" or
    "task_error".

    Args:
        shared: What `load_shared` returned; loaded here when None.
        mode: "fixed", or "faithful" to AgentBench.
        actions: "classic" text or "tools": function calls.
        scoring: "fc" or "classic": how answers are compared, and how official tables are set up.
        data_dir: See `load_shared`.
        levels: See `load_shared`.
        train_variants: See `load_shared`.
        expert: Put the next action of the task's own solution into `info["expert_action"]`.
        observation_limit: Characters of a result; more is cut.
        url: A MySQL or MariaDB server to play on; empty: the embedded engine.
        strict: Values that don't fit a column are errors (`STRICT_TRANS_TABLES`).
        only_full_group_by: Columns must be grouped by or aggregated, as in MySQL 8.
        statement_timeout_s: A statement that takes longer is ended.
        database_mb: How large a database may become (embedded engine).

    Raises:
        InvalidOptions: A setting can't be used.
        DataError: See `load_shared`.
    """

    def __init__(
        self,
        *,
        shared: Library | None = None,
        mode: str = "fixed",
        actions: str = "classic",
        scoring: str = "fc",
        data_dir: str = "",
        levels: Sequence[int] = (),
        train_variants: int = 2,
        expert: bool = False,
        observation_limit: int = 800,
        url: str = "",
        strict: bool = False,
        only_full_group_by: bool = True,
        statement_timeout_s: float = 5.0,
        database_mb: int = 64,
    ) -> None:
        for name, value, known in (
            ("mode", mode, MODES),
            ("actions", actions, FORMS),
            ("scoring", scoring, SCORINGS),
        ):
            if value not in known:
                raise InvalidOptions(f"{name} must be one of {', '.join(known)}, not {value!r}")
        for name, number in (
            ("observation_limit", observation_limit),
            ("statement_timeout_s", statement_timeout_s),
            ("database_mb", database_mb),
        ):
            if number <= 0:
                raise InvalidOptions(f"{name} must be more than 0, not {number}")
        if shared is None:
            shared = self.load_shared(
                {
                    "data_dir": data_dir,
                    "levels": levels,
                    "train_variants": train_variants,
                    "scoring": scoring,
                    "url": url,
                }
            )
        self._library = shared
        self._faithful = mode == "faithful"
        self._form = actions
        self._expert = expert
        self._limit = observation_limit
        self._judge = Judge(scoring, self._faithful)
        self._url = url
        self._settings = Settings(strict, only_full_group_by, commit_each=self._faithful)
        self._limits = Limits(seconds=statement_timeout_s, database_bytes=database_mb * 1_000_000)
        self._entry: Entry | None = None
        self._task: Task | None = None
        self._plan: Plan | None = None
        self._database: Database | None = None
        self._turns = 0

    @classmethod
    def load_shared(cls, config: Mapping[str, Any]) -> Library:
        """Load the tasks once for all replicas, and try the server where there is one.

        Args:
            config: `data_dir` (file or folder of DBBench's data, empty for the embedded tasks), `scoring`
                (see the class), `levels` (keep embedded tasks of these levels only, empty for all),
                `train_variants` (of each domain so many sets of tables in the train split) and `url` (a
                server, empty for none).

        Raises:
            DataError: The data is missing or wrong.
            InvalidOptions: A setting or the server can't be used.
        """
        if config["url"]:
            engines.try_server(config["url"])
        if config["data_dir"]:
            return official.load(Path(config["data_dir"]).expanduser(), config["scoring"])
        if config["train_variants"] < 1:
            raise InvalidOptions(f"train_variants must be at least 1, not {config['train_variants']}")
        levels = set(config["levels"]) or set(own.LEVELS)
        if not levels <= set(own.LEVELS):
            raise InvalidOptions(f"levels are of {', '.join(map(str, own.LEVELS))}, not {sorted(levels)}")
        return own.library(config["train_variants"], levels)

    def tasks(self, split: str) -> Listing:
        """Return a split's tasks, each {"id", "split", "type"} and, of embedded ones, "level".

        Raises:
            UnknownTask: There is no such split.
        """
        return Listing(self._library.split(split))

    def data_info(self) -> dict[str, Any]:
        """Return name and digest of the data, how many tasks there are, and which can't be played."""
        library = self._library
        info = {"name": library.name, "digest": library.digest, "tasks": len(library)}
        if library.left_out:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in library.left_out.items())
            info["note"] = f"{len(library.left_out)} left out ({reasons:.300})"
        return info

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode, with a database of its own.

        Args:
            seed: Draws the task where none is given.
            options: `task` (with the `id` of a task) or `split` (to draw from, "train" if none).

        Returns:
            The question, and info with `task`, `instruction` (the question alone), `rules` (what an agent
            should be told of its actions) and, for function calls, `tools`.

        Raises:
            UnknownTask: There is no such task or split.
            InvalidOptions: There is no such option, or the split has no task.
            SetupFailed: The task's tables can't be created.
        """
        options = options or {}
        for option in options:
            if option not in _OPTIONS:
                close = difflib.get_close_matches(str(option), _OPTIONS, n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise InvalidOptions(f"there is no reset option {option!r}{hint}. Use task or split")
        if options.get("task") is not None:
            entry = self._library.find(options["task"])
        else:
            entry = self._library.draw(options.get("split") or "train", seed)
        task = self._begin(entry)
        info: dict[str, Any] = {
            "task": entry.listed(),
            "instruction": task.question,
            "rules": words.rules(self._form, self._limit),
        }
        if self._form == "tools":
            info["tools"] = TOOLS
        return words.question(task, self._form), self._advised(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do what the text asks for.

        Raises:
            InvalidAction: The action is no text.
            EpisodeOver: There is no episode, or it is over.
        """
        if self._task is None or self._database is None:
            raise EpisodeOver("there is no episode: call reset() first")
        if not isinstance(action, str):
            raise InvalidAction(f"an action is text, not {type(action).__name__}")
        info: dict[str, Any] = {"action": None, "success": False}
        seen: list[str] = []
        for wanted in self._read(action):
            if isinstance(wanted, Commit):
                return self._end(seen, _COMPLETED, "commit", wanted.answer)
            if isinstance(wanted, Query):
                seen.append(self._execute(self._database, wanted.sql, info))
            elif wanted.status:
                return self._end(seen, wanted.status, None)
            else:
                seen.append(wanted.reason)
        self._turns += 1
        if self._faithful and self._form == "tools" and self._turns >= ROUNDS:
            return self._end(seen, _LIMIT_REACHED, info["action"])
        return "\n".join(seen), 0.0, False, False, self._advised(info)

    def render(self) -> str:
        """Return what is to be done, for people."""
        return words.question(self._task, self._form) if self._task else "no episode"

    def get_state(self) -> dict[str, Any]:
        """Return the state of the episode: its task, how far it has come, and its database.

        Raises:
            EpisodeOver: There is no episode.
        """
        if self._entry is None:
            raise EpisodeOver("there is no episode: call reset() first")
        database = self._database
        return {
            "task": self._entry.id,
            "turns": self._turns,
            "plan": self._plan.position if self._plan else 0,
            "database": base64.b64encode(database.snapshot()).decode() if database else None,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Become what `get_state` of any replica has returned.

        Raises:
            UnknownTask: There is no such task in this data.
        """
        task = self._begin(self._library.find({"id": state["task"]}))
        self._turns = state["turns"]
        if self._plan is not None:
            self._plan = Plan(task, self._form, state["plan"])
        if state["database"] is None:
            self._drop()
        elif self._database is not None:
            self._database.restore(base64.b64decode(state["database"]))

    def close(self) -> None:
        """Drop the database; on a server, leave it when no other replica of this process has one."""
        self._drop()
        self._task = self._entry = None
        if self._url:
            engines.leave(self._url, self._settings, self._limits)

    def _begin(self, entry: Entry) -> Task:
        task = entry.make()
        self._drop()
        try:
            self._database = self._engine().open(task.tables, DATABASE)
        except DatabaseError as error:
            raise SetupFailed(f"the tables of {entry.id} can't be created: {error}") from error
        self._entry, self._task, self._turns = entry, task, 0
        self._plan = Plan(task, self._form) if self._expert else None
        return task

    def _engine(self) -> engines.AnyEngine:
        return engines.of_this_process(self._url, self._settings, self._limits)

    def _drop(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def _read(self, action: str) -> list[Action]:
        """Read the actions in a text; published, a statement after the last round is none."""
        if self._form == "tools":
            return reading.read_calls(action, self._faithful)
        if self._faithful and self._turns >= ROUNDS:
            answer = reading.published_answer(action)
            return [answer or Unclear("", _LIMIT_REACHED)]
        return reading.read_classic(action, self._faithful)

    def _execute(self, database: Database, sql: str, info: dict[str, Any]) -> str:
        """Execute a statement and return what the agent sees of it."""
        info.update(action="query", error=None, output_cut=False)
        if self._plan is not None:
            self._plan.went_on()
        if self._faithful and self._form == "classic":
            if _NO_CODE.sub("", sql).rstrip(" ;\n").count(";"):
                return _OUT_OF_SYNC
            database.reconnect()
        try:
            text = words.shown(database.execute(sql))
        except DatabaseError as error:
            info["error"] = error.number
            text = str(error)
        info["output_cut"] = len(text) > self._limit
        return words.cut(text, self._limit)

    def _advised(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add what the expert would do."""
        if self._plan is not None:
            info["expert_action"] = self._plan.action
        return info

    def _end(
        self, seen: Sequence[str], status: str, action: str | None, answer: Any = None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Judge, and drop the database."""
        assert self._task is not None and self._database is not None
        # Published, the classic form judges changes however the episode has ended.
        judged = status == _COMPLETED or (
            self._faithful and self._form == "classic" and isinstance(self._task.goal, Change)
        )
        success = judged and self._judge.reached(self._task, answer, self._database, self._engine())
        self._drop()
        info: dict[str, Any] = {"action": action, "status": status, "success": success}
        truncated = status == _LIMIT_REACHED
        if truncated:
            info["truncated_by"] = "rounds"
        return "\n".join(seen), float(success), not truncated, truncated, info
