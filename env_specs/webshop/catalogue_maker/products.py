"""Draws products: families of near-duplicates that differ in a feature, an option, a detail or the price."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from urllib.parse import quote

from catalogue_maker.words import Feature, Kind, OptionPool

TITLES = (
    "{brand} {line} {pre} {head}, {rest}, {detail}",
    "{brand} {head} for {use} and {use2}, {pre}, {rest}, {detail}",
    "{pre} {head} by {brand}, {detail}, {rest}, {use}",
    "{brand} {pre} {head} - {detail} - {rest} - {use}, {use2}",
    "{brand} {line} {head} ({detail}), {rest}, {pre}, {use}",
    "{head}, {pre}, {rest}, for {use}, {use2} & {use3} by {brand}, {detail}",
    "{brand} {line} | {pre} {head} | {rest} | {detail}",
    "{brand} {head} {detail}, {pre}, {rest}",
)
BULLET_STYLES = ("{heading}: {text}", "{HEADING}: {text}", "{heading} - {text}", "★ {heading}: {text}",
                 "✔ {text}", "【{heading}】{text}", "{text}.")  # fmt: skip
ENDINGS = (0.99, 0.99, 0.99, 0.95, 0.49, 0.0, 0.89)
ID_LETTERS = "0123456789BCDFGHJKLMNPQRSTVWXYZ"
LEVELS = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "
TINTS = {"garden": "e4ecdf", "beauty": "f6e4ea", "electronics": "e1e8f2", "fashion": "efe6dc",
         "grocery": "f7efd4", "sports": "dff0ee", "pets": "f3e7dd"}  # fmt: skip


@dataclass(frozen=True)
class Draft:
    """A product before its texts are written.

    Attributes:
        kind: What it is.
        family: Number of its family; members of a family are near-duplicates.
        brand: Its maker.
        line: The maker's product line.
        head: The noun of its title.
        features: Its features; the first `shown` are in the title.
        shown: How many features the title names.
        options: Option name to the values on offer.
        detail: The remark in its title.
        title_form: Which title template.
        bullet_form: Which bullet template.
        price: Its lowest price, in dollars.
        span: The factor from the lowest to the highest price; 1.0 for a single price.
        priced: False for the few products without a price.
    """

    kind: Kind
    family: int
    brand: str
    line: str
    head: str
    features: tuple[Feature, ...]
    shown: int
    options: dict[str, tuple[str, ...]]
    detail: str
    title_form: str
    bullet_form: str
    price: float
    span: float
    priced: bool


def draw_family(kind: Kind, family: int, size: int, lines: list[str], rng: Random) -> list[Draft]:
    """Draw one family: a base product and near-duplicates of it."""
    features = draw_features(kind, rng)
    base = Draft(
        kind=kind,
        family=family,
        brand=kind.brands[family % len(kind.brands)],
        line=rng.choice(lines),
        head=rng.choice(kind.heads),
        features=features,
        shown=min(rng.choice((1, 1, 2, 2)), len(features)),
        options=draw_options(kind, rng),
        detail=rng.choice(kind.details),
        title_form=rng.choice(TITLES),
        bullet_form=rng.choice(BULLET_STYLES),
        price=price_near(kind.low * (kind.high / kind.low) ** rng.random(), rng),
        span=1.0 if rng.random() < 0.72 else rng.choice((1.2, 1.4, 1.75)),
        priced=rng.random() > 0.02,
    )
    return [base] + [vary(base, rng) for _ in range(size - 1)]


def draw_features(kind: Kind, rng: Random) -> tuple[Feature, ...]:
    """Draw three to five features of a kind, in random order, at most one of each set of alternatives."""
    count = min(rng.choice((3, 3, 4, 4, 5)), len(kind.features))
    return tuple(rng.choice(alternatives) for alternatives in rng.sample(kind.features, count))


def draw_options(kind: Kind, rng: Random) -> dict[str, tuple[str, ...]]:
    """Draw the option groups of a product and the values on offer."""
    chances = (0.93, 0.82, 0.6, 0.6)
    offered = [pool for pool, chance in zip(kind.options, chances) if rng.random() < chance]
    return {pool.name: draw_values(pool, rng) for pool in offered}


def draw_values(pool: OptionPool, rng: Random) -> tuple[str, ...]:
    """Draw at least two values of an option, in the pool's order; a run without gaps when it is ordered."""
    total = len(pool.values)
    count = rng.randint(2, min(total, 6))
    if pool.ordered:
        start = rng.randint(0, total - count)
        return pool.values[start : start + count]
    kept = set(rng.sample(range(total), count))
    return tuple(value for position, value in enumerate(pool.values) if position in kept)


