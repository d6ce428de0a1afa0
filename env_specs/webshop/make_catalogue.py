"""Make the shop's embedded catalogue, in the format of the official WebShop data files.

    python make_catalogue.py            # write data/
    python make_catalogue.py --check    # verify that data/ holds exactly what this program makes

The words come from ``data/words``; the rest is one seeded generator. Nothing is taken from any other shop.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from catalogue_maker.instructions import Phrasebook
from catalogue_maker.nouns import title_nouns
from catalogue_maker.products import ID_LETTERS, Draft, draw_family, record, title_of
from catalogue_maker.words import Feature, Kind, read_kinds

FOLDER = Path(__file__).resolve().parent
SEED = 20260407
PRODUCTS_PER_KIND = 28
FAMILY_SIZES = (1, 2, 3, 3, 4, 5)
HELD_OUT_PRODUCTS = 4
"""The least number of products of each kind in the validation split, and in the test split."""
SPLITS = ("train", "validation", "test")


def make_files(words: Path) -> dict[str, bytes]:
    """Return the content of every data file, by name; compressed files by their uncompressed content."""
    phrasebook = Phrasebook(json.loads((words / "phrases.json").read_text(encoding="utf-8")))
    shelf = Shelf(phrasebook)
    for kind in read_kinds(words):
        shelf.stock(kind)
    return {name: as_json(value) for name, value in shelf.files().items()}


def as_json(value: Any) -> bytes:
    """Return a JSON text with one product a line."""
    if isinstance(value, list):
        rows = [json.dumps(row, ensure_ascii=False) for row in value]
        return ("[\n" + ",\n".join(rows) + "\n]\n").encode()
    rows = [f"{json.dumps(key)}: {json.dumps(row, ensure_ascii=False)}" for key, row in value.items()]
    return ("{\n" + ",\n".join(rows) + "\n}\n").encode()


class Shelf:
    """Collects products, their attributes, instructions and splits."""

    def __init__(self, phrasebook: Phrasebook) -> None:
        self._rng = Random(SEED)
        self._phrasebook = phrasebook
        self._titles: set[str] = set()
        self._texts: set[str] = set()
        self._products: list[dict[str, Any]] = []
        self._attributes: dict[str, dict[str, Any]] = {}
        self._requests: dict[str, list[dict[str, Any]]] = {}
        self._splits: dict[str, list[str]] = {split: [] for split in SPLITS}

    def stock(self, kind: Kind) -> None:
        """Add the products of a kind; a family of near-duplicates never spans two splits."""
        rng, number = self._rng, 0
        held_out = {"validation": 0, "test": 0}
        family = rng.randrange(len(kind.brands))
        while number < PRODUCTS_PER_KIND:
            size = min(rng.choice(FAMILY_SIZES), PRODUCTS_PER_KIND - number)
            split = next((name for name, count in held_out.items() if count < HELD_OUT_PRODUCTS), "train")
            for draft in draw_family(kind, family, size, self._phrasebook.lines, rng):
                self._add(draft, split)
            if split in held_out:
                held_out[split] += size
            number += size
            family += 1

    def files(self) -> dict[str, Any]:
        """Return the content of each data file; products are in random order."""
        order = self._rng.sample(self._products, len(self._products))
        asins = [product["asin"] for product in order]
        place = {asin: position for position, asin in enumerate(asins)}
        return {
            "items_shuffle.json.gz": order,
            "items_ins_v2.json.gz": {asin: self._attributes[asin] for asin in asins},
            "items_human_ins.json.gz": {asin: self._requests[asin] for asin in asins},
            "title_nouns.json.gz": {product["asin"]: title_nouns(product["name"]) for product in order},
            "splits.json": {name: sorted(part, key=place.__getitem__) for name, part in self._splits.items()},
        }

    def _add(self, draft: Draft, split: str) -> None:
        rng, upper = self._rng, self._phrasebook.upper
        title = title_of(draft, upper, rng)
        while title in self._titles:
            title = title_of(draft, upper, rng) + f", {rng.choice(draft.kind.details)}"
        asin = "E0" + "".join(rng.choice(ID_LETTERS) for _ in range(8))
        while asin in self._attributes:
            asin = "E0" + "".join(rng.choice(ID_LETTERS) for _ in range(8))
        self._titles.add(title)
        self._products.append(record(draft, asin, title, upper, rng))
        names = [feature.name for feature in draft.features]
        asked = sorted(rng.sample(names, min(2, len(names))), key=names.index)
        self._attributes[asin] = {
            "attributes": names,
            "instruction": f"Find me {draft.kind.query} with {', '.join(asked)}",
            "instruction_attributes": asked,
        }
        count = 2 if split == "train" and rng.random() < 0.25 else 1
        self._requests[asin] = [self._request(draft, asin, number) for number in range(count)]
        self._splits[split].append(asin)

    def _request(self, draft: Draft, asin: str, number: int) -> dict[str, Any]:
        rng = self._rng
        text = ""
        while not text or text in self._texts:
            wanted = self._wanted(draft)
            names = [name for name in draft.options if rng.random() < 0.75]
            if draft.options and not names and rng.random() < 0.8:
                names = [rng.choice(list(draft.options))]
            chosen = {name: rng.choice(draft.options[name]) for name in names}
            text = self._phrasebook.instruction(draft, wanted, chosen, rng)
        self._texts.add(text)
        return {
            "asin": asin,
            "instruction": text,
            "attributes": [feature.name for feature in draft.features],
            "options": [f"{name}: {value}" for name, value in chosen.items()],
            "instruction_attributes": [feature.name for feature in wanted],
            "instruction_options": list(chosen.values()),
            "assignment_id": f"{asin}-{number}",
            "worker_id": "make_catalogue",
        }

    def _wanted(self, draft: Draft) -> list[Feature]:
        count = self._rng.choice((1, 1, 2, 2, 2, 3, 3))
        return self._rng.sample(draft.features, min(count, len(draft.features)))


def read(path: Path) -> bytes | None:
    """Return a committed file's content, uncompressed; None when there is no such file."""
    if not path.exists():
        return None
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the data files; returns the exit status."""
    parser = argparse.ArgumentParser(description="Make the embedded catalogue of the shop.")
    parser.add_argument("--check", action="store_true", help="verify data/ instead of writing it")
    check = parser.parse_args(arguments).check
    data = FOLDER / "data"
    files = make_files(data / "words")
    for name, content in files.items():
        if not check:
            packed = gzip.compress(content, compresslevel=9, mtime=0) if name.endswith(".gz") else content
            (data / name).write_bytes(packed)
        elif read(data / name) != content:
            problem = "is not what make_catalogue.py makes: run it without --check"
            print(f"{data / name} {problem}", file=sys.stderr)
            return 1
    print(f"{'checked' if check else 'wrote'} {len(files)} files in {data}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
