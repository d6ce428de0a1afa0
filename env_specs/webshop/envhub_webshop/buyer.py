"""A scripted buyer: a policy that shops by reading pages, and the shortest way to win a known goal.

`ScriptedBuyer` sees what an agent sees, observations of mode ``text`` and info, and nothing else. It needs
the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envhub_webshop.goal import Goal

SEPARATOR = " [SEP] "
PAGES = 2
"""How many pages of results the buyer reads."""

SMALL_TALK = frozenset(
    """
    a about after all am an and any are as at be because buy by can choose color could do find for
    from get give go have hello help hi hope i id ideally im in is it its like little look looking
    love make market me must my need needs of off on one ones only or order out pair pick please
    prefer really right search see sell shop shopping should show since size so some something style
    sure take that thats the there these they this time to too trying up want wants we what which
    who will with would you your
    """.split()
)
"""Words of a request that say nothing about the product."""

_CAP = re.compile(r",? and price lower than ([\d.]+) dollars\s*$")
_Page = tuple[str, Mapping[str, Any]]
_Act = tuple[str, str]  # an action and why it is taken
_Visit = Generator[_Act, _Page, None]


@dataclass(frozen=True)
class Request:
    """What the shopper was asked for, as far as the words of the instruction tell.

    Attributes:
        text: The instruction without its price cap.
        words: Its words in order, without small talk.
        pairs: Its neighbouring words, most of which name a feature (``machine washable``).
        cap: The highest price in dollars; None without one.
    """

    text: str
    words: tuple[str, ...]
    pairs: frozenset[str]
    cap: float | None

    @classmethod
    def read(cls, instruction: str) -> Request:
        """Read an instruction."""
        found = _CAP.search(instruction)
        text = instruction[: found.start()] if found else instruction
        spoken = _words(text)
        pairs = frozenset(
            f"{one} {two}" for one, two in zip(spoken, spoken[1:]) if not {one, two} <= SMALL_TALK
        )
        words = tuple(word for word in spoken if word not in SMALL_TALK)
        return cls(text, words, pairs, float(found[1]) if found else None)

    def names(self, value: str) -> bool:
        """Say whether the instruction names an option's value, as whole words."""
        return f" {_spelled(value)} " in f" {_spelled(self.text)} "


@dataclass
class Candidate:
    """A product on the shortlist and what its pages said.

    Attributes:
        asin: Its id, as results pages show it.
        title: Its title.
        low: Its lowest price, in dollars.
        high: Its highest price, in dollars.
        page: The page of results it stands on, from 1.
        options: Option name to the values on offer.
        text: Title, features and description.
    """

    asin: str
    title: str
    low: float
    high: float
    page: int
    options: dict[str, list[str]] = field(default_factory=dict)
    text: str = ""


