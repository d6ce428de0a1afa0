"""Questions about chemical elements and who discovered them."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_ELEMENT = "chemistry.chemical_element"
_DISCOVERER = f"{_ELEMENT}.discoverer"
_DISCOVERED = "chemistry.element_discoverer.discovered"
_PLACE = f"{_ELEMENT}.discovering_country"
_FOUND_IN = "location.country.elements_discovered"
_SERIES = f"{_ELEMENT}.chemical_series"
_IN_SERIES = "chemistry.chemical_series.elements"
_GROUP = f"{_ELEMENT}.periodic_table_group"
_IN_GROUP = "chemistry.periodic_table_group.elements"
_PERIOD = f"{_ELEMENT}.periodic_table_period"
_IN_PERIOD = "chemistry.periodic_table_period.elements"
_CRYSTAL = f"{_ELEMENT}.crystal_structure"
_WITH_CRYSTAL = "chemistry.crystal_structure.elements"
_BLOCK = f"{_ELEMENT}.periodic_table_block"
_IN_BLOCK = "chemistry.periodic_table_block.elements"
_KIND = f"{_ELEMENT}.goldschmidt_class"
_OF_KIND = "chemistry.goldschmidt_class.elements"
_NUMBER = f"{_ELEMENT}.atomic_number"
_YEAR = f"{_ELEMENT}.discovery_date"

TEMPLATES = (
    Template(
        "discoverers",
        seen_from("chemistry.element_discoverer", _DISCOVERED),
        hop(X, _DISCOVERER),
        (
            "Who discovered {0}?",
            "Which scientist or scientists discovered the element {0}?",
            "Who is credited with the discovery of the chemical element {0}?",
        ),
    ),
    Template(
        "discovered",
        one("chemistry.element_discoverer"),
        hop(X, _DISCOVERED),
        (
            "Which chemical elements did {0} discover, alone or with others?",
            "What elements is {0} credited with discovering?",
        ),
    ),
    Template(
        "found-in",
        seen_from(_ELEMENT, _PLACE),
        hop(X, _FOUND_IN),
        (
            "Which chemical elements were discovered in {0}, in its present-day borders?",
            "What elements were first found by scientists working in {0}?",
        ),
    ),
    Template(
        "crystal",
        one(_ELEMENT),
        hop(X, _CRYSTAL),
        ("What crystal structure does {0} have?", "In which crystal structure does {0} solidify?"),
    ),
    Template(
        "colleagues",
        seen_from(_ELEMENT, _DISCOVERER),
        hop(X, _DISCOVERED, _DISCOVERER),
        (
            "Who else discovered an element together with {0}, or at the same time?",
            "Which other people are credited with the discovery of an element that {0} discovered, too?",
        ),
        others=True,
    ),
    Template(
        "same-discoverer",
        seen_from("chemistry.element_discoverer", _DISCOVERED),
        hop(X, _DISCOVERER, _DISCOVERED),
        (
            "Which other elements were discovered by the people who discovered {0}?",
            "What further elements did the discoverers of {0} find?",
        ),
        others=True,
    ),
    Template(
        "discoverer-countries",
        one("chemistry.element_discoverer"),
        hop(X, _DISCOVERED, _PLACE),
        (
            "In which present-day countries were the elements discovered that {0} is credited with?",
            "Elements credited to {0} were discovered in which present-day countries?",
        ),
    ),
    Template(
        "discoverer-groups",
        one("chemistry.element_discoverer"),
        hop(X, _DISCOVERED, _GROUP),
        (
            "Which groups of the periodic table have an element that {0} discovered?",
            "In which groups of the periodic table are the elements discovered by {0}?",
        ),
    ),
    Template(
        "found-in-people",
        seen_from(_ELEMENT, _PLACE),
        hop(X, _FOUND_IN, _DISCOVERER),
        (
            "Who is credited with an element whose discovery is recorded for {0}?",
            "Which scientists are credited with elements that are on record as discovered in {0}?",
        ),
    ),
    Template(
        "discoverer-capitals",
        seen_from(_ELEMENT, _DISCOVERER),
        hop(X, _DISCOVERED, _PLACE, "location.country.capital"),
        (
            "What are the capitals of the present-day countries where {0} discovered elements?",
            "Name the capital of each country where an element credited to {0} was discovered.",
        ),
        held_out=True,
    ),
    Template(
        "group-and-period",
        seen_from(_ELEMENT, _GROUP, _PERIOD),
        both(hop(X, _IN_GROUP), hop(Y, _IN_PERIOD)),
        (
            "Which element is in {0} and {1} of the periodic table?",
            "What element stands where {0} and {1} of the periodic table meet?",
        ),
    ),
    Template(
        "block-and-crystal",
        seen_from(_ELEMENT, _BLOCK, _CRYSTAL),
        both(hop(X, _IN_BLOCK), hop(Y, _WITH_CRYSTAL)),
        (
            "Which {0} elements have a crystal structure that is {1}?",
            "Of the elements in the {0} of the periodic table, which have the crystal structure {1}?",
        ),
    ),
    Template(
        "kind-and-series",
        seen_from(_ELEMENT, _KIND, _SERIES),
        both(hop(X, _OF_KIND), hop(Y, _IN_SERIES)),
        (
            "Which {1} are {0} in the Goldschmidt classification?",
            "Which of the {1} does Goldschmidt's classification count as {0}?",
        ),
    ),
    Template(
        "series-and-country",
        seen_from(_ELEMENT, _SERIES, _PLACE),
        both(hop(X, _IN_SERIES), hop(Y, _FOUND_IN)),
        (
            "Which of the {0} were discovered in {1}?",
            "What elements that belong to the {0} were first found in {1}?",
        ),
    ),
    Template(
        "period-and-discoverer",
        seen_from(_ELEMENT, _PERIOD, _DISCOVERER),
        both(hop(X, _IN_PERIOD), hop(Y, _DISCOVERED)),
        (
            "Which elements in {0} of the periodic table did {1} discover?",
            "What elements discovered by {1} are in {0} of the periodic table?",
        ),
    ),
    Template(
        "found-in-count",
        seen_from(_ELEMENT, _PLACE),
        count(hop(X, _FOUND_IN)),
        (
            "How many elements are recorded as discovered in {0}?",
            "How many chemical elements on record were first found in {0}?",
        ),
    ),
    Template(
        "discovered-count",
        one("chemistry.element_discoverer"),
        count(hop(X, _DISCOVERED)),
        (
            "How many elements are recorded as discovered by {0}, alone or with others?",
            "With how many elements on record is {0} credited?",
        ),
    ),
    Template(
        "series-highest-melting",
        one("chemistry.chemical_series"),
        most(hop(X, _IN_SERIES), f"{_ELEMENT}.melting_point"),
        (
            "Which of the {0} has the highest melting point?",
            "Of all the {0}, which melts at the highest temperature?",
        ),
    ),
    Template(
        "group-most-electronegative",
        one("chemistry.periodic_table_group"),
        most(hop(X, _IN_GROUP), f"{_ELEMENT}.electronegativity"),
        (
            "What is the most electronegative element in {0} of the periodic table?",
            "Which element in {0} of the periodic table has the highest Pauling electronegativity?",
        ),
    ),
    Template(
        "crystal-densest",
        one("chemistry.crystal_structure"),
        most(hop(X, _WITH_CRYSTAL), f"{_ELEMENT}.density"),
        (
            "Of the elements whose crystal structure is {0}, which is the densest?",
            "Which element has the greatest density of those with the crystal structure {0}?",
        ),
    ),
    Template(
        "discovered-heaviest",
        one("chemistry.element_discoverer"),
        most(hop(X, _DISCOVERED), _NUMBER),
        (
            "Of the elements that {0} discovered, which has the highest atomic number?",
            "Which element discovered by {0} has the most protons?",
        ),
    ),
    Template(
        "found-in-first",
        seen_from(_ELEMENT, _PLACE),
        least(hop(X, _FOUND_IN), _YEAR),
        (
            "Of the elements discovered in {0}, which was discovered first?",
            "Which was the first of the chemical elements that were found in {0}?",
        ),
    ),
    Template(
        "found-in-last",
        seen_from(_ELEMENT, _PLACE),
        most(hop(X, _FOUND_IN), _YEAR),
        (
            "Of the elements discovered in {0}, which was discovered most recently?",
            "Which element that was discovered in {0} was the latest to be found there?",
        ),
    ),
    Template(
        "group-latest-discoverer",
        one("chemistry.periodic_table_group"),
        hop(most(hop(X, _IN_GROUP), _YEAR), _DISCOVERER),
        (
            "Who discovered the element of {0} of the periodic table that was found last?",
            "Which people discovered the most recently found element in {0} of the periodic table?",
        ),
        held_out=True,
    ),
)