def price_near(price: float, rng: Random) -> float:
    """Round a price to one that a shop would print."""
    return max(4.0, float(int(price))) + rng.choice(ENDINGS)


def vary(base: Draft, rng: Random) -> Draft:
    """Return a near-duplicate: a feature more, less or another, other options, another detail or price."""
    kind = base.kind
    draft = replace(base, detail=rng.choice([d for d in kind.details if d != base.detail]))
    change = rng.choice(("feature", "feature", "options", "price", "both"))
    if change in ("feature", "both"):
        draft = replace(draft, features=other_features(base, rng))
    if change in ("options", "both") and kind.options:
        draft = replace(draft, options=draw_options(kind, rng))
    factor = rng.choice((1.9, 2.6)) if change == "price" else rng.uniform(0.85, 1.3)
    if rng.random() < 0.4:
        draft = replace(draft, title_form=rng.choice(TITLES))
    price = min(base.price * factor, kind.high * 1.4)
    return replace(draft, price=price_near(price, rng), priced=True)


def other_features(base: Draft, rng: Random) -> tuple[Feature, ...]:
    """Exchange one feature for an alternative, or for one that the product does not have."""
    features = list(base.features)
    position = rng.randrange(len(features))
    mine = next(group for group in base.kind.features if features[position] in group)
    rest = [feature for feature in mine if feature != features[position]]
    unused = [g for g in base.kind.features if not set(g) & set(features)]
    if not rest and unused:
        rest = list(rng.choice(unused))
    if rest:
        features[position] = rng.choice(rest)
    elif len(features) > 2:
        del features[position]
    return tuple(features)


def capitalised(text: str, upper: frozenset[str]) -> str:
    """Return a phrase as titles write it: ``BPA Free``, ``with Memory Foam``."""
    small = {"with", "a", "an", "for", "of", "the", "and", "to", "in", "x"}
    words = (
        w if w in small else "-".join(_capital(part, upper) for part in w.split("-")) for w in text.split()
    )
    return " ".join(words)


def _capital(word: str, upper: frozenset[str]) -> str:
    return word.upper() if word in upper else word[:1].upper() + word[1:]


def title_of(draft: Draft, upper: frozenset[str], rng: Random) -> str:
    """Compose the title."""
    shown = draft.features[: draft.shown]
    before = [f for f in shown if f.link == "is" or f.is_material][:2]
    bare = {f for f in shown if f.link == "that i can" or rng.random() < 0.4}
    after = [f.name if f in bare else f.phrase for f in shown if f not in before]
    uses = rng.sample(draft.kind.uses, 3)
    parts = {
        "brand": draft.brand,
        "line": draft.line,
        "head": draft.head,
        "pre": " ".join(capitalised(f.name, upper) for f in before),
        "rest": ", ".join(capitalised(text.replace("for my ", "for "), upper) for text in after),
        "detail": draft.detail,
        "use": uses[0],
        "use2": uses[1],
        "use3": uses[2],
    }
    text = draft.title_form.format(**parts)
    pool = next((pool for pool in draft.kind.options if pool.name == "color"), None)
    if pool is not None and "color" not in draft.options:
        text += f" ({capitalised(rng.choice(pool.values), upper)})"
    return tidy(text)


