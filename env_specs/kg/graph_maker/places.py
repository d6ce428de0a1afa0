"""Cities, airports, time zones and capitals."""

from __future__ import annotations

import math
import re
import unicodedata
import zoneinfo
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from graph_maker.facts import Entity, Facts
from graph_maker.sources import airports, folder, geonames

LEAST_PEOPLE = 100_000
"""A city of fewer people is in the graph only if it is a capital."""
YEAR = 2026
"""Year of the offsets of time zones."""

_NO_AIRPORT = re.compile(r"under construction|\b(Nas|Ns|Mcas|Jrb|Joint Base)\b")
"""Those that aren't there yet, and some of the US forces, whose names are mangled."""
_AIRPORT_KM = 80
"""How far from its city an airport may be."""
_CAPITALS = {
    "AD": "Andorra la Vella",
    "BR": "Brasília",
    "FM": "Palikir",
    "GQ": None,
    "IL": None,
    "LK": "Sri Jayewardenepura Kotte",
    "PS": None,
    "PW": "Ngerulmud",
}
"""Where GeoNames' two files differ; None: disputed, or moving."""
_PEOPLE = {
    ("GH", "Kumasi"): None,
    ("KE", "Kakamega"): None,
    ("KH", "Takeo"): None,
    ("KW", "Al Aḩmadī"): None,
    ("MA", "Rabat"): None,
    ("NL", "Rotterdam"): 655_468,
    ("SD", "Khartoum"): None,
    ("SY", "Aleppo"): None,
}
"""Where GeoNames counts the people of a whole county, or of before a war."""
_LABELS = {
    "Chisinau": "Chișinău",
    "Köln": "Cologne",
    "Male": "Malé",
    "Nay Pyi Taw": "Naypyidaw",
    "Ulan Bator": "Ulaanbaatar",
    "Washington": "Washington, D.C.",
}
_ONE_OFFSET = {"Africa/Casablanca": 1.0, "Africa/El_Aaiun": 1.0}
"""Zones that leave their offset in Ramadan alone."""
_FAMOUS = 5
"""A city so many times larger than the next of its name has the bare name."""


