"""Writes a prepared folder from files in the official format."""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from envhub_webshop import files
from envhub_webshop.errors import DataError
from envhub_webshop.loader import ProductReader, read_human, read_splits
from envhub_webshop.product import Product
from envhub_webshop.search import IndexBuilder
from envhub_webshop.search.texts import encode
from envhub_webshop.store.catalogue import encode_product
from envhub_webshop.store.goals import GoalPacker
from envhub_webshop.store.manifest import is_prepared, write_manifest
from envhub_webshop.store.records import RecordWriter, save_groups
from envhub_webshop.store.stream import StoredMapping, array_entries, named_entries, object_entries

Progress = Callable[[str, int, int], None]
"""Called with the stage, how much of it is done, and how much there is."""


_OWN = re.compile(
    r"index|goals|entries-.*|manifest\.json\.part|title_nouns\.jsonl"
    r"|products\.(bin|npy)|(asins|categories|queries)_[a-z]+\.npy"
)


def prepare(
    found: files.Files,
    out: Path,
    *,
    name: str,
    seed: int = 0,
    num_products: int = 0,
    nouns_from: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a catalogue as a folder for `store.open`, in memory that does not grow with the texts.

    Products are read one at a time. What stays in memory is some hundred bytes a product, the vocabulary, and
    a part of the postings. The manifest is written last: a folder that was left half-written has none, and is
    begun anew.

    Args:
        found: The files; with `found.human`, the goals are those written by people.
        out: The folder to write.
        name: What to call the data.
        seed: Seeds the prices of products with a price range and the price caps of the goals.
        num_products: Read the first so many entries of the product file; 0 reads all.
        nouns_from: What made the title nouns, for the manifest.
        progress: Told about the stages ``attributes``, ``products`` (in bytes), ``index``, ``goals`` and
            ``digests``.

    Raises:
        DataError: A file is missing or wrong, or the folder holds a prepared catalogue already.
    """
    report: Progress = progress or (lambda stage, done, total: None)
    begin_folder(out)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="entries-", dir=out) as scratch:
        report("attributes", 0, 2)
        attributes = StoredMapping(Path(scratch), "attributes", object_entries(found.attributes))
        report("attributes", 1, 2)
        nouns = StoredMapping(Path(scratch), "nouns", named_entries(found.title_nouns))
        report("attributes", 2, 2)
        reader = ProductReader(found, synthetic=found.human is None, attributes=attributes, title_nouns=nouns)
        entries = array_entries(found.products, lambda done, total: report("products", done, total))
        products = reader.products(islice(entries, num_products or None), rng)
        written = None if found.human is None else read_human(found.human)
        packer = GoalPacker(_folder(out / "goals"), written)
        asked = _write_products(products, out, packer, report)
    report("goals", 0, 1)
    goals, state = packer.finish(rng)
    if not goals:
        raise DataError(f"{found.products.parent}: no product has an instruction, so there is no goal")
    splits = None if found.splits is None else read_splits(found.splits, asked)
    report("goals", 1, 1)
    manifest = {
        "name": name,
        "digest": files.digest(found),
        "human_goals": found.human is not None,
        "seed": seed,
        "num_products": num_products,
        "goals": goals,
        "title_nouns": nouns_from,
        "splits": splits,
        "random_state": state,
    }
    write_manifest(out, manifest, lambda done, total: report("digests", done, total))


def begin_folder(out: Path) -> None:
    """Make the folder, or take one in which `prepare` was broken off.

    Raises:
        DataError: It holds a prepared catalogue, or files of another kind.
    """
    if is_prepared(out):
        raise DataError(f"{out}: holds a prepared catalogue already. Delete it, or choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    for path in out.iterdir():
        if not _OWN.fullmatch(path.name):
            raise DataError(
                f"{out}: holds {path.name}, which is no part of a prepared catalogue. Choose a new folder"
            )
        if path.is_dir():
            shutil.rmtree(path)


def _write_products(products: Iterator[Product], out: Path, packer: GoalPacker, report: Progress) -> set[str]:
    """Write products, look-up tables and index; return the asins that have goals."""
    builder = IndexBuilder(_folder(out / "index"))
    asins: list[str] = []
    categories: list[bytes] = []
    queries: list[bytes] = []
    asked: set[str] = set()
    with RecordWriter(out / "products") as records:
        for number, product in enumerate(products):
            records.add(encode_product(product))
            builder.add(product.search_contents())
            asins.append(product.asin)
            categories.append(encode(product.category))
            queries.append(encode(product.query))
            if packer.add(number, product):
                asked.add(product.asin)
    if not asins:
        raise DataError("the product file holds no product. Fetch the file again")
    report("index", 0, 2)
    builder.finish(asins)
    report("index", 1, 2)
    save_groups(out / "asins", map(encode, asins))
    save_groups(out / "categories", categories)
    save_groups(out / "queries", queries)
    report("index", 2, 2)
    return asked


def _folder(path: Path) -> Path:
    """Make an empty folder, whatever a prepare that was broken off left there."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path
