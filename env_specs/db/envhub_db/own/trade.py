"""Domains: shops, orders, firms, houses, restaurants."""

from __future__ import annotations

from envhub_db.own.domain import Domain, Entity, amount, category, date, key, number
from envhub_db.own.draw import Draw, words

GOODS = ("Kettle", "Lamp", "Chair", "Mug", "Rug", "Pan", "Shelf", "Radio")
WORK = ("Sales", "Finance", "Research", "Legal", "Logistics", "Support", "Design")
DISHES = ("Soup", "Curry", "Salad", "Stew", "Pie", "Noodles", "Tart", "Risotto")

SHOP = Domain(
    "shop",
    Entity(
        "supplier",
        "suppliers",
        ("suppliers", "vendors"),
        (
            key("name", Draw.firm),
            category("country", words("country")[6:13], "from {}"),
            number(
                "lead days",
                2,
                60,
                "that need more than {} days to deliver",
                "that need less than {} days to deliver",
                "slowest supplier",
                "fastest supplier",
                "days",
                "lead time",
            ),
        ),
    ),
    Entity(
        "product",
        "products",
        ("products", "articles", "stock list"),
        (
            key(
                "name",
                lambda draw: f"{draw.word('adjective')} {draw.choice(GOODS)} {draw.number(2, 99)}",
            ),
            category(
                "category", ("Kitchen", "Lighting", "Furniture", "Textiles", "Audio"), "of the category {}"
            ),
            category("colour", ("Black", "White", "Teal", "Olive", "Mustard", "Navy"), "in {}"),
            amount(
                "price",
                4,
                400,
                "priced above {} dollars",
                "priced below {} dollars",
                "most expensive product",
                "cheapest product",
                "dollars",
            ),
            number(
                "in stock",
                0,
                900,
                "with more than {} pieces in stock",
                "with fewer than {} pieces in stock",
                "product with the most pieces in stock",
                "product with the fewest pieces in stock",
                "pieces",
                "stock",
            ),
            date(
                "listed on",
                2015,
                2023,
                "listed after {}",
                "listed before {}",
                "most recently listed product",
                "product that was listed first",
                "listing date",
            ),
        ),
    ),
    "supplied by",
)

ORDERS = Domain(
    "orders",
    Entity(
        "customer",
        "customers",
        ("customers", "clients", "accounts"),
        (
            key("name", Draw.firm),
            category("region", ("North", "South", "East", "West"), "from the region {}"),
            number(
                "credit limit",
                1000,
                90000,
                "with a credit limit above {}",
                "with a credit limit below {}",
                "customer with the highest credit limit",
                "customer with the lowest credit limit",
            ),
        ),
    ),
    Entity(
        "order",
        "orders",
        ("orders", "sales orders", "order book"),
        (
            key("order number", lambda draw: draw.code("SO")),
            category("status", ("Open", "Paid", "Shipped", "Returned", "Cancelled"), "with the status {}"),
            category("channel", ("Web", "Phone", "Store", "Partner"), "that came in by {}"),
            amount(
                "amount",
                20,
                5000,
                "worth more than {} euros",
                "worth less than {} euros",
                "largest order",
                "smallest order",
                "euros",
            ),
            number(
                "items",
                1,
                400,
                "with more than {} items",
                "with fewer than {} items",
                "order with the most items",
                "order with the fewest items",
                ask="number of items",
            ),
            date(
                "ordered on",
                2021,
                2023,
                "placed after {}",
                "placed before {}",
                "latest order",
                "earliest order",
                "order date",
            ),
        ),
    ),
    "placed by",
)

