"""Questions about cities and time zones."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_COUNTRY = "location.country"
_CITY = "location.citytown"
_STATE = "location.us_state"
_CITIES = "location.country.cities"
_CITY_COUNTRY = "location.citytown.country"
_STATE_CITIES = "location.us_state.cities"
_ZONE = "location.citytown.time_zone"
_ZONE_CITIES = "time.time_zone.cities"
_POPULATION = "location.citytown.population"
_CAPITAL = "location.country.capital"
_BORDERS = "location.country.borders"

TEMPLATES = (
    Template(
        "city-country",
        one(_CITY),
        hop(X, _CITY_COUNTRY),
        ("In which country is {0}?", "Which country is {0} a city of?", "Where is {0}? Name the country."),
    ),
    Template(
        "city-zone",
        one(_CITY),
        hop(X, _ZONE),
        ("In which time zone is {0}?", "What time zone do the clocks of {0} follow?"),
    ),
    Template(
        "city-airports",
        seen_from("aviation.airport", "aviation.airport.serves"),
        hop(X, "location.location.nearby_airports"),
        (
            "Which airports serve {0}?",
            "What airport or airports does {0} have?",
            "I want to fly to {0}. Which airports could I land at?",
        ),
    ),
    Template(
        "capital-zone",
        one(_COUNTRY),
        hop(X, _CAPITAL, _ZONE),
        (
            "In which time zone is the capital of {0}?",
            "Which time zone do people in the capital of {0} live by?",
        ),
    ),
    Template(
        "city-neighbors",
        one(_CITY),
        hop(X, _CITY_COUNTRY, _BORDERS),
        (
            "Which countries border the country that {0} is in?",
            "Which countries border the one where {0} is located?",
        ),
    ),
    Template(
        "city-languages",
        one(_CITY),
        hop(X, _CITY_COUNTRY, "location.country.official_language"),
        (
            "What are the official languages of the country where {0} is?",
            "Which language or languages are official in the country that {0} belongs to?",
        ),
    ),
    Template(
        "city-capital",
        one(_CITY),
        hop(X, _CITY_COUNTRY, _CAPITAL),
        (
            "What is the capital of the country where {0} is?",
            "{0} is a city in a certain country. What is that country's capital?",
        ),
    ),
    Template(
        "neighbors-capital-zones",
        one(_COUNTRY),
        hop(X, _BORDERS, _CAPITAL, _ZONE),
        (
            "In which time zones are the capitals of the countries that border {0}?",
            "Which time zones do the capitals of the neighbors of {0} lie in?",
        ),
    ),
    Template(
        "city-neighbors-capitals",
        one(_CITY),
        hop(X, _CITY_COUNTRY, _BORDERS, _CAPITAL),
        (
            "What are the capitals of the countries that border the country where {0} is?",
            "{0} lies in a country with neighbors. What are the capitals of those neighbors?",
        ),
    ),
    Template(
        "state-cities-in-zone",
        seen_from(_CITY, "location.citytown.us_state", _ZONE),
        both(hop(X, _STATE_CITIES), hop(Y, _ZONE_CITIES)),
        (
            "Which of the cities on record in the US state of {0} are in the time zone {1}?",
            "Which cities listed for the state of {0} follow the time zone {1}?",
        ),
    ),
    Template(
        "counties-count",
        one(_STATE),
        count(hop(X, "location.us_state.counties")),
        (
            "How many counties, or equivalents of counties, does the US state of {0} have?",
            "Into how many counties or county equivalents is the state of {0} divided?",
        ),
    ),
    Template(
        "largest-city",
        one(_COUNTRY),
        most(hop(X, _CITIES), _POPULATION),
        (
            "What is the most populous city in {0}?",
            "Which city in {0} has the most inhabitants?",
            "What is the largest city of {0} by population?",
        ),
    ),
    Template(
        "state-largest-city",
        one(_STATE),
        most(hop(X, _STATE_CITIES), _POPULATION),
        (
            "What is the most populous city in the US state of {0}?",
            "Which city of the state of {0} has the largest population?",
        ),
    ),
    Template(
        "zone-largest-city",
        seen_from(_CITY, _ZONE),
        most(hop(X, _ZONE_CITIES), _POPULATION),
        (
            "What is the most populous city in the time zone {0}?",
            "Which city has the most inhabitants of all that are in the time zone {0}?",
        ),
    ),
    Template(
        "northernmost-city",
        one(_COUNTRY),
        most(hop(X, _CITIES), "location.citytown.latitude"),
        (
            "Of the cities on record in {0}, which lies farthest north?",
            "What is the northernmost of the cities listed for {0}?",
        ),
    ),
    Template(
        "southernmost-city",
        one(_COUNTRY),
        least(hop(X, _CITIES), "location.citytown.latitude"),
        (
            "Of the cities on record in {0}, which lies farthest south?",
            "What is the southernmost of the cities listed for {0}?",
        ),
    ),
    Template(
        "westernmost-state-city",
        one(_STATE),
        least(hop(X, _STATE_CITIES), "location.citytown.longitude"),
        (
            "Of the cities on record in the US state of {0}, which lies farthest west?",
            "What is the westernmost of the cities listed for the state of {0}?",
        ),
        held_out=True,
    ),
    Template(
        "largest-city-airports",
        one(_COUNTRY),
        hop(most(hop(X, _CITIES), _POPULATION), "location.location.nearby_airports"),
        (
            "Which airports serve the most populous city in {0}?",
            "Take the city with the most inhabitants in {0}. What airports does it have?",
        ),
    ),
    Template(
        "neighbors-zones-count",
        one(_COUNTRY),
        count(hop(X, _BORDERS, "location.country.time_zones")),
        (
            "How many different tz database time zones are there in the countries that border {0}?",
            "Counting each once, how many tz database zones do the neighbors of {0} have?",
        ),
    ),
    Template(
        "earliest-zone",
        one(_COUNTRY),
        most(hop(X, "location.country.time_zones"), "time.time_zone.offset_from_uct"),
        (
            "Which time zone of {0} is the furthest ahead in standard time?",
            "Among the time zones of {0}, where is the standard time offset from UTC the largest?",
        ),
    ),
    Template(
        "latest-zone",
        one(_COUNTRY),
        least(hop(X, "location.country.time_zones"), "time.time_zone.offset_from_uct"),
        (
            "Which time zone of {0} is the furthest behind in standard time?",
            "Among the time zones of {0}, where is the standard time offset from UTC the smallest?",
        ),
    ),
)
