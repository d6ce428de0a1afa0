"""Questions about stars and constellations."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_STAR = "astronomy.star"
_CONSTELLATION = "astronomy.constellation"
_OF_STAR = "astronomy.star.constellation"
_STARS = "astronomy.constellation.contains"
_BORDERS = "astronomy.constellation.bordering_constellations"
_TYPE = "astronomy.star.spectral_type"
_OF_TYPE = "astronomy.spectral_type.stars"
_AREA = "astronomy.constellation.area"
_MAGNITUDE = "astronomy.star.apparent_magnitude"

TEMPLATES = (
    Template(
        "star-constellation",
        one(_STAR),
        hop(X, _OF_STAR),
        ("Which constellation is the star {0} in?", "What constellation does the star {0} belong to?"),
    ),
    Template(
        "constellation-borders",
        one(_CONSTELLATION),
        hop(X, _BORDERS),
        (
            "Which constellations border {0}?",
            "What are the neighboring constellations of {0} in the sky?",
        ),
    ),
    Template(
        "star-neighbors",
        one(_STAR),
        hop(X, _OF_STAR, _BORDERS),
        (
            "Which constellations border the one that the star {0} is in?",
            "The star {0} is in a constellation. What are the neighbors of that constellation?",
        ),
    ),
    Template(
        "neighbor-stars",
        one(_CONSTELLATION),
        hop(X, _BORDERS, _STARS),
        (
            "Which bright stars with names are in the constellations that border {0}?",
            "What named bright stars are there in the constellations next to {0}?",
        ),
    ),
    Template(
        "companions",
        one(_STAR),
        hop(X, _OF_STAR, _STARS),
        (
            "Which other bright stars with names are in the same constellation as {0}?",
            "What named bright stars share their constellation with {0}?",
        ),
        others=True,
    ),
    Template(
        "star-neighbor-stars",
        one(_STAR),
        hop(X, _OF_STAR, _BORDERS, _STARS),
        (
            "Which named bright stars are in the constellations that border the constellation of {0}?",
            "The star {0} is in a constellation. What named bright stars do the neighbors of that one have?",
        ),
        held_out=True,
    ),
    Template(
        "sky-between",
        seen_from(_CONSTELLATION, _BORDERS, _BORDERS),
        both(hop(X, _BORDERS), hop(Y, _BORDERS)),
        (
            "Which constellations border both {0} and {1}?",
            "What constellations are neighbors of {0} and of {1}?",
        ),
    ),
    Template(
        "typed-stars",
        seen_from(_STAR, _OF_STAR, _TYPE),
        both(hop(X, _STARS), hop(Y, _OF_TYPE)),
        (
            "Which named bright stars in {0} are of {1}?",
            "What bright stars of {1} with a name of their own does {0} have?",
        ),
    ),
    Template(
        "constellation-borders-count",
        one(_CONSTELLATION),
        count(hop(X, _BORDERS)),
        ("How many constellations border {0}?", "How many neighboring constellations does {0} have?"),
    ),
    Template(
        "star-neighbors-count",
        one(_STAR),
        count(hop(X, _OF_STAR, _BORDERS)),
        (
            "How many constellations border the one that the star {0} is in?",
            "How many neighbors does the constellation of the star {0} have?",
        ),
    ),
    Template(
        "largest-neighbor-constellation",
        one(_CONSTELLATION),
        most(hop(X, _BORDERS), _AREA),
        (
            "What is the largest constellation that borders {0}?",
            "Of the constellations next to {0}, which covers the largest part of the sky?",
        ),
    ),
    Template(
        "smallest-neighbor-constellation",
        one(_CONSTELLATION),
        least(hop(X, _BORDERS), _AREA),
        (
            "What is the smallest constellation that borders {0}?",
            "Of the constellations next to {0}, which covers the smallest part of the sky?",
        ),
    ),
    Template(
        "brightest",
        seen_from(_STAR, _OF_STAR),
        least(hop(X, _STARS), _MAGNITUDE),
        (
            "What is the brightest star in {0}, as seen from Earth?",
            "Which star of {0} has the lowest apparent magnitude, that is, shines the brightest?",
        ),
    ),
    Template(
        "brightest-of-type",
        one("astronomy.spectral_type"),
        least(hop(X, _OF_TYPE), _MAGNITUDE),
        (
            "What is the brightest star of {0} in the sky?",
            "Of the stars of {0}, which has the lowest apparent magnitude?",
        ),
    ),
    Template(
        "largest-neighbor-stars",
        one(_CONSTELLATION),
        hop(most(hop(X, _BORDERS), _AREA), _STARS),
        (
            "Which bright stars with names are in the largest constellation that borders {0}?",
            "Take the largest neighbor of {0} in the sky. What named bright stars does it have?",
        ),
    ),
    Template(
        "brightest-next-door",
        one(_CONSTELLATION),
        least(hop(X, _BORDERS, _STARS), _MAGNITUDE),
        (
            "Of the stars in the constellations that border {0}, which is the brightest in the sky?",
            "What is the brightest star in any constellation next to {0}?",
        ),
    ),
    Template(
        "brightest-constellation",
        one(_CONSTELLATION),
        hop(least(hop(X, _BORDERS, _STARS), _MAGNITUDE), _OF_STAR),
        (
            "Which constellation has the brightest star of all the constellations that border {0}?",
            "Of the constellations next to {0}, in which one is the star that shines brightest in our sky?",
        ),
    ),
)
