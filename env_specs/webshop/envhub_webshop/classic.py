"""The published environment's own interface: named sessions and one stream of random numbers.

`WebShopEnv` names a task at each reset. Here a reset names a session, as programs written for the published
environment do: an int is a goal's position, a text or nothing gets a goal drawn by weight, and a session that
was seen before keeps its goal. All environments of one server share its sessions and its generator.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any, Callable

from envhub_webshop.catalogue import Catalogue
from envhub_webshop.goal import Goal
from envhub_webshop.goals import draw_goal, select
from envhub_webshop.observer import Observer
from envhub_webshop.page import SEARCH, url
from envhub_webshop.rules import FaithfulRules
from envhub_webshop.shop import Session, Shop


class ClassicServer:
    """The goals, sessions and random numbers behind some environments.

    Attributes:
        sessions: All sessions by name; none is ever removed.
        random: Draws session names, goals and ``<r>`` results. Goes on after the goals were chosen.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        filter_goals: Callable[[int, Goal], bool] | None = None,
        limit_goals: int = -1,
        show_attrs: bool = False,
    ) -> None:
        """Choose the goals (see `goals.select`)."""
        self.catalogue = catalogue
        self.selection = select(catalogue, limit_goals, filter_goals)
        self.show_attrs = show_attrs
        self.sessions: dict[str, Session] = {}
        self.random = random.Random()
        self.random.setstate(self.selection.random_state)

    @property
    def goals(self) -> Sequence[Goal]:
        """The goals, in order."""
        return self.selection.goals

    def visit(self, name: str, position: int | None) -> Session:
        """Return the session of a name; a new one gets the goal at the position, or a drawn one."""
        if name not in self.sessions:
            if position is None:
                position = draw_goal(self.selection.cumulative_weights, self.random)
            self.sessions[name] = Session(name, self.selection.goals[position])
        return self.sessions[name]


class ClassicEnv:
    """The shop in faithful mode with the published `reset` and `step`."""

    def __init__(
        self,
        server: ClassicServer,
        *,
        observation_mode: str = "html",
        session_prefix: str | None = None,
        num_prev_obs: int = 0,
        num_prev_actions: int = 0,
    ) -> None:
        """Open the shop and begin a session with a drawn goal."""
        self.server = server
        self.observation_mode = observation_mode
        self._prefix = session_prefix or ""
        self._shop = Shop(server.catalogue, FaithfulRules(lambda: server.random), server.show_attrs)
        self._history = (num_prev_obs, num_prev_actions)
        self.reset()

    def reset(
        self, session: int | str | None = None, instruction_text: str | None = None
    ) -> tuple[str, None]:
        """Begin a visit of a session on the search page.

        Args:
            session: The goal's position, or a name, or None for a name of ten drawn letters.
            instruction_text: What `instruction_text` is to say; the pages keep the goal's own.
        """
        draw = self.server.random
        name = "".join(draw.choices(string.ascii_lowercase, k=10)) if session is None else str(session)
        self.session = self.server.visit(self._prefix + name, session if isinstance(session, int) else None)
        self._shop.begin(self.session)
        own = f"Instruction: {self.session.goal.instruction}"
        self.instruction_text = own if instruction_text is None else instruction_text
        self._observer = Observer(self.observation_mode, self.server.show_attrs, *self._history)
        return self._observer.first(self.session), None

    def step(self, action: str) -> tuple[str, float, bool, None]:
        """Follow an action; return observation, reward, whether something was bought, and None."""
        outcome = self._shop.act(self.session, action)
        return self._observer.after(self.session, action), outcome.reward, outcome.done, None

    def get_available_actions(self) -> dict[str, Any]:
        """Return ``has_search_bar`` and ``clickables``."""
        return {
            "has_search_bar": self.session.page.kind == SEARCH,
            "clickables": list(self._shop.labels(self.session)),
        }

    def observation(self, mode: str) -> str:
        """Return the page, without history, in an observation mode."""
        return self._observer.page(self.session, mode)

    @property
    def url(self) -> str:
        """The URL of the page."""
        return url(self.session.page, self.session.session_id)
