"""Questions about countries: what they border, where they lie, how large they are."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_COUNTRY = "location.country"
_BORDERS = "location.country.borders"
_CAPITAL = "location.country.capital"
_CAPITAL_OF = "location.citytown.capital_of"
_CONTINENT = "location.country.continent"
_IN_CONTINENT = "location.continent.countries"
_IN_REGION = "location.region.countries"
_REGION = "location.country.region"
_MEMBERS = "organization.membership_organization.members"
_MEMBER_OF = "location.country.member_of"
_POPULATION = "location.country.population"
_AREA = "location.country.area"
_GDP = "location.country.gdp_ppp"

TEMPLATES = (
    Template(
        "capital",
        one(_COUNTRY),
        hop(X, _CAPITAL),
        ("What is the capital of {0}?", "Which city is the capital of {0}?", "Name the capital of {0}."),
    ),
    Template(
        "capital-of",
        seen_from(_COUNTRY, _CAPITAL),
        hop(X, _CAPITAL_OF),
        (
            "Which country has {0} as its capital?",
            "{0} is the capital of which country?",
            "Of which country is {0} the capital?",
        ),
    ),
    Template(
        "borders",
        one(_COUNTRY),
        hop(X, _BORDERS),
        (
            "Which countries does {0} share a land border with?",
            "What countries border {0}?",
            "List all the neighboring countries of {0}.",
        ),
    ),
    Template(
        "region",
        one(_COUNTRY),
        hop(X, _REGION),
        ("Which region of the world is {0} in?", "What part of the world, by UN region, is {0} in?"),
    ),
    Template(
        "top-level-domain",
        one(_COUNTRY),
        hop(X, "location.country.internet_tld"),
        ("What is the top-level domain of {0}?", "Which internet country code domain belongs to {0}?"),
    ),
    Template(
        "domain-of",
        one("internet.top_level_domain"),
        hop(X, "internet.top_level_domain.country"),
        (
            "Which country does the top-level domain {0} belong to?",
            "Websites ending in {0} use the domain of which country?",
        ),
    ),
    Template(
        "time-zones",
        one(_COUNTRY),
        hop(X, "location.country.time_zones"),
        ("Which time zones are there in {0}?", "List the time zones of {0}."),
    ),
    Template(
        "zone-countries",
        seen_from("location.citytown", "location.citytown.time_zone"),
        hop(X, "time.time_zone.countries"),
        ("In which country is the time zone {0}?", "Which country has the time zone {0}?"),
    ),
    Template(
        "neighbors-capitals",
        one(_COUNTRY),
        hop(X, _BORDERS, _CAPITAL),
        (
            "What are the capitals of the countries that border {0}?",
            "Name the capital of each country that shares a border with {0}.",
        ),
    ),
    Template(
        "neighbors-of-capital",
        seen_from(_COUNTRY, _CAPITAL),
        hop(X, _CAPITAL_OF, _BORDERS),
        (
            "Which countries border the country whose capital is {0}?",
            "{0} is the capital of a country. Which countries does that country border?",
        ),
    ),
    Template(
        "neighbors-regions",
        one(_COUNTRY),
        hop(X, _BORDERS, _REGION),
        (
            "In which regions of the world are the countries that border {0}?",
            "Which world regions do the neighbors of {0} lie in?",
        ),
    ),
    Template(
        "neighbors-domains",
        one(_COUNTRY),
        hop(X, _BORDERS, "location.country.internet_tld"),
        (
            "What are the top-level domains of the countries bordering {0}?",
            "Which country code domains do the neighboring countries of {0} have?",
        ),
    ),
    Template(
        "neighbors-of-capital-capitals",
        seen_from(_COUNTRY, _CAPITAL),
        hop(X, _CAPITAL_OF, _BORDERS, _CAPITAL),
        (
            "What are the capitals of the countries that border the country whose capital is {0}?",
            "Name the capitals of all the countries that border the one governed from {0}.",
        ),
    ),
    Template(
        "between",
        seen_from(_COUNTRY, _BORDERS, _BORDERS),
        both(hop(X, _BORDERS), hop(Y, _BORDERS)),
        (
            "Which countries border both {0} and {1}?",
            "What countries share a border with {0} as well as with {1}?",
            "Name every country that is a neighbor of both {0} and {1}.",
        ),
    ),
    Template(
        "members-next-to",
        seen_from(_COUNTRY, _MEMBER_OF, _BORDERS),
        both(hop(X, _MEMBERS), hop(Y, _BORDERS)),
        ("Which members of {0} border {1}?", "What neighbors of {1} are member states of {0}?"),
    ),
    Template(
        "continent-next-to",
        seen_from(_COUNTRY, _CONTINENT, _BORDERS),
        both(hop(X, _IN_CONTINENT), hop(Y, _BORDERS)),
        ("Which countries in {0} border {1}?", "What neighbors of {1} are in {0}?"),
    ),
    Template(
        "between-capitals",
        seen_from(_COUNTRY, _BORDERS, _BORDERS),
        hop(both(hop(X, _BORDERS), hop(Y, _BORDERS)), _CAPITAL),
        (
            "What are the capitals of the countries that border both {0} and {1}?",
            "Give the capital of each country that borders {0} and also borders {1}.",
        ),
    ),
    Template(
        "borders-count",
        one(_COUNTRY),
        count(hop(X, _BORDERS)),
        ("How many countries does {0} border?", "With how many countries does {0} share a land border?"),
    ),
    Template(
        "region-count",
        one("location.region"),
        count(hop(X, _IN_REGION)),
        ("How many countries are there in {0}?", "What is the number of countries in {0}?"),
    ),
    Template(
        "zones-count",
        one(_COUNTRY),
        count(hop(X, "location.country.time_zones")),
        (
            "How many time zones of the tz database are there for {0}?",
            "How many different tz database zones does {0} have?",
        ),
    ),
    Template(
        "neighbors-members-count",
        seen_from(_COUNTRY, _MEMBER_OF, _BORDERS),
        count(both(hop(X, _MEMBERS), hop(Y, _BORDERS))),
        ("How many members of {0} border {1}?", "How many of the neighbors of {1} belong to {0}?"),
    ),
    Template(
        "neighbor-most-people",
        one(_COUNTRY),
        most(hop(X, _BORDERS), _POPULATION),
        (
            "Which country bordering {0} has the largest population?",
            "What is the most populous neighbor of {0}?",
            "Of all the countries that border {0}, which has the most people?",
        ),
    ),
    Template(
        "neighbor-fewest-people",
        one(_COUNTRY),
        least(hop(X, _BORDERS), _POPULATION),
        (
            "Which neighbor of {0} has the smallest population?",
            "What is the least populous country that borders {0}?",
        ),
    ),
    Template(
        "neighbor-largest",
        one(_COUNTRY),
        most(hop(X, _BORDERS), _AREA),
        (
            "What is the largest country by area that borders {0}?",
            "Which of the neighbors of {0} covers the largest area?",
        ),
    ),
    Template(
        "neighbor-smallest",
        one(_COUNTRY),
        least(hop(X, _BORDERS), _AREA),
        (
            "Which is the smallest country by area that borders {0}?",
            "Of the countries bordering {0}, which has the smallest area?",
        ),
    ),
    Template(
        "region-richest",
        one("location.region"),
        most(hop(X, _IN_REGION), _GDP),
        (
            "Which country in {0} has the largest gross domestic product at purchasing power parity?",
            "What is the largest economy in {0}, measured by GDP at purchasing power parity?",
        ),
    ),
    Template(
        "region-smallest",
        one("location.region"),
        least(hop(X, _IN_REGION), _AREA),
        ("What is the smallest country in {0} by area?", "Which country in {0} covers the least land?"),
    ),
    Template(
        "neighbor-most-people-capital",
        one(_COUNTRY),
        hop(most(hop(X, _BORDERS), _POPULATION), _CAPITAL),
        (
            "What is the capital of the most populous country that borders {0}?",
            "Take the neighbor of {0} with the most inhabitants. What is its capital?",
        ),
    ),
    Template(
        "neighbor-smallest-capital",
        one(_COUNTRY),
        hop(least(hop(X, _BORDERS), _AREA), _CAPITAL),
        (
            "What is the capital of the smallest country, by area, that borders {0}?",
            "Name the capital of the neighbor of {0} that has the smallest area.",
        ),
        held_out=True,
    ),
    Template(
        "members-next-to-largest",
        seen_from(_COUNTRY, _MEMBER_OF, _BORDERS),
        most(both(hop(X, _MEMBERS), hop(Y, _BORDERS)), _AREA),
        (
            "Of the members of {0} that border {1}, which is the largest by area?",
            "Which neighbor of {1} has the largest area among those that are members of {0}?",
        ),
    ),
    Template(
        "region-neighbors-count",
        seen_from(_COUNTRY, _REGION, _BORDERS),
        count(both(hop(X, _IN_REGION), hop(Y, _BORDERS))),
        ("How many countries in {0} border {1}?", "How many of the countries bordering {1} lie in {0}?"),
        held_out=True,
    ),
)
