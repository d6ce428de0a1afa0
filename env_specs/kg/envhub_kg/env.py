"""The KG environment: a question, a graph, seven tools."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from envhub_kg import source, words
from envhub_kg.engine import MOST_MEMBERS, Engine
from envhub_kg.errors import EpisodeOver, InvalidAction, InvalidOptions
from envhub_kg.library import Listing
from envhub_kg.plan import Plan
from envhub_kg.program import written
from envhub_kg.score import NO_ANSWER, Score, score
from envhub_kg.source import Source
from envhub_kg.talk import Calls, Classic
from envhub_kg.task import Task
from envhub_kg.tools import Toolbox

MODES = ("fixed", "faithful")
FORMS = ("classic", "tools")

_OPTIONS = ("task", "split")
_SHOWN = 20
"""Members of an answer that `info` and `render` show."""


class KGEnv:
    """A question about a knowledge graph that only tools can see.

    The reward comes with the final answer: in classic form its F1, with function calls 1 if it is exact and
    else 0, as in AgentBench. `info` has after each step `used` (the tools) and `success`, and at
    the end `status` ("completed", or "agent_validation_failed"), `f1`, `exact_match`, `executable`, `answer`
    and `answer_labels`.

    Args:
        shared: What `load_shared` returned; loaded here when None.
        mode: "fixed", or "faithful" to AgentBench.
        actions: "classic" text or "tools": function calls.
        data_dir: See `load_shared`.
        ontology_dir: See `load_shared`.
        levels: See `load_shared`.
        train_variants: See `load_shared`.
        expert: Put the next action of the question's own way to the answer into `info["expert_action"]`.
        store: See `load_shared`.
        endpoint: See `load_shared`.
        endpoint_timeout_s: See `load_shared`.
        endpoint_retries: See `load_shared`.
        endpoint_concurrency: See `load_shared`.
        dialect: See `load_shared`.
        namespace: See `load_shared`.

    Raises:
        InvalidOptions: A setting can't be used.
        DataError: See `load_shared`.
    """

    def __init__(
        self,
        *,
        shared: Source | None = None,
        mode: str = "fixed",
        actions: str = "classic",
        data_dir: str = "",
        ontology_dir: str = "",
        levels: Sequence[int] = (),
        train_variants: int = 6,
        expert: bool = False,
        store: str = "",
        endpoint: str = "",
        endpoint_timeout_s: float = 10.0,
        endpoint_retries: int = 3,
        endpoint_concurrency: int = 8,
        dialect: str = "standard",
        namespace: str = "",
    ) -> None:
        for name, value, known in (("mode", mode, MODES), ("actions", actions, FORMS)):
            if value not in known:
                raise InvalidOptions(f"{name} must be one of {', '.join(known)}, not {value!r}")
        if shared is None:
            shared = self.load_shared(
                {
                    "data_dir": data_dir,
                    "ontology_dir": ontology_dir,
                    "levels": levels,
                    "train_variants": train_variants,
                    "store": store,
                    "endpoint": endpoint,
                    "endpoint_timeout_s": endpoint_timeout_s,
                    "endpoint_retries": endpoint_retries,
                    "endpoint_concurrency": endpoint_concurrency,
                    "dialect": dialect,
                    "namespace": namespace,
                }
            )
        self._source = shared
        self._faithful = mode == "faithful"
        self._form = actions
        self._expert = expert
        self._engine = Engine(shared.store, shared.ontology, shared.dialect)
        self._task: Task | None = None
        self._over = True

    @classmethod
    def load_shared(cls, config: Mapping[str, Any]) -> Source:
        """Load graph and questions once for all replicas.

        Args:
            config: `store` (a folder of oxigraph's, an RDF file, or a folder with some) or `endpoint` (the
                URL of a SPARQL endpoint), both empty for the embedded graph; `endpoint_timeout_s` (of one
                try), `endpoint_retries`, `endpoint_concurrency` (queries at one time, over all workers) and
                `dialect` ("standard" or "virtuoso"); `data_dir` (a file or folder of questions; empty for the
                embedded ones), `levels` (keep questions of these only; empty for all), `train_variants`
                (embedded questions to learn on, of each template); `ontology_dir` (Freebase's ontology as
                AgentBench has it; empty: found out from the graph) and `namespace` (what short names begin
                with as IRIs; empty: found out).

        Raises:
            DataError: Files are missing or wrong, or an endpoint does not answer.
            InvalidOptions: Settings can't be used, or not together.
        """
        return source.load(config)

    def tasks(self, split: str) -> Listing:
        """Return a split's tasks, each {"id", "split"} and, where it is known, "kind" and "level".

        Raises:
            UnknownTask: There is no such split.
        """
        return Listing(self._source.library.split(split))

    def data_info(self) -> dict[str, Any]:
        """Return name and digest of the data, how many questions there are, and a note."""
        found = self._source
        return {"name": found.name, "digest": found.digest, "tasks": len(found.library), "note": found.note}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Draws the question where none is given.
            options: `task` (with the `id` of a task) or `split` (to draw from, "train" if none).

        Returns:
            The question with its entities, and info with `task`, `instruction` (the question), `entities`
            (their words), `rules` (what an agent should be told beforehand) and, for function calls, `tools`.

        Raises:
            UnknownTask: There is no such task or split.
            InvalidOptions: There is no such option, or the split has no task.
        """
        options = options or {}
        for option in options:
            if option not in _OPTIONS:
                close = difflib.get_close_matches(str(option), _OPTIONS, n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                raise InvalidOptions(f"there is no reset option {option!r}{hint}. Use task or split")
        library = self._source.library
        if options.get("task") is not None:
            task = library.find(options["task"])
        else:
            task = library.draw(options.get("split") or "train", seed)
        self._begin(task)
        info: dict[str, Any] = {
            "task": task.listed(),
            "instruction": task.question,
            "entities": list(task.entities),
            "rules": words.rules(self._form, self._source.ontology.both_ways),
        }
        if self._form == "tools":
            info["tools"] = words.TOOLS
        return words.question(task.question, task.entities), self._advised(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do what the text asks for.

        Raises:
            InvalidAction: The action is no text.
            EpisodeOver: There is no episode, or it is over.
            StoreError: The graph could not answer: this is no score, and the episode is lost.
        """
        if self._task is None or self._over:
            raise EpisodeOver("there is no episode: call reset() first")
        if not isinstance(action, str):
            raise InvalidAction(f"an action is text, not {type(action).__name__}")
        reply = self._talk.take(action)
        if reply.answer is not None:
            return self._end(self._task, reply.answer)
        info: dict[str, Any] = {"used": reply.done, "success": False}
        if reply.results:
            info["results"] = reply.results
        if reply.invalid and self._faithful and self._form == "tools":
            self._over = True
            return "", 0.0, True, False, {**info, "status": "agent_validation_failed", **_measures(NO_ANSWER)}
        if self._plan is not None:
            self._plan.taken += 1
        return reply.text, 0.0, False, False, self._advised(info)

    def render(self) -> str:
        """Return the question and what has been made, for people."""
        if self._task is None:
            return "no episode"
        lines = [words.question(self._task.question, self._task.entities)]
        lines += [
            f"#{number} {made.type}: {written(made.program)}"
            for number, made in enumerate(self._tools.variables)
        ]
        return "\n".join(lines)

    def close(self) -> None:
        """Forget the episode; the store is shared, and stays."""
        self._task, self._over = None, True
        self._engine.forget()

    def get_state(self) -> dict[str, Any]:
        """Return the episode as JSON: variables are programs, so it is small."""
        if self._task is None:
            return {"task": None}
        return {
            "task": self._task.id,
            "over": self._over,
            "tools": self._tools.get_state(),
            "talk": self._talk.get_state(),
            "planned": self._plan.taken if self._plan is not None else 0,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on with an episode, of this replica or another one with the same data.

        Raises:
            UnknownTask: The question is not among these.
        """
        if state["task"] is None:
            self.close()
            return
        self._begin(self._source.library.find({"id": state["task"]}))
        self._over = state["over"]
        self._tools.set_state(state["tools"])
        self._talk.set_state(state["talk"])
        if self._plan is not None:
            self._plan.taken = state["planned"]

    def _begin(self, task: Task) -> None:
        self._engine.forget()
        asks = self._form == "tools"
        self._tools = Toolbox(self._engine, self._source.ontology, task.entities, self._faithful, asks)
        self._talk: Classic | Calls = (
            Calls(self._tools, self._faithful)
            if self._form == "tools"
            else Classic(self._tools, task.entities, self._faithful)
        )
        self._plan = Plan(task, self._form, self._faithful) if self._expert and task.actions else None
        self._task, self._over = task, False

    def _end(self, task: Task, number: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
        found = self._engine.members(self._tools.variables[number].program)
        whole = len(found) <= MOST_MEMBERS
        result = score(found, task.answers) if whole else Score(0.0, False, True)
        self._over = True
        shown = found[:_SHOWN]
        info: dict[str, Any] = {
            "used": [],
            "success": result.exact,
            "status": "completed",
            **_measures(result),
            "answer": shown,
            "answer_size": len(found),
            "answer_labels": self._engine.labels(shown),
        }
        reward = result.f1 if self._form == "classic" else float(result.exact)
        return "", reward, True, False, info

    def _advised(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add what the expert would do."""
        if self._plan is not None:
            info["expert_action"] = self._plan.action
        return info


def _measures(result: Score) -> dict[str, Any]:
    return {"f1": result.f1, "exact_match": result.exact, "executable": result.executable}
