"""Domains that only test tasks are made of: software, energy, ships, animals, stars."""

from __future__ import annotations

from envhub_db.own.domain import Domain, Entity, amount, category, date, key, number
from envhub_db.own.draw import Draw, words

TICKETS = Domain(
    "tickets",
    Entity("engineer", "engineers", ("engineers", "developers"), (
        key("name", Draw.person),
        category("team", ("Platform", "Payments", "Mobile", "Search"), "of the team {}"),
        number("commits", 20, 4000, "with more than {} commits", "with fewer than {} commits", "most active engineer",
               "least active engineer", ask="number of commits"),
    )),
    Entity("ticket", "tickets", ("tickets", "issues", "bug reports"), (
        key("ticket key", lambda draw: draw.code("TCK")),
        category("priority", ("Low", "Medium", "High", "Critical"), "with priority {}"),
        category("state", ("New", "Assigned", "Testing", "Closed"), "in the state {}"),
        number("points", 1, 100, "with more than {} points", "with fewer than {} points", "largest ticket", "smallest ticket",
               ask="number of points"),
        number("comments", 0, 150, "with more than {} comments", "with fewer than {} comments", "most discussed ticket",
               "least discussed ticket", ask="number of comments"),
        date("opened", 2022, 2023, "opened after {}", "opened before {}", "newest ticket", "oldest ticket", "opening date"),
    )),
    "assigned to",
)

PLANTS = Domain(
    "plants",
    Entity("operator", "operators", ("operators", "utilities"), (
        key("name", lambda draw: f"{draw.word('firm')} {draw.choice(('Energy', 'Power', 'Grid'))}"),
        category("ownership", ("Public", "Private", "Cooperative"), "in {} ownership"),
        number("households", 20000, 900000, "that supply more than {} households", "that supply fewer than {} households",
               "largest operator", "smallest operator", ask="number of households supplied"),
    )),
    Entity("plant", "plants", ("plants", "power plants", "generators"), (
        key("name", lambda draw: f"{draw.word('city')} {draw.choice(('North', 'South', 'Quay', 'Heights', 'Moor'))}"),
        category("source", ("Wind", "Solar", "Hydro", "Gas", "Biomass"), "powered by {}"),
        category("province", ("Arden", "Belmor", "Cleve", "Dorn"), "in the province {}"),
        number("capacity", 2, 1400, "with more than {} megawatts", "with less than {} megawatts", "most powerful plant",
               "least powerful plant", "megawatts"),
        number("operating hours", 400, 8700, "with more than {} operating hours", "with fewer than {} operating hours",
               "plant with the most operating hours", "plant with the fewest operating hours", "hours"),
        date("opened", 1960, 2023, "opened after {}", "opened before {}", "newest plant", "oldest plant", "opening date"),
    )),
    "run by",
)

SHIPS = Domain(
    "ships",
    Entity("port", "ports", ("ports", "harbours"), (
        key("name", lambda draw: f"Port of {draw.word('city')}"),
        category("sea", ("Baltic", "Adriatic", "Atlantic", "Aegean"), "on the {}"),
        number("berths", 3, 140, "with more than {} berths", "with fewer than {} berths", "largest port", "smallest port",
               ask="number of berths"),
    )),
    Entity("ship", "ships", ("ships", "vessels", "fleet register"), (
        key("name", lambda draw: f"MS {draw.word('adjective')} {draw.word('noun')}"),
        category("type", ("Tanker", "Ferry", "Container ship", "Tug", "Trawler"), "of the type {}"),
        category("flag", words("country")[4:10], "under the flag of {}"),
        number("tonnage", 300, 98000, "of more than {} tons", "of less than {} tons", "heaviest ship", "lightest ship", "tons"),
        number("crew", 3, 180, "with a crew of more than {}", "with a crew of less than {}", "ship with the largest crew",
               "ship with the smallest crew", ask="size of the crew"),
        date("launched", 1970, 2023, "launched after {}", "launched before {}", "newest ship", "oldest ship", "launch date"),
    )),
    "registered at the",
)

ANIMALS = Domain(
    "animals",
    Entity("keeper", "keepers", ("keepers", "zoo keepers"), (
        key("name", Draw.person),
        category("shift", ("Early", "Day", "Late"), "on the {} shift"),
        number("badge", 100, 999, "with a badge number above {}", "with a badge number below {}",
               "keeper with the highest badge number", "keeper with the lowest badge number", ask="badge number"),
    )),
    Entity("animal", "animals", ("animals", "zoo animals", "residents"), (
        key("name", lambda draw: f"{draw.word('first')} {draw.choice(('I', 'II', 'III', 'IV'))}"),
        category("species", ("Tapir", "Lemur", "Okapi", "Otter", "Ibex", "Puma"), "of the species {}"),
        category("house", ("Savanna", "Rainforest", "Rocks", "Lagoon"), "in the {} house"),
        amount("weight", 2, 480, "heavier than {} kilograms", "lighter than {} kilograms", "heaviest animal", "lightest animal",
               "kilograms"),
        number("visitors", 100, 9000, "seen by more than {} visitors", "seen by fewer than {} visitors",
               "most visited animal", "least visited animal", ask="number of visitors"),
        date("born", 1995, 2023, "born after {}", "born before {}", "youngest animal", "oldest animal", "date of birth"),
    )),
    "looked after by",
)

STARS = Domain(
    "stars",
    Entity("observatory", "observatories", ("observatories", "telescopes"), (
        key("name", lambda draw: f"{draw.word('last')} Observatory"),
        category("country", words("country")[15:21], "in {}"),
        number("altitude", 200, 5200, "more than {} metres above the sea", "less than {} metres above the sea",
               "highest observatory", "lowest observatory", "metres"),
    )),
    Entity("planet", "planets", ("planets", "exoplanets", "discoveries"), (
        key("designation", lambda draw: f"KX-{draw.number(100, 9999)} {draw.choice('bcde')}"),
        category("method", ("Transit", "Radial velocity", "Imaging", "Microlensing"), "found by {}"),
        category("class", ("Rocky", "Ice giant", "Gas giant", "Super-Earth"), "of the class {}"),
        number("light years", 12, 9000, "more than {} light years away", "less than {} light years away", "most distant planet",
               "nearest planet", "light years", "distance"),
        amount("orbit", 1, 900, "with an orbit of more than {} days", "with an orbit of less than {} days",
               "planet with the longest orbit", "planet with the shortest orbit", "days", "orbital period"),
        date("announced", 2000, 2023, "announced after {}", "announced before {}", "most recently announced planet",
             "planet that was announced first", "date of announcement"),
    )),
    "discovered at the",
)

DOMAINS = (TICKETS, PLANTS, SHIPS, ANIMALS, STARS)
