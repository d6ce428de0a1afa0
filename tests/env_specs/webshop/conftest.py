"""Puts the WebShop spec's folder on the path, as a worker does, and makes small shops."""

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "env_specs" / "webshop"))

from envhub_webshop import WebShopEnv
from envhub_webshop.catalogue import MemoryCatalogue
from envhub_webshop.loader import load

Rows = Callable[[str], list[dict[str, Any]]]
MakeShop = Callable[..., Path]
MakeEnv = Callable[..., WebShopEnv]


def item(asin: str, **fields: Any) -> dict[str, Any]:
    """A product as the official files have it; `options` is name to values."""
    entry = {
        "asin": asin,
        "name": f"Plain Lamp {asin}",
        "full_description": "A lamp for the desk.",
        "small_description": ["Warm light ", "Steel foot "],
        "pricing": "$12.50",
        "customization_options": "",
        "images": ["https://pictures.example/lamp.jpg"],
        "category": "garden",
        "query": "Desk Lamps ",
        "product_category": "Home \u203a Lamps \u203a Desk Lamps",
    }
    options = fields.pop("options", None)
    if options is not None:
        entry["customization_options"] = {
            name: [{"value": value} for value in values] for name, values in options.items()
        }
    return {**entry, **fields}


def write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def make_shop(tmp_path: Path) -> MakeShop:
    """Writes a data folder: products, and by asin their instruction entries, human instructions and nouns."""

    def make(
        products: list[dict[str, Any]],
        *,
        instructions: dict[str, Any] | None = None,
        human: dict[str, Any] | None = None,
        nouns: dict[str, list[str]] | None = None,
        splits: dict[str, list[str]] | None = None,
    ) -> Path:
        entries = {
            entry["asin"]: {
                "attributes": ["warm light", "steel foot"],
                "instruction": "Find me a desk lamp with warm light",
                "instruction_attributes": ["warm light"],
            }
            for entry in products
        }
        titles = {entry["asin"]: ["lamp", entry["asin"].lower()] for entry in products}
        write(tmp_path / "items_shuffle.json", products)
        write(tmp_path / "items_ins_v2.json", {**entries, **(instructions or {})})
        write(tmp_path / "title_nouns.json", {**titles, **(nouns or {})})
        if human is not None:
            write(tmp_path / "items_human_ins.json", human)
        if splits is not None:
            write(tmp_path / "splits.json", splits)
        return tmp_path

    return make


@pytest.fixture
def make_env(make_shop: MakeShop) -> MakeEnv:
    """Makes an environment over a small shop of synthetic goals; keywords are the environment's."""

    def make(products: list[dict[str, Any]], **config: Any) -> WebShopEnv:
        data = {key: config.pop(key) for key in ("instructions", "human", "nouns", "splits") if key in config}
        folder = make_shop(products, **data)
        return WebShopEnv(data_dir=str(folder), human_goals="human" in data, **config)

    return make


@pytest.fixture(scope="session")
def rows(shared_data: Path) -> Rows:
    """Reads a golden file, without its header."""

    def read(name: str) -> list[dict[str, Any]]:
        path = shared_data / "webshop" / name
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines][1:]

    return read


@pytest.fixture(scope="session")
def golden_folder(shared_data: Path, rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the 200 golden products and their recorded title nouns."""
    folder = tmp_path_factory.mktemp("golden")
    for path in (shared_data / "webshop").glob("items_*_200.json"):
        (folder / path.name).symlink_to(path)
    write(folder / "title_nouns.json", {row["asin"]: row["title_nouns"] for row in rows("products.jsonl")})
    return folder


@pytest.fixture(scope="session")
def synthetic(golden_folder: Path) -> MemoryCatalogue:
    """The golden products with synthetic goals."""
    return load(golden_folder, name="golden", human=False, seed=0)


@pytest.fixture(scope="session")
def human(golden_folder: Path) -> MemoryCatalogue:
    """The golden products with goals written by people."""
    return load(golden_folder, name="golden", human=True, seed=0)
