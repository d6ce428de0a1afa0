"""Languages, writing systems and currencies of countries, as Unicode's CLDR has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from babel import Locale
from babel.core import get_global

from graph_maker.facts import Entity, Facts

LEAST_PER_CENT = 1.0
"""A language is spoken in a country if so many of its people speak it, or if it is official."""

_OFFICIAL: Mapping[str, Mapping[str, str | None]] = {
    "BF": {"fr": None},
    "BO": {"es": None, "qu": None, "ay": None},
    "CH": {"gsw": None, "rm": "official"},
    "DZ": {"fr": None},
    "ER": {"ti": None, "ar": None, "en": None},
    "ET": {"am": None},
    "IL": {"ar": None},
    "LI": {"gsw": None},
    "MA": {"fr": None},
    "ME": {"sr": None},
    "MG": {"en": None},
    "ML": {"fr": None},
    "NE": {"fr": None},
    "NG": {"yo": None},
    "RW": {"sw": "official"},
    "SN": {"wo": None},
    "TN": {"fr": None},
    "TW": {"hak": None, "nan": None},
    "UA": {"ru": None},
    "ZA": dict.fromkeys(("zu", "xh", "af", "nso", "tn", "st", "ts", "ss", "ve", "nr"), "official"),
    "ZW": {"en": None, "sn": None, "nd": None},
}
"""Where CLDR is behind, speaks of custom and not of law, or names some of many. None: not in the graph."""
_SAME = {"nb": "no", "nn": "no", "tzm": "zgh"}
_LANGUAGES = {"na": "Nauruan", "tvl": "Tuvaluan"}
_CURRENCIES = {"GYD": "Guyanese Dollar", "SUR": "Soviet Ruble"}
_SCRIPTS = {"Mymr": "Burmese"}
_NO_TENDER = (("HT", "USD"),)


def add_languages(facts: Facts, countries: Mapping[str, Entity]) -> None:
    """Add the languages that the countries speak and have by law."""
    names, scripts = Locale("en").languages, Locale("en").scripts
    likely: Mapping[str, str] = get_global("likely_subtags")
    languages: dict[str, Entity] = {}
    systems: dict[str, Entity] = {}

    def language(code: str) -> Entity:
        if code not in languages:
            added = languages[code] = facts.entity(
                "language.human_language", code, _LANGUAGES.get(code, names[code])
            )
            facts.value(added, "language.human_language.iso_639_code", code)
            script = likely[code].split("_")[1]
            script = {"Hans": "Hani", "Hant": "Hani"}.get(script, script)
            if script not in systems:
                systems[script] = facts.entity(
                    "language.language_writing_system", script, _SCRIPTS.get(script, scripts[script])
                )
            facts.link(added, "language.human_language.writing_system", systems[script])
        return languages[code]

    for country_code, country in countries.items():
        for code, (per_cent, status) in _spoken(country_code).items():
            if code in names and code in likely and (status or per_cent >= LEAST_PER_CENT):
                facts.link(country, "location.country.languages_spoken", language(code))
                if status in ("official", "de_facto_official"):
                    facts.link(country, "location.country.official_language", language(code))


def _spoken(country: str) -> dict[str, tuple[float, str | None]]:
    spoken: dict[str, tuple[float, str | None]] = {}
    rows: Mapping[str, Mapping[str, Any]] = get_global("territory_languages").get(country, {})
    for tag, row in rows.items():
        code = tag.split("_")[0]
        code = _SAME.get(code, code)
        per_cent, status = spoken.get(code, (0.0, None))
        spoken[code] = max(per_cent, row["population_percent"]), status or row["official_status"]
    for code, status in _OFFICIAL.get(country, {}).items():
        spoken[code] = spoken.get(code, (0.0, None))[0], status
    return spoken


def add_currencies(facts: Facts, countries: Mapping[str, Entity]) -> None:
    """Add the currencies that are, or once were, legal tender in the countries."""
    names, added = Locale("en").currencies, dict[str, Entity]()
    fractions: Mapping[str, tuple[int, ...]] = get_global("currency_fractions")
    tenders: Mapping[str, list[Any]] = get_global("territory_currencies")
    for country_code, country in countries.items():
        rows = [
            row
            for row in tenders[country_code]
            if row[3] and row[0] in names and (country_code, row[0]) not in _NO_TENDER
        ]
        now = {code for code, _, end, _ in rows if end is None or date(*end) > date(2026, 12, 31)}
        for code, *_ in rows:
            if code not in added:
                currency = added[code] = facts.entity("finance.currency", code, _currency(code, names[code]))
                facts.value(currency, "finance.currency.currency_code", code)
                digits = fractions.get(code, fractions["DEFAULT"])[0]
                facts.value(currency, "finance.currency.decimal_places", digits)
            used = "currency_used" if code in now else "currency_formerly_used"
            facts.link(country, f"location.country.{used}", added[code])
    for code, currency in added.items():
        spans = [row for of_one in tenders.values() for row in of_one if row[0] == code and row[3]]
        starts, ends = [row[1] for row in spans], [row[2] for row in spans]
        if None not in starts:
            facts.value(currency, "finance.currency.first_tender", str(date(*min(starts))))
        if None not in ends:
            facts.value(currency, "finance.currency.last_tender", str(date(*max(ends))))


def _currency(code: str, name: str) -> str:
    return _CURRENCIES.get(code) or name.replace(" & ", " and ").replace("\N{EM DASH}", "\N{EN DASH}")
