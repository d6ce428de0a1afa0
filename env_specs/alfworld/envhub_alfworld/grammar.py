"""The grammar of a game file: the forms of its commands and the sentences it answers with.

A game file (``game.tw-pddl``) carries its grammar as text in TextWorld's language. Commands are templates
such as ``take {o} from {r}``; sentences are made by rules of a symbol, of which the first whose condition
holds is taken::

    "examineReceptacle.feedback": [
        {"condition": "openable(r:receptacle) & opened(r:receptacle)", "rhs": "The {r.name} is open. ..."},
        {"rhs": "On the {r.name}, you see [{o.name | inreceptacle(o:object, r:receptacle)}]."}
    ]

In a text, ``#symbol#`` stands for what its rules make, ``{...}`` for the value of an expression,
``{... | query}`` for the values over all solutions of a query, and ``[{... | query}]`` for the same as a list
in words.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Union

from envhub_alfworld.pddl import Fact

Bound = Mapping[str, str]
"""The things that a text speaks of, by variable."""


class World(Protocol):
    """What a text is made from."""

    @property
    def rank(self) -> Mapping[str, int]:
        """The place of each thing in the order in which things are listed."""

    def facts(self, predicate: str, known: Sequence[str | None]) -> Iterable[Fact]:
        """Return the facts of a predicate: at least those with the arguments that are known (not None)."""


class Condition(NamedTuple):
    """One part of a query: a predicate over variables."""

    predicate: str
    variables: tuple[str, ...]


Query = tuple[Condition, ...]
Term = Union[str, tuple[str]]
"""Of an expression: literal text, or (in a tuple) a variable whose thing's name it is."""


class Symbol(NamedTuple):
    """Stands for what the rules of a symbol make."""

    name: str


class Values(NamedTuple):
    """A symbol or an expression, for each solution of a query: one after the other, or as a list in words."""

    item: Symbol | tuple[Term, ...]
    query: Query
    as_list: bool


Text = tuple[Union[str, Symbol, Values], ...]


class Rule(NamedTuple):
    """A text, and the condition under which it is used."""

    condition: Query
    text: Text


class Sentences(NamedTuple):
    """What a grammar says of one kind of action: the form of its command and the answer to it."""

    template: Text
    feedback: Text


class Grammar:
    """The rules of symbols and the sentences of actions.

    Args:
        rules: The rules of each symbol.
        actions: Template and feedback by the lower-cased name of the action.
    """

    def __init__(self, rules: Mapping[str, Sequence[Rule]], actions: Mapping[str, Sentences]) -> None:
        self.rules = rules
        self.actions = actions

    def with_task(self, sentence: str) -> Grammar:
        """Return the same grammar with another text for the symbol ``task``."""
        return Grammar({**self.rules, "task": (Rule((), parse_text(sentence)),)}, self.actions)

    def say(self, text: Text, bound: Bound, world: World) -> str:
        """Make a sentence.

        Args:
            text: What is to be said.
            bound: The things it speaks of.
            world: The facts that hold.

        Raises:
            KeyError: The text has a symbol without rules, or a variable that nothing is bound to.
        """
        return "".join(self._part(part, bound, world) for part in text)

    def _part(self, part: str | Symbol | Values, bound: Bound, world: World) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, Symbol):
            return self._symbol(part, bound, world)
        said = [self._item(part.item, found, world) for found in solutions(part.query, bound, world)]
        return self._in_words(said, bound, world) if part.as_list else "".join(said)

    def _symbol(self, symbol: Symbol, bound: Bound, world: World) -> str:
        for rule in self.rules[symbol.name]:
            if not rule.condition or any(True for _ in solutions(rule.condition, bound, world)):
                return self.say(rule.text, bound, world)
        raise KeyError(f"no rule of #{symbol.name}# applies")

    def _item(self, item: Symbol | tuple[Term, ...], bound: Bound, world: World) -> str:
        if isinstance(item, Symbol):
            return self._symbol(item, bound, world)
        return "".join(term if isinstance(term, str) else bound[term[0]] for term in item)

    def _in_words(self, said: list[str], bound: Bound, world: World) -> str:
        if not said:
            return self._symbol(Symbol("list_empty"), bound, world)
        if len(said) == 1:
            return said[0]
        between = self._symbol(Symbol("list_separator"), bound, world)
        last = self._symbol(Symbol("list_last_separator"), bound, world)
        return between.join(said[:-1]) + last + said[-1]


def solutions(query: Query, bound: Bound, world: World) -> Iterator[Bound]:
    """Return each way to bind the variables of a query to different things so that all its parts hold."""
    if not query:
        yield bound
        return
    (predicate, variables), rest = query[0], query[1:]
    known = [bound.get(variable) for variable in variables]
    facts = [fact for fact in world.facts(predicate, known) if _fits(known, fact)]
    if len(facts) > 1:
        rank = world.rank
        facts.sort(key=lambda fact: [rank[thing] for thing in fact])
    for fact in facts:
        new = {variable: thing for variable, thing in zip(variables, fact) if variable not in bound}
        if len({*bound.values(), *new.values()}) == len({*bound.values()}) + len(new):
            yield from solutions(rest, {**bound, **new}, world)


