"""A session as JSON and back, in any replica with the same data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envhub_webshop.catalogue import Catalogue
from envhub_webshop.goal import Goal
from envhub_webshop.page import Page
from envhub_webshop.shop import Session


def dump(session: Session) -> dict[str, Any]:
    """Return a session, without its goal, as JSON."""
    page = session.page._asdict()
    page["products"] = [product.asin for product in session.page.products]
    page["options"] = dict(session.page.options)
    return {
        "session_id": session.session_id,
        "keywords": list(session.keywords),
        "number": session.number,
        "asin": session.asin,
        "asins": list(session.asins),
        "options": dict(session.options),
        "reward": session.reward,
        "parts": dict(session.parts),
        "page": page,
    }


def load(state: Mapping[str, Any], goal: Goal, catalogue: Catalogue) -> Session:
    """Return the session that `dump` made `state` of.

    Raises:
        ValueError: The state names a product that the catalogue does not have.
    """
    fields = dict(state)
    page = dict(fields["page"])
    products = []
    for asin in page["products"]:
        at = catalogue.index_of(asin)
        if at is None:
            raise ValueError(f"the saved state shows product {asin}, which {catalogue.name} does not have")
        products.append(catalogue.product(at))
    page.update(products=tuple(products), keywords=tuple(page["keywords"]), options=dict(page["options"]))
    fields.update(
        page=Page(**page),
        keywords=list(fields["keywords"]),
        options=dict(fields["options"]),
        asins=dict.fromkeys(fields["asins"]),
    )
    return Session(goal=goal, **fields)
