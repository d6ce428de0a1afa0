"""Kinds of orders: to insert, to update, to delete."""

from __future__ import annotations

from envhub_db.own.conditions import bound, equal, equal_or_bound, literal, plain
from envhub_db.own.domain import Field
from envhub_db.own.draw import Draw
from envhub_db.own.making import Kinds, Made
from envhub_db.own.tables import Sheet, Sheets, new_value

KINDS = Kinds()
kind = KINDS.kind


def _new(sheet: Sheet, field: Field, draw: Draw) -> str:
    """Make a value that no row has, or, of a category, one that some row has."""
    return str(new_value(field, {row[field.name] for row in sheet.rows}, draw))


@kind("INSERT", 1)
def insert(sheets: Sheets, draw: Draw) -> Made | None:
    """A row whose values are all given."""
    sheet, entity = sheets.one, sheets.one.entity
    number = max(row["id"] for row in sheet.rows) + draw.number(1, 9)
    values = {field: _new(sheet, field, draw) for field in entity.fields}
    told = ", ".join(f"{field.ask} {value}" for field, value in values.items())
    question = draw.choice(
        (
            f"Add a new {entity.noun} with the id {number}: {told}.",
            f"We have one more {entity.noun} now. Please store it under the id {number}: {told}.",
            f"Insert a row for the {entity.noun} with id {number}, {told}.",
        )
    )
    columns = ", ".join([sheet.column(sheet.extra), *map(sheet.column, entity.fields)])
    literals = ", ".join([str(number), *(plain(field, value) for field, value in values.items())])
    return Made("INSERT", question, f"INSERT INTO {sheet.quoted} ({columns}) VALUES ({literals})")


@kind("INSERT", 3)
def insert_like(sheets: Sheets, draw: Draw) -> Made | None:
    """A row that takes values from others."""
    one, many, entity = sheets.one, sheets.many, sheets.many.entity
    same = draw.choice(entity.of_role("category"))
    like = draw.choice(many.rows)[entity.key.name]
    whose = draw.choice(one.rows)[one.entity.key.name]
    values = {field: _new(many, field, draw) for field in entity.fields if field != same}
    told = ", ".join(f"{field.ask} {value}" for field, value in values.items())
    question = draw.choice(
        (
            f"Add a {entity.noun} {sheets.domain.link} the {one.entity.noun} {whose}: {told}; "
            f"the {same.ask} is the same as that of {like}.",
            f"A new {entity.noun} has to be stored, {sheets.domain.link} {whose}, with the {same.ask} of the "
            f"{entity.noun} {like}. The rest: {told}.",
        )
    )
    fields = list(values)
    columns = ", ".join([many.column(many.extra), many.column(same), *map(many.column, fields)])
    chosen = ", ".join(
        [f"o.{one.column(one.extra)}", f"m.{many.column(same)}", *(plain(f, v) for f, v in values.items())]
    )
    sql = (
        f"INSERT INTO {many.quoted} ({columns}) SELECT {chosen} FROM {many.quoted} AS m, {one.quoted} AS o "
        f"WHERE m.{many.column(entity.key)} = {literal(like)} "
        f"AND o.{one.column(one.entity.key)} = {literal(whose)}"
    )
    return Made("INSERT", question, sql, joined=True)


@kind("UPDATE", 1)
def update(sheets: Sheets, draw: Draw) -> Made | None:
    """A value of one row."""
    sheet, entity = sheets.many, sheets.many.entity
    field = draw.choice(entity.fields[1:])
    row = draw.choice(sheet.rows)
    name, value = row[entity.key.name], _new(sheet, field, draw)
    question = draw.choice(
        (
            f"Change the {field.ask} of the {entity.noun} {name} to {value}.",
            f"The {field.ask} of {name} is wrong: it should be {value}. Please correct it.",
            f"Set the {field.ask} to {value} for the {entity.noun} {name}.",
        )
    )
    where = f"{sheet.column(entity.key)} = {literal(name)}"
    sql = f"UPDATE {sheet.quoted} SET {sheet.column(field)} = {plain(field, value)} WHERE {where}"
    return Made("UPDATE", question, sql)


