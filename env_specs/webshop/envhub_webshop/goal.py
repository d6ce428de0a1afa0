"""A goal: what the shopper of an episode is asked to buy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from envhub_webshop.product import Product

NO_CAP = 1000000.0
"""The price cap of a goal that has none, in dollars."""


@dataclass(frozen=True)
class Goal:
    """One goal of the shop.

    Attributes:
        product: The product that was meant. Its query, category path and title nouns decide `r_type`.
        instruction: The whole instruction text, with options and price cap.
        attributes: The attributes to find; at least one.
        price_upper: The highest accepted price in dollars; `NO_CAP` when the text names none.
        options: Name to value for synthetic goals; bare values for goals written by people.
        weight: The goal's share in a weighted draw.
    """

    product: Product
    instruction: str
    attributes: tuple[str, ...]
    price_upper: float
    options: dict[str, str] | tuple[str, ...]
    weight: float


def combinations(product: Product) -> int:
    """Return how many synthetic goals a product with an instruction has: one per choice of all options."""
    return math.prod(len(values) for values in product.options.values())


def combination(product: Product, number: int) -> dict[str, str]:
    """Return one choice of all options: names in sorted order, the last name's value changes fastest.

    Args:
        product: The product.
        number: From 0 to ``combinations(product) - 1``.
    """
    chosen: list[tuple[str, str]] = []
    for name in sorted(product.options, reverse=True):
        number, position = divmod(number, len(product.options[name]))
        chosen.append((name, product.options[name][position]))
    return dict(reversed(chosen))


def synthetic_goal(product: Product, number: int, price_upper: float | None, weight: float) -> Goal:
    """Build the synthetic goal of a product with an instruction for one choice of its options.

    Args:
        product: The product; its `instruction` is not None.
        number: Which choice of options, see `combination`.
        price_upper: The price cap in dollars, None for no cap.
        weight: The goal's weight.
    """
    options = combination(product, number)
    wanted = ", and ".join(f"{name}: {value}" for name, value in options.items())
    text = f"{product.instruction}{' with ' + wanted if wanted else ''}{_cap_text(price_upper)}"
    return Goal(product, text, product.instruction_attributes, _cap(price_upper), options, weight)


def human_goal(
    product: Product,
    instruction: str,
    attributes: tuple[str, ...],
    options: tuple[str, ...],
    price_upper: float | None,
) -> Goal:
    """Build a goal from an instruction that a person wrote for a product; every such goal weighs 1."""
    text = instruction.strip(".") + _cap_text(price_upper)
    return Goal(product, text, attributes, _cap(price_upper), options, 1.0)


def _cap(price_upper: float | None) -> float:
    return NO_CAP if price_upper is None else price_upper


def _cap_text(price_upper: float | None) -> str:
    return "" if price_upper is None else f", and price lower than {price_upper:.2f} dollars"
