"""Kinds of questions."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from envhub_db.own.conditions import Condition, amount_of, bound, equal, equal_or_bound, literal
from envhub_db.own.domain import Field
from envhub_db.own.draw import Draw
from envhub_db.own.making import MOST_LABELS, Kinds, Made
from envhub_db.own.tables import Sheet, Sheets

KINDS = Kinds()
kind = KINDS.kind

_NTH = ("second", "third", "fourth", "fifth", "sixth")


def _matching(sheet: Sheet, *conditions: Condition) -> int:
    return sum(all(condition.holds(row) for condition in conditions) for row in sheet.rows)


def _where(*conditions: Condition) -> str:
    return " AND ".join(condition.sql for condition in conditions)


def _words(*conditions: Condition) -> str:
    return " ".join(condition.words for condition in conditions)


def _two(sheet: Sheet, draw: Draw) -> tuple[Condition, Condition]:
    return equal(sheet, draw), bound(sheet, draw)


def _unit(field: Field) -> str:
    return f" in {field.unit}" if field.unit else ""


@kind("other", 1)
def lookup(sheets: Sheets, draw: Draw) -> Made | None:
    """What a row has in a column."""
    sheet = draw.choice((sheets.many, sheets.one))
    row = draw.choice(sheet.rows)
    field = draw.choice([one for one in sheet.entity.fields[1:] if one.role != "category"])
    name = row[sheet.entity.key.name]
    question = draw.choice(
        (
            f"What is the {field.ask}{_unit(field)} of the {sheet.entity.noun} {name}?",
            f"Look up the {sheet.entity.noun} {name}: what is its {field.ask}{_unit(field)}?",
            f"I need the {field.ask}{_unit(field)} of {name}, one of our {sheet.entity.nouns}.",
            f"Of {name}, one of the {sheet.entity.nouns}, we need the {field.ask}{_unit(field)}.",
        )
    )
    where = f"{sheet.column(sheet.entity.key)} = {literal(name)}"
    sql = f"SELECT {sheet.column(field)} FROM {sheet.quoted} WHERE {where}"
    return Made("other", question, sql)


@kind("other", 1)
def list_one(sheets: Sheets, draw: Draw) -> Made | None:
    """Which rows meet a condition."""
    return _listed(
        sheets.many,
        draw,
        equal(sheets.many, draw) if draw.chance(0.5) else bound(sheets.many, draw, few=True),
    )


@kind("other", 2)
def list_two(sheets: Sheets, draw: Draw) -> Made | None:
    """Which rows meet two conditions."""
    return _listed(sheets.many, draw, *_two(sheets.many, draw))


def _listed(sheet: Sheet, draw: Draw, *conditions: Condition) -> Made | None:
    if not 2 <= _matching(sheet, *conditions) <= MOST_LABELS:
        return None
    entity, words = sheet.entity, _words(*conditions)
    question = draw.choice(
        (
            f"Which {entity.nouns} {words} are there? Answer with the {entity.key.ask} of each.",
            f"List the {entity.key.ask} of all {entity.nouns} {words}.",
            f"Give me every {entity.noun} {words}, by {entity.key.ask}.",
            f"We look for {entity.nouns} {words}. Name them all by their {entity.key.ask}.",
        )
    )
    return Made(
        "other",
        question,
        f"SELECT {sheet.column(entity.key)} FROM {sheet.quoted} WHERE {_where(*conditions)}",
    )


@kind("counting", 1)
def count_one(sheets: Sheets, draw: Draw) -> Made | None:
    """How many rows meet a condition."""
    return _counted(sheets.many, draw, equal_or_bound(sheets.many, draw))


@kind("counting", 2)
def count_two(sheets: Sheets, draw: Draw) -> Made | None:
    """How many rows meet two conditions."""
    return _counted(sheets.many, draw, *_two(sheets.many, draw))


def _counted(sheet: Sheet, draw: Draw, *conditions: Condition) -> Made | None:
    if _matching(sheet, *conditions) < 5:
        return None
    nouns, words = sheet.entity.nouns, _words(*conditions)
    question = draw.choice(
        (
            f"How many {nouns} {words} are there?",
            f"Count the {nouns} {words}.",
            f"What is the number of {nouns} {words}?",
            f"For a report: how many {nouns} {words} do we have?",
        )
    )
    return Made("counting", question, f"SELECT COUNT(*) FROM {sheet.quoted} WHERE {_where(*conditions)}")


@kind("comparison", 2)
def compare_difference(sheets: Sheets, draw: Draw) -> Made | None:
    """How far apart two rows are."""
    sheet, entity = sheets.many, sheets.many.entity
    field = draw.choice(entity.of_role("number"))
    low, high = sorted(draw.sample(sheet.rows, 2), key=lambda row: amount_of(row, field))
    first, second = high[entity.key.name], low[entity.key.name]
    question = draw.choice(
        (
            f"By how much{_unit(field)} is the {field.ask} of {first} higher than that of {second}?",
            f"Compare {first} and {second}: how large is the difference of their {field.ask}{_unit(field)}?",
            f"How much{_unit(field)} must the {field.ask} of {second} grow to equal that of {first}?",
        )
    )
    one = f"(SELECT {sheet.value(field)} FROM {sheet.quoted} WHERE {sheet.column(entity.key)} = "
    return Made("comparison", question, f"SELECT {one}{literal(first)}) - {one}{literal(second)})")


@kind("comparison", 2)
def compare_higher(sheets: Sheets, draw: Draw) -> Made | None:
    """Which rows have more than another one."""
    sheet, entity = sheets.many, sheets.many.entity
    field = draw.choice(entity.of_role("number"))
    rank = draw.number(2, 6)
    more = draw.chance(0.5)
    rows = sorted(sheet.rows, key=lambda row: amount_of(row, field), reverse=more)
    name = rows[rank][entity.key.name]
    word = "higher" if more else "lower"
    question = draw.choice(
        (
            f"Which {entity.nouns} have a {word} {field.ask} than {name}? Give the {entity.key.ask} of each.",
            f"Name all {entity.nouns} whose {field.ask} is {word} than that of {name}, by {entity.key.ask}.",
        )
    )
    key = sheet.column(entity.key)
    value = sheet.value(field)
    sql = (
        f"SELECT {key} FROM {sheet.quoted} WHERE {value} {'>' if more else '<'} "
        f"(SELECT {value} FROM {sheet.quoted} WHERE {key} = {literal(name)})"
    )
    return Made("comparison", question, sql)


@kind("ranking", 1)
def rank_first(sheets: Sheets, draw: Draw) -> Made | None:
    """Which row has the most or the least."""
    return _ranked(sheets.many, draw, 0)


@kind("ranking", 2)
def rank_nth(sheets: Sheets, draw: Draw) -> Made | None:
    """Which row comes at a place further down."""
    return _ranked(sheets.many, draw, draw.number(1, len(_NTH)))


@kind("ranking", 2)
def rank_within(sheets: Sheets, draw: Draw) -> Made | None:
    """Which of some rows has the most or the least."""
    condition = equal(sheets.many, draw)
    return _ranked(sheets.many, draw, 0, condition) if _matching(sheets.many, condition) > 3 else None


def _ranked(sheet: Sheet, draw: Draw, place: int, *conditions: Condition) -> Made:
    entity = sheet.entity
    field = draw.choice(entity.of_role("number") + entity.of_role("date"))
    most = draw.chance(0.5)
    words = f" {_words(*conditions)}" if conditions else ""
    which = f"{field.most if most else field.least}{words}"
    if place:
        first = {True: ("latest", "highest"), False: ("earliest", "lowest")}[most][field.role == "number"]
        nth, nouns = _NTH[place - 1], entity.nouns
        question = draw.choice(
            (
                f"Sort the {nouns} by their {field.ask}, the {first} first. Which one comes {nth}? "
                f"Answer with its {entity.key.ask}.",
                f"By {field.ask}, from the {first} on: give the {entity.key.ask} of the {nth} {entity.noun}.",
            )
        )
    else:
        question = draw.choice(
            (
                f"What is the {which}? Answer with its {entity.key.ask}.",
                f"Find the {which} and give me its {entity.key.ask}.",
                f"Give the {entity.key.ask} of the {which}.",
            )
        )
    where = f" WHERE {_where(*conditions)}" if conditions else ""
    order = f"ORDER BY {sheet.value(field)} {'DESC' if most else 'ASC'} LIMIT 1" + (
        f" OFFSET {place}" if place else ""
    )
    return Made("ranking", question, f"SELECT {sheet.column(entity.key)} FROM {sheet.quoted}{where} {order}")


@kind("aggregation-SUM", 2)
def total(sheets: Sheets, draw: Draw) -> Made | None:
    """The sum over some rows."""
    return _aggregated(sheets.many, draw, "SUM", ("total {}", "sum of every {}"))


@kind("aggregation-AVG", 2)
def average(sheets: Sheets, draw: Draw) -> Made | None:
    """The average over some rows."""
    return _aggregated(sheets.many, draw, "AVG", ("average {}", "mean {}"))


@kind("aggregation-MAX", 2)
def highest(sheets: Sheets, draw: Draw) -> Made | None:
    """The largest value of some rows."""
    return _aggregated(sheets.many, draw, "MAX", ("highest {}", "maximum {}"))


@kind("aggregation-MIN", 2)
def lowest(sheets: Sheets, draw: Draw) -> Made | None:
    """The smallest value of some rows."""
    return _aggregated(sheets.many, draw, "MIN", ("lowest {}", "minimum {}"))


def _aggregated(sheet: Sheet, draw: Draw, function: str, names: tuple[str, str]) -> Made | None:
    condition = equal_or_bound(sheet, draw)
    field = draw.choice(sheet.entity.of_role("number"))
    if _matching(sheet, condition) < 3 or condition.field == field:
        return None
    called, nouns = draw.choice(names).format(field.ask), sheet.entity.nouns
    rounded = ", rounded to two decimals" if function == "AVG" else ""
    question = draw.choice(
        (
            f"What is the {called}{_unit(field)} of the {nouns} {condition.words}{rounded}?",
            f"Taking only the {nouns} {condition.words}: what is their {called}{_unit(field)}{rounded}?",
            f"Work out the {called}{_unit(field)} over all {nouns} {condition.words}{rounded}.",
        )
    )
    value = f"{function}({sheet.value(field)})"
    value = f"ROUND({value}, 2)" if function == "AVG" else value
    return Made(
        f"aggregation-{function}", question, f"SELECT {value} FROM {sheet.quoted} WHERE {condition.sql}"
    )


@kind("ranking", 3)
def group_top(sheets: Sheets, draw: Draw) -> Made | None:
    """Which category has the highest total."""
    sheet, entity = sheets.many, sheets.many.entity
    by, field = draw.choice(entity.of_role("category")), draw.choice(entity.of_role("number"))
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for row in sheet.rows:
        totals[row[by.name]] += amount_of(row, field)
    ranked = sorted(totals.values())
    if len(ranked) < 3 or ranked[0] == ranked[1] or ranked[-1] == ranked[-2]:
        return None
    most = draw.chance(0.6)
    word = "highest" if most else "lowest"
    question = draw.choice(
        (
            f"Add up the {field.ask} of all {entity.nouns} by {by.ask}: which {by.ask} has the {word} total?",
            f"Which {by.ask} comes out with the {word} total {field.ask} over its {entity.nouns}?",
        )
    )
    column = sheet.column(by)
    order = f"SUM({sheet.value(field)}) {'DESC' if most else 'ASC'}"
    return Made(
        "ranking", question, f"SELECT {column} FROM {sheet.quoted} GROUP BY {column} ORDER BY {order} LIMIT 1"
    )


@kind("comparison", 3)
def group_having(sheets: Sheets, draw: Draw) -> Made | None:
    """Which categories have so many rows."""
    sheet, entity = sheets.many, sheets.many.entity
    by = draw.choice(entity.of_role("category"))
    counts: dict[str, int] = defaultdict(int)
    for row in sheet.rows:
        counts[row[by.name]] += 1
    least = draw.choice(sorted(counts.values()))
    if least < 2 or all(count >= least for count in counts.values()):
        return None
    question = draw.choice(
        (
            f"Which {by.ask} has at least {least} {entity.nouns}? Name every one.",
            f"For each {by.ask} count the {entity.nouns}. Where are there {least} or more?",
        )
    )
    column = sheet.column(by)
    sql = f"SELECT {column} FROM {sheet.quoted} GROUP BY {column} HAVING COUNT(*) >= {least}"
    return Made("comparison", question, sql)


@kind("counting", 3)
def above_average(sheets: Sheets, draw: Draw) -> Made | None:
    """How many rows are above the average."""
    sheet, entity = sheets.many, sheets.many.entity
    field = draw.choice(entity.of_role("number"))
    more = draw.chance(0.5)
    word = "above" if more else "below"
    question = draw.choice(
        (
            f"How many {entity.nouns} have a {field.ask} {word} the average of all {entity.nouns}?",
            f"Count the {entity.nouns} whose {field.ask} lies {word} the overall average.",
        )
    )
    value = sheet.value(field)
    average_of_all = f"(SELECT AVG({value}) FROM {sheet.quoted})"
    sql = f"SELECT COUNT(*) FROM {sheet.quoted} WHERE {value} {'>' if more else '<'} {average_of_all}"
    return Made("counting", question, sql)


@kind("join", 2)
def join_lookup(sheets: Sheets, draw: Draw) -> Made | None:
    """What belongs to the row that another one refers to."""
    one, many = sheets.one, sheets.many
    name = draw.choice(many.rows)[many.entity.key.name]
    field = draw.choice([one.entity.key, *one.entity.of_role("number"), *one.entity.of_role("date")])
    question = draw.choice(
        (
            f"The {many.entity.noun} {name} is {sheets.domain.link} one of the {one.entity.nouns}. "
            f"What is the {field.ask} of that {one.entity.noun}?",
            f"To which {one.entity.noun} does the {many.entity.noun} {name} belong? Give its {field.ask}.",
        )
    )
    where = f"m.{many.column(many.entity.key)} = {literal(name)}"
    return Made(
        "join", question, f"SELECT o.{one.column(field)} FROM {sheets.join} WHERE {where}", joined=True
    )


@kind("join", 3)
def join_count(sheets: Sheets, draw: Draw) -> Made | None:
    """How many rows refer to rows that meet a condition."""
    one, many = sheets.one, sheets.many
    condition = equal(one, draw, "o.")
    numbers = {row["id"] for row in one.rows if condition.holds(row)}
    if sum(row[many.extra] in numbers for row in many.rows) < 3:
        return None
    whose = f"{sheets.domain.link} {one.entity.nouns} {condition.words}"
    question = draw.choice(
        (
            f"How many {many.entity.nouns} are {whose}?",
            f"Count the {many.entity.nouns} that are {whose}.",
        )
    )
    return Made("join", question, f"SELECT COUNT(*) FROM {sheets.join} WHERE {condition.sql}", joined=True)


@kind("join", 3)
def join_top(sheets: Sheets, draw: Draw) -> Made | None:
    """Whose rows have the highest total."""
    one, many = sheets.one, sheets.many
    field = draw.choice(many.entity.of_role("number"))
    totals: dict[int, Decimal] = defaultdict(Decimal)
    for row in many.rows:
        totals[row[many.extra]] += amount_of(row, field)
    ranked = sorted(totals.values(), reverse=True)
    if len(ranked) < 3 or ranked[0] == ranked[1]:
        return None
    question = draw.choice(
        (
            f"Over all its {many.entity.nouns}, which {one.entity.noun} has the highest total {field.ask}? "
            f"Answer with the {one.entity.key.ask}.",
            f"Add up the {field.ask} of the {many.entity.nouns} of each {one.entity.noun}. "
            f"Give the {one.entity.key.ask} of the one with the largest sum.",
        )
    )
    key, number = f"o.{one.column(one.entity.key)}", f"o.{one.column(one.extra)}"
    value = many.column(field)
    value = f"CAST(m.{value} AS DECIMAL(14,2))" if many.texts else f"m.{value}"
    sql = f"SELECT {key} FROM {sheets.join} GROUP BY {number}, {key} ORDER BY SUM({value}) DESC LIMIT 1"
    return Made("join", question, sql, joined=True)
