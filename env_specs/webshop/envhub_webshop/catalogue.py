"""What the environment needs of a catalogue, and the catalogue that lives in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from envhub_webshop.product import Product

if TYPE_CHECKING:
    from envhub_webshop.goal import Goal
    from envhub_webshop.search import SearchIndex


class Sums(Protocol):
    """Numbers by position: a list or an array."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, at: int, /) -> Any:
        """Return the number at a position."""


class Catalogue(Protocol):
    """Products, goals and search of one shop, read-only and shared by all replicas of a worker.

    Attributes:
        name: What the data is called, such as ``embedded``.
        digest: ``sha256:`` and the digest over the data files.
        goals: All goals in the shop's order (shuffled once while loading). Items may be built when asked.
        random_state: The state (``random.Random.getstate()``) of the generator right after it shuffled the
            goals. Faithful mode continues this stream.
        splits: Split name to the asins whose goals belong to it, where the data says so; else None.
    """

    name: str
    digest: str
    goals: Sequence[Goal]
    random_state: tuple[Any, ...]
    splits: Mapping[str, Sequence[str]] | None

    @property
    def cumulative_weights(self) -> Sums:
        """0 and then the running sum of the goals' weights: one entry more than goals."""

    def __len__(self) -> int:
        """Return the number of products."""

    def product(self, index: int) -> Product:
        """Return the product at a position of the load order."""

    def index_of(self, asin: str) -> int | None:
        """Return the position of the product with this asin, or None."""

    def with_category(self, category: str) -> Sequence[int]:
        """Return the positions of all products of a category, in load order."""

    def with_query(self, query: str) -> Sequence[int]:
        """Return the positions of all products collected with a query, in load order."""

    def search(self, keywords: str, k: int = 50) -> Sequence[int]:
        """Return the positions of the `k` best products for the keywords (BM25), best first."""


class MemoryCatalogue:
    """A catalogue of plain Python objects: right up to some ten thousand products."""

    def __init__(
        self,
        name: str,
        digest: str,
        products: Sequence[Product],
        goals: Sequence[Goal],
        random_state: tuple[Any, ...],
        index: SearchIndex,
        splits: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.name = name
        self.digest = digest
        self.goals = goals
        self.random_state = random_state
        self.splits = splits
        self.cumulative_weights = running_sum([goal.weight for goal in goals])
        self._products = list(products)
        self._search = index.search
        self._positions = {product.asin: at for at, product in enumerate(products)}
        self._categories: dict[str, list[int]] = {}
        self._queries: dict[str, list[int]] = {}
        for at, product in enumerate(products):
            self._categories.setdefault(product.category, []).append(at)
            self._queries.setdefault(product.query, []).append(at)

    def __len__(self) -> int:
        return len(self._products)

    def product(self, index: int) -> Product:
        """Return the product at a position of the load order."""
        return self._products[index]

    def index_of(self, asin: str) -> int | None:
        """Return the position of the product with this asin, or None."""
        return self._positions.get(asin)

    def with_category(self, category: str) -> Sequence[int]:
        """Return the positions of all products of a category, in load order."""
        return self._categories.get(category, [])

    def with_query(self, query: str) -> Sequence[int]:
        """Return the positions of all products collected with a query, in load order."""
        return self._queries.get(query, [])

    def search(self, keywords: str, k: int = 50) -> Sequence[int]:
        """Return the positions of the `k` best products for the keywords (BM25), best first."""
        return self._search(keywords, k)


def running_sum(weights: Sequence[float]) -> list[float]:
    """Return 0 and then the sums of the first 1, 2, ... weights."""
    sums = [0.0]
    for weight in weights:
        sums.append(sums[-1] + weight)
    return sums
