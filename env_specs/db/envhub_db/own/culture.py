"""Domains: books, films, music, art, sports."""

from __future__ import annotations

from envhub_db.own.domain import Domain, Entity, amount, category, date, key, number
from envhub_db.own.draw import Draw, words

COUNTRIES = words("country")[:8]

BOOKS = Domain(
    "books",
    Entity(
        "author",
        "authors",
        ("authors", "writers", "book authors"),
        (
            key("name", Draw.person),
            category("country", COUNTRIES, "from {}"),
            number(
                "born",
                1900,
                1999,
                "born after {}",
                "born before {}",
                "youngest author",
                "oldest author",
                ask="year of birth",
            ),
        ),
    ),
    Entity(
        "book",
        "books",
        ("books", "titles", "book catalogue"),
        (
            key("title", Draw.title),
            category(
                "genre", ("Crime", "Fantasy", "Poetry", "Biography", "Travel", "History"), "in the genre {}"
            ),
            category("language", ("English", "Spanish", "German", "Turkish", "Polish", "Japanese"), "in {}"),
            number(
                "pages",
                80,
                980,
                "with more than {} pages",
                "with fewer than {} pages",
                "longest book",
                "shortest book",
                ask="number of pages",
            ),
            amount(
                "price",
                6,
                60,
                "that cost more than {} euros",
                "that cost less than {} euros",
                "most expensive book",
                "cheapest book",
                "euros",
            ),
            date(
                "published",
                1970,
                2023,
                "published after {}",
                "published before {}",
                "most recently published book",
                "book that was published first",
                "date of publication",
            ),
        ),
    ),
    "written by",
)

FILMS = Domain(
    "films",
    Entity(
        "director",
        "directors",
        ("directors", "film directors"),
        (
            key("name", Draw.person),
            category("country", COUNTRIES, "from {}"),
            number(
                "awards",
                1,
                90,
                "with more than {} awards",
                "with fewer than {} awards",
                "most decorated director",
                "least decorated director",
                ask="number of awards",
            ),
        ),
    ),
    Entity(
        "film",
        "films",
        ("films", "movies", "film archive"),
        (
            key("title", Draw.title),
            category(
                "genre",
                ("Drama", "Comedy", "Thriller", "Documentary", "Western", "Animation"),
                "in the genre {}",
            ),
            category("studio", ("Lumen", "Red Gate", "Paragon", "Nordlys", "Cinecasa"), "produced by {}"),
            number(
                "minutes",
                62,
                215,
                "that run for more than {} minutes",
                "that run for less than {} minutes",
                "longest film",
                "shortest film",
                "minutes",
                "running time",
            ),
            number(
                "tickets",
                2000,
                99000,
                "that sold more than {} tickets",
                "that sold fewer than {} tickets",
                "most watched film",
                "least watched film",
                ask="number of tickets sold",
            ),
            date(
                "premiere",
                1975,
                2023,
                "first shown after {}",
                "first shown before {}",
                "most recent film",
                "oldest film",
                "date of the premiere",
            ),
        ),
    ),
    "directed by",
)

MUSIC = Domain(
    "music",
    Entity(
        "band",
        "bands",
        ("bands", "artists", "musicians"),
        (
            key("name", lambda draw: f"{draw.word('adjective')} {draw.word('noun')}s"),
            category("city", words("city")[:7], "based in {}"),
            number(
                "founded",
                1960,
                2018,
                "founded after {}",
                "founded before {}",
                "youngest band",
                "oldest band",
                ask="year of foundation",
            ),
        ),
    ),
    Entity(
        "album",
        "albums",
        ("albums", "records", "discography"),
        (
            key("title", Draw.title),
            category("style", ("Jazz", "Rock", "Folk", "Electronic", "Soul", "Metal"), "in the style {}"),
            category("label", ("Monsoon", "Parlour", "Nine Volt", "Echo Park", "Sable"), "released by {}"),
            number(
                "copies",
                500,
                90000,
                "that sold more than {} copies",
                "that sold fewer than {} copies",
                "best-selling album",
                "worst-selling album",
                ask="number of copies sold",
            ),
            number(
                "seconds",
                1500,
                4700,
                "longer than {} seconds",
                "shorter than {} seconds",
                "longest album",
                "shortest album",
                "seconds",
                "playing time",
            ),
            date(
                "released",
                1980,
                2023,
                "released after {}",
                "released before {}",
                "most recent album",
                "earliest album",
                "release date",
            ),
        ),
    ),
    "recorded by",
)

ART = Domain(
    "art",
    Entity(
        "gallery",
        "galleries",
        ("galleries", "museum rooms"),
        (
            key("name", lambda draw: f"{draw.word('last')} Gallery"),
            category("wing", ("North", "South", "East", "West"), "in the {} wing"),
            number(
                "area",
                60,
                900,
                "larger than {} square metres",
                "smaller than {} square metres",
                "largest gallery",
                "smallest gallery",
                "square metres",
            ),
        ),
    ),
    Entity(
        "artwork",
        "artworks",
        ("artworks", "collection", "museum objects"),
        (
            key("title", Draw.title),
            category(
                "technique", ("Oil", "Watercolour", "Etching", "Bronze", "Photograph"), "of the technique {}"
            ),
            category(
                "period", ("Baroque", "Romantic", "Modern", "Contemporary", "Renaissance"), "of the {} period"
            ),
            number(
                "insured value",
                2000,
                980000,
                "insured for more than {} dollars",
                "insured for less than {} dollars",
                "most valuable artwork",
                "least valuable artwork",
                "dollars",
            ),
            number(
                "height",
                20,
                320,
                "taller than {} centimetres",
                "less than {} centimetres tall",
                "tallest artwork",
                "artwork with the smallest height",
                "centimetres",
            ),
            date(
                "acquired",
                1950,
                2023,
                "acquired after {}",
                "acquired before {}",
                "most recently acquired artwork",
                "artwork that was acquired first",
                "date of acquisition",
            ),
        ),
    ),
    "shown in",
)

FOOTBALL = Domain(
    "football",
    Entity(
        "club",
        "clubs",
        ("clubs", "teams", "football clubs"),
        (
            key(
                "name",
                lambda draw: (
                    f"{draw.word('city')} {draw.choice(('United', 'Rovers', 'Athletic', 'Wanderers'))}"
                ),
            ),
            category("division", ("First Division", "Second Division", "Third Division"), "in the {}"),
            number(
                "stadium seats",
                3000,
                80000,
                "with more than {} seats",
                "with fewer than {} seats",
                "club with the largest stadium",
                "club with the smallest stadium",
                ask="number of stadium seats",
            ),
        ),
    ),
    Entity(
        "player",
        "players",
        ("players", "squad list", "footballers"),
        (
            key("name", Draw.person),
            category("position", ("Goalkeeper", "Defender", "Midfielder", "Forward"), "playing as {}"),
            category("nationality", COUNTRIES, "from {}"),
            number(
                "goals",
                0,
                160,
                "who scored more than {} goals",
                "who scored fewer than {} goals",
                "top scorer",
                "player with the fewest goals",
                ask="number of goals",
            ),
            number(
                "weekly wage",
                900,
                60000,
                "who earn more than {} a week",
                "who earn less than {} a week",
                "best-paid player",
                "worst-paid player",
            ),
            date(
                "birthday",
                1985,
                2005,
                "born after {}",
                "born before {}",
                "youngest player",
                "oldest player",
                "date of birth",
            ),
        ),
    ),
    "under contract with",
)

DOMAINS = (BOOKS, FILMS, MUSIC, ART, FOOTBALL)
