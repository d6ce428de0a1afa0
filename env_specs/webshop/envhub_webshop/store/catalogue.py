"""The catalogue over a prepared folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from envhub_webshop.goal import Goal
from envhub_webshop.product import Product
from envhub_webshop.search import SearchIndex
from envhub_webshop.store.goals import PackedGoals
from envhub_webshop.store.manifest import read_manifest
from envhub_webshop.store.records import Groups, Records

_CACHED_PRODUCTS = 1024
_FIELDS = [field.name for field in fields(Product)]


class StoredCatalogue:
    """A catalogue of any size: opening reads next to nothing, products and goals are built when asked for.

    It implements `Catalogue` and says what it was prepared with.

    Attributes:
        human_goals: The goals are those written by people.
        seed: The seed of prices and price caps.
        num_products: How many entries of the product file were read; 0 for all.
    """

    def __init__(self, folder: Path) -> None:
        """Open a prepared folder.

        Raises:
            DataError: The folder is not prepared or not complete.
        """
        manifest = read_manifest(folder)
        self.name: str = manifest["name"]
        self.digest: str = manifest["digest"]
        self.human_goals: bool = manifest["human_goals"]
        self.seed: int = manifest["seed"]
        self.num_products: int = manifest["num_products"]
        self.splits: Mapping[str, Sequence[str]] | None = manifest["splits"]
        version, internal, gauss = manifest["random_state"]
        self.random_state: tuple[Any, ...] = (version, tuple(internal), gauss)
        self._products = Records(folder / "products")
        self._asins = Groups(folder / "asins")
        self._categories = Groups(folder / "categories")
        self._queries = Groups(folder / "queries")
        self._index = SearchIndex.open(folder / "index")
        self.product = lru_cache(maxsize=_CACHED_PRODUCTS)(self._product)
        goals = PackedGoals(folder / "goals", self.product, self.human_goals)
        self.goals: Sequence[Goal] = goals
        self.cumulative_weights = goals.cumulative_weights

    def __len__(self) -> int:
        return len(self._products)

    def index_of(self, asin: str) -> int | None:
        """Return the position of the product with this asin, or None."""
        return next(iter(self._asins.members(asin)), None)

    def with_category(self, category: str) -> Sequence[int]:
        """Return the positions of all products of a category, in load order."""
        return self._categories.members(category)

    def with_query(self, query: str) -> Sequence[int]:
        """Return the positions of all products collected with a query, in load order."""
        return self._queries.members(query)

    def search(self, keywords: str, k: int = 50) -> Sequence[int]:
        """Return the positions of the `k` best products for the keywords (BM25), best first."""
        return self._index.search(keywords, k)

    def _product(self, index: int) -> Product:
        """Return the product at a position of the load order."""
        return decode_product(self._products[index])


def encode_product(product: Product) -> bytes:
    """Return a product as bytes, for `decode_product`."""
    return json.dumps([getattr(product, name) for name in _FIELDS], ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def decode_product(record: bytes) -> Product:
    """Return the product that `encode_product` made bytes of."""
    values = json.loads(record.decode("utf-8", "surrogatepass"))
    return Product(*[_frozen(value) for value in values])


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return {name: _frozen(entry) for name, entry in value.items()}
    return value
