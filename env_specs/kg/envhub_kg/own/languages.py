"""Questions about languages, and what they are written in."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_COUNTRY = "location.country"
_BORDERS = "location.country.borders"
_OFFICIAL = "location.country.official_language"
_OFFICIAL_IN = "language.human_language.official_in"
_SPOKEN = "location.country.languages_spoken"
_SPOKEN_IN = "language.human_language.countries_spoken_in"
_WRITING = "language.human_language.writing_system"
_WRITTEN = "language.language_writing_system.languages"
_REGION = "location.country.region"
_IN_REGION = "location.region.countries"
_CONTINENT = "location.country.continent"
_IN_CONTINENT = "location.continent.countries"

TEMPLATES = (
    Template(
        "official-languages",
        one(_COUNTRY),
        hop(X, _OFFICIAL),
        (
            "What are the official languages of {0}?",
            "Which language or languages are official in {0}?",
            "Name the official language or languages of {0}.",
        ),
    ),
    Template(
        "official-in",
        seen_from(_COUNTRY, _OFFICIAL),
        hop(X, _OFFICIAL_IN),
        (
            "In which countries is {0} an official language?",
            "Which countries have {0} as an official language of the whole country?",
            "Where in the world is {0} an official national language?",
        ),
    ),
    Template(
        "writing-system",
        one("language.human_language"),
        hop(X, _WRITING),
        ("Which script is {0} usually written in?", "What writing system does the language {0} use?"),
    ),
    Template(
        "written-in",
        one("language.language_writing_system"),
        hop(X, _WRITTEN),
        ("Which languages are written in the {0} script?", "What languages use the {0} writing system?"),
    ),
    Template(
        "neighbors-languages",
        one(_COUNTRY),
        hop(X, _BORDERS, _OFFICIAL),
        (
            "Which languages are official in countries that border {0}?",
            "What are the official languages of the neighbors of {0}?",
        ),
    ),
    Template(
        "country-scripts",
        one(_COUNTRY),
        hop(X, _SPOKEN, _WRITING),
        (
            "In which scripts are the languages that people speak in {0} written?",
            "Which writing systems belong to the languages spoken in {0}?",
        ),
    ),
    Template(
        "official-in-capitals",
        seen_from(_COUNTRY, _OFFICIAL),
        hop(X, _OFFICIAL_IN, "location.country.capital"),
        (
            "What are the capitals of the countries where {0} is an official language?",
            "Name the capital of every country that has {0} as an official language.",
        ),
    ),
    Template(
        "official-in-regions",
        seen_from(_COUNTRY, _OFFICIAL),
        hop(X, _OFFICIAL_IN, _REGION),
        (
            "In which regions of the world are the countries where {0} is an official language?",
            "Which world regions have a country with {0} as an official language?",
        ),
    ),
    Template(
        "capital-languages",
        seen_from(_COUNTRY, "location.country.capital"),
        hop(X, "location.citytown.capital_of", _OFFICIAL),
        (
            "What are the official languages of the country whose capital is {0}?",
            "Which languages are official in the country that has {0} as its capital?",
        ),
    ),
    Template(
        "capital-neighbors-languages",
        seen_from(_COUNTRY, "location.country.capital"),
        hop(X, "location.citytown.capital_of", _BORDERS, _OFFICIAL),
        (
            "Which languages are official in the countries that border the country with the capital {0}?",
            "What are the official languages of the neighbors of the country whose capital is {0}?",
        ),
    ),
    Template(
        "neighbors-scripts",
        one(_COUNTRY),
        hop(X, _BORDERS, _OFFICIAL, _WRITING),
        (
            "Which scripts are the official languages of the neighbors of {0} written in?",
            "In which writing systems are the official languages of the countries bordering {0} written?",
        ),
        held_out=True,
    ),
    Template(
        "two-official",
        seen_from(_COUNTRY, _OFFICIAL, _OFFICIAL),
        both(hop(X, _OFFICIAL_IN), hop(Y, _OFFICIAL_IN)),
        (
            "In which countries are both {0} and {1} official languages?",
            "Which countries have {0} and {1} among their official languages?",
        ),
    ),
    Template(
        "shared-languages",
        seen_from("language.human_language", _SPOKEN_IN, _SPOKEN_IN),
        both(hop(X, _SPOKEN), hop(Y, _SPOKEN)),
        (
            "Which languages are spoken in both {0} and {1}?",
            "What languages do {0} and {1} have in common among those spoken there?",
        ),
    ),
    Template(
        "region-official",
        seen_from(_COUNTRY, _REGION, _OFFICIAL),
        both(hop(X, _IN_REGION), hop(Y, _OFFICIAL_IN)),
        (
            "In which countries of {0} is {1} an official language?",
            "Which countries in {0} have {1} as an official language?",
        ),
    ),
    Template(
        "neighbors-official",
        seen_from(_COUNTRY, _BORDERS, _OFFICIAL),
        both(hop(X, _BORDERS), hop(Y, _OFFICIAL_IN)),
        (
            "Which countries that border {0} have {1} as an official language?",
            "In which of the neighbors of {0} is {1} an official language?",
        ),
    ),
    Template(
        "script-in-country",
        seen_from("language.human_language", _SPOKEN_IN, _WRITING),
        both(hop(X, _SPOKEN), hop(Y, _WRITTEN)),
        (
            "Which languages spoken in {0} are written in the {1} script?",
            "Of the languages that people speak in {0}, which use the {1} writing system?",
        ),
    ),
    Template(
        "official-in-count",
        seen_from(_COUNTRY, _OFFICIAL),
        count(hop(X, _OFFICIAL_IN)),
        (
            "In how many countries is {0} an official language?",
            "How many countries have {0} as an official language?",
        ),
    ),
    Template(
        "spoken-count",
        one(_COUNTRY),
        count(hop(X, _SPOKEN)),
        (
            "How many languages are recorded as spoken in {0}?",
            "What is the number of languages listed as spoken in {0}?",
        ),
    ),
    Template(
        "script-count",
        one("language.language_writing_system"),
        count(hop(X, _WRITTEN)),
        ("How many languages on record are written in the {0} script?",),
    ),
    Template(
        "continent-official-count",
        seen_from(_COUNTRY, _CONTINENT, _OFFICIAL),
        count(both(hop(X, _IN_CONTINENT), hop(Y, _OFFICIAL_IN))),
        (
            "How many countries in {0} have {1} as an official language?",
            "In how many countries of {0} is {1} official?",
        ),
    ),
    Template(
        "official-most-people",
        seen_from(_COUNTRY, _OFFICIAL),
        most(hop(X, _OFFICIAL_IN), "location.country.population"),
        (
            "What is the most populous country with {0} as an official language?",
            "Of the countries where {0} is an official language, which has the most inhabitants?",
        ),
    ),
    Template(
        "official-smallest",
        seen_from(_COUNTRY, _OFFICIAL),
        least(hop(X, _OFFICIAL_IN), "location.country.population"),
        (
            "Which country with {0} as an official language has the fewest people?",
            "What is the least populous country where {0} is an official language?",
        ),
    ),
    Template(
        "region-official-largest",
        seen_from(_COUNTRY, _CONTINENT, _OFFICIAL),
        most(both(hop(X, _IN_CONTINENT), hop(Y, _OFFICIAL_IN)), "location.country.area"),
        (
            "Of the countries in {0} where {1} is an official language, which has the largest area?",
            "What is the largest country by area in {0} that has {1} as an official language?",
        ),
    ),
    Template(
        "largest-neighbor-languages",
        one(_COUNTRY),
        hop(most(hop(X, _BORDERS), "location.country.area"), _OFFICIAL),
        (
            "What are the official languages of the largest country by area that borders {0}?",
            "Which languages are official in the neighbor of {0} that has the largest area?",
        ),
    ),
    Template(
        "neighbors-languages-count",
        one(_COUNTRY),
        count(hop(X, _BORDERS, _OFFICIAL)),
        (
            "How many different languages are official in the countries that border {0}?",
            "Counting each once, how many official languages do the neighbors of {0} have?",
        ),
    ),
)