STAFF = Domain(
    "staff",
    Entity(
        "department",
        "departments",
        ("departments", "units"),
        (
            key(
                "name",
                lambda draw: (
                    f"{draw.choice(('Field', 'Inner', 'Global', 'Digital', 'Central'))} {draw.choice(WORK)}"
                ),
            ),
            category("site", words("city")[8:13], "in {}"),
            number(
                "budget",
                40000,
                900000,
                "with a budget above {}",
                "with a budget below {}",
                "department with the largest budget",
                "department with the smallest budget",
            ),
        ),
    ),
    Entity(
        "employee",
        "employees",
        ("employees", "staff", "personnel"),
        (
            key("name", Draw.person),
            category(
                "role", ("Analyst", "Engineer", "Manager", "Assistant", "Specialist"), "with the role {}"
            ),
            category("contract", ("Permanent", "Temporary", "Part-time", "Trainee"), "on a {} contract"),
            number(
                "salary",
                24000,
                120000,
                "who earn more than {}",
                "who earn less than {}",
                "best-paid employee",
                "worst-paid employee",
            ),
            number(
                "overtime",
                0,
                260,
                "with more than {} hours of overtime",
                "with less than {} hours of overtime",
                "employee with the most overtime",
                "employee with the least overtime",
                "hours",
            ),
            date(
                "hired",
                1998,
                2023,
                "hired after {}",
                "hired before {}",
                "newest employee",
                "longest-serving employee",
                "date of hire",
            ),
        ),
    ),
    "employed in",
)

HOUSES = Domain(
    "houses",
    Entity(
        "agent",
        "agents",
        ("agents", "estate agents", "brokers"),
        (
            key("name", Draw.person),
            category("office", words("city")[14:19], "of the office in {}"),
            amount(
                "commission",
                1,
                9,
                "with a commission above {} percent",
                "with a commission below {} percent",
                "agent with the highest commission",
                "agent with the lowest commission",
                "percent",
            ),
        ),
    ),
    Entity(
        "property",
        "properties",
        ("properties", "listings", "houses for sale"),
        (
            key("address", Draw.address),
            category("kind", ("Flat", "House", "Loft", "Studio", "Cottage"), "of the kind {}"),
            category(
                "district",
                ("Old Town", "Harbour", "Riverside", "Hillside", "Market Quarter"),
                "in the district {}",
            ),
            number(
                "price",
                90000,
                990000,
                "that cost more than {} euros",
                "that cost less than {} euros",
                "most expensive property",
                "cheapest property",
                "euros",
                "asking price",
            ),
            number(
                "area",
                22,
                320,
                "with more than {} square metres",
                "with less than {} square metres",
                "largest property",
                "smallest property",
                "square metres",
            ),
            date(
                "listed",
                2022,
                2023,
                "listed after {}",
                "listed before {}",
                "latest property on the market",
                "property that was listed first",
                "listing date",
            ),
        ),
    ),
    "offered by",
)

FOOD = Domain(
    "food",
    Entity(
        "restaurant",
        "restaurants",
        ("restaurants", "places to eat"),
        (
            key("name", lambda draw: f"{draw.choice(('Chez', 'Casa', 'The', 'Little'))} {draw.word('noun')}"),
            category("city", words("city")[20:26], "in {}"),
            number(
                "seats",
                12,
                240,
                "with more than {} seats",
                "with fewer than {} seats",
                "largest restaurant",
                "smallest restaurant",
                ask="number of seats",
            ),
        ),
    ),
    Entity(
        "dish",
        "dishes",
        ("dishes", "menu", "menu items"),
        (
            key(
                "name",
                lambda draw: f"{draw.word('adjective')} {draw.choice(DISHES)}",
            ),
            category("course", ("Starter", "Main", "Dessert", "Side"), "served as {}"),
            category("diet", ("Vegan", "Vegetarian", "Fish", "Meat"), "for the diet {}"),
            amount(
                "price",
                3,
                48,
                "that cost more than {}",
                "that cost less than {}",
                "most expensive dish",
                "cheapest dish",
            ),
            number(
                "calories",
                90,
                1400,
                "with more than {} calories",
                "with fewer than {} calories",
                "richest dish",
                "lightest dish",
                ask="number of calories",
            ),
            date(
                "added",
                2018,
                2023,
                "added after {}",
                "added before {}",
                "newest dish",
                "oldest dish on the menu",
                "date it was added",
            ),
        ),
    ),
    "served at",
)

DOMAINS = (SHOP, ORDERS, STAFF, HOUSES, FOOD)
