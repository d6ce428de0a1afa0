"""The environment: the shop behind the Gymnasium interface."""

from __future__ import annotations

import difflib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from envhub_webshop import files, goals, state, store
from envhub_webshop.catalogue import Catalogue
from envhub_webshop.errors import DataError, EpisodeOver, InvalidAction, InvalidOptions
from envhub_webshop.loader import load
from envhub_webshop.observer import Observer
from envhub_webshop.page import SEARCH
from envhub_webshop.rules import FaithfulRules, FixedRules, Rules
from envhub_webshop.shop import Outcome, Session, Shop
from envhub_webshop.tasks import Tasks

MODES = ("fixed", "faithful")
"""Without the published shop's traps, or exactly as published."""


class Shared(NamedTuple):
    """What the replicas of a worker share: the catalogue, the goals kept of it, and their splits."""

    catalogue: Catalogue
    selection: goals.Selection
    tasks: Tasks


class WebShopEnv:
    """A shop in which an agent searches for a product, chooses its options and buys it.

    Actions are ``search[keywords]`` and ``click[label]``. The reward is 0 until the purchase ends the episode
    with a reward from 0 to 1 (see `reward`). Observations are texts.

    Attributes:
        shared: What this replica shares with others; give it to further replicas of the same configuration.
    """

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        mode: str = "fixed",
        observation_mode: str = "text",
        data_dir: str = "",
        human_goals: bool = True,
        seed: int = 0,
        num_products: int = 0,
        limit_goals: int = -1,
        show_attrs: bool = False,
        num_prev_obs: int = 0,
        num_prev_actions: int = 0,
        session_prefix: str = "",
    ) -> None:
        """Open a shop.

        Args:
            shared: What `load_shared` made of the same configuration; loaded here when None.
            mode: ``fixed``, or ``faithful`` to the published environment (`rules` lists the differences).
            observation_mode: ``text``, ``text_rich``, ``url`` or ``html``.
            data_dir: See `load_shared`.
            human_goals: See `load_shared`.
            seed: See `load_shared`.
            num_products: See `load_shared`.
            limit_goals: See `load_shared`.
            show_attrs: Give item pages a button to the product's attributes.
            num_prev_obs: How many earlier observations each observation begins with.
            num_prev_actions: How many actions each observation begins with.
            session_prefix: Stands before the session's name in URLs.

        Raises:
            ValueError: There is no such mode or observation mode.
            DataError: See `load_shared`.
        """
        if mode not in MODES:
            raise ValueError(f"there is no mode {mode!r}. Use one of: {', '.join(MODES)}")
        self.shared = shared or self.load_shared(
            {
                "data_dir": data_dir,
                "human_goals": human_goals,
                "seed": seed,
                "num_products": num_products,
                "limit_goals": limit_goals,
            }
        )
        self._faithful = mode == "faithful"
        rules: Rules = FaithfulRules(self._stream) if self._faithful else FixedRules()
        self._shop = Shop(self.shared.catalogue, rules, show_attrs)
        self._observer = Observer(observation_mode, show_attrs, num_prev_obs, num_prev_actions)
        self._prefix = session_prefix
        self._session: Session | None = None
        self._task: dict[str, Any] = {}
        self._position = 0
        self._seed: int | None = None
        self._random: random.Random | None = None

    @classmethod
    def load_shared(cls, config: Mapping[str, Any]) -> Shared:
        """Load the catalogue and choose its goals.

        Args:
            config: ``data_dir`` (a folder with official files or a prepared one, empty for the embedded
                catalogue), ``human_goals`` (take the instructions written by people), ``seed`` (of prices and
                price caps), ``num_products`` (read the first so many, 0 for all) and ``limit_goals`` (keep so
                many goals, drawn by weight, -1 for all). Other keys are not looked at.

        Raises:
            DataError: The data is missing or wrong, or a folder was prepared for another configuration.
        """
        catalogue = _open(config["data_dir"], config["human_goals"], config["seed"], config["num_products"])
        selection = goals.select(catalogue, config["limit_goals"])
        return Shared(catalogue, selection, Tasks(selection.goals, catalogue.splits))

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode on the search page.

        Args:
            seed: Draws the task where none is given.
            options: ``task`` (with the ``id`` of a task) or ``split`` (to draw from, ``train`` if none).

        Returns:
            The observation, and info with ``task``, ``task_id``, ``instruction`` and ``available_actions``.

        Raises:
            UnknownTask: There is no such task or split.
            InvalidOptions: There is no such option, or the split has no task.
        """
        options = options or {}
        unknown = sorted(set(options) - {"task", "split"})
        if unknown:
            raise InvalidOptions(
                f"there is no reset option {unknown[0]!r}{_nearest(unknown[0])}. Use task or split"
            )
        tasks = self.shared.tasks
        if options.get("task") is not None:
            position = tasks.position(options["task"])
        else:
            position = tasks.draw(options.get("split") or "train", seed)
        session = Session(f"{self._prefix}{position}", self.shared.selection.goals[position])
        self._play(session, position, seed)
        observation = self._observer.first(session)
        info = {"task": self._task, "instruction": session.goal.instruction, **self._info()}
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Follow an action.

        Returns:
            Observation, reward, whether the purchase ended the episode, False, and info: ``task_id`` and
            ``available_actions``; ``reason`` when the action did nothing (fixed mode); ``reward_parts`` and
            ``success`` (reward 1.0) at the end.

        Raises:
            InvalidAction: The action is no text.
            EpisodeOver: There was no reset, or (fixed mode) the episode is over.
        """
        session = self._open_session()
        if not isinstance(action, str):
            raise InvalidAction(f"an action is a text such as search[red shoes], not {type(action).__name__}")
        if session.reward is not None and not self._faithful:
            raise EpisodeOver("the episode ended with the purchase. Call reset() for another one")
        outcome = self._shop.act(session, action)
        return (
            self._observer.after(session, action),
            outcome.reward if self._faithful else float(outcome.reward),
            outcome.done,
            False,
            self._info(outcome),
        )

    def available_actions(self) -> dict[str, Any]:
        """Return ``has_search_bar`` and ``clickables``, the labels to click.

        As in the published environment, ``has_search_bar`` is true on the search page only, though
        ``search[...]`` works on every page.
        """
        session = self._open_session()
        return {
            "has_search_bar": session.page.kind == SEARCH,
            "clickables": list(self._shop.labels(session)),
        }

    def tasks(self, split: str) -> Sequence[dict[str, Any]]:
        """Return the tasks of a split, made when they are asked for."""
        return self.shared.tasks.of_split(split)

    def data_info(self) -> dict[str, Any]:
        """Return name and digest of the data, and how many products and goals there are."""
        catalogue = self.shared.catalogue
        return {
            "name": catalogue.name,
            "digest": catalogue.digest,
            "products": len(catalogue),
            "goals": len(self.shared.selection.goals),
        }

    def get_state(self) -> dict[str, Any]:
        """Return the episode as JSON; `set_state` of any replica with the same configuration continues it."""
        return {
            "goal": self._position,
            "seed": self._seed,
            "random": None if self._random is None else self._random.getstate(),
            "session": state.dump(self._open_session()),
            "history": self._observer.get_state(),
        }

    def set_state(self, saved: Mapping[str, Any]) -> None:
        """Continue the episode that `get_state` gave.

        Raises:
            ValueError: It was taken over other data.
        """
        goal = self.shared.selection.goals[saved["goal"]]
        session = state.load(saved["session"], goal, self.shared.catalogue)
        self._play(session, saved["goal"], saved["seed"])
        self._observer.set_state(saved["history"])
        if saved["random"] is not None:
            version, internal, gauss = saved["random"]
            self._stream().setstate((version, tuple(internal), gauss))

    def render(self) -> str:
        """Return the page as text for people: a string a line, buttons and options marked."""
        return self._observer.page(self._open_session(), "text_rich")

    def close(self) -> None:
        """Do nothing: a replica holds nothing that needs closing."""

    def _play(self, session: Session, position: int, seed: int | None) -> None:
        self._session = session
        self._position = position
        self._task = self.shared.tasks.task(position)
        self._seed = seed
        self._random = None

    def _stream(self) -> random.Random:
        """Return the generator of this episode (only ``<r>`` searches draw from it)."""
        if self._random is None:
            self._random = random.Random(self._seed)
        return self._random

    def _open_session(self) -> Session:
        if self._session is None:
            raise EpisodeOver("there is no episode yet. Call reset() first")
        return self._session

    def _info(self, outcome: Outcome | None = None) -> dict[str, Any]:
        info: dict[str, Any] = {"task_id": self._task["id"], "available_actions": self.available_actions()}
        if outcome is not None and outcome.reason is not None and not self._faithful:
            info["reason"] = outcome.reason
        if outcome is not None and outcome.done:
            info["reward_parts"] = self._open_session().parts
            info["success"] = outcome.reward == 1.0
        return info


def _nearest(option: str) -> str:
    close = difflib.get_close_matches(option, ("task", "split"), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _open(data_dir: str, human_goals: bool, seed: int, num_products: int) -> Catalogue:
    if not data_dir:
        return load(files.EMBEDDED, name="embedded", human=human_goals, seed=seed, num_products=num_products)
    folder = Path(data_dir).expanduser()
    if not store.is_prepared(folder):
        return load(folder, name=folder.name, human=human_goals, seed=seed, num_products=num_products)
    stored = store.open(folder)
    wanted = {"human_goals": human_goals, "seed": seed, "num_products": num_products}
    for key, value in wanted.items():
        made_with = getattr(stored, key)
        if made_with != value:
            raise DataError(
                f"{folder} was prepared with {key} = {made_with}, not {value}. Serve it with --set"
                f" webshop.{key}={str(made_with).lower()}, or prepare the data again with"
                f" `envhub data prepare webshop`"
            )
    return stored
