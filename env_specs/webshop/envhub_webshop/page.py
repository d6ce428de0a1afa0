"""A page of the shop and what can be read and clicked on it.

A page's visible strings come from one list of nodes. The text observation joins them; the rich text
observation marks buttons, options and links. How blank strings are treated (an empty string leaves no node, a
blank one stays unless it holds a line break) is how the published pages read when their HTML is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from envhub_webshop.product import Product

SEARCH, RESULTS, ITEM, DETAIL, DONE = "search", "search_results", "item_page", "item_sub_page", "done"
"""The kinds of pages, named as in their URLs."""

PAGE_SIZE = 10
"""Products on one page of results."""

BASE_URL = "http://127.0.0.1:3000"

DETAILS = ("Description", "Features", "Reviews", "Attributes")
"""The sub pages of a product; the last one only where the shop shows attributes."""

TEXT, BUTTON, OPTION, LINK = "text", "button", "option", "link"

Node = tuple[str, str]
"""Role (`TEXT`, `BUTTON`, `OPTION`, `LINK`) and string of something visible."""

_HTML_BLANKS = " \n\t\f\r"


class Page(NamedTuple):
    """What the shop shows right now.

    Attributes:
        kind: One of `SEARCH`, `RESULTS`, `ITEM`, `DETAIL`, `DONE`.
        keywords: The words searched for.
        number: The page of results, from 1.
        total: How many products were found (`RESULTS`).
        products: The products of this page of results; otherwise the one product.
        options: The options chosen so far, in the order of the clicks.
        detail: Which sub page, one of `DETAILS` (`DETAIL`).
        reward: The reward of the purchase (`DONE`).
    """

    kind: str
    keywords: tuple[str, ...] = ()
    number: int = 1
    total: int = 0
    products: tuple[Product, ...] = ()
    options: Mapping[str, str] = MappingProxyType({})
    detail: str = ""
    reward: float = 0.0


def buttons(page: Page, show_attrs: bool) -> tuple[str, ...]:
    """Return the labels of a page's buttons, in order."""
    if page.kind == SEARCH:
        return ("Search",)
    if page.kind == RESULTS:
        return ("Back to Search", "< Prev", "Next >") if page.number > 1 else ("Back to Search", "Next >")
    if page.kind == ITEM:
        return ("Back to Search", "< Prev", *(DETAILS if show_attrs else DETAILS[:3]), "Buy Now")
    return ("Back to Search", "< Prev") if page.kind == DETAIL else ()


def nodes(page: Page, instruction: str, show_attrs: bool) -> list[Node]:
    """Return the visible strings of a page, in order."""
    if page.kind == DONE:
        return _done_nodes(page)
    if page.kind == SEARCH:
        return _visible((TEXT, "WebShop"), (TEXT, "Instruction: "), (TEXT, instruction), (BUTTON, "Search"))
    head: list[Node] = [(TEXT, "Instruction:"), (TEXT, instruction)]
    labels: list[Node] = [(BUTTON, label) for label in buttons(page, show_attrs)]
    if page.kind == RESULTS:
        found: list[Node] = [(TEXT, f"Page {page.number} (Total results: {page.total})")]
        products = [
            node
            for item in page.products
            for node in ((LINK, item.asin), (TEXT, item.title), (TEXT, item.price_tag))
        ]
        return _visible(*head, labels[0], *found, *labels[1:], *products)
    product = page.products[0]
    if page.kind == DETAIL:
        return _visible(*head, *labels, *((TEXT, text) for text in _detail(product, page.detail)))
    options: list[Node] = []
    for name, values in product.options.items():
        options.append((TEXT, name))
        options.extend((OPTION, value) for value in values)
    facts = ((TEXT, product.title), (TEXT, f"Price: {product.price_tag}"), (TEXT, "Rating: N.A."))
    return _visible(*head, *labels[:2], *options, *facts, *labels[2:])


def text(shown: list[Node]) -> str:
    """Return the text observation: all strings, joined by `` [SEP] ``."""
    return " [SEP] ".join([string.strip() for _, string in shown])


def rich_text(shown: list[Node], url: str, visited: Collection[str]) -> str:
    """Return the rich text observation: one string a line, with buttons, options and links marked.

    Args:
        shown: The page's nodes.
        url: The page's URL. An option counts as clicked when its value stands there in double quotes.
        visited: The asins looked at in this session.
    """
    before, lines = "", ""
    for role, string in shown:
        if role == OPTION and f'"{string}"' in url:
            before = f"You have clicked {string}.\n{before}"
            lines += f"  [clicked button] {string} [clicked button_]\n"
        elif role == LINK:
            mark = "clicked button" if string in visited else "button"
            lines += f"\n[{mark}] {string} [{mark}_]\n"
        elif role == TEXT:
            lines += f"{string}\n"
        else:
            lines += f"{'  ' if role == OPTION else ''}[button] {string} [button_]\n"
    return before + lines


def url(page: Page, session_id: str) -> str:
    """Return the URL of a page in a session."""
    if page.kind == SEARCH:
        return f"{BASE_URL}/{session_id}"
    words = "+".join(page.keywords)
    if page.kind == RESULTS:
        return f"{BASE_URL}/search_results/{session_id}/{words}/{page.number}"
    asin = page.products[0].asin
    if page.kind == ITEM:
        chosen = json.dumps(page.options)
        return f"{BASE_URL}/item_page/{session_id}/{asin}/{words}/{page.number}/{chosen}"
    if page.kind == DETAIL:
        return (
            f"{BASE_URL}/item_sub_page/{session_id}/{asin}/{words}/{page.number}/{page.detail}/{page.options}"
        )
    return f"{BASE_URL}/done/{session_id}/{asin}/{page.options}"


def _visible(*candidates: Node) -> list[Node]:
    shown = []
    for role, string in candidates:
        if string.strip(_HTML_BLANKS):
            shown.append((role, string))
        elif string and "\n" not in string:
            shown.append((role, " "))
    return shown


def _detail(product: Product, detail: str) -> list[str]:
    if detail == "Description":
        return [product.description]
    if detail == "Features":
        return [f" {bullet}" for bullet in product.bullets]
    if detail == "Attributes":
        attributes = [f" {attribute}" for attribute in product.attributes]
        return [*attributes, product.category, product.query, product.product_category]
    return []


def _done_nodes(page: Page) -> list[Node]:
    unknown = ["attrs", "None", "category", "None", "query", "None", "product category", "None"]
    strings = [
        "Thank you for shopping with us!",
        "Your code: ",
        "None",
        " (Paste it in your MTurk interface.)",
    ]
    strings += ["Purchased", "asin", page.products[0].asin, "options", json_text(page.options), *unknown]
    strings += ["Target", "asin", "options", "attrs", "price upper", "instuction text", "category"]
    strings += ["product category", "query", "Goal ", "None", "Reward", "Your score (min 0.0, max 1.0)"]
    strings += [str(page.reward), "Reward Details ", "None"]
    return [(TEXT, string) for string in strings]


def json_text(value: object) -> str:
    """Return JSON with sorted keys that can stand in HTML: ``<``, ``>``, ``&`` and ``'`` as escapes."""
    dumped = json.dumps(value, sort_keys=True)
    for character in "<>&'":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return dumped
