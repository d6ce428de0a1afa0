"""Domains: hospitals, universities, flights, hotels, farms."""

from __future__ import annotations

from envhub_db.own.domain import Domain, Entity, amount, category, date, key, number
from envhub_db.own.draw import Draw, words

SUBJECTS = (
    "Statistics Ethics Robotics Anatomy Contracts Rhetoric Optics Genetics Archives Networks Trade".split()
)
FORMS = ("Introduction to", "Advanced", "Topics in", "Applied", "Theory of", "History of", "Seminar in")
GROUNDS = ("Acres", "Fields", "Orchard", "Hill Farm", "Meadows")

CLINIC = Domain(
    "clinic",
    Entity(
        "doctor",
        "doctors",
        ("doctors", "physicians"),
        (
            key("name", lambda draw: f"Dr. {draw.person()}"),
            category(
                "speciality", ("Cardiology", "Dermatology", "Neurology", "Paediatrics"), "working in {}"
            ),
            number(
                "experience",
                1,
                42,
                "with more than {} years of experience",
                "with less than {} years of experience",
                "most experienced doctor",
                "least experienced doctor",
                "years",
            ),
        ),
    ),
    Entity(
        "appointment",
        "appointments",
        ("appointments", "visits", "consultations"),
        (
            key("reference", lambda draw: draw.code("AP")),
            category(
                "reason", ("Check-up", "Vaccination", "Follow-up", "Surgery", "Referral"), "for the reason {}"
            ),
            category("insurance", ("Alba", "Medica", "Concordia", "Private"), "covered by {}"),
            number(
                "minutes",
                5,
                120,
                "longer than {} minutes",
                "shorter than {} minutes",
                "longest appointment",
                "shortest appointment",
                "minutes",
                "duration",
            ),
            amount(
                "fee",
                20,
                900,
                "with a fee above {} euros",
                "with a fee below {} euros",
                "most expensive appointment",
                "cheapest appointment",
                "euros",
            ),
            date("day", 2022, 2023, "after {}", "before {}", "latest appointment", "earliest appointment"),
        ),
    ),
    "with",
)

COURSES = Domain(
    "courses",
    Entity(
        "lecturer",
        "lecturers",
        ("lecturers", "teachers", "professors"),
        (
            key("name", Draw.person),
            category("faculty", ("Law", "Medicine", "Engineering", "Humanities"), "of the faculty of {}"),
            number(
                "office",
                100,
                499,
                "with an office number above {}",
                "with an office number below {}",
                "lecturer with the highest office number",
                "lecturer with the lowest office number",
                ask="office number",
            ),
        ),
    ),
    Entity(
        "course",
        "courses",
        ("courses", "classes", "course list"),
        (
            key(
                "title",
                lambda draw: f"{draw.choice(FORMS)} {draw.choice(SUBJECTS)}",
            ),
            category("term", ("Autumn", "Winter", "Spring", "Summer", "Holiday"), "in the {} term"),
            category("level", ("Bachelor", "Master", "Doctoral", "Preparatory", "Diploma"), "on {} level"),
            number(
                "students",
                6,
                300,
                "with more than {} students",
                "with fewer than {} students",
                "course with the most students",
                "course with the fewest students",
                ask="number of students",
            ),
            number(
                "room",
                10,
                399,
                "in a room with a number above {}",
                "in a room with a number below {}",
                "course in the room with the highest number",
                "course in the room with the lowest number",
                ask="room number",
            ),
            date(
                "exam",
                2022,
                2023,
                "with an exam after {}",
                "with an exam before {}",
                "course with the latest exam",
                "course with the earliest exam",
                "day of the exam",
            ),
        ),
    ),
    "taught by",
)

