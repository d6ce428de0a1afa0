"""Questions about airports."""

from __future__ import annotations

from envhub_kg.own.programs import X, Y, both, count, hop, least, most
from envhub_kg.own.template import Template, one, seen_from

_AIRPORT = "aviation.airport"
_COUNTRY = "location.country"
_STATE = "location.us_state"
_IN_COUNTRY = "location.country.airports"
_IN_STATE = "location.us_state.airports"
_OF_COUNTRY = "aviation.airport.country"
_SERVES = "aviation.airport.serves"
_NEARBY = "location.location.nearby_airports"
_ZONE = "aviation.airport.time_zone"
_IN_ZONE = "time.time_zone.airports"
_ELEVATION = "aviation.airport.elevation"
_LATITUDE = "aviation.airport.latitude"

TEMPLATES = (
    Template(
        "airport-serves",
        one(_AIRPORT),
        hop(X, _SERVES),
        ("Which city does {0} serve?", "What city do passengers reach through {0}?"),
    ),
    Template(
        "airport-country",
        one(_AIRPORT),
        hop(X, _OF_COUNTRY),
        ("In which country is {0}?", "Which country do you arrive in when you land at {0}?"),
    ),
    Template(
        "airport-capital",
        one(_AIRPORT),
        hop(X, _OF_COUNTRY, "location.country.capital"),
        (
            "What is the capital of the country where {0} is?",
            "Name the capital of the country in which {0} lies.",
        ),
    ),
    Template(
        "airport-languages",
        one(_AIRPORT),
        hop(X, _OF_COUNTRY, "location.country.official_language"),
        (
            "Which languages are official in the country where {0} is?",
            "What is the official language, or what are they, in the country in which {0} lies?",
        ),
    ),
    Template(
        "capital-airports",
        one(_COUNTRY),
        hop(X, "location.country.capital", _NEARBY),
        (
            "Which airports serve the capital of {0}?",
            "At which airports can you land if you fly to the capital of {0}?",
        ),
    ),
    Template(
        "airport-other-airports",
        one(_AIRPORT),
        hop(X, _SERVES, _NEARBY),
        (
            "Which other airports serve the same city as {0}?",
            "Apart from {0}, what airports does the city have that it serves?",
        ),
        others=True,
    ),
    Template(
        "airport-neighbors",
        one(_AIRPORT),
        hop(X, _OF_COUNTRY, "location.country.borders"),
        (
            "Which countries border the country where {0} is?",
            "You land at {0}. Which countries does the country you are in border?",
        ),
    ),
    Template(
        "airport-neighbors-languages",
        one(_AIRPORT),
        hop(X, _OF_COUNTRY, "location.country.borders", "location.country.official_language"),
        (
            "Which languages are official in the countries that border the country where {0} is?",
            "What are the official languages of the neighbors of the country in which {0} lies?",
        ),
    ),
    Template(
        "neighbors-capitals-airports",
        one(_COUNTRY),
        hop(X, "location.country.borders", "location.country.capital", _NEARBY),
        (
            "Which airports serve the capitals of the countries that border {0}?",
            "What airports do the capitals of the neighbors of {0} have?",
        ),
        held_out=True,
    ),
    Template(
        "state-airports-in-zone",
        seen_from(_AIRPORT, "aviation.airport.us_state", _ZONE),
        both(hop(X, _IN_STATE), hop(Y, _IN_ZONE)),
        (
            "Which airports in the US state of {0} are in the time zone {1}?",
            "What airports in the state of {0} keep the time of the zone {1}?",
        ),
    ),
    Template(
        "airports-count",
        one(_COUNTRY),
        count(hop(X, _IN_COUNTRY)),
        (
            "How many airports are recorded for {0}?",
            "What is the number of airports on record in {0}?",
        ),
    ),
    Template(
        "state-airports-count",
        one(_STATE),
        count(hop(X, _IN_STATE)),
        (
            "How many airports are recorded for the US state of {0}?",
            "What is the number of airports on record in the state of {0}?",
        ),
    ),
    Template(
        "highest-airport",
        one(_COUNTRY),
        most(hop(X, _IN_COUNTRY), _ELEVATION),
        (
            "Of the airports on record in {0}, which is the highest above sea level?",
            "Which of the airports listed for {0} has the greatest elevation?",
        ),
    ),
    Template(
        "lowest-airport",
        one(_COUNTRY),
        least(hop(X, _IN_COUNTRY), _ELEVATION),
        (
            "Which of the airports listed for {0} has the lowest elevation?",
            "Of the airports on record in {0}, which lies lowest with respect to sea level?",
        ),
    ),
    Template(
        "northernmost-airport",
        one(_COUNTRY),
        most(hop(X, _IN_COUNTRY), _LATITUDE),
        (
            "Of the airports on record in {0}, which is the northernmost?",
            "Which of the airports listed for {0} lies farthest north?",
        ),
    ),
    Template(
        "state-highest-airport",
        one(_STATE),
        most(hop(X, _IN_STATE), _ELEVATION),
        (
            "Of the airports on record in the US state of {0}, which is the highest above sea level?",
            "Which of the airports listed for the state of {0} has the greatest elevation?",
        ),
    ),
    Template(
        "highest-in-zone",
        seen_from(_AIRPORT, _ZONE),
        most(hop(X, _IN_ZONE), _ELEVATION),
        (
            "Which of the airports listed for the time zone {0} has the greatest elevation?",
            "Of the airports on record in the time zone {0}, which is the highest above sea level?",
        ),
    ),
    Template(
        "highest-airport-city",
        one(_COUNTRY),
        hop(most(hop(X, _IN_COUNTRY), _ELEVATION), _SERVES),
        (
            "Take the airport on record in {0} that is highest above sea level. Which city does it serve?",
            "Which city is served by the airport with the greatest elevation of those listed for {0}?",
        ),
    ),
    Template(
        "southernmost-airport-city",
        one(_COUNTRY),
        hop(least(hop(X, _IN_COUNTRY), _LATITUDE), _SERVES),
        (
            "Which city does the southernmost of the airports on record in {0} serve?",
            "What city is served by the airport that lies farthest south of those listed for {0}?",
        ),
        held_out=True,
    ),
)
