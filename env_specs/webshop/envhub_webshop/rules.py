"""The two ways the shop can behave: as published (`FaithfulRules`) or without its traps (`FixedRules`).

What the fixed rules do otherwise, each with a test of the same name in tests/env_specs/webshop/test_fixed.py:

1. debug_searches: ``<r>``, ``<a>``, ``<c>`` and ``<q>`` in front of a search are plain words. (Published: a
   random page, an exception, all products of a category, all products of a query.)
2. action_text: the verb's case, line breaks and blanks around verb, argument and keywords don't count, and
   the argument begins at the first ``[``, so that labels with brackets can be clicked. (Published: they
   count, and ``click[a[b]]`` does nothing.)
3. reason: an action that does nothing is answered with a reason and with what is possible.
4. shared_labels: an option value that is empty, stands under two options, or is also the label of a button
   is clicked as ``name: value``. (Published: the last option, or the button, gets the click.)
5. any_asin: a product whose asin has lower-case letters can be opened. (Published: an exception.)
6. page_kind: what Prev and Next do depends on the page. (Published: on the words in its URL, so that a
   search for ``search_results`` changes what Prev does on an item page.)
7. exact_options: an option counts when name and value are right, for goals written by people when the value
   is (see `reward.exact_option_hits`). (Published: fuzzy, so 9 % of the wrong values count, and some right
   ones, such as ``dash``, don't.)
8. own_product: the goal's own product is of the right type and has the wanted attributes. (Published:
   repeated nouns in a long title lower the score of the very product asked for.)
9. seeded_prices: prices and price caps depend on the configured seed alone, and what an episode draws on
   its own seed alone. (Published: on the state of Python's global generator. Faithful mode is seeded too.)
10. end: a step after the purchase is refused. (Published: shopping goes on.)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple, Protocol

from envhub_webshop import actions, reward
from envhub_webshop.catalogue import Catalogue
from envhub_webshop.goal import Goal
from envhub_webshop.page import DETAIL, DETAILS, DONE, ITEM, RESULTS, SEARCH
from envhub_webshop.product import Product

MAX_RESULTS = 50
"""How many products a search finds at most."""

RESERVED = frozenset(
    ("", "search", "back to search", "next >", "< prev", "buy now", *(label.lower() for label in DETAILS))
)
"""What an option's label can't be: the labels of all buttons, and nothing."""


class Choice(NamedTuple):
    """What clicking an option's value chooses."""

    name: str
    value: str


class Rules(Protocol):
    """What differs between the two modes."""

    def parse(self, action: str) -> tuple[str, str] | None:
        """Return verb and argument of an action, or None."""

    def keywords(self, argument: str) -> list[str]:
        """Return the words of a search's argument."""

    def find(self, catalogue: Catalogue, keywords: Sequence[str]) -> Sequence[int]:
        """Return the positions of the products that a search finds, best first."""

    def choices(self, product: Product) -> dict[str, Choice]:
        """Return what the option values of a product's page choose, by the label to click."""

    def link(self, product: Product) -> str:
        """Return the asin that a click on a product's link opens."""

    def kind(self, shown: str, url: Callable[[], str]) -> str:
        """Return the kind of page that Prev and Next take this one for."""

    def score(self, product: Product, goal: Goal, options: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
        """Return the reward of a purchase and its parts."""


class FixedRules:
    """The shop without its traps."""

    def parse(self, action: str) -> tuple[str, str] | None:
        """Return verb and argument of an action, or None."""
        return actions.parse_fixed(action)

    def keywords(self, argument: str) -> list[str]:
        """Return the words of a search's argument."""
        return argument.split()

    def find(self, catalogue: Catalogue, keywords: Sequence[str]) -> Sequence[int]:
        """Return the positions of the products that match the words best."""
        return catalogue.search(" ".join(keywords), MAX_RESULTS)

    def choices(self, product: Product) -> dict[str, Choice]:
        """Return the choices by value, or by ``name: value`` where the value alone would not do."""
        offers = [
            Choice(name, value) for name, values in product.options.items() for value in dict.fromkeys(values)
        ]
        counts = Counter(offer.value for offer in offers)
        taken = RESERVED.union(value for value in counts if counts[value] > 1)
        choices: dict[str, Choice] = {}
        for offer in offers:
            label = offer.value
            while label in taken or label in choices:
                label = f"{offer.name}: {label}".strip()
            choices[label] = offer
        return choices

    def link(self, product: Product) -> str:
        """Return the product's asin."""
        return product.asin

    def kind(self, shown: str, url: Callable[[], str]) -> str:
        """Return the kind of the page."""
        return shown

    def score(self, product: Product, goal: Goal, options: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
        """Return the reward of a purchase with exact options, and its parts."""
        return reward.fixed_reward(product, goal, options)


class FaithfulRules:
    """The shop as published, debug searches and exceptions included."""

    def __init__(self, rng: Callable[[], random.Random]) -> None:
        """Take the generator that ``<r>`` searches draw from, as something to call for it."""
        self._rng = rng

    def parse(self, action: str) -> tuple[str, str] | None:
        """Return verb and argument of an action, or None."""
        return actions.parse_faithful(action)

    def keywords(self, argument: str) -> list[str]:
        """Return the words of a search's argument, empty ones between blanks included."""
        return argument.split(" ")

    def find(self, catalogue: Catalogue, keywords: Sequence[str]) -> Sequence[int]:
        """Return the positions of the products that a plain or debug search finds.

        Raises:
            TypeError: For ``<a>``, which needs a map that the text environment does not have.
            IndexError: For ``<c>`` without a category.
            ValueError: For ``<r>`` in a shop with fewer than 50 products.
        """
        form, rest = keywords[0], " ".join(keywords[1:]).strip()
        if form == "<r>":
            return self._rng().sample(range(len(catalogue)), MAX_RESULTS)
        if form == "<a>":
            raise TypeError("'NoneType' object is not subscriptable")
        if form == "<c>":
            return catalogue.with_category(list(keywords)[1].strip())
        if form == "<q>":
            return catalogue.with_query(rest)
        return catalogue.search(" ".join(keywords), MAX_RESULTS)

    def choices(self, product: Product) -> dict[str, Choice]:
        """Return the choices by value; the last option with a value gets it."""
        return {value: Choice(name, value) for name, values in product.options.items() for value in values}

    def link(self, product: Product) -> str:
        """Return the product's asin in upper case."""
        return product.asin.lower().upper()

    def kind(self, shown: str, url: Callable[[], str]) -> str:
        """Return the first kind of page that is named anywhere in the URL."""
        address = url()
        return next((kind for kind in (RESULTS, ITEM, DETAIL, DONE) if kind in address), SEARCH)

    def score(self, product: Product, goal: Goal, options: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
        """Return the published reward of a purchase, and its parts."""
        return reward.faithful_reward(product, goal, options)
