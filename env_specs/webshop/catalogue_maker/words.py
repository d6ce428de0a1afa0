"""The vocabulary the catalogue is made from: kinds of products, their features, options and phrases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CATEGORIES = ("garden", "beauty", "electronics", "fashion", "grocery", "sports", "pets")


def split_list(text: str) -> list[str]:
    """Split a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass(frozen=True)
class Feature:
    """Something a product may have.

    Attributes:
        name: The attribute as the reward compares it, such as ``machine washable``.
        link: How a sentence leads up to it: ``is``, ``with``, ``made of``, ``for the`` and so on.
        bullets: Two lines of a features page, each of which contains the name.
    """

    name: str
    link: str
    bullets: tuple[str, ...]

    @property
    def phrase(self) -> str:
        """The feature as it follows a noun: ``with memory foam``; a plain adjective stays bare."""
        return self.name if self.link == "is" else f"{self.link} {self.name}"

    @property
    def is_material(self) -> bool:
        """Whether it is what the product is made of."""
        return self.link.startswith("made of")


@dataclass(frozen=True)
class OptionPool:
    """The values an option may have; `ordered` ones (sizes) are offered as a run without gaps."""

    name: str
    values: tuple[str, ...]
    ordered: bool


@dataclass(frozen=True)
class Kind:
    """A kind of product, such as throw blankets.

    Attributes:
        category: The top category.
        query: The query all products of the kind carry.
        levels: The category path, top first.
        icon: One emoji, the picture of its products.
        it: What product texts call one of them.
        heads: The nouns a title may carry.
        asks: What a shopper may call it.
        uses: What it is for, as in a title.
        low: The lowest usual price, in dollars.
        high: The highest usual price, in dollars.
        features: The features to draw from; of each inner tuple a product has at most one.
        options: The option groups to draw from.
        details: Remarks for the title.
        openers: First sentences of a description.
        contexts: Why somebody needs one.
        brands: The brands that make it.
        fillers: Lines for the features page that name no feature.
        closers: Last sentences of a description.
    """

    category: str
    query: str
    levels: tuple[str, ...]
    icon: str
    it: str
    heads: tuple[str, ...]
    asks: tuple[str, ...]
    uses: tuple[str, ...]
    low: float
    high: float
    features: tuple[tuple[Feature, ...], ...]
    options: tuple[OptionPool, ...]
    details: tuple[str, ...]
    openers: tuple[str, ...]
    contexts: tuple[str, ...]
    brands: tuple[str, ...]
    fillers: tuple[str, ...]
    closers: tuple[str, ...]


def read_kinds(folder: Path) -> list[Kind]:
    """Read all kinds of products, category by category.

    Raises:
        ValueError: When a bullet does not contain its feature: nobody could see that feature in the shop.
    """
    kinds = []
    for category in CATEGORIES:
        book = json.loads((folder / f"{category}.json").read_text(encoding="utf-8"))
        features = {name: _feature(name, text) for name, text in book["features"].items()}
        kinds.extend(_kind(book, kind, features) for kind in book["kinds"])
    return kinds


def _feature(name: str, text: str) -> Feature:
    link, *bullets = (part.strip() for part in text.split("|"))
    for bullet in bullets:
        if name not in bullet.lower():
            raise ValueError(f"the bullet {bullet!r} does not contain its feature {name!r}: reword it")
    return Feature(name, link, tuple(bullets))


def _pool(name: str, text: str) -> OptionPool:
    return OptionPool(name, tuple(split_list(text.lstrip("<"))), text.startswith("<"))


def _kind(book: dict[str, Any], kind: dict[str, Any], features: dict[str, Feature]) -> Kind:
    asks = tuple(split_list(kind["ask"]))
    low, high = kind["price"]
    return Kind(
        category=book["category"],
        query=kind["query"],
        levels=tuple(level.strip() for level in kind["levels"].split(" > ")),
        icon=kind["icon"],
        it=kind.get("it", asks[0]),
        heads=tuple(split_list(kind["heads"])),
        asks=asks,
        uses=tuple(split_list(kind["uses"])),
        low=low,
        high=high,
        features=tuple(
            tuple(features[name] for name in names.split("/")) for names in split_list(kind["features"])
        ),
        options=tuple(_pool(name, text) for name, text in kind["options"].items()),
        details=tuple(split_list(kind["details"])),
        openers=tuple(kind["openers"]),
        contexts=tuple(kind["contexts"]),
        brands=tuple(split_list(book["brands"])),
        fillers=tuple(book["fillers"]),
        closers=tuple(book["closers"]),
    )
