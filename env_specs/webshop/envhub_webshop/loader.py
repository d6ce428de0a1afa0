"""Reads a catalogue from files in the official format."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envhub_webshop import files
from envhub_webshop.catalogue import MemoryCatalogue
from envhub_webshop.errors import DataError, InvalidOptions
from envhub_webshop.goals import (
    DEFAULT_PRICE,
    HumanInstruction,
    draw_price,
    human_goals,
    shuffled,
    synthetic_goals,
)
from envhub_webshop.product import Product
from envhub_webshop.schema import Item
from envhub_webshop.search import SearchIndex

MAX_ASIN = 10
"""Products with a longer asin (and those called ``nan``) are left out, as in the published shop."""

NO_ATTRIBUTES = ("DUMMY_ATTR",)
"""The attributes of a product that has none on file."""


def load(folder: Path, *, name: str, human: bool, seed: int, num_products: int = 0) -> MemoryCatalogue:
    """Load a catalogue into memory.

    Args:
        folder: The folder with the files, see `files.find`.
        name: What to call the data.
        human: Take the goals from instructions written by people, else from the products' own ones.
        seed: Seeds the prices of products with a price range and the price caps of the goals.
        num_products: Read the first so many entries of the product file; 0 reads all.

    Raises:
        DataError: A file is missing or wrong; names file, item and field.
        InvalidOptions: `num_products` is negative.
    """
    if num_products < 0:
        raise InvalidOptions(f"num_products = {num_products}: give 0 for all products or a number above 0")
    found = files.find(folder, num_products, human)
    rng = random.Random(seed)
    reader = ProductReader(
        found,
        synthetic=not human,
        attributes=read_objects(found.attributes),
        title_nouns=read_objects(found.title_nouns),
    )
    entries = files.read(found.products)
    if not isinstance(entries, list):
        raise DataError(f"{found.products}: holds no list of products. Fetch the file again")
    products = list(reader.products(iter(entries[: num_products or None]), rng))
    if not products:
        raise DataError(f"{found.products}: holds no product. Fetch the file again")
    if found.human is not None:
        goals = human_goals(products, read_human(found.human), rng)
    else:
        goals = synthetic_goals(products, rng)
    if not goals:
        raise DataError(f"{folder}: no product has an instruction, so there is no goal. Use another data_dir")
    goals, state = shuffled(goals)
    contents = (product.search_contents() for product in products)
    index = SearchIndex.build(contents, (product.asin for product in products))
    splits = None
    if found.splits is not None:
        splits = read_splits(found.splits, {goal.product.asin for goal in goals})
    return MemoryCatalogue(name, files.digest(found), products, goals, state, index, splits)


class ProductReader:
    """Makes products of the entries of the product file, one at a time."""

    def __init__(
        self,
        found: files.Files,
        *,
        synthetic: bool,
        attributes: Mapping[str, Any],
        title_nouns: Mapping[str, Any],
    ) -> None:
        """Take what goes with the products.

        Args:
            found: The files, as complaints name them.
            synthetic: Give products the instruction that synthetic goals are made from.
            attributes: The entries of `found.attributes`, by asin.
            title_nouns: The entries of `found.title_nouns`, by asin.
        """
        self._found = found
        self._synthetic = synthetic
        self._attributes = attributes
        self._nouns = title_nouns

    def products(self, entries: Iterator[Any], rng: random.Random) -> Iterator[Product]:
        """Yield the products of the entries in order, with prices drawn; repeated asins are left out."""
        seen: set[str] = set()
        for at, entry in enumerate(entries):
            item = Item(entry, self._found.products, f"item {at}")
            asin = item.text("asin")
            if asin != "nan" and len(asin) <= MAX_ASIN and asin not in seen:
                seen.add(asin)
                yield self._product(Item(entry, self._found.products, f"item {at} ({asin})"), asin, rng)

    def _product(self, item: Item, asin: str, rng: random.Random) -> Product:
        attributes, instruction, asked = self._instruction(asin)
        pricing, price_tag = read_pricing(item)
        options, images = read_options(item)
        return Product(
            asin=asin,
            title=item.text("name"),
            description=item.text("full_description"),
            bullets=item.texts("small_description"),
            pricing=pricing,
            price_tag=price_tag,
            price=draw_price(pricing, rng),
            options=options,
            option_images=images,
            attributes=attributes,
            query=item.text("query").lower().strip(),
            category=item.text("category"),
            product_category=item.text("product_category"),
            main_image=next(iter(item.texts("images")), ""),
            title_nouns=self._title_nouns(asin),
            instruction=instruction,
            instruction_attributes=asked,
        )

    def _instruction(self, asin: str) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
        file = self._found.attributes
        if asin not in self._attributes and self._synthetic:
            raise DataError(
                f"{file.name}: item {asin} is missing. Synthetic goals need an entry for each product: add"
                f" it, or take the goals that people wrote (human_goals = true) ({file})"
            )
        item = Item(self._attributes.get(asin, {}), file, f"item {asin}")
        attributes = item.texts("attributes", NO_ATTRIBUTES)
        if not self._synthetic or not item.has("instruction"):
            return attributes, None, ()
        asked = item.texts("instruction_attributes")
        if not asked:
            raise item.bad("instruction_attributes", "is empty, though there is an instruction")
        return attributes, item.text("instruction"), asked

    def _title_nouns(self, asin: str) -> tuple[str, ...]:
        file = self._found.title_nouns
        if asin not in self._nouns:
            raise DataError(
                f"{file.name}: item {asin} is missing. Run `envhub data prepare webshop` on the folder again"
                f" ({file})"
            )
        return Item({asin: self._nouns[asin]}, file, "title nouns").texts(asin)


def read_pricing(item: Item) -> tuple[tuple[float, ...], str]:
    """Return a product's price, or the two ends of its price range, and how the pages show it."""
    parts = item.text("pricing", "").split("$")[1:]
    if not item.text("pricing", ""):
        return (DEFAULT_PRICE,), f"${DEFAULT_PRICE}"
    try:
        prices = tuple(float(re.sub(r"[^\d.]", "", part)) for part in parts)
    except ValueError:
        prices = ()
    if not prices:
        shown = item.text("pricing")
        raise item.bad("pricing", f"is {shown!r}, not a price such as '$12.99' or '$5.00 - $9.50'")
    if len(prices) == 1:
        return prices, f"${prices[0]}"
    return prices[:2], f"${prices[0]} to ${prices[1]}"


