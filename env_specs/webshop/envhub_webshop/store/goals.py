"""The goals of a prepared catalogue: packed in arrays, each built when it is asked for."""

from __future__ import annotations

import json
import math
import random
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from envhub_webshop.goal import Goal, combinations, human_goal, synthetic_goal
from envhub_webshop.goals import ORDER_SEED, HumanInstruction, draw_cap, mean_rarity
from envhub_webshop.product import Product
from envhub_webshop.search.arrays import Array
from envhub_webshop.store.records import Records, RecordWriter, load

# An "ask" is what one price cap is drawn for: a product with an instruction, or an instruction by a person.
# The goals of ask a have the numbers starts[a] to starts[a + 1] - 1 before they are shuffled.
_ARRAYS = ("owners", "starts", "caps", "weights", "order", "cumulative")


class GoalPacker:
    """Takes the products in load order and writes the goals they have."""

    def __init__(self, folder: Path, written: Mapping[str, Sequence[HumanInstruction]] | None) -> None:
        """Begin.

        Args:
            folder: Where the arrays go.
            written: The instructions by people, by asin; None for synthetic goals.
        """
        self._folder = folder
        self._written = written
        self._texts: list[bytes] = []
        self._owners = array("i")
        self._prices = array("d")
        self._counts = array("q")
        self._attributes: dict[str, int] = {}
        self._asked = array("i")
        self._asked_ends = array("q")

    def add(self, number: int, product: Product) -> bool:
        """Take the next product and tell whether it has a goal.

        Args:
            number: Its position in the catalogue.
            product: The product.
        """
        before = len(self._owners)
        if self._written is None:
            if product.instruction is not None:
                self._ask(number, product, combinations(product), product.instruction_attributes)
        else:
            for one in self._written.get(product.asin, ()):
                if one.attributes:
                    self._ask(number, product, 1, ())
                    self._texts.append(json.dumps(one).encode())
        return any(self._counts[before:])

    def finish(self, rng: random.Random) -> tuple[int, tuple[Any, ...]]:
        """Draw the caps, shuffle the goals and write everything.

        Args:
            rng: The generator that drew the prices of all products.

        Returns:
            How many goals there are, and the state of the generator that shuffled them.
        """
        caps = [draw_cap(price, rng) for price in self._prices]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(self._counts, np.int64))])
        order = array("i", range(int(starts[-1])))
        shuffler = random.Random(ORDER_SEED)
        shuffler.shuffle(order)
        ordered = np.array(order, np.int32)
        weights = np.array(list(self._weights()), np.float64)
        of_goals = np.repeat(weights, np.diff(starts))[ordered]
        values: tuple[Array, ...] = (
            np.array(self._owners, np.int32),
            starts,
            np.array([math.nan if cap is None else cap for cap in caps], np.float64),
            weights,
            ordered,
            np.concatenate([np.zeros(1), np.cumsum(of_goals)]),
        )
        for name, value in zip(_ARRAYS, values):
            np.save(self._folder / f"{name}.npy", value)
        if self._written is not None:
            with RecordWriter(self._folder / "written") as records:
                for text in self._texts:
                    records.add(text)
        return len(ordered), shuffler.getstate()

    def _ask(self, number: int, product: Product, count: int, attributes: Sequence[str]) -> None:
        self._owners.append(number)
        self._prices.append(product.price)
        self._counts.append(count)
        known = self._attributes
        self._asked.extend([known.setdefault(attribute, len(known)) for attribute in attributes])
        self._asked_ends.append(len(self._asked))

    def _weights(self) -> Iterator[float]:
        """Yield the weight of each ask's goals: 1 for people's, else by how rare the attributes are."""
        ends = list(self._asked_ends)
        spans = list(zip([0, *ends], ends))
        asked_for = [0] * len(self._attributes)
        for (start, stop), count in zip(spans, self._counts):
            for attribute in self._asked[start:stop]:
                asked_for[attribute] += count
        names = list(self._attributes)
        counts = dict(zip(names, asked_for))
        for (start, stop), count in zip(spans, self._counts):
            asked = [names[attribute] for attribute in self._asked[start:stop]]
            yield mean_rarity(asked, counts) if asked and count else 1.0


class PackedGoals(Sequence[Goal]):
    """All goals of a prepared catalogue, in the shop's order."""

    def __init__(self, folder: Path, product: Callable[[int], Product], written: bool) -> None:
        """Open what `GoalPacker` wrote.

        Args:
            folder: Where it wrote to.
            product: Returns the product at a position of the catalogue.
            written: The goals are those written by people.
        """
        arrays = {name: load(folder / f"{name}.npy") for name in _ARRAYS}
        self.cumulative_weights = arrays.pop("cumulative")
        self._owners, self._starts, self._caps, self._weights, self._order = arrays.values()
        self._product = product
        self._records = Records(folder / "written") if written else None

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> Goal: ...

    @overload
    def __getitem__(self, at: slice) -> list[Goal]: ...

    def __getitem__(self, at: int | slice) -> Goal | list[Goal]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        number = int(self._order[at])
        ask = int(np.searchsorted(self._starts, number, side="right")) - 1
        product = self._product(int(self._owners[ask]))
        cap = float(self._caps[ask])
        cap_or_none = None if math.isnan(cap) else cap
        if self._records is None:
            choice = number - int(self._starts[ask])
            return synthetic_goal(product, choice, cap_or_none, float(self._weights[ask]))
        text, attributes, options = json.loads(self._records[ask])
        return human_goal(product, text, tuple(attributes), tuple(options), cap_or_none)
