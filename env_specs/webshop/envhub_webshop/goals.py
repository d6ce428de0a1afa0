"""The goals of a shop: their price caps, their order and which of them are kept.

The order of draws is the published one, so that the same seed gives the same prices, caps and sessions:
first one price for each product with a price range, in load order; then one cap for each product with an
instruction (or for each instruction written by a person); then a fresh generator, seeded with 233, shuffles
the goals and goes on to choose among them.
"""

from __future__ import annotations

import bisect
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, NamedTuple

from envhub_webshop.catalogue import Catalogue, Sums, running_sum
from envhub_webshop.errors import InvalidOptions
from envhub_webshop.goal import Goal, combinations, human_goal, synthetic_goal
from envhub_webshop.product import Product

DEFAULT_PRICE = 100.0
"""The price in dollars of a product that names none."""

PRICE_STEPS = tuple(10.0 * step for step in range(1, 100))
"""The caps a goal can name, in dollars."""

ORDER_SEED = 233
"""The seed of the generator that shuffles the goals."""


class HumanInstruction(NamedTuple):
    """One instruction that a person wrote for a product, with what it asks for."""

    text: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


class Selection(NamedTuple):
    """Some goals of a catalogue, as sessions draw them (see `Catalogue` for the fields)."""

    goals: Sequence[Goal]
    cumulative_weights: Sums
    random_state: tuple[Any, ...]


def draw_price(pricing: Sequence[float], rng: random.Random) -> float:
    """Return the price of a product, in dollars: drawn evenly where `pricing` is a range."""
    if len(pricing) > 1:
        return rng.uniform(pricing[0], pricing[1])
    return pricing[0] if pricing else DEFAULT_PRICE


def draw_cap(price: float, rng: random.Random) -> float | None:
    """Return a price cap in dollars for a product of this price, or None where only one step lies above it.

    The larger of two of the first four steps above the price.
    """
    first = bisect.bisect_right(PRICE_STEPS, price)
    steps = PRICE_STEPS[first : first + 4]
    return max(rng.sample(steps, 2)) if len(steps) >= 2 else None


def synthetic_goals(products: Iterable[Product], rng: random.Random) -> list[Goal]:
    """Build one goal for each choice of options of each product with an instruction, not yet shuffled.

    A goal's weight is the mean, over its attributes, of 1 / number of goals that ask for the attribute.
    """
    asked = [product for product in products if product.instruction is not None]
    caps = [draw_cap(product.price, rng) for product in asked]
    counts: Counter[str] = Counter()
    for product in asked:
        for attribute in product.instruction_attributes:
            counts[attribute] += combinations(product)
    goals: list[Goal] = []
    for product, cap in zip(asked, caps):
        if combinations(product):
            weight = mean_rarity(product.instruction_attributes, counts)
            goals.extend(synthetic_goal(product, at, cap, weight) for at in range(combinations(product)))
    return goals


def mean_rarity(attributes: Sequence[str], counts: Mapping[str, int]) -> float:
    """Return the mean of ``1 / counts[attribute]`` over the attributes."""
    return sum(1.0 / counts[attribute] for attribute in attributes) / len(attributes)


def human_goals(
    products: Iterable[Product], instructions: Mapping[str, Sequence[HumanInstruction]], rng: random.Random
) -> list[Goal]:
    """Build one goal for each instruction that asks for an attribute, not yet shuffled."""
    goals: list[Goal] = []
    for product in products:
        for written in instructions.get(product.asin, ()):
            if written.attributes:
                cap = draw_cap(product.price, rng)
                goals.append(human_goal(product, written.text, written.attributes, written.options, cap))
    return goals


def shuffled(goals: list[Goal]) -> tuple[list[Goal], tuple[Any, ...]]:
    """Return the goals in the shop's order, and the state of the generator that made it."""
    rng = random.Random(ORDER_SEED)
    rng.shuffle(goals)
    return goals, rng.getstate()


def draw_goal(cumulative_weights: Sums, rng: random.Random) -> int:
    """Draw a goal by weight, as the published environment does.

    Because the sums begin with 0, each draw lands one goal too far and the last goal gets the first one's
    share too; kept, since recorded sessions depend on it.
    """
    at = bisect.bisect_right(cumulative_weights, rng.uniform(0, cumulative_weights[-1]))
    return min(at, len(cumulative_weights) - 2)


def select(
    catalogue: Catalogue, limit: int = -1, keep: Callable[[int, Goal], bool] | None = None
) -> Selection:
    """Return the goals that sessions draw from.

    Args:
        catalogue: The shop.
        limit: How many goals to keep, drawn by weight without repeats; -1 keeps all.
        keep: Called with position and goal; says which goals are kept before the limit.

    Raises:
        InvalidOptions: The limit is 0 or less than -1.
    """
    if limit == 0 or limit < -1:
        raise InvalidOptions(f"limit_goals = {limit}: give -1 for all goals or a number above 0")
    if keep is None and not -1 < limit < len(catalogue.goals):
        return Selection(catalogue.goals, catalogue.cumulative_weights, catalogue.random_state)
    goals = catalogue.goals
    sums = catalogue.cumulative_weights
    if keep is not None:
        goals = [goal for at, goal in enumerate(goals) if keep(at, goal)]
        sums = running_sum([goal.weight for goal in goals])
    rng = random.Random()
    rng.setstate(catalogue.random_state)
    if -1 < limit < len(goals):
        chosen: dict[int, None] = {}
        while len(chosen) < limit:
            chosen[draw_goal(sums, rng)] = None
        goals = [goals[at] for at in chosen]
        sums = running_sum([goal.weight for goal in goals])
    return Selection(goals, sums, rng.getstate())