def tidy(text: str) -> str:
    """Close the gaps that empty parts left in a title."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?: [-|])+(?= [-|])", "", text)
    text = re.sub(r",(?: ?,)+", ",", text)
    return re.sub(r"^[ ,|-]+|[ ,|-]+$|(?<=[|-]),", "", text).replace(" ,", ",")


def bullets_and_description(draft: Draft, rng: Random) -> tuple[list[str], str]:
    """Write the features page and the description; each feature is on one of them at least."""
    kind = draft.kind
    bullets: list[str] = []
    told: list[str] = []
    words = {"it": kind.it, "brand": draft.brand}
    for position, feature in enumerate(draft.features):
        first, second = rng.sample(feature.bullets, 2)
        if position < draft.shown or rng.random() < 0.85 or not bullets:
            bullets.append(write_bullet(first, draft.bullet_form, feature.name).format(**words))
        else:
            told.append(sentence(first, feature.name).format(**words))
        if rng.random() < 0.08:
            told.append(sentence(second, feature.name).format(**words))
    for filler in rng.sample(kind.fillers, rng.choice((0, 1, 1, 2))):
        bullets.append(write_bullet(filler, draft.bullet_form, "").format(**words))
    rng.shuffle(bullets)
    opener = rng.choice(kind.openers).format(**words)
    use = f"Good for: {', '.join(rng.sample(kind.uses, 3)).lower()}."
    closers = [closer.format(**words) for closer in rng.sample(kind.closers, 2)]
    parts = [opener, *told, *([use] if rng.random() < 0.5 else []), *closers[: rng.choice((0, 1, 2))]]
    return bullets, " ".join(parts) if told or rng.random() > 0.04 else ""


def write_bullet(text: str, form: str, feature: str) -> str:
    """Write one line in a family's style; styles without the heading keep it where it names the feature."""
    heading, _, rest = text.partition(": ")
    if not rest:
        return form[0] + f" {text}" if form[0] in "★✔" else text
    if "heading" not in form.lower() and (not feature or feature not in rest.lower()):
        form = form.replace("{text}", "{heading}: {text}")
    rest = rest if ": " in form else rest[:1].upper() + rest[1:]
    return form.format(heading=heading, HEADING=heading.upper(), text=rest)


def sentence(text: str, feature: str) -> str:
    """Turn a bullet into a sentence of a description that still names the feature."""
    heading, _, rest = text.partition(": ")
    return (rest[:1].upper() + rest[1:] if feature in rest.lower() else f"{heading}: {rest}") + "."


def pricing_of(draft: Draft) -> str:
    """Return the price as the data files have it: empty, one price or a range."""
    if not draft.priced:
        return ""
    if draft.span == 1.0 or not draft.options:
        return f"${draft.price:.2f}"
    return f"${draft.price:.2f} - ${int(draft.price * draft.span) + 0.99:.2f}"


def picture(kind: Kind) -> str:
    """Return a small drawing as a data URI: pages show a picture without any network."""
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 200 200'>"
        f"<rect width='200' height='200' fill='#{TINTS[kind.category]}'/>"
        f"<text x='100' y='132' font-size='92' text-anchor='middle'>{kind.icon}</text></svg>"
    )
    return f"data:image/svg+xml,{quote(svg, safe='')}"


def record(draft: Draft, asin: str, title: str, upper: frozenset[str], rng: Random) -> dict[str, Any]:
    """Return a product in the official file format."""
    bullets, description = bullets_and_description(draft, rng)
    options = {
        capitalised(name, upper): [{"value": capitalised(value, upper), "image": None} for value in values]
        for name, values in draft.options.items()
    }
    return {
        "name": title,
        "full_description": description,
        "pricing": pricing_of(draft),
        "images": [picture(draft.kind)],
        "product_category": LEVELS.join(draft.kind.levels),
        "average_rating": "",
        "small_description": bullets,
        "customization_options": options or "",
        "asin": asin,
        "category": draft.kind.category,
        "query": draft.kind.query,
        "page": 1 + draft.family,
    }
