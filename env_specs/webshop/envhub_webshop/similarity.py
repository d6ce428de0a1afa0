"""Comparing short texts: token set similarity and colour words."""

from __future__ import annotations

from rapidfuzz import fuzz, utils

THRESHOLD = 85
"""Two texts count as the same when their token set similarity is above this."""

# fmt: off
COLOURS = (
    "alabaster", "apricot", "aqua", "ash", "asphalt", "azure", "banana", "beige", "black", "blue",
    "blush", "bordeaux", "bronze", "brown", "burgundy", "camel", "camo", "caramel", "champagne",
    "charcoal", "cheetah", "chestnut", "chocolate", "christmas", "coffee", "cognac", "copper", "coral",
    "cranberry", "cream", "crystal", "dark", "denim", "eggplant", "elephant", "espresso", "fuchsia",
    "gold", "granite", "grape", "graphite", "grass", "gray", "green", "grey", "heather", "indigo",
    "ivory", "ivy", "khaki", "lavender", "lemon", "leopard", "light", "lilac", "lime", "magenta",
    "maroon", "mauve", "merlot", "midnight", "mint", "mocha", "multicolor", "mushroom", "mustard",
    "natural", "navy", "nude", "olive", "orange", "peach", "pewter", "pink", "plum", "purple",
    "rainbow", "red", "rose", "royal", "rust", "sand", "sapphire", "seashell", "silver", "skull",
    "slate", "steel", "stone", "stonewash", "sunflower", "tan", "taupe", "teal", "tiger", "turquoise",
    "violet", "walnut", "wheat", "white", "wine", "yellow",
)
# fmt: on
"""The colour words of the published reward, in its (alphabetical) order."""

_LATIN_1 = dict.fromkeys(range(0x80, 0x100))


def same(one: str, other: str) -> bool:
    """Say whether two texts are alike: token set similarity, rounded, above `THRESHOLD`."""
    return round(fuzz.token_set_ratio(_words(one), _words(other))) > THRESHOLD


def colour_in(value: str | tuple[str, str]) -> str | tuple[str, str]:
    """Return the first colour word of the list that the value contains, else the value unchanged.

    A (name, value) pair contains a colour only where one of its two texts is the word; a text contains it as
    a substring, also inside other words (``standard`` gives ``tan``).
    """
    return next((colour for colour in COLOURS if colour in value), value)


def _words(value: str) -> str:
    return utils.default_process(value.translate(_LATIN_1))
