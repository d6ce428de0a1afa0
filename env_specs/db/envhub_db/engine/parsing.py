"""Statements read by sqlglot, and kept."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any, Union

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from .errors import DatabaseError
from .grammar import Grammar
from .plain import EXPLAINED, PLAIN, Words, near
from .refusals import check_words, guard, refuse

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of statements that it leaves to us

KEPT = 2_000
KEPT_CHARS = 300_000
LONGEST_KEPT = 4_000
"""How many parsed statements a process keeps, of what length together, and of what length one; a tree takes a
hundred times
its text."""


def _parse(sql: str) -> Parsed:
    dialect = Grammar()
    try:
        tokens = dialect.tokenize(sql)
    except TokenError:
        raise near(sql, max(sql.rfind("'"), sql.rfind('"'), sql.rfind("`"), 0)) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise DatabaseError(1065, "Query was empty")
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise near(sql, token.end + 1 + (len(sql[token.end + 1 :]) - len(sql[token.end + 1 :].lstrip())))
    refuse(sql, tokens)
    guard(sql, tokens)
    replace = tokens[0].token_type == TokenType.REPLACE
    if replace:
        tokens[0] = _as(tokens[0], TokenType.INSERT, "INSERT")
    first = tokens[0].text.upper()
    explained = (
        first in ("DESCRIBE", "DESC", "EXPLAIN") and len(tokens) > 1 and tokens[1].text.upper() in EXPLAINED
    )
    if first in PLAIN and not explained:
        return Words(sql, tokens)
    if explained:
        tokens = tokens[1:]
    ignored = _without_modifiers(tokens)
    try:
        trees: Any = dialect.parser(max_errors=1).parse(tokens, sql)
    except IndexError:
        raise near(sql, len(sql)) from None
    except ParseError as error:
        where = error.errors[0] if error.errors else {}
        raise near(sql, _place(sql, where)) from None
    tree = trees[0] if trees else None
    if tree is None or isinstance(tree, exp.Command):
        raise near(sql, tokens[0].start)
    if replace:
        tree.meta["replace"] = True
    if ignored:
        tree.meta["ignore"] = True
    if explained:
        tree.meta["explained"] = True
    tree.meta["sql"] = sql
    check_words(sql, tree)
    return tree


Parsed = Union[exp.Expression, Words]
"""A statement as a tree, or as words where it has no expressions."""


def _without_modifiers(tokens: list[Token]) -> bool:
    """Take LOW_PRIORITY and its like out of a statement; whether there was IGNORE in an UPDATE or DELETE."""
    first, ignored = tokens[0].text.upper(), False
    words = {"UPDATE": ("LOW_PRIORITY", "IGNORE"), "DELETE": ("LOW_PRIORITY", "QUICK", "IGNORE")}
    words["INSERT"] = ("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY")
    while len(tokens) > 2 and tokens[1].text.upper() in words.get(first, ()):
        ignored = tokens.pop(1).text.upper() == "IGNORE" or ignored
    return ignored


def _as(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, line=token.line, col=token.col, start=token.start, end=token.end)


def _place(sql: str, where: Any) -> int:
    line, col, word = where.get("line"), where.get("col"), where.get("highlight") or ""
    if not line:
        return len(sql)
    start = 0
    for _ in range(line - 1):
        start = sql.find("\n", start) + 1
    return max(0, min(len(sql), start + (col or 0) - len(word)))


_kept: OrderedDict[str, Parsed] = OrderedDict()
_kept_chars = 0


def parse(sql: str) -> Parsed:
    """The tree of a statement, which nobody may change: it is kept for the next time.

    Raises:
        DatabaseError: 1064: MySQL would not take it; 1065: there is none; 1436: it is nested too deeply.
    """
    global _kept_chars
    tree = _kept.get(sql)
    if tree is not None:
        _kept.move_to_end(sql)
        return tree
    try:
        tree = _parse(sql)
    except RecursionError:
        raise DatabaseError(1436, "Thread stack overrun: the statement is nested too deeply") from None
    if len(sql) > LONGEST_KEPT:
        return tree
    _kept[sql] = tree
    _kept_chars += len(sql)
    while len(_kept) > KEPT or _kept_chars > KEPT_CHARS:
        _kept_chars -= len(_kept.popitem(last=False)[0])
    return tree
