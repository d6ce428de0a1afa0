"""The reward of a purchase.

``reward = r_type * (attribute hits + option hits + price hit) / (goal attributes + goal options + 1)``, the
formula of Yao et al. 2022 ("WebShop", section 3.2) as the published code computes it. How options hit differs
between the two modes: see `faithful_option_hits` and `exact_option_hits`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from envhub_webshop.goal import Goal
from envhub_webshop.product import Product
from envhub_webshop.similarity import colour_in, same

LEVELS = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
"""Separates the levels of a category path."""


def faithful_reward(product: Product, goal: Goal, options: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
    """Return the published reward of a purchase, and its parts (`_total` lists them)."""
    hits = attribute_hits(product, goal)
    return _total(product, goal, type_parts(product, goal), hits, faithful_option_hits(options, goal))


def fixed_reward(product: Product, goal: Goal, options: Mapping[str, str]) -> tuple[float, dict[str, Any]]:
    """Return the reward of a purchase with exact options, and its parts.

    The goal's own product is of the right type and has the attributes, whatever its title and texts say.
    """
    types = type_parts(product, goal)
    hits = attribute_hits(product, goal)
    if product.asin == goal.product.asin:
        types["r_type"] = 1.0
        hits = len(goal.attributes)
    return _total(product, goal, types, hits, exact_option_hits(options, goal))


def _total(
    product: Product, goal: Goal, types: dict[str, Any], attributes: int, options: int
) -> tuple[float, dict[str, Any]]:
    """Return the reward and its parts: ``r_*`` the shares reached, ``w_*`` their weights, the type's parts.

    ``r_option`` and ``w_option`` are left out where the goal has no options.
    """
    in_price = product.price <= goal.price_upper
    wanted = len(goal.attributes) + len(goal.options) + 1
    reward = (attributes + options + in_price) / wanted * types["r_type"]
    parts = {
        "r_type": types["r_type"],
        "r_att": attributes / len(goal.attributes),
        "w_att": len(goal.attributes) / wanted,
        "query_match": types["query_match"],
        "category_match": types["category_match"],
        "title_score": types["title_score"],
    }
    if goal.options:
        parts["r_option"] = options / len(goal.options)
        parts["w_option"] = len(goal.options) / wanted
    parts["r_price"] = in_price
    parts["w_price"] = 1 / wanted
    return reward, parts


def type_parts(product: Product, goal: Goal) -> dict[str, Any]:
    """Return ``r_type`` and what it is made of.

    1.0, or 0.5 where query, category path (two common levels) and title (`title_score` above 0.2) all differ;
    whatever those say, 0.1 for a `title_score` below 0.1 and 0.0 for none.
    """
    target = goal.product
    query_match = product.query == target.query
    category_match = len(_levels(product) & _levels(target)) >= 2
    nouns = target.title_nouns
    title_score = len(set(product.title_nouns) & set(nouns)) / len(nouns) if nouns else 0.2
    r_type = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    if title_score < 0.1:
        r_type = 0.1 if title_score else 0.0
    return {
        "r_type": r_type,
        "query_match": query_match,
        "category_match": category_match,
        "title_score": title_score,
    }


def attribute_hits(product: Product, goal: Goal) -> int:
    """Count the goal's attributes that the product has.

    One like it stands among its attributes, or it stands in the title, the bullets or the description.
    """
    texts = (product.title.lower(), " ".join(product.bullets).lower(), product.description.lower())
    return sum(
        any(same(has, wanted) for has in product.attributes) or any(wanted in text for text in texts)
        for wanted in goal.attributes
    )


def faithful_option_hits(options: Mapping[str, str], goal: Goal) -> int:
    """Count the goal's options that some chosen value is like, by the published rule.

    Names don't count, and values are reduced to the colour word they contain, so a wrong value can hit and
    the right one can miss.
    """
    chosen = [str(colour_in(value)) for value in options.values()]
    wanted = goal.options.items() if isinstance(goal.options, dict) else goal.options
    return sum(any(same(value, _text(colour_in(want))) for value in chosen) for want in wanted)


def _text(value: str | tuple[str, str]) -> str:
    return value if isinstance(value, str) else str(value)


def exact_option_hits(options: Mapping[str, str], goal: Goal) -> int:
    """Count the goal's options that are chosen exactly.

    Case, blanks and ``/`` for `` | `` don't count. For a synthetic goal both name and value have to be right.
    A goal written by a person names values only: the value has to be right, whatever its name; but where the
    goal's own product can't be bought with all of these values at once, no purchase could be right and the
    published rule decides.
    """
    if isinstance(goal.options, dict):
        chosen = {(_plain(name), _plain(value)) for name, value in options.items()}
        return sum((_plain(name), _plain(value)) in chosen for name, value in goal.options.items())
    wanted = [_plain(value) for value in goal.options]
    if not _buyable(goal.product, wanted):
        return faithful_option_hits(options, goal)
    values = {_plain(value) for value in options.values()}
    return sum(value in values for value in wanted)


def _buyable(product: Product, wanted: list[str]) -> bool:
    """Say whether one choice of the product's options has all wanted (plain) values."""
    missing = set(wanted)
    offers = [missing & {_plain(value) for value in values} for values in product.options.values()]
    useful = [sorted(offer) for offer in offers if offer]
    return any(missing == set(choice) for choice in itertools.product(*useful))


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("/", " | ").split())


def _levels(product: Product) -> set[str]:
    return {level.strip() for level in product.product_category.split(LEVELS)}