def _fits(known: Sequence[str | None], fact: Fact) -> bool:
    return all(thing is None or thing == other for thing, other in zip(known, fact))


# -- reading ----------------------------------------------------------------------------------------

_ENTRY = re.compile(r'action\s+(\w+)\s*\{|(\w+)\s*::\s*(?:"""(.*?)"""|"([^"]*)")\s*;', re.DOTALL)
_COMMENT_LINE = re.compile(r"^\s*#.*$", re.MULTILINE)
_PART = re.compile(
    r"\#(?P<symbol>[\w()/!<>\-\s,.]+)\#"
    r"|(?P<list>\[)?\{(?:\#(?P<item>[\w()/!<>\-\s,.]+)\#|(?P<expression>[^|\[\]{}\n<>]+))"
    r"(?:\s*\|\s*(?P<query>[^;|{}\n\[\]\#]+))?\}(?(list)\])"
    r'|"(?P<quoted>[^;|"<>\[\]\#{}]*)"'
    r'|(?P<literal>[^;|"<>\[\]\#{}]+)'
)
_CONDITION = re.compile(r"(\w+)\(([^)]*)\)")
_TERM = re.compile(r"\s*(?:'([^']*)'|(\w+)(?:\.(\w+))?)\s*\+?")
_ATTRIBUTES = {"indefinite": "a", "definite": "the"}
_TASK = re.compile(r'("task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*)("(?:[^"\\]|\\.)*")')


def read_grammar(text: str) -> tuple[Grammar, str]:
    """Read the grammar of a game file.

    Grammars differ from game to game in the sentence of the task alone, so the rest is read once.

    Returns:
        The grammar and the text of its task.

    Raises:
        ValueError: It is not in TextWorld's language, or uses a part of it that ALFWorld's grammars don't.
    """
    found = _TASK.search(text)
    if found is None:
        raise ValueError('the grammar has no "task"')
    task: str = json.loads(found[2], strict=False)
    rest = _read_rest(f'{text[: found.start()]}{found[1]}""{text[found.end() :]}')
    return rest.with_task(task), task


@functools.lru_cache(maxsize=8)
def _read_rest(text: str) -> Grammar:
    rules: dict[str, Sequence[Rule]] = {}
    actions: dict[str, dict[str, str]] = {}
    action: dict[str, str] = {}
    for name, key, block, line in _ENTRY.findall(text):
        if name:
            action = actions.setdefault(name.lower(), {})
        elif key == "grammar":
            rules.update(_read_rules(block))
        else:
            action[key] = line or block
    sentences = {}
    for name, said in actions.items():
        if "template" not in said or "feedback" not in said:
            raise ValueError(f"action {name} of the grammar has no template or no feedback")
        sentences[name] = Sentences(parse_text(said["template"]), parse_text(said["feedback"]))
    return Grammar(rules, sentences)


def _read_rules(block: str) -> dict[str, Sequence[Rule]]:
    symbols = json.loads(_COMMENT_LINE.sub("", block), strict=False)
    return {
        symbol: tuple(
            Rule(_parse_query(rule.get("condition", "")), parse_text(rule["rhs"])) for rule in rules
        )
        for symbol, rules in symbols.items()
    }


def parse_text(text: str) -> Text:
    r"""Read a text of the grammar.

    As in the original, newlines at its beginning are lost, and so is all that follows a character that begins
    none of the parts (one of ``;|<>[]{}``).

    Raises:
        ValueError: It has an expression or a query that this reader does not know.
    """
    text = text.replace("\\n", "\n").lstrip("\n")
    parts: list[str | Symbol | Values] = []
    at = 0
    while True:
        found = _PART.match(text, at)
        if found is None:
            return tuple(parts)
        at = found.end()
        if found["symbol"] is not None:
            parts.append(Symbol(found["symbol"]))
        elif found["literal"] is not None or found["quoted"] is not None:
            parts.append(found["literal"] or found["quoted"])
        else:
            item = Symbol(found["item"]) if found["item"] else _parse_expression(found["expression"])
            parts.append(Values(item, _parse_query(found["query"] or ""), found["list"] is not None))


def _parse_query(text: str) -> Query:
    conditions = []
    for predicate, arguments in _CONDITION.findall(text):
        if predicate.startswith("not_") and predicate not in ("not_inreceptacle", "not_istoggled"):
            raise ValueError(f"the grammar asks for {predicate}, of which this engine keeps no account")
        variables = tuple(argument.partition(":")[0].strip() for argument in arguments.split(","))
        conditions.append(Condition(predicate, variables))
    if text.strip() and not conditions:
        raise ValueError(f"the grammar has a condition that can't be read: {text!r}")
    return tuple(conditions)


def _parse_expression(text: str) -> tuple[Term, ...]:
    text = text.partition(" or ")[0]  # the first choice, a name, is never empty
    terms: list[Term] = []
    at = 0
    while at < len(text):
        found = _TERM.match(text, at)
        if found is None or found[3] not in (None, "name", *_ATTRIBUTES):
            raise ValueError(f"the grammar has an expression that can't be read: {{{text}}}")
        at = found.end()
        if found[2] is None:
            terms.append(found[1])
        else:
            terms.append(_ATTRIBUTES.get(found[3] or "", (found[2],)))
    return tuple(terms)
