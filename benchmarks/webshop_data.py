"""Makes WebShop data of any size, in the official format, with the word statistics of product pages.

Every product has a type (such as "women's dresses") with words of its own; titles and descriptions mix those
with a vocabulary in which the word of rank r has a share of about 1/r; options repeat the words `size`,
`color` and the colours in about half of all products. Means per product, with those of 200 real ones in
brackets: 94 (114) indexed words, 86 (70) different ones, 5.4 (6.4) synthetic goals. The same size and seed
give the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from string import capwords
from typing import Any

import numpy as np

_CHUNK = 2_000
_VOCABULARY = 300_000
_STOP_SHARE = 0.3
_LEVEL = " \u203a "

_STOP = (
    "a an and are as at be by for if in into is it no not of on or that the their these they this to with"
).split()
_COMMON = (
    "your you us design high can make easy style from quality up product all include inch set our home"
    " any long have more light material pack top perfect when time day feature made comfortable soft need"
    " room provide allow look please order only will package one use keep size water color great fit which"
    " also other free love gift wear body enjoy premium best natural time durable help clean good work"
    " support people every protect"
).split()
_COLORS = (
    "black white blue red green pink grey navy purple yellow brown beige gold silver orange wine khaki"
    " army-green light-blue dark-grey rose royal-blue multicolor coffee teal"
).split()
_SIZES = (
    "small medium large x-large xx-large 3x-large 4x-large x-small one-size 8 9 10 11 12 7.5 8.5 9.5".split()
)
_HOLDERS = ["women's", "men's", "girls'", "boys'", "", "", "", "", "", ""]
_KINDS = (
    "dresses shirts pants shoes sneakers boots sandals jackets coats sweaters hoodies shorts jeans skirts"
    " socks lamps tables chairs sofas desks beds mattresses cabinets shelves rugs curtains pillows"
    " blankets ottomans headphones speakers cameras tablets phones cables chargers monitors keyboards"
    " televisions projectors shampoo conditioner lotions serums lipsticks brushes razors perfumes"
    " toothbrushes masks oils wigs snacks cookies coffee tea sauces candies nuts chips cereals pastas"
    " juices spices chocolates"
).split()
_MANNERS = "casual outdoor modern vintage compact portable professional classic luxury kids".split()
_ATTRIBUTES = [
    f"{first} {second}"
    for first in "machine hand long short easy high non fast gluten sugar stainless solid memory".split()
    for second in "wash sleeve clean quality slip charging free steel wood foam sole lasting".split()
]
_CATEGORIES = ["fashion", "garden", "electronics", "beauty", "grocery"]
_SYLLABLES = [first + second for first in "bcdfghjklmnprstvz" for second in "aeiou"]


class ProductMaker:
    """Makes products in chunks; a chunk depends on the seed and its number only."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._seed = seed
        kinds = [f"{manner} {kind}" for manner in ("", *_MANNERS) for kind in _KINDS]
        self.types = [f"{_HOLDERS[at % len(_HOLDERS)]} {kind}".strip() for at, kind in enumerate(kinds)]
        self.types = [" ".join(name.split()) for name in self.types]
        self._type_shares = _falling(len(self.types), 0.6)
        self._vocabulary = np.array(_COMMON + [_word(at) for at in range(_VOCABULARY - len(_COMMON))], object)
        self._word_sums = np.cumsum(_falling(_VOCABULARY, 1.0, offset=20))
        self._own_words = rng.integers(500, 30_000, (len(self.types), 60))
        self._stop = np.array(_STOP, object)

    def products(self, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[str]]]:
        """Yield entries of the product file, of the attribute file, and title nouns."""
        for number in range((count + _CHUNK - 1) // _CHUNK):
            rng = np.random.default_rng([self._seed, number])
            first = number * _CHUNK
            yield from self._chunk(rng, first, min(_CHUNK, count - first))

    def _chunk(
        self, rng: np.random.Generator, first: int, count: int
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[str]]]:
        types = rng.choice(len(self.types), count, p=self._type_shares)
        lengths = np.clip(rng.lognormal(4.2, 0.9, count).astype(int), 8, 400)
        words = self._words(rng, int(lengths.sum()))
        ends = np.cumsum(lengths)
        for at in range(count):
            kind = int(types[at])
            text = words[ends[at] - lengths[at] : ends[at]]
            yield self._product(rng, f"B{first + at:09d}", kind, text)

    def _words(self, rng: np.random.Generator, count: int) -> list[str]:
        words = self._vocabulary[np.searchsorted(self._word_sums, rng.random(count) * self._word_sums[-1])]
        stop = rng.random(count) < _STOP_SHARE
        words[stop] = self._stop[rng.integers(0, len(self._stop), int(stop.sum()))]
        return list(words)

    def _product(
        self, rng: np.random.Generator, asin: str, kind: int, words: list[str]
    ) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        dice = rng.random(12)
        name = self.types[kind]
        own = self._vocabulary[self._own_words[kind, rng.integers(0, 60, 10)]].tolist()
        title = [words[0], *own[:3], name, *words[1:3], *own[3:5]]
        description = [*words[: len(words) * 2 // 3], *own[5:], name]
        options: dict[str, list[dict[str, str]]] = {}
        if dice[0] < 0.42:
            options["color"] = _values(_COLORS, dice[1], 15)
        if dice[2] < 0.46:
            options["size"] = _values(_SIZES, dice[3], 11)
        asked = [_ATTRIBUTES[at] for at in rng.integers(0, len(_ATTRIBUTES), 1 + int(dice[4] * 5)).tolist()]
        low = round(4 + float(dice[5]) ** 3 * 300, 2)
        category = _CATEGORIES[kind % len(_CATEGORIES)]
        product = {
            "name": capwords(" ".join(title)),
            "full_description": " ".join(description) + ".",
            "pricing": f"${low} - ${low + 7.5}" if dice[6] < 0.09 else f"${low}",
            "images": [f"https://example.invalid/{asin}.jpg"],
            "product_category": _LEVEL.join(map(capwords, (category, name.split()[-1], name))),
            "average_rating": "",
            "small_description": [" ".join([*words[len(words) * 2 // 3 :], *asked[1:3]]), " ".join(own)],
            "customization_options": options,
            "asin": asin,
            "category": category,
            "query": name,
            "page": 1,
        }
        attributes: dict[str, Any] = {"attributes": asked}
        if dice[7] < 0.44:
            attributes["instruction"] = f"Find me {asked[0]} {name} with {', '.join(asked[1:]) or own[0]}"
            attributes["instruction_attributes"] = asked
        return product, attributes, [word.lower() for word in (*own[:3], *name.split(), *own[3:5])]


def write(folder: Path, count: int, seed: int = 0) -> None:
    """Write the product, attribute and title-noun files of `count` products."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder / "items_shuffle.json").open("w") as items,
        (folder / "items_ins_v2.json").open("w") as instructions,
        (folder / "title_nouns.json").open("w") as nouns,
    ):
        before = ("[", "{", "{")
        for product, attributes, found in ProductMaker(seed).products(count):
            items.write(before[0] + json.dumps(product))
            instructions.write(f'{before[1]}"{product["asin"]}": {json.dumps(attributes)}')
            nouns.write(f'{before[2]}"{product["asin"]}": {json.dumps(found)}')
            before = (", ", ", ", ", ")
        items.write("]")
        instructions.write("}")
        nouns.write("}")


def _values(names: list[str], die: float, most: int) -> list[dict[str, str]]:
    """Return some neighbouring values of an option."""
    count = 1 + int(die * 1000) % most
    start = int(die * 1_000_000) % len(names)
    return [{"value": names[(start + at) % len(names)].replace("-", " ")} for at in range(count)]


def _falling(count: int, power: float, offset: int = 1) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return shares that fall with the rank."""
    shares = 1.0 / (np.arange(count) + offset) ** power
    return shares / shares.sum()


def _word(number: int) -> str:
    """Return a made-up word, another one for each number."""
    letters = ""
    number += len(_SYLLABLES)
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        letters += _SYLLABLES[digit]
    return letters
