"""Chemical elements and their isotopes, as mendeleev has them; who discovered them, by our own table."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graph_maker.facts import Entity, Facts
from graph_maker.sources import mendeleev

_ELEMENT = "chemistry.chemical_element"
_STRUCTURES = {
    "BCC": "body-centered cubic",
    "CUB": "cubic",
    "DIA": "diamond cubic",
    "FCC": "face-centered cubic",
    "HEX": "hexagonal",
    "MCL": "monoclinic",
    "ORC": "orthorhombic",
    "RHL": "rhombohedral",
    "SC": "simple cubic",
    "TET": "tetragonal",
}
_SERIES = {"Lu": "lanthanides", "Lr": "actinides"}
_CLASSES = {"litophile": "lithophile"}
_MODES = {
    "A": "alpha decay",
    "B-": "beta minus decay",
    "B+": "beta plus decay",
    "EC": "electron capture",
    "2B-": "double beta minus decay",
    "2B+": "double beta plus decay",
    "SF": "spontaneous fission",
    "n": "neutron emission",
    "2n": "double neutron emission",
    "p": "proton emission",
    "2p": "double proton emission",
    "B-n": "beta-delayed neutron emission",
    "B+p": "beta-delayed proton emission",
    "B+A": "beta-delayed alpha emission",
}
_SECONDS = {"sec": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "year": 31556926.0}
_THOUSANDS = {"y": -8, "z": -7, "a": -6, "p": -4, "n": -3, "u": -2, "m": -1}
_THOUSANDS.update({"k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6, "Z": 7, "Y": 8})
_LAST_MEASURED = 99
"""Of heavier elements no visible amount was ever made: densities and temperatures are predictions."""
_RADIOACTIVITY = 1896
"""Nobody knew of isotopes before."""
_DISPUTED_GROUP = ("La", "Ac", "Lu", "Lr")
"""Two of them are in group 3; chemists disagree about which."""
_NATURAL_CLASSES = ("lithophile", "chalcophile", "siderophile", "atmophile")


def add_elements(facts: Facts, countries: Mapping[str, Entity]) -> None:
    """Add the elements, what they are classed by, their discoverers and isotopes."""
    classes: dict[tuple[str, str], Entity] = {}

    def classed(element: Entity, relation: str, label: str) -> None:
        """Link an element to what it is classed by."""
        if (relation, label) not in classes:
            classes[relation, label] = facts.entity(f"chemistry.{relation}", label, label)
        facts.link(element, f"{_ELEMENT}.{relation}", classes[relation, label])

    elements = {}
    series = {row["id"]: row["name"] for row in mendeleev("SELECT id, name FROM series")}
    for row in mendeleev("SELECT * FROM elements ORDER BY atomic_number"):
        element = elements[row["atomic_number"]] = facts.entity(_ELEMENT, row["symbol"], row["name"])
        _add_values(facts, element, row)
        classed(element, "chemical_series", _SERIES.get(row["symbol"], series[row["series_id"]].lower()))
        classed(element, "periodic_table_block", f"{row['block']}-block")
        classed(element, "periodic_table_period", f"period {row['period']}")
        if row["group_id"] and row["symbol"] not in _DISPUTED_GROUP:
            classed(element, "periodic_table_group", f"group {row['group_id']}")
        if row["lattice_structure"]:
            classed(element, "crystal_structure", _STRUCTURES[row["lattice_structure"]])
        kind = _CLASSES.get(row["goldschmidt_class"], row["goldschmidt_class"])
        if kind in _NATURAL_CLASSES:
            classed(element, "goldschmidt_class", kind)
    _add_temperatures(facts, elements)
    _add_discoveries(facts, elements, countries)
    _add_isotopes(facts, elements)


def _add_values(facts: Facts, element: Entity, row: sqlite3.Row) -> None:
    def add(attribute: str, value: Any) -> None:
        facts.value(element, f"{_ELEMENT}.{attribute}", value)

    add("symbol", row["symbol"])
    add("cas_id", row["cas"])
    add("atomic_number", row["atomic_number"])
    columns = {
        "atomic_weight": "atomic_weight",
        "density": "density",
        "electronegativity": "en_pauling",
        "covalent_radius": "covalent_radius_cordero",
        "thermal_conductivity": "thermal_conductivity",
        "crust_abundance": "abundance_crust",
    }
    for attribute, column in columns.items():
        if attribute != "density" or row["atomic_number"] <= _LAST_MEASURED:
            add(attribute, row[column])


def _add_temperatures(facts: Facts, elements: Mapping[int, Entity]) -> None:
    """Add melting and boiling points of elements without allotropes, and first ionization energies."""
    query = "SELECT * FROM phasetransitions WHERE allotrope IS NULL ORDER BY id"
    for row in mendeleev(query):
        if row["atomic_number"] > _LAST_MEASURED:
            continue
        for attribute in ("melting_point", "boiling_point"):
            value = row[attribute]
            facts.value(elements[row["atomic_number"]], f"{_ELEMENT}.{attribute}", value and round(value, 3))
    query = "SELECT atomic_number, ionization_energy FROM ionizationenergies WHERE ion_charge = 0"
    for row in mendeleev(query):
        element, energy = elements[row["atomic_number"]], row["ionization_energy"]
        facts.value(element, f"{_ELEMENT}.ionization_energy", energy and round(energy, 4))


def _add_discoveries(facts: Facts, elements: Mapping[int, Entity], countries: Mapping[str, Entity]) -> None:
    named = {element.label: element for element in elements.values()}
    people: dict[str, Entity] = {}
    table = Path(__file__).with_name("discoveries.tsv").read_text(encoding="utf-8")
    for line in table.splitlines():
        if not line.startswith("#"):
            name, year, discoverers, codes = line.split("\t")
            element = named[name]
            facts.value(element, f"{_ELEMENT}.discovery_date", year)
            for person in discoverers.split(", "):
                if person not in people:
                    people[person] = facts.entity("chemistry.element_discoverer", person, person)
                facts.link(element, f"{_ELEMENT}.discoverer", people[person])
            for code in codes.split(", "):
                facts.link(element, f"{_ELEMENT}.discovering_country", countries[code])


def _add_isotopes(facts: Facts, elements: Mapping[int, Entity]) -> None:
    spins: dict[str, Entity] = {}
    modes = {
        mode: facts.entity("chemistry.radioactive_decay_mode", mode, name) for mode, name in _MODES.items()
    }
    isotopes = {}
    for row in mendeleev("SELECT * FROM isotopes ORDER BY id"):
        element, number = elements[row["atomic_number"]], row["mass_number"]
        isotope = facts.entity("chemistry.isotope", f"{element.label}-{number}", f"{element.label}-{number}")
        isotopes[row["id"]] = isotope
        facts.link(element, f"{_ELEMENT}.isotopes", isotope)
        facts.value(isotope, "chemistry.isotope.mass_number", number)
        facts.value(isotope, "chemistry.isotope.mass", row["mass"])
        facts.value(isotope, "chemistry.isotope.natural_abundance", row["abundance"] or None)
        if row["discovery_year"] and row["discovery_year"] >= _RADIOACTIVITY:
            facts.value(isotope, "chemistry.isotope.discovery_date", row["discovery_year"])
        if row["half_life"]:
            seconds = row["half_life"] * _unit(row["half_life_unit"])
            facts.value(isotope, "chemistry.isotope.half_life", seconds)
        if row["spin"]:
            if row["spin"] not in spins:
                spins[row["spin"]] = facts.entity(
                    "chemistry.particle_spin", row["spin"], f"spin {row['spin']}"
                )
            facts.link(isotope, "chemistry.isotope.spin", spins[row["spin"]])
    query = "SELECT * FROM isotopedecaymodes WHERE NOT coalesce(is_allowed_not_observed, 0) ORDER BY id"
    for row in mendeleev(query):
        if row["mode"] in modes and row["isotope_id"] in isotopes:
            facts.link(isotopes[row["isotope_id"]], "chemistry.isotope.decay_mode", modes[row["mode"]])


def _unit(name: str) -> float:
    if name in _SECONDS:
        return _SECONDS[name]
    return _SECONDS[name[1:]] * 1000.0 ** _THOUSANDS[name[0]]
