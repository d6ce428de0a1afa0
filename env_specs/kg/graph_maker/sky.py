"""Constellations, as Skyfield has their boundaries, and bright stars, as PyEphem has them."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import ephem.stars
from skyfield.api import load_constellation_map, load_constellation_names, position_of_radec
from skyfield.functions import load_bundled_npy

from graph_maker.facts import Entity, Facts

_NAMES = {"Boo": "Boötes"}
_ALIASES = ("Adara", "Agena", "Albereo", "Alcaid", "Sirrah", "Etamin", "Formalhaut", "Gienah Corvi")
"""Second names of stars, and misspelled ones, in PyEphem."""


def add_sky(facts: Facts) -> None:
    """Add the constellations and the stars."""
    names = dict(load_constellation_names())
    constellations = {
        short: facts.entity("astronomy.constellation", short, _NAMES.get(short) or str(names[short]))
        for short in sorted(names)
    }
    _add_boundaries(facts, constellations)
    constellation_at, types, seen = load_constellation_map(), dict[str, Entity](), set[str]()
    for line in ephem.stars.db.splitlines():
        name, kind, ascension, declination, magnitude = _star(line)
        place = f"{ascension} {declination}"
        if name not in _ALIASES and place not in seen:
            seen.add(place)
            star = facts.entity("astronomy.star", name, name)
            home = str(constellation_at(position_of_radec(ascension, declination)))
            facts.link(star, "astronomy.star.constellation", constellations[home])
            if kind not in types:
                types[kind] = facts.entity("astronomy.spectral_type", kind, f"spectral class {kind}")
            facts.link(star, "astronomy.star.spectral_type", types[kind])
            facts.value(star, "astronomy.star.apparent_magnitude", magnitude)
            facts.value(star, "astronomy.star.declination", round(declination, 4))


def _star(line: str) -> tuple[str, str, float, float, float]:
    name, kind, ascension, declination, magnitude = line.split(",")[:5]
    return (
        name,
        kind.split("|")[2][0],
        float(ascension.split("|")[0]),
        float(declination.split("|")[0]),
        float(magnitude),
    )


def _add_boundaries(facts: Facts, constellations: dict[str, Entity]) -> None:
    """Add the areas of constellations, and which of them share a boundary, not a mere corner."""
    arrays: Any = load_bundled_npy("constellations.npz")
    hours = [0.0, *arrays["sorted_ra"].tolist(), 24.0]
    degrees = [-90.0, *arrays["sorted_dec"].tolist(), 90.0]
    grid = arrays["radec_to_index"].tolist()
    short = arrays["indexed_abbreviations"].tolist()
    areas: dict[str, float] = defaultdict(float)
    borders = set()
    columns = [i for i in range(len(hours) - 1) if hours[i + 1] > hours[i]]
    rows = [j for j in range(len(degrees) - 1) if degrees[j + 1] > degrees[j]]
    for n, i in enumerate(columns):
        for m, j in enumerate(rows):
            here = short[grid[i][j]]
            height = math.sin(math.radians(degrees[j + 1])) - math.sin(math.radians(degrees[j]))
            areas[here] += math.degrees((hours[i + 1] - hours[i]) * 15 * height)
            borders.add(frozenset((here, short[grid[columns[n - 1]][j]])))
            if m:
                borders.add(frozenset((here, short[grid[i][rows[m - 1]]])))
    for name, constellation in constellations.items():
        facts.value(constellation, "astronomy.constellation.abbreviation", name)
        facts.value(constellation, "astronomy.constellation.area", round(areas[name], 1))
    for border in borders:
        if len(border) == 2:
            one, other = sorted(border)
            relation = "astronomy.constellation.bordering_constellations"
            facts.link(constellations[one], relation, constellations[other])
