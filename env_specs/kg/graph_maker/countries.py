"""Countries, continents, regions, organisations, top-level domains; US states and counties."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any

from babel import Locale

from graph_maker.facts import Entity, Facts
from graph_maker.sources import cldr, geonames

BESIDE_UN = ("PS", "TW", "VA", "XK")
"""Countries that aren't members of the United Nations."""

_NAMES = {
    "CD": "Democratic Republic of the Congo",
    "CG": "Republic of the Congo",
    "CI": "Ivory Coast",
    "MM": "Myanmar",
    "PS": "Palestine",
    "VC": "Saint Vincent and the Grenadines",
}
_AREAS = {
    "BH": 786,
    "BT": 38394,
    "FR": 543940,
    "KM": 1862,
    "MC": 2,
    "OM": 309500,
    "PK": 881913,
    "RS": 77474,
    "SA": 2149690,
    "VA": None,
}
"""Where GeoNames is wrong, rounds to nothing, or counts what another country of the graph has."""
_BORDERS_TOO = ({"BW", "ZM"},)
_NO_BORDERS = ({"CU", "US"}, {"AL", "RS"})
_NO_UNITED_NATIONS_REGION = ("TW",)
_CONTINENTS = {"TL": "AS"}
_TERRITORIES = ("AS", "GU", "MP", "PR", "UM", "VI")


def add_countries(facts: Facts) -> dict[str, Entity]:
    """Add the countries and what they belong to; return them by ISO code."""
    names, data = Locale("en").territories, cldr()
    groups = {
        group.attrib["type"]: group.attrib["contains"].split()
        for group in data.iterfind("territoryContainment/group")
        if group.get("status") is None
    }
    rows: Mapping[str, Any] = geonames("countries")
    countries = {
        code: facts.entity("location.country", code, _name(code, names[code]))
        for code in sorted([*groups["UN"], *BESIDE_UN])
    }
    for code, country in countries.items():
        _add_values(facts, country, rows[code], _info(data, code), code)
    _add_borders(facts, countries, rows)
    _add_groups(facts, countries, groups, names, rows)
    return countries


def add_us_states(facts: Facts, country: Entity) -> dict[str, Entity]:
    """Add the states of the US, their counties and what counts as one; return the states by postal code."""
    states = {}
    for code, row in geonames("us_states").items():
        states[code] = facts.entity("location.us_state", code, row["name"])
        facts.link(country, "location.country.first_level_divisions", states[code])
        facts.value(states[code], "location.us_state.postal_code", code)
    for row in geonames("us_counties"):
        if row["state"] not in _TERRITORIES:
            state = states[row["state"]]
            county = facts.entity("location.us_county", row["fips"], f"{row['name']}, {state.label}")
            facts.link(state, "location.us_state.counties", county)
    return states


def _name(code: str, name: str) -> str:
    return _NAMES.get(code) or name.replace("St. ", "Saint ").replace(" & ", " and ")


def _info(data: ElementTree.Element, code: str) -> Mapping[str, str]:
    found = data.find(f"territoryInfo/territory[@type='{code}']")
    assert found is not None, code
    return found.attrib


def _add_values(
    facts: Facts, country: Entity, row: Mapping[str, Any], info: Mapping[str, str], code: str
) -> None:
    def add(attribute: str, value: str | int | float | None) -> None:
        facts.value(country, f"location.country.{attribute}", value)

    add("area", _AREAS.get(code, row["areakm2"]))
    add("population", int(info["population"]))
    add("gdp_ppp", int(info["gdp"]))
    add("literacy", float(info["literacyPercent"]))
    add("iso3166_1_alpha2", row["iso"])
    add("iso_alpha_3", row["iso3"])
    add("iso_numeric", row["isonumeric"] or None)
    if row["phone"].isdigit():
        add("calling_code", int(row["phone"]))
    if row["tld"]:
        domain = facts.entity("internet.top_level_domain", row["tld"], row["tld"])
        facts.link(country, "location.country.internet_tld", domain)


def _add_borders(facts: Facts, countries: Mapping[str, Entity], rows: Mapping[str, Any]) -> None:
    pairs = [
        {code, neighbour}
        for code in countries
        for neighbour in rows[code]["neighbours"].split(",")
        if neighbour in countries
    ]
    for pair in [*pairs, *_BORDERS_TOO]:
        if pair not in _NO_BORDERS:
            one, other = sorted(pair)
            if one not in rows[other]["neighbours"] and pair not in _BORDERS_TOO:
                raise ValueError(f"the border between {one} and {other} is one-sided")
            facts.link(countries[one], "location.country.borders", countries[other])


def _add_groups(
    facts: Facts,
    countries: Mapping[str, Entity],
    groups: Mapping[str, list[str]],
    names: Mapping[str, str],
    rows: Mapping[str, Any],
) -> None:
    continents = {
        code: facts.entity("location.continent", code, row["name"])
        for code, row in geonames("continents").items()
        if code != "AN"
    }
    for code, country in countries.items():
        continent = continents[_CONTINENTS.get(code, rows[code]["continentcode"])]
        facts.link(continent, "location.continent.countries", country)
    for code in ("EU", "UN"):
        whole = facts.entity("organization.membership_organization", code, names[code])
        for member in groups[code]:
            facts.link(countries[member], "location.country.member_of", whole)
    for outer in ("002", "009", "019", "142", "150"):
        for code in groups[outer]:
            inner = [member for member in groups[code] if member in countries]
            if inner:
                region = facts.entity("location.region", code, names[code])
                for member in inner:
                    if member not in _NO_UNITED_NATIONS_REGION:
                        facts.link(region, "location.region.countries", countries[member])
