"""Questions about isotopes."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_ELEMENT = "chemistry.chemical_element"
_DISCOVERER = f"{_ELEMENT}.discoverer"
_SERIES = f"{_ELEMENT}.chemical_series"
_ISOTOPES = f"{_ELEMENT}.isotopes"
_SPIN = "chemistry.isotope.spin"
_WITH_SPIN = "chemistry.particle_spin.isotopes"
_MODE = "chemistry.isotope.decay_mode"
_BY_MODE = "chemistry.radioactive_decay_mode.isotopes"
_OF_ELEMENT = "chemistry.isotope.isotope_of"

TEMPLATES = (
    Template(
        "isotope-decay",
        one("chemistry.isotope"),
        hop(X, _MODE),
        ("By which decay modes does {0} decay?", "How does the isotope {0} decay? Name every known mode."),
    ),
    Template(
        "isotope-series",
        one("chemistry.isotope"),
        hop(X, _OF_ELEMENT, _SERIES),
        (
            "Which series of elements does the element of the isotope {0} belong to?",
            "The isotope {0} is of an element in which chemical series?",
        ),
    ),
    Template(
        "isotope-discoverers",
        one("chemistry.isotope"),
        hop(X, _OF_ELEMENT, _DISCOVERER),
        (
            "Who discovered the element that {0} is an isotope of?",
            "Which scientist or scientists discovered the element of the isotope {0}?",
        ),
    ),
    Template(
        "isotopes-by-mode",
        seen_from("chemistry.isotope", _OF_ELEMENT, _MODE),
        both(hop(X, _ISOTOPES), hop(Y, _BY_MODE)),
        (
            "Which isotopes of {0} undergo {1}?",
            "What isotopes of {0} have {1} among their known decay modes?",
        ),
    ),
    Template(
        "isotopes-with-spin",
        seen_from("chemistry.isotope", _OF_ELEMENT, _SPIN),
        both(hop(X, _ISOTOPES), hop(Y, _WITH_SPIN)),
        ("Which isotopes of {0} have nuclear {1}?", "What isotopes of {0} are known to have nuclear {1}?"),
    ),
    Template(
        "isotopes-count",
        one(_ELEMENT),
        count(hop(X, _ISOTOPES)),
        ("How many isotopes of {0} are on record?", "What is the number of isotopes listed for {0}?"),
    ),
    Template(
        "mode-count",
        seen_from("chemistry.isotope", _OF_ELEMENT, _MODE),
        count(both(hop(X, _ISOTOPES), hop(Y, _BY_MODE))),
        (
            "How many isotopes of {0} are known to undergo {1}?",
            "For how many of the recorded isotopes of {0} is {1} a known decay mode?",
        ),
    ),
    Template(
        "lightest-isotope",
        one(_ELEMENT),
        least(hop(X, _ISOTOPES), "chemistry.isotope.mass_number"),
        (
            "What is the lightest isotope of {0} on record?",
            "Which known isotope of {0} has the fewest nucleons?",
        ),
    ),
    Template(
        "heaviest-isotope-decay",
        one(_ELEMENT),
        hop(most(hop(X, _ISOTOPES), "chemistry.isotope.mass_number"), _MODE),
        (
            "How does the heaviest isotope of {0} on record decay? Name every known mode.",
            "By which modes does the isotope of {0} with the most nucleons decay?",
        ),
    ),
    Template(
        "heaviest-by-mode",
        seen_from("chemistry.isotope", _OF_ELEMENT, _MODE),
        most(both(hop(X, _ISOTOPES), hop(Y, _BY_MODE)), "chemistry.isotope.mass_number"),
        (
            "What is the heaviest isotope of {0} that is known to undergo {1}?",
            "Of the isotopes of {0} that have {1} as a known decay mode, which has the most nucleons?",
        ),
    ),
)