FLIGHTS = Domain(
    "flights",
    Entity(
        "airline",
        "airlines",
        ("airlines", "carriers"),
        (
            key(
                "name",
                lambda draw: (
                    f"{draw.choice(words('country'))} {draw.choice(('Air', 'Wings', 'Sky', 'Express'))}"
                ),
            ),
            category("alliance", ("Orbit", "Meridian", "Independent"), "in the group {}"),
            number(
                "fleet",
                4,
                260,
                "with more than {} aircraft",
                "with fewer than {} aircraft",
                "airline with the largest fleet",
                "airline with the smallest fleet",
                "aircraft",
            ),
        ),
    ),
    Entity(
        "flight",
        "flights",
        ("flights", "timetable", "departures"),
        (
            key(
                "number",
                lambda draw: f"{draw.choice(('QA', 'TX', 'LM', 'ZB'))}{draw.number(100, 9999)}",
                "flight number",
            ),
            category("destination", words("city")[27:35], "to {}"),
            category("aircraft", ("A320", "B737", "E190", "ATR 72"), "flown with an {}"),
            number(
                "distance",
                180,
                9800,
                "of more than {} kilometres",
                "of less than {} kilometres",
                "longest flight",
                "shortest flight",
                "kilometres",
            ),
            number(
                "passengers",
                18,
                380,
                "with more than {} passengers",
                "with fewer than {} passengers",
                "flight with the most passengers",
                "flight with the fewest passengers",
                ask="number of passengers",
            ),
            date(
                "departure",
                2023,
                2023,
                "leaving after {}",
                "leaving before {}",
                "last flight of the year",
                "first flight of the year",
                "day of departure",
            ),
        ),
    ),
    "operated by",
)

HOTELS = Domain(
    "hotels",
    Entity(
        "hotel",
        "hotels",
        ("hotels", "houses"),
        (
            key("name", lambda draw: f"Hotel {draw.word('adjective')} {draw.word('noun')}"),
            category("city", words("city")[35:41], "in {}"),
            number(
                "rooms",
                8,
                400,
                "with more than {} rooms",
                "with fewer than {} rooms",
                "largest hotel",
                "smallest hotel",
                ask="number of rooms",
            ),
        ),
    ),
    Entity(
        "booking",
        "bookings",
        ("bookings", "reservations", "stays"),
        (
            key("code", lambda draw: draw.code("BK"), "booking code"),
            category("room type", ("Single", "Double", "Suite", "Family"), "of a {} room"),
            category("country", words("country")[13:19], "by guests from {}", "country of the guest"),
            number(
                "nights",
                1,
                90,
                "for more than {} nights",
                "for fewer than {} nights",
                "longest booking",
                "shortest booking",
                ask="number of nights",
            ),
            amount(
                "total",
                60,
                4000,
                "worth more than {} euros",
                "worth less than {} euros",
                "most expensive booking",
                "cheapest booking",
                "euros",
                "total price",
            ),
            date(
                "arrival",
                2022,
                2023,
                "with an arrival after {}",
                "with an arrival before {}",
                "booking with the latest arrival",
                "booking with the earliest arrival",
                "day of arrival",
            ),
        ),
    ),
    "made at",
)

FARMS = Domain(
    "farms",
    Entity(
        "farm",
        "farms",
        ("farms", "growers"),
        (
            key(
                "name",
                lambda draw: f"{draw.word('adjective')} {draw.choice(GROUNDS)}",
            ),
            category("region", ("Upland", "Coast", "Valley", "Plain"), "in the region {}"),
            number(
                "hectares",
                4,
                700,
                "larger than {} hectares",
                "smaller than {} hectares",
                "largest farm",
                "smallest farm",
                "hectares",
                "area",
            ),
        ),
    ),
    Entity(
        "lot",
        "lots",
        ("lots", "harvest", "harvest lots"),
        (
            key("lot code", lambda draw: draw.code("HL")),
            category("crop", ("Barley", "Apples", "Potatoes", "Lentils", "Hops"), "of {}"),
            category("grade", ("A", "B", "C", "Organic"), "of grade {}"),
            number(
                "weight",
                120,
                9900,
                "heavier than {} kilograms",
                "lighter than {} kilograms",
                "heaviest lot",
                "lightest lot",
                "kilograms",
            ),
            amount(
                "moisture",
                6,
                40,
                "with more than {} percent moisture",
                "with less than {} percent moisture",
                "wettest lot",
                "driest lot",
                "percent",
            ),
            date(
                "harvested",
                2021,
                2023,
                "harvested after {}",
                "harvested before {}",
                "latest lot",
                "earliest lot",
                "day of harvest",
            ),
        ),
    ),
    "grown by",
)

DOMAINS = (CLINIC, COURSES, FLIGHTS, HOTELS, FARMS)
