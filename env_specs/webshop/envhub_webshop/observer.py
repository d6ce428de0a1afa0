"""What an agent gets to see of a session: the page in one of four forms, with history where asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from envhub_webshop import page as pages
from envhub_webshop.html import html
from envhub_webshop.shop import Session

MODES = ("text", "text_rich", "url", "html")

SEPARATOR = " [SEP] "


class Observer:
    """Turns the pages of one session into observations."""

    def __init__(self, mode: str, show_attrs: bool, num_prev_obs: int, num_prev_actions: int) -> None:
        """Choose the form of the observations.

        Args:
            mode: ``text``, ``text_rich``, ``url`` or ``html``.
            show_attrs: Whether item pages have the button to the attributes page.
            num_prev_obs: How many earlier observations each observation begins with.
            num_prev_actions: How many actions each observation begins with.

        Raises:
            ValueError: There is no such mode.
        """
        if mode not in MODES:
            raise ValueError(f"there is no observation mode {mode!r}. Use one of: {', '.join(MODES)}")
        self._mode = mode
        self._show_attrs = show_attrs
        self._observations: deque[str] = deque(maxlen=num_prev_obs)
        self._actions: deque[str] = deque(maxlen=num_prev_actions)

    def page(self, session: Session, mode: str | None = None) -> str:
        """Return the shown page, without history, in a mode (the observer's own when None)."""
        mode = mode or self._mode
        if mode == "url":
            return pages.url(session.page, session.session_id)
        instruction = session.goal.instruction
        if mode == "html":
            return html(session.page, session.session_id, instruction, self._show_attrs)
        shown = pages.nodes(session.page, instruction, self._show_attrs)
        if mode == "text":
            return pages.text(shown)
        return pages.rich_text(shown, pages.url(session.page, session.session_id), session.asins)

    def first(self, session: Session) -> str:
        """Forget the history and return the observation after a reset."""
        observation = self.page(session)
        self._actions.clear()
        self._observations.clear()
        self._observations.append(observation)
        return observation

    def after(self, session: Session, action: str) -> str:
        """Return the observation after an action: history, oldest first, then the page."""
        observation = self.page(session)
        self._actions.append(action)
        earlier: list[str] = []
        for back in range(1, 1 + max(len(self._actions), len(self._observations))):
            if back <= len(self._actions):
                earlier.append(self._actions[-back])
            if back <= len(self._observations):
                earlier.append(self._observations[-back])
        self._observations.append(observation)
        return SEPARATOR.join([*reversed(earlier), observation])

    def get_state(self) -> dict[str, list[str]]:
        """Return the history as JSON."""
        return {"observations": list(self._observations), "actions": list(self._actions)}

    def set_state(self, state: Mapping[str, Sequence[Any]]) -> None:
        """Take over a history."""
        self._observations.clear()
        self._observations.extend(state["observations"])
        self._actions.clear()
        self._actions.extend(state["actions"])
