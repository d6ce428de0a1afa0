"""The environment: games behind the Gymnasium interface."""

from __future__ import annotations

import difflib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from envhub_alfworld.data import Library, open_library
from envhub_alfworld.errors import EpisodeOver, InvalidAction, InvalidOptions
from envhub_alfworld.folder import SPLITS
from envhub_alfworld.followed import FollowedState
from envhub_alfworld.original import Original, OriginalError
from envhub_alfworld.planner import plan
from envhub_alfworld.state import NOTHING, State

MODES = ("fixed", "faithful")
"""Without the published environment's quirks, or exactly as published."""
ENGINES = ("native", "textworld")
"""Rules of our own, or the published packages."""

Result = tuple[str, float, bool, bool, dict[str, Any]]


class AlfworldEnv:
    """A household in which an agent has to find, treat and place things, or look at them, by text commands.

    The reward is 1 for the step that wins, which ends the episode, and 0 for all others, unless a penalty or
    shaping is asked for.

    Attributes:
        shared: What this replica shares with others; give it to further replicas of the same configuration.
    """

    def __init__(
        self,
        shared: Library | None = None,
        *,
        mode: str = "fixed",
        engine: str = "native",
        textworld_python: str = "",
        data_dir: str = "",
        task_types: Sequence[str] = (),
        admissible_commands: bool = True,
        expert: bool = False,
        step_penalty: float = 0.0,
        subgoal_reward: float = 0.0,
    ) -> None:
        """Open the games.

        Args:
            shared: What `load_shared` made of the same configuration; loaded here when None.
            mode: ``fixed``, or ``faithful`` to the published environment.
            engine: ``native``, or ``textworld`` for the published one, which is faithful in any mode.
            textworld_python: The interpreter that has the published engine; empty for the one that runs this.
            data_dir: See `load_shared`.
            task_types: See `load_shared`.
            admissible_commands: Put the commands that do something now into ``info["available_actions"]``.
            expert: Put the next command of a shortest way to win into ``info["expert_action"]``.
            step_penalty: Taken off the reward of every step.
            subgoal_reward: Times the change in the share of the goal's conditions that hold, added to the
                reward of every step. Over an episode the sum depends on its first and last state alone.

        Raises:
            ValueError: There is no such mode or engine.
            DataError, InvalidOptions: See `load_shared`.
        """
        if mode not in MODES:
            raise ValueError(f"there is no mode {mode!r}. Use one of: {', '.join(MODES)}")
        if engine not in ENGINES:
            raise ValueError(f"there is no engine {engine!r}. Use one of: {', '.join(ENGINES)}")
        config = {
            "data_dir": data_dir,
            "task_types": task_types,
            "engine": engine,
            "textworld_python": textworld_python,
        }
        self.shared = shared or self.load_shared(config)
        self._fixed = mode == "fixed"
        self._original = Original(textworld_python) if engine == "textworld" else None
        self._offer = admissible_commands
        self._expert = expert
        self._step_penalty = step_penalty
        self._subgoal_reward = subgoal_reward
        self._task: dict[str, Any] = {}
        self._state: State | None = None
        self._observation = ""
        self._end: Result | None = None

    @classmethod
    def load_shared(cls, config: Mapping[str, Any]) -> Library:
        """Find the games, and see whether the engine can be started.

        Args:
            config: ``data_dir`` (a folder in the official layout, empty for the embedded games),
                ``task_types`` (the kinds of tasks to keep, empty for all), ``engine`` and
                ``textworld_python``. Other keys are not looked at.

        Raises:
            DataError: There is no such kind of task, there are no games, or some are damaged.
            InvalidOptions: The published engine is asked for and can't be started.
        """
        if config.get("engine") == "textworld":
            original = Original(config.get("textworld_python", ""))
            try:
                original.start()
            except OriginalError as reason:
                raise InvalidOptions(str(reason)) from None
            original.close()
        return open_library(config["data_dir"], config["task_types"])

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin a game.

        Args:
            seed: Draws the task where none is given.
            options: ``task`` (with the ``id`` of a task) or ``split`` (to draw from; if
                none, the first that has games).

        Returns:
            The observation, and info with ``task``, ``instruction``, and what `step` gives.

        Raises:
            UnknownTask: There is no such task or split.
            InvalidOptions: There is no such option, or the split has no task.
            DataError: The game can't be played.
        """
        options = options or {}
        unknown = sorted(set(options) - {"task", "split"})
        if unknown:
            raise InvalidOptions(
                f"there is no reset option {unknown[0]!r}{_nearest(unknown[0])}. Use task or split"
            )
        task = options.get("task")
        task = (
            self._draw(options.get("split") or self.shared.usual_split, seed)
            if task is None
            else self._find(task)
        )
        state = self._begin(task["id"])
        self._play(task, state, state.introduction())
        instruction = state.game.task.partition("Your task is to: ")[2] or state.game.task
        return self._observation, {"task": task, "instruction": instruction, **self._info(state)}

    def step(self, action: str) -> Result:
        """Follow a command.

        Returns:
            Observation, reward, whether the game is won, False, and info: ``task_id``, ``won`` and
            ``success`` (both whether the goal holds: at every step, as a step limit may end the episode),
            ``goal_condition_success`` (the share of the goal's conditions that hold), ``valid_action``, with
            a ``reason`` when it is False: the command did nothing; and where they are asked for
            ``available_actions`` and ``expert_action``.

        Raises:
            InvalidAction: The action is no text.
            EpisodeOver: There was no reset, or (fixed mode) the game is won.
        """
        state = self._open_state()
        if not isinstance(action, str):
            raise InvalidAction(f"an action is a text such as go to fridge 1, not {type(action).__name__}")
        if self._end is not None:
            if self._fixed:
                raise EpisodeOver("the game is won. Call reset() for another one")
            return self._end
        before = _share(state)
        self._observation = state.do(action)
        info = self._info(state)
        info["valid_action"] = self._observation != NOTHING
        if not info["valid_action"]:
            info["reason"] = "this is no command that does anything here and now"
        won = state.won
        shaping = self._subgoal_reward * (info["goal_condition_success"] - before)
        reward = float(won) - self._step_penalty + shaping
        result = self._observation, reward, won, False, info
        if won:
            self._end = result
        return result

    def available_actions(self) -> list[str]:
        """Return the commands that do something now."""
        return self._open_state().commands()

    def tasks(self, split: str) -> Sequence[dict[str, Any]]:
        """Return the tasks of a split."""
        return self.shared.tasks(split)

    def data_info(self) -> dict[str, Any]:
        """Return name and digest of the games, how many there are in each split, and which are left out."""
        library = self.shared
        games = {split: len(entries) for split, entries in library.entries.items()}
        info = {"name": library.name, "digest": library.digest, "games": games}
        if library.left_out:
            info["note"] = f"left out, as published: {library.left_out}"
        return info

    def get_state(self) -> dict[str, Any]:
        """Return the episode as JSON; `set_state` of any replica with the same games continues it."""
        return {
            "task": self._task,
            "state": self._open_state().dump(),
            "observation": self._observation,
            "end": None if self._end is None else list(self._end),
        }

    def set_state(self, saved: Mapping[str, Any]) -> None:
        """Continue the episode that `get_state` gave.

        Raises:
            UnknownTask: These are not the games that it was taken over.
        """
        task = dict(saved["task"])
        state = self._begin(task["id"], saved["state"])
        self._play(task, state, saved["observation"])
        if saved["end"] is not None:
            observation, reward, terminated, truncated, info = saved["end"]
            self._end = observation, reward, terminated, truncated, info

    def render(self) -> str:
        """Return the last observation."""
        self._open_state()
        return self._observation

    def close(self) -> None:
        """End the published engine, if it runs."""
        if self._original is not None:
            self._original.close()

    def _begin(self, task_id: str, saved: Mapping[str, Any] | None = None) -> State:
        """Return a game's first state, or the one that was saved."""
        game = self.shared.game(task_id)
        if self._original is not None:
            followed = FollowedState(game, self.shared.file(task_id), self._original)
            followed.follow(saved or {"typed": ()})
            return followed
        if saved is not None:
            return State.restore(game, saved, fixed=self._fixed)
        return State(game, fixed=self._fixed)

    def _play(self, task: dict[str, Any], state: State, observation: str) -> None:
        self._task = task
        self._state = state
        self._observation = observation
        self._end = None

    def _draw(self, split: Any, seed: int | None) -> dict[str, Any]:
        tasks = self.shared.tasks(split)
        if not tasks:
            having = [name for name in SPLITS if self.shared.tasks(name)]
            choice = ", ".join(f"{name} ({len(self.shared.tasks(name))})" for name in having)
            raise InvalidOptions(
                f"split {split!r} has no task; these have some: {choice}. Choose one with"
                f' options={{"split": "{having[0]}"}}'
            )
        return tasks[random.Random(seed).randrange(len(tasks))]

    def _find(self, task: Any) -> dict[str, Any]:
        identity = task.get("id") if isinstance(task, dict) else None
        return self.shared.task(identity)

    def _open_state(self) -> State:
        if self._state is None:
            raise EpisodeOver("there is no episode yet. Call reset() first")
        return self._state

    def _info(self, state: State) -> dict[str, Any]:
        won = state.won
        share = _share(state)
        info = {"task_id": self._task["id"], "won": won, "success": won, "goal_condition_success": share}
        if self._offer:
            info["available_actions"] = state.commands()
        if self._expert:
            info["expert_action"] = next(iter(plan(state) or ()), None)
        return info


def _share(state: State) -> float:
    met, total = state.conditions()
    return met / total


def _nearest(option: str) -> str:
    close = difflib.get_close_matches(option, ("task", "split"), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
