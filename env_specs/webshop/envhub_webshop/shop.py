"""The shop: what each action does to a shopper's session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from envhub_webshop import page as pages
from envhub_webshop.catalogue import Catalogue
from envhub_webshop.goal import Goal
from envhub_webshop.page import DETAIL, DETAILS, DONE, ITEM, PAGE_SIZE, RESULTS, SEARCH, Page
from envhub_webshop.rules import Choice, Rules

_DETAIL_OF = {label.lower(): label for label in DETAILS}
_SHOWN_LABELS = 30


@dataclass
class Session:
    """One shopper's visit: what is searched for, opened and chosen, and the page that is shown.

    Attributes:
        session_id: The name of the visit, as URLs show it.
        goal: What to buy.
        page: The page that is shown. After a failed search it is older than the other fields.
        keywords: The words of the last search.
        number: The page of results, from 1.
        asin: The product that is open.
        asins: The products opened since the visit began, in order.
        options: The options chosen for the open product, in the order of the clicks.
        reward: The reward of the purchase, once there is one.
        parts: The parts of that reward (see `reward`).
    """

    session_id: str
    goal: Goal
    page: Page = field(default_factory=lambda: Page(SEARCH))
    keywords: list[str] = field(default_factory=list)
    number: int = 1
    asin: str = ""
    asins: dict[str, None] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    reward: float | None = None
    parts: dict[str, Any] = field(default_factory=dict)


class Outcome(NamedTuple):
    """What an action brought: reward, whether something was bought, and why it did nothing (else None)."""

    reward: float
    done: bool
    reason: str | None = None


class Shop:
    """A catalogue with its pages, under one set of rules. Sessions hold all state."""

    def __init__(self, catalogue: Catalogue, rules: Rules, show_attrs: bool) -> None:
        self._catalogue = catalogue
        self._rules = rules
        self.show_attrs = show_attrs

    def labels(self, session: Session) -> dict[str, Choice | str | None]:
        """Return what can be clicked: label to an option's choice, a link's asin, or None for a button."""
        shown = session.page
        labels: dict[str, Choice | str | None] = {
            label.lower(): None for label in pages.buttons(shown, self.show_attrs)
        }
        if shown.kind == RESULTS:
            labels.update((product.asin.lower(), self._rules.link(product)) for product in shown.products)
        elif shown.kind == ITEM:
            labels.update(self._rules.choices(shown.products[0]))
        return labels

    def act(self, session: Session, action: str) -> Outcome:
        """Follow an action. One that is none, or not possible here, changes nothing and has a reason."""
        parsed = self._rules.parse(action)
        verb, argument = parsed or ("", "")
        if verb == "search" and argument:
            return self._results(session, self._rules.keywords(argument), 1)
        labels = self.labels(session)
        if verb == "click" and argument in labels and argument != "search":
            return self._click(session, argument, labels[argument])
        return Outcome(0, False, _reason(action, verb, argument, list(labels)))

    def begin(self, session: Session) -> Outcome:
        """Go to the search page and forget what was opened and chosen."""
        session.page = Page(SEARCH)
        session.keywords = []
        session.number = 1
        session.asin = ""
        session.asins = {}
        session.options = {}
        return Outcome(0.0, False)

    def _click(self, session: Session, label: str, target: Choice | str | None) -> Outcome:
        if label == "buy now":
            return self._buy(session)
        if label == "back to search":
            return self.begin(session)
        if label in ("next >", "< prev"):
            shown = session.page
            kind = self._rules.kind(shown.kind, lambda: pages.url(shown, session.session_id))
            if kind == RESULTS:
                turned = session.number + (1 if label == "next >" else -1)
                return self._results(session, session.keywords, turned)
            if kind == ITEM and label == "< prev":
                return self._results(session, session.keywords, session.number)
            if kind == DETAIL and label == "< prev":
                return self._item(session, None)
        if label in _DETAIL_OF:
            session.page = self._product_page(session, DETAIL)._replace(detail=_DETAIL_OF[label])
            return Outcome(0.0, False)
        return self._item(session, target)

    def _results(self, session: Session, keywords: list[str], number: int) -> Outcome:
        session.keywords = keywords
        session.number = number
        session.asin = ""
        session.options = {}
        found = self._rules.find(self._catalogue, keywords)
        shown = found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
        products = tuple([self._catalogue.product(at) for at in shown])
        session.page = Page(RESULTS, tuple(keywords), number, len(found), products)
        return Outcome(0.0, False)

    def _item(self, session: Session, target: Choice | str | None) -> Outcome:
        if isinstance(target, Choice):
            session.options[target.name] = target.value
        elif target is not None:
            session.asin = target
            session.asins[target] = None
        session.page = self._product_page(session, ITEM)
        return Outcome(0.0, False)

    def _buy(self, session: Session) -> Outcome:
        bought = self._product_page(session, DONE)
        reward, parts = self._rules.score(bought.products[0], session.goal, session.options)
        session.page = bought._replace(reward=reward)
        session.reward = reward
        session.parts = parts
        return Outcome(reward, True)

    def _product_page(self, session: Session, kind: str) -> Page:
        at = self._catalogue.index_of(session.asin)
        if at is None:
            raise KeyError(session.asin)
        product = self._catalogue.product(at)
        return Page(kind, tuple(session.keywords), session.number, 0, (product,), dict(session.options))


def _reason(action: str, verb: str, argument: str, labels: Sequence[str]) -> str:
    """Say why an action did nothing, and what is possible."""
    text = argument if verb == "click" else action
    short = text if len(text) <= 100 else f"{text[:100]}..."
    if verb == "search":
        problem = "a search needs keywords"
    elif verb == "click" and argument == "search":
        problem = "to search, write search[keywords]"
    elif verb == "click":
        problem = f"{short!r} is not on this page"
    else:
        problem = f"{short!r} is no action"
    clicks = [f"click[{label}]" for label in labels if label != "search"]
    more = [f"{len(clicks) - _SHOWN_LABELS} more"] if len(clicks) > _SHOWN_LABELS else []
    return f"{problem}. Possible here: {', '.join(['search[keywords]', *clicks[:_SHOWN_LABELS], *more])}"