class ScriptedBuyer:
    """Searches, compares a few products on options, price and features, chooses the named options and buys.

    Call it with an observation and the info that came with it; it returns the next action. The search page
    begins a new episode, so one buyer can play any number of episodes, one after another.

    Attributes:
        thought: Why it took its last action, in words.

    Example:
        >>> buyer = ScriptedBuyer()
        >>> observation, info = env.reset(seed=1)  # doctest: +SKIP
        >>> observation, *_, info = env.step(buyer(observation, info))  # doctest: +SKIP
    """

    def __init__(self, candidates: int = 6) -> None:
        """Create a buyer.

        Args:
            candidates: How many products it opens and compares. An episode takes up to
                ``7 + 6 * candidates + number of options`` steps.
        """
        self._candidates = candidates
        self._visit: _Visit | None = None
        self.thought = ""

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next action.

        Raises:
            ValueError: The observation is no page of a shop in observation mode ``text``, or the first one is
                not the search page.
        """
        if observation.startswith(f"WebShop{SEPARATOR}Instruction:"):
            self._visit = self._shop(observation.split(SEPARATOR)[2])
            action, self.thought = next(self._visit)
            return action
        if self._visit is None:
            raise ValueError(
                f"not the search page, where an episode begins: {observation[:80]!r}. Call reset()"
            )
        try:
            action, self.thought = self._visit.send((observation, info))
        except StopIteration:
            raise ValueError("the purchase ended the episode: call reset() for another one") from None
        return action

    def _shop(self, instruction: str) -> _Visit:
        request = Request.read(instruction)
        words = " ".join(dict.fromkeys(request.words)) or request.text
        page = yield f"search[{words}]", "I search for the words that say what is wanted."
        found = _results(page, 1)
        for number in range(2, PAGES + 1):
            page = yield "click[next >]", "I look at more results before I choose."
            found += _results(page, number)
        number = PAGES
        shortlist = self._shortlist(found, request)
        for candidate in shortlist:
            number = yield from _turn(number, candidate.page)
            yield from _inspect(candidate)
        best = choose(shortlist, request)
        yield from _turn(number, best.page)
        page = yield f"click[{best.asin}]", f"{best.title} fits the instruction best, so I open it."
        for name, value in named_options(shortlist, request).items():
            if value in best.options.get(name, ()):
                labels = page[1]["available_actions"]["clickables"]
                label = value if value in labels else f"{name}: {value}"
                page = yield f"click[{label}]", f"The instruction asks for {value}, so I choose it."
        yield "click[buy now]", "The product and its options are what was asked for, so I buy it."

    def _shortlist(self, found: list[Candidate], request: Request) -> list[Candidate]:
        """Return the first affordable results."""
        if not found:
            raise ValueError(f"the search for {' '.join(request.words)!r} found nothing. Use other data")
        affordable = [c for c in found if request.cap is None or c.low <= request.cap] or found
        return affordable[: self._candidates]


def choose(shortlist: list[Candidate], request: Request) -> Candidate:
    """Return the candidate that fits a request best; the first of equals."""
    wanted = named_options(shortlist, request)

    def fit(candidate: Candidate) -> float:
        words = _words(candidate.text)
        pairs = {f"{one} {two}" for one, two in zip(words, words[1:])}
        options = sum(value in candidate.options.get(name, ()) for name, value in wanted.items())
        dear = request.cap is not None and candidate.high > request.cap
        same_words = len(set(request.words) & set(words))
        return len(request.pairs & pairs) + 0.3 * same_words + 2 * options - 3 * dear

    return max(shortlist, key=fit)


def named_options(shortlist: list[Candidate], request: Request) -> dict[str, str]:
    """Return, for each option of any candidate, the longest value that the request names.

    Looking at all candidates at once keeps ``black`` from matching a request for ``black and red``.
    """
    named: dict[str, str] = {}
    for candidate in shortlist:
        for name, values in candidate.options.items():
            for value in values:
                if request.names(value) and len(value) > len(named.get(name, "")):
                    named[name] = value
    return named


def winning_actions(goal: Goal) -> list[str]:
    """Return the actions that win a goal outright: search its product's title, open it, choose, buy."""
    product = goal.product
    values = goal.options.values() if isinstance(goal.options, dict) else goal.options
    clicks = [product.asin.lower(), *values, "buy now"]
    return [f"search[{product.title}]", *(f"click[{label}]" for label in clicks)]


def _turn(number: int, wanted: int) -> Generator[_Act, _Page, int]:
    """Turn the pages of results from one number to another; returns the latter."""
    while number != wanted:
        label = "next >" if number < wanted else "< prev"
        yield f"click[{label}]", f"The product I want stands on page {wanted} of the results."
        number += 1 if number < wanted else -1
    return number


def _inspect(candidate: Candidate) -> _Visit:
    """Read a candidate's pages and return to the results."""
    page = yield f"click[{candidate.asin}]", f"{candidate.title} may be it, so I open it."
    candidate.options = _options(page)
    texts = [candidate.title]
    for label in ("features", "description"):
        page = yield f"click[{label}]", f"I read its {label} to see whether it is what was asked for."
        texts += page[0].split(SEPARATOR)[4:]
        yield "click[< prev]", f"I have read its {label}."
    candidate.text = " ".join(texts)
    yield "click[< prev]", "I know enough of it and go back to the results."


def _results(page: _Page, number: int) -> list[Candidate]:
    """Read a page of results."""
    observation, info = page
    asins = set(info["available_actions"]["clickables"]) - {"back to search", "next >", "< prev"}
    parts = observation.split(SEPARATOR)
    found = []
    for position, part in enumerate(parts[:-2]):
        prices = [float(price) for price in re.findall(r"\$([\d.]+)", parts[position + 2])]
        if part.lower() in asins and prices:
            found.append(Candidate(part.lower(), parts[position + 1], min(prices), max(prices), number))
    return found


def _options(page: _Page) -> dict[str, list[str]]:
    """Read the options of an item page: names, each followed by its values, stand before the title."""
    observation, info = page
    labels = set(info["available_actions"]["clickables"])
    parts = observation.split(SEPARATOR)
    title = next(at for at, part in enumerate(parts) if part.startswith("Price: ")) - 1
    options: dict[str, list[str]] = {}
    name = ""
    for part in parts[4:title]:
        if part in labels or f"{name}: {part}" in labels:
            options.setdefault(name, []).append(part)
        else:
            name = part
    return options


def _words(text: str) -> list[str]:
    """Return the words of a text for comparing features: hyphens and punctuation don't count."""
    return re.findall(r"[a-z0-9%]+", text.lower().replace("'", ""))


def _spelled(text: str) -> str:
    """Return a text for finding option values: only commas, colons, brackets and final dots are dropped."""
    return " ".join(word.strip(",:;()").rstrip(".") for word in text.lower().split())
