"""How people speak of entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from envhub_kg.own.facts import Facts

_THE = frozenset(
    (
        "Bahamas",
        "Caribbean",
        "Central African Republic",
        "Comoros",
        "Democratic Republic of the Congo",
        "Dominican Republic",
        "European Union",
        "Gambia",
        "Maldives",
        "Marshall Islands",
        "Micronesian Region",
        "Netherlands",
        "Philippines",
        "Republic of the Congo",
        "Seychelles",
        "Solomon Islands",
        "United Arab Emirates",
        "United Kingdom",
        "United Nations",
        "United States",
    )
)
_CAPITALIZED = frozenset(
    (
        "African",
        "Arab",
        "CFA",
        "Caribbean",
        "Emirates",
        "Guinea",
        "Guinean",
        "Islands",
        "Korean",
        "Lankan",
        "Leonean",
        "Príncipe",
        "Rican",
        "Sudanese",
        "Taiwan",
        "Tobago",
        "Tomé",
        "Verdean",
        "Zealand",
    )
)
"""Words in names of currencies, beside the first, that keep their capital."""


_WORDS = frozenset(("Batman", "George", "Mary", "Nice", "Nigel", "Reading", "Split", "Van"))
"""Cities whose names mean something else to many."""


def spoken(facts: Facts, entity: str) -> tuple[str, str]:
    """Return how a sentence speaks of an entity, and the words of it that name the entity."""
    label, type_ = facts.labels[entity], facts.types[entity]
    name = _SPOKEN.get(type_, str)(label)
    if label in _THE or type_ == "finance.currency":
        return f"the {name}", name
    if type_ == "location.citytown":
        countries = facts.neighbors(entity, "location.citytown.country")
        if label in _WORDS or label in map(facts.labels.get, countries):
            return f"the city of {name}", name
    return name, name


def _currency(label: str) -> str:
    first, *others = label.split(" ")
    kept = {*_CAPITALIZED, "New"} if first == "Papua" else _CAPITALIZED
    words = [word if word in kept or word[0] == "(" else word.lower() for word in others]
    return " ".join([first.lower() if first == "Euro" else first, *words])


_SPOKEN: Mapping[str, Callable[[str], str]] = {
    "chemistry.chemical_element": str.lower,
    "chemistry.isotope": str.lower,
    "finance.currency": _currency,
}