class Places:
    """Adds places that lie in countries.

    Args:
        facts: Where to.
        countries: By ISO code.
        states: States of the US, by postal code.
    """

    def __init__(self, facts: Facts, countries: Mapping[str, Entity], states: Mapping[str, Entity]) -> None:
        self._facts, self._countries, self._states = facts, countries, states
        self._zones: dict[str, Entity] = {}
        self._cities: dict[str, list[tuple[Entity, Mapping[str, Any]]]] = defaultdict(list)

    def add_time_zones(self) -> None:
        """Add the time zones of tzdata, and which countries they are in."""
        zoneinfo.reset_tzpath(to=())
        table = (folder("tzdata") / "zoneinfo" / "zone.tab").read_text(encoding="utf-8")
        for line in table.splitlines():
            if not line.startswith("#"):
                code, _, name = line.split("\t")[:3]
                if code in self._countries:
                    self._facts.link(self._countries[code], "location.country.time_zones", self._zone(name))

    def _zone(self, name: str) -> Entity:
        if name not in self._zones:
            zone = self._zones[name] = self._facts.entity("time.time_zone", name, name)
            days = [datetime(YEAR, month, 1, tzinfo=zoneinfo.ZoneInfo(name)) for month in range(1, 13)]
            offsets = sorted({(day.utcoffset() or timedelta()) / timedelta(hours=1) for day in days})
            if name in _ONE_OFFSET:
                offsets = [_ONE_OFFSET[name]]
            self._facts.value(zone, "time.time_zone.offset_from_uct", offsets[0])
            if len(offsets) > 1:
                self._facts.value(zone, "time.time_zone.dst_offset_from_utc", offsets[-1])
        return self._zones[name]

    def add_cities(self) -> None:
        """Add cities and capitals. Of cities with one name in one country, the largest."""
        rows = [row for row in geonames("cities500").values() if row["countrycode"] in self._countries]
        capitals = self._find_capitals(rows)
        chosen = list(capitals.values())
        chosen += _without_parts(row for row in rows if row["population"] >= LEAST_PEOPLE)
        unique: dict[tuple[str, str], Mapping[str, Any]] = {}
        for row in chosen:
            state = row["admin1code"] if row["countrycode"] == "US" else ""
            unique.setdefault((row["name"], row["countrycode"] + state), row)
        same: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in unique.values():
            same[row["name"]].append(row)
        for row in unique.values():
            others = [other["population"] for other in same[row["name"]] if other is not row]
            self._add_city(row, bool(others) and row["population"] < _FAMOUS * max(others))
        for code, row in capitals.items():
            city = next(city for city, other in self._cities[code] if other is row)
            self._facts.link(self._countries[code], "location.country.capital", city)

    def _find_capitals(self, rows: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        countries, found = geonames("countries"), {}
        for code in self._countries:
            name = _CAPITALS.get(code, countries[code]["capital"])
            if name is not None:
                same = [
                    row
                    for row in rows
                    if row["countrycode"] == code
                    and _bare(name) in {_bare(other) for other in (row["name"], *row["alternatenames"])}
                ]
                if not same:
                    raise ValueError(f"no city {name} in {code}")
                exact = [row for row in same if _bare(row["name"]) == _bare(name)]
                found[code] = max(exact or same, key=lambda row: row["population"])
        return found

    def _add_city(self, row: Mapping[str, Any], shared: bool) -> None:
        code, facts = row["countrycode"], self._facts
        country, state = self._countries[code], self._states.get(row["admin1code"]) if code == "US" else None
        label = _LABELS.get(row["name"], row["name"])
        if state and label == row["name"]:
            label = f"{label}, {state.label}"
        elif shared:
            label = f"{label} ({country.label})"
        city = facts.entity("location.citytown", str(row["geonameid"]), label)
        self._cities[code].append((city, row))
        facts.link(country, "location.country.cities", city)
        if state:
            facts.link(state, "location.us_state.cities", city)
        people = _PEOPLE.get((code, row["name"]), row["population"])
        facts.value(city, "location.citytown.population", people or None)
        facts.value(city, "location.citytown.latitude", round(row["latitude"], 4))
        facts.value(city, "location.citytown.longitude", round(row["longitude"], 4))
        facts.link(city, "location.citytown.time_zone", self._zone(row["timezone"]))

    def add_airports(self) -> None:
        """Add the airports with an IATA code that serve a city of the graph."""
        found = []
        for row in airports():
            known = row["iata"] and row["icao"] and row["tz"] and not _NO_AIRPORT.search(row["name"])
            if known and row["country"] in self._countries:
                city = self._city_of(row)
                if city is not None:
                    found.append((row, city))
        names = [row["name"] for row, _ in found]
        for row, city in found:
            shared = names.count(row["name"]) > 1
            self._add_airport(row, city, f"{row['name']} ({row['iata']})" if shared else row["name"])

    def _city_of(self, row: Mapping[str, str]) -> Entity | None:
        near = [
            (distance, city)
            for city, other in self._cities[row["country"]]
            if (distance := _kilometres(row["lat"], row["lon"], other)) <= _AIRPORT_KM
            and _bare(row["city"]) in {_bare(name) for name in (other["name"], *other["alternatenames"])}
        ]
        return min(near)[1] if near else None

    def _add_airport(self, row: Mapping[str, str], city: Entity, label: str) -> None:
        facts = self._facts
        airport = facts.entity("aviation.airport", row["icao"], label)
        facts.link(self._countries[row["country"]], "location.country.airports", airport)
        facts.link(city, "location.location.nearby_airports", airport)
        facts.link(airport, "aviation.airport.time_zone", self._zone(row["tz"]))
        for state in self._states.values() if row["country"] == "US" else ():
            if state.label == row["subd"]:
                facts.link(state, "location.us_state.airports", airport)
        facts.value(airport, "aviation.airport.iata", row["iata"])
        facts.value(airport, "aviation.airport.icao", row["icao"])
        elevation = round(float(row["elevation"]))
        facts.value(airport, "aviation.airport.elevation", elevation or None)  # 0 stands for unknown
        facts.value(airport, "aviation.airport.latitude", round(float(row["lat"]), 4))
        facts.value(airport, "aviation.airport.longitude", round(float(row["lon"]), 4))


def _without_parts(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows, largest first, without those in or at a larger city of their country or US state."""
    kept: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    chosen = []
    for row in sorted(rows, key=lambda row: (-row["population"], row["geonameid"])):
        home = row["countrycode"]
        if home == "US":
            home += row["admin1code"]
        if not any(
            _kilometres(row["latitude"], row["longitude"], other)
            < (35 if other["population"] > 3_000_000 else 20)
            for other in kept[home]
        ):
            kept[home].append(row)
            chosen.append(row)
    return chosen


def _kilometres(latitude: str | float, longitude: str | float, other: Mapping[str, Any]) -> float:
    """Return a distance, on a sphere; its chord is close enough."""

    def vector(degrees_north: float, degrees_east: float) -> tuple[float, float, float]:
        north, east = math.radians(degrees_north), math.radians(degrees_east)
        return math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)

    here, there = (
        vector(float(latitude), float(longitude)),
        vector(other["latitude"], other["longitude"]),
    )
    return 6371 * math.dist(here, there)


def _bare(name: str) -> str:
    """Return a name without case, accents and signs."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in decomposed if letter.isalnum())