@kind("UPDATE", 2)
def update_some(sheets: Sheets, draw: Draw) -> Made | None:
    """A value of all rows that meet a condition; a number is raised where the columns hold numbers."""
    sheet, entity = sheets.many, sheets.many.entity
    condition = bound(sheet, draw) if sheet.texts else equal_or_bound(sheet, draw)
    if sheet.texts or draw.chance(0.4):
        field = draw.choice(
            [one for one in entity.of_role("category") if one != condition.field] or [entity.key]
        )
        if field == entity.key:
            return None
        value = _new(sheet, field, draw)
        question = draw.choice(
            (
                f"Set the {field.ask} of all {entity.nouns} {condition.words} to {value}.",
                f"From now on, the {field.ask} of all {entity.nouns} {condition.words} shall be {value}.",
            )
        )
        change = literal(value)
    else:
        field = draw.choice(entity.of_role("number"))
        step = draw.number(2, 40)
        unit = f" {field.unit}" if field.unit else ""
        question = draw.choice(
            (
                f"Raise the {field.ask} of all {entity.nouns} {condition.words} by {step}{unit}.",
                f"The {field.ask} of the {entity.nouns} {condition.words} goes up by {step}{unit}.",
            )
        )
        change = f"{sheet.column(field)} + {step}"
    sql = f"UPDATE {sheet.quoted} SET {sheet.column(field)} = {change} WHERE {condition.sql}"
    return Made("UPDATE", question, sql)


@kind("UPDATE", 3)
def update_joined(sheets: Sheets, draw: Draw) -> Made | None:
    """A value of all rows that refer to a row."""
    one, many, entity = sheets.one, sheets.many, sheets.many.entity
    whose = draw.choice(one.rows)[one.entity.key.name]
    field = draw.choice(entity.of_role("category"))
    value = _new(many, field, draw)
    question = draw.choice(
        (
            f"For every {entity.noun} {sheets.domain.link} the {one.entity.noun} {whose}, "
            f"set the {field.ask} to {value}.",
            f"All {entity.nouns} {sheets.domain.link} {whose} get a new {field.ask}: {value}.",
        )
    )
    return Made(
        "UPDATE",
        question,
        f"UPDATE {many.quoted} SET {many.column(field)} = {literal(value)} WHERE {_refers(sheets, whose)}",
        joined=True,
    )


@kind("DELETE", 1)
def delete(sheets: Sheets, draw: Draw) -> Made | None:
    """One row."""
    sheet, entity = sheets.many, sheets.many.entity
    name = draw.choice(sheet.rows)[entity.key.name]
    question = draw.choice(
        (
            f"Delete the {entity.noun} {name}.",
            f"The {entity.noun} {name} is no longer with us: remove it from the table.",
            f"Please take {name} out of the {entity.nouns}.",
        )
    )
    return Made(
        "DELETE", question, f"DELETE FROM {sheet.quoted} WHERE {sheet.column(entity.key)} = {literal(name)}"
    )


@kind("DELETE", 2)
def delete_some(sheets: Sheets, draw: Draw) -> Made | None:
    """All rows that meet two conditions."""
    sheet, entity = sheets.many, sheets.many.entity
    first, second = equal(sheet, draw), bound(sheet, draw)
    if not 2 <= sum(first.holds(row) and second.holds(row) for row in sheet.rows) <= 15:
        return None
    words = f"{first.words} {second.words}"
    question = draw.choice(
        (
            f"Delete all {entity.nouns} {words}.",
            f"We no longer keep {entity.nouns} {words}: remove them, and no others.",
        )
    )
    return Made("DELETE", question, f"DELETE FROM {sheet.quoted} WHERE {first.sql} AND {second.sql}")


@kind("DELETE", 3)
def delete_joined(sheets: Sheets, draw: Draw) -> Made | None:
    """All rows that refer to a row and meet a condition."""
    one, many, entity = sheets.one, sheets.many, sheets.many.entity
    whose = draw.choice(one.rows)
    condition = bound(many, draw)
    if sum(row[many.extra] == whose["id"] and condition.holds(row) for row in many.rows) < 2:
        return None
    name = whose[one.entity.key.name]
    question = draw.choice(
        (
            f"Remove every {entity.noun} {sheets.domain.link} {name} {condition.words}.",
            f"Delete the {entity.nouns} {condition.words}, but only those {sheets.domain.link} {name}.",
        )
    )
    sql = f"DELETE FROM {many.quoted} WHERE {_refers(sheets, name)} AND {condition.sql}"
    return Made("DELETE", question, sql, joined=True)


def _refers(sheets: Sheets, name: str) -> str:
    one, many = sheets.one, sheets.many
    which = f"{one.column(one.entity.key)} = {literal(name)}"
    return f"{many.column(many.extra)} = (SELECT {one.column(one.extra)} FROM {one.quoted} WHERE {which})"
