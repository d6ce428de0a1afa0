"""The nouns of a title, by the catalogue's own vocabulary."""

from __future__ import annotations

import re

OTHER_WORDS = frozenset(
    """
    a about absorbing adjustable after aging all an and anti artificial assorted baked behind big
    bleached braided brightening by can cancelling chewy clean coated cold compact compostable
    conditioning cooked crunchy curly daily damaged deep dimmable double down dried dry drying dual
    dull dusty easy eco efficient elastic elevated engineered essential everyday expandable extra
    facial fast faux favorite fine flat foldable folding for free french fresh friendly full genuine
    greasy handmade heavy herbal high hot hyaluronic iced in included individually indoor industrial
    install insulated italian japanese korean kosher large lasting light limited lined living long
    loose low luminous made magnetic matte meatless mid military mini minimalist moisturizing
    natural no non of oily old on one open operated organic original orthopedic outdoor over
    overnight packable padded picky plated portable pre proof protective quick ready real reflective
    relaxed removable resealable resistant retro ribbed right roasted rustic safe saving scented
    seamless second sensitive shaggy shockproof short shredded single slim slow small smocked soft
    solar solid speckled stainless straight super synthetic tagless tapered tempered tested that the
    thermal thick tiered tilted to treated tufted unsalted unsweetened up vegan vintage washable
    waterproof wet whole wicking wide wired wireless with wooden wrapped you your
    """.split()
)
"""Words of titles that are neither nouns nor names."""


def title_nouns(title: str) -> list[str]:
    """Return the nouns of a title, lower-cased, in order, with repeats."""
    words = re.findall(r"[a-zé]+(?=(?:'s)?\b)", title.lower())
    return [word for word in words if len(word) > 1 and word not in OTHER_WORDS]
