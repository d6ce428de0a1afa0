"""The data files of a shop: which ones a folder holds, and their JSON."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from envhub_webshop.errors import DataError

EMBEDDED = Path(__file__).resolve().parent.parent / "data"
"""The catalogue that comes with the environment."""

OFFICIAL = (
    "See the WebShop repository (princeton-nlp/WebShop, setup.sh) for where the official files are, or leave"
    " data_dir empty for the embedded catalogue"
)


class Files(NamedTuple):
    """The files of one catalogue; each may be gzipped (``.json.gz``)."""

    products: Path
    attributes: Path
    human: Path | None
    title_nouns: Path
    splits: Path | None


def find(folder: Path, num_products: int, human_goals: bool, title_nouns: Path | None = None) -> Files:
    """Find the files of a catalogue in a folder.

    Where there are several product files (``items_shuffle.json`` and ``items_shuffle_1000.json``), the one
    named after `num_products` is taken, else the one without a number. The other files are those with the
    same ending, or the only ones of their kind.

    Args:
        folder: The folder.
        num_products: How many products are wanted; 0 for all.
        human_goals: Whether the instructions written by people are wanted.
        title_nouns: The file of title nouns to take where the folder has none.

    Raises:
        DataError: The folder or a file is missing; says which and what to do.
    """
    if not folder.is_dir():
        raise DataError(f"data_dir: there is no folder {folder}. {OFFICIAL}")
    products = _pick(folder, "items_shuffle", ["", f"_{num_products}"] if num_products > 0 else [""])
    if products is None:
        raise DataError(f"{folder}: there is no items_shuffle*.json, the file with the products. {OFFICIAL}")
    ending = _stem(products)[len("items_shuffle") :]
    attributes = _pick(folder, "items_ins_v2", ["", ending])
    if attributes is None:
        raise DataError(f"{folder}: there is no items_ins_v2*.json, the products' attributes. {OFFICIAL}")
    human = _pick(folder, "items_human_ins", ["", ending]) if human_goals else None
    if human_goals and human is None:
        raise DataError(
            f"{folder}: there is no items_human_ins*.json, the instructions written by people. Add it, or"
            " take goals made from the products' own instructions: --no-human-goals where the data is"
            " prepared, --set webshop.human_goals=false where it is served"
        )
    nouns = _pick(folder, "title_nouns", ["", ending]) or title_nouns
    if nouns is None:
        raise DataError(
            f"{folder}: there is no title_nouns.json, the nouns of the product titles, which the reward"
            " compares. Run `envhub data prepare webshop` on this folder and use what it writes as data_dir"
        )
    return Files(products, attributes, human, nouns, _pick(folder, "splits", ["", ending]))


def read(path: Path) -> Any:
    """Return the JSON of a file, gzipped or not.

    Raises:
        DataError: The file can't be read or is no JSON.
    """
    try:
        raw = path.read_bytes()
        return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: can't be read as JSON: {error}. Fetch the file again") from error


def digest(files: Files) -> str:
    """Return ``sha256:`` and the digest over the bytes of all files, in the order of `Files`."""
    total = hashlib.sha256()
    for path in files:
        if path is not None:
            with path.open("rb") as stream:
                for block in iter(lambda: stream.read(1 << 20), b""):
                    total.update(block)
    return f"sha256:{total.hexdigest()}"


def _pick(folder: Path, stem: str, endings: list[str]) -> Path | None:
    """Return the file of a kind with the last of the endings that is there, else the only one there is."""
    found = {_stem(path): path for path in sorted(folder.glob(f"{stem}*.json*")) if _is_json(path)}
    for ending in reversed(endings):
        if stem + ending in found:
            return found[stem + ending]
    if len(found) > 1:
        names = ", ".join(sorted(path.name for path in found.values()))
        raise DataError(f"{folder}: can't tell which to use of {names}. Keep one, or name one {stem}.json")
    return next(iter(found.values()), None)


def _is_json(path: Path) -> bool:
    return path.name.endswith((".json", ".json.gz"))


def _stem(path: Path) -> str:
    return path.name[: -len(".json.gz")] if path.suffix == ".gz" else path.stem