def read_options(item: Item) -> tuple[dict[str, tuple[str, ...]], dict[str, str | None]]:
    """Return a product's options (name to values) and the pictures of the values."""
    options: dict[str, tuple[str, ...]] = {}
    images: dict[str, str | None] = {}
    for name, contents in item.mapping("customization_options").items():
        field = f"customization_options[{name!r}]"
        if contents is None:
            continue
        if not isinstance(contents, list):
            raise item.bad(field, "is no list of values")
        values = []
        for at, content in enumerate(contents):
            if not isinstance(content, dict) or not isinstance(content.get("value"), str):
                raise item.bad(f"{field}[{at}]", "has no text 'value'")
            values.append(content["value"].strip().replace("/", " | ").lower())
            image = content.get("image")
            if image is not None and not isinstance(image, str):
                raise item.bad(f"{field}[{at}].image", "is no address")
            images[values[-1]] = image
        options[name.lower()] = tuple(values)
    return options, images


def read_human(file: Path) -> dict[str, list[HumanInstruction]]:
    """Return the instructions that people wrote, by asin."""
    instructions: dict[str, list[HumanInstruction]] = {}
    for asin, entries in read_objects(file).items():
        if not isinstance(entries, list):
            raise DataError(f"{file.name}: item {asin} is no list of instructions. Fix the file ({file})")
        items = [Item(entry, file, f"item {asin}[{at}]") for at, entry in enumerate(entries)]
        instructions[asin] = [
            HumanInstruction(
                item.text("instruction"),
                item.texts("instruction_attributes"),
                item.texts("instruction_options"),
            )
            for item in items
        ]
    return instructions


def read_splits(file: Path, asked: set[str]) -> dict[str, tuple[str, ...]]:
    """Return split name to asins, where each asin that has goals (`asked`) is in exactly one split."""
    item = Item(files.read(file), file, "splits")
    splits = {name: item.texts(name) for name in ("train", "validation", "test")}
    named = [asin for asins in splits.values() for asin in asins]
    twice = len(named) != len(set(named))
    missing = sorted(asked - set(named))
    if twice or missing:
        problem = f"leaves out {missing[0]}, which has goals" if missing else "names an asin twice"
        raise DataError(f"{file.name}: {problem}. Each product with a goal belongs to one split ({file})")
    return splits


def read_objects(file: Path) -> Mapping[str, Any]:
    """Return a file that holds one object: asin to entry."""
    content = files.read(file)
    if not isinstance(content, dict):
        raise DataError(f"{file}: holds no object (asin to entry). Fetch the file again")
    return content
