"""Questions about currencies."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_COUNTRY = "location.country"
_BORDERS = "location.country.borders"
_USES = "location.country.currency_used"
_USED = "location.country.currency_formerly_used"
_USED_IN = "finance.currency.countries_used"
_ONCE_IN = "finance.currency.countries_formerly_used"
_FIRST = "finance.currency.first_tender"
_LAST = "finance.currency.last_tender"

TEMPLATES = (
    Template(
        "currency",
        one(_COUNTRY),
        hop(X, _USES),
        (
            "What currency is legal tender in {0}?",
            "Which currency do people pay with in {0}?",
            "What is the currency of {0}?",
        ),
    ),
    Template(
        "currency-in",
        seen_from(_COUNTRY, _USES),
        hop(X, _USED_IN),
        ("In which countries is {0} legal tender?", "Which countries use {0} as their money?"),
    ),
    Template(
        "former-currencies",
        one(_COUNTRY),
        hop(X, _USED),
        (
            "Which currencies were used in {0} in the past?",
            "What former currencies has {0} had?",
            "List the currencies that were once legal tender in {0}, but no longer are.",
        ),
    ),
    Template(
        "once-in",
        seen_from(_COUNTRY, _USED),
        hop(X, _ONCE_IN),
        (
            "Which countries formerly used {0}?",
            "In which present-day countries was {0} once legal tender?",
        ),
    ),
    Template(
        "successor",
        seen_from(_COUNTRY, _USED),
        hop(X, _ONCE_IN, _USES),
        (
            "What do people pay with today in the countries that once used {0}?",
            "Which currencies are used now in the countries where {0} was legal tender in the past?",
        ),
    ),
    Template(
        "neighbors-currencies",
        one(_COUNTRY),
        hop(X, _BORDERS, _USES),
        (
            "Which currencies are used in the countries that border {0}?",
            "What currencies do the neighbors of {0} use?",
        ),
    ),
    Template(
        "city-currency",
        one("location.citytown"),
        hop(X, "location.citytown.country", _USES),
        (
            "What currency would you need in {0}?",
            "Which currency is used in the country where {0} is located?",
            "I am traveling to {0}. What is the local currency?",
        ),
    ),
    Template(
        "airport-currency",
        one("aviation.airport"),
        hop(X, "aviation.airport.country", _USES),
        (
            "You land at {0}. Which currency is legal tender there?",
            "What is the currency of the country where {0} is?",
        ),
    ),
    Template(
        "domain-currency",
        one("internet.top_level_domain"),
        hop(X, "internet.top_level_domain.country", _USES),
        (
            "What is the currency of the country with the top-level domain {0}?",
            "Which money is used in the country whose websites end in {0}?",
        ),
        held_out=True,
    ),
    Template(
        "capital-neighbors-currencies",
        seen_from(_COUNTRY, "location.country.capital"),
        hop(X, "location.citytown.capital_of", _BORDERS, _USES),
        (
            "Which currencies are used in the countries that border the country whose capital is {0}?",
            "What currencies do the neighbors of the country with the capital {0} use?",
        ),
    ),
    Template(
        "currency-region",
        seen_from(_COUNTRY, _USES, "location.country.region"),
        both(hop(X, _USED_IN), hop(Y, "location.region.countries")),
        ("Which countries in {1} use {0}?", "In which countries of {1} is {0} legal tender?"),
    ),
    Template(
        "currency-language",
        seen_from(_COUNTRY, _USES, "location.country.official_language"),
        both(hop(X, _USED_IN), hop(Y, "language.human_language.official_in")),
        (
            "Which countries use {0} and have {1} as an official language?",
            "In which countries is {0} legal tender and {1} an official language?",
        ),
    ),
    Template(
        "shared-past",
        seen_from("finance.currency", _ONCE_IN, _ONCE_IN),
        both(hop(X, _USED), hop(Y, _USED)),
        (
            "Which former currencies do {0} and {1} have in common?",
            "What currencies were once legal tender in both {0} and {1}?",
        ),
    ),
    Template(
        "swapped",
        seen_from(_COUNTRY, _USED, _USES),
        both(hop(X, _ONCE_IN), hop(Y, _USED_IN)),
        (
            "Which countries once used {0} and now use {1}?",
            "What countries that had {0} in the past pay with {1} today?",
        ),
    ),
    Template(
        "currency-count",
        seen_from(_COUNTRY, _USES),
        count(hop(X, _USED_IN)),
        ("How many countries use {0}?", "In how many countries is {0} legal tender?"),
    ),
    Template(
        "former-count",
        one(_COUNTRY),
        count(hop(X, _USED)),
        ("How many former currencies are recorded for {0}?", "How many currencies has {0} given up?"),
    ),
    Template(
        "neighbors-currencies-count",
        one(_COUNTRY),
        count(hop(X, _BORDERS, _USES)),
        (
            "How many different currencies are used in the countries that border {0}?",
            "Among all the neighbors of {0}, how many different currencies are legal tender?",
        ),
    ),
    Template(
        "currency-largest",
        seen_from(_COUNTRY, _USES),
        most(hop(X, _USED_IN), "location.country.area"),
        (
            "What is the largest country by area that uses {0}?",
            "Of the countries where {0} is legal tender, which covers the largest area?",
        ),
    ),
    Template(
        "former-oldest",
        one(_COUNTRY),
        least(hop(X, _USED), _FIRST),
        (
            "Of the former currencies of {0}, which was the first to become legal tender?",
            "Which of the currencies that {0} no longer uses was introduced first?",
        ),
    ),
    Template(
        "former-latest",
        one(_COUNTRY),
        most(hop(X, _USED), _FIRST),
        (
            "Of the former currencies of {0}, which was the last to be introduced?",
            "Which of the currencies that {0} no longer uses became legal tender most recently?",
        ),
    ),
    Template(
        "former-first-gone",
        one(_COUNTRY),
        least(hop(X, _USED), _LAST),
        (
            "Of the former currencies of {0}, which has been out of use the longest?",
            "Of the former currencies of {0}, which was withdrawn earliest?",
        ),
    ),
    Template(
        "currency-neighbor-most-people",
        seen_from(_COUNTRY, _USES, _BORDERS),
        most(both(hop(X, _USED_IN), hop(Y, _BORDERS)), "location.country.population"),
        (
            "Of the countries that use {0} and border {1}, which has the most inhabitants?",
            "Which neighbor of {1} is the most populous among those that use {0}?",
        ),
        held_out=True,
    ),
    Template(
        "largest-neighbor-currency",
        one(_COUNTRY),
        hop(most(hop(X, _BORDERS), "location.country.gdp_ppp"), _USES),
        (
            "What is the currency of the neighbor of {0} with the largest GDP at purchasing power parity?",
            "Which currency is used in the largest economy, by purchasing power parity, that borders {0}?",
        ),
    ),
)
