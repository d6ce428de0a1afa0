"""Statements read by sqlglot, in a dialect closer to MySQL's own grammar, and kept."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any, Union

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from .errors import DatabaseError
from .words import RESERVED

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of statements that it leaves to us

KEPT = 2_000
KEPT_CHARS = 300_000
LONGEST_KEPT = 4_000
"""How many parsed statements a process keeps, of what length together, and of what length one; a tree takes a
hundred times
its text."""
DEEPEST = 80
"""Parentheses within each other; MySQL's own parser ends at a depth that depends on its stack."""
CLAUSES = {
    TokenType.FROM: 1, TokenType.WHERE: 2, TokenType.GROUP_BY: 3, TokenType.HAVING: 4, TokenType.WINDOW: 5,
    TokenType.ORDER_BY: 6, TokenType.LIMIT: 7,
}  # fmt: skip
FOREIGN = {
    "==",
    "::",
    "~~",
    "~~*",
    "?",
    "#>",
    "#>>",
    "|>",
    "ILIKE",
    "QUALIFY",
    "<@",
    "@>",
    "->",
    "&<",
    "&>",
    "{%",
    "{{",
}
CLOSE = frozenset(
    ("COUNT", "SUM", "MIN", "MAX", "AVG", "GROUP_CONCAT", "CAST", "SUBSTRING", "TRIM", "EXTRACT", "POSITION")
)
"""Functions whose parenthesis must follow at once."""
WITH_FROM = frozenset(("TRIM", "EXTRACT", "SUBSTRING", "SUBSTR", "MID"))
"""Functions with a FROM between their arguments."""
PRIVILEGED = frozenset(
    ("KILL", "FLUSH", "INSTALL", "UNINSTALL", "SHUTDOWN", "RESET", "PURGE", "CHANGE", "CLONE", "RESTART")
)
NO_FILES = "Access denied for user 'agent'@'localhost' (using password: YES)"
FUNCTIONS_APART = (
    "CAST",
    "CONVERT",
    "CHAR",
    "EXTRACT",
    "POSITION",
    "SUBSTRING",
    "SUBSTR",
    "TRIM",
    "GROUP_CONCAT",
    "VALUES",
    "MATCH",
)
"""Functions with a grammar of their own; every other call is a name and its arguments."""


class Grammar(MySQL):
    """MySQL's grammar without what other databases have."""

    class Tokenizer(MySQL.Tokenizer):
        """Its words."""

        KEYWORDS = {  # noqa: RUF012
            word: kind
            for word, kind in MySQL.Tokenizer.KEYWORDS.items()
            if word not in FOREIGN or word == "->"
        }
        COMMANDS = MySQL.Tokenizer.COMMANDS - {TokenType.REPLACE, TokenType.RENAME}

    class Parser(MySQL.Parser):  # type: ignore[misc, valid-type]
        """Its sentences."""

        FUNCTIONS: Any = {}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser for name, parser in MySQL.Parser.FUNCTION_PARSERS.items() if name in FUNCTIONS_APART
        }
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser
            for name, parser in MySQL.Parser.NO_PAREN_FUNCTION_PARSERS.items()
            if name in ("ANY", "CASE", "IF")
        }

        def _parse_projections(self) -> Any:
            found: list[Any] = []
            while True:
                first = self._curr
                one = self._parse_expression()
                if one is None:
                    if found:
                        self.raise_error("an expression is missing")
                    break
                inner = one.this if isinstance(one, exp.Alias) else one
                last = self._prev
                if isinstance(inner, exp.Expression) and first is not None and inner is one:
                    inner.meta["text"] = self.sql[first.start : last.end + 1]
                found.append(one)
                if not self._match(TokenType.COMMA):
                    break
            return found, None


def _near(sql: str, start: int) -> DatabaseError:
    line = sql.count("\n", 0, start) + 1
    text = (
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server "
        "version for the right syntax to use near "
    )
    return DatabaseError(1064, f"{text}'{sql[start : start + 80]}' at line {line}")


def _refuse(sql: str, tokens: list[Token]) -> None:
    """Refuse statements that the user of one database may not execute, or that concern what there is not."""
    first = tokens[0].text.upper()
    second = tokens[1].text.upper() if len(tokens) > 1 else ""
    if first in ("GRANT", "REVOKE"):
        raise DatabaseError(1044, "Access denied for user 'agent'@'localhost' to database")
    if first == "LOAD":
        raise DatabaseError(1045, NO_FILES)
    if first in PRIVILEGED or (first in ("CREATE", "DROP", "ALTER") and second in ("USER", "ROLE", "SERVER")):
        raise DatabaseError(
            1227, "Access denied; you need (at least one of) the SUPER privilege(s) for this operation"
        )
    if first == "CALL" and second:
        raise DatabaseError(1305, f"PROCEDURE {tokens[1].text} does not exist")


def _guard(sql: str, tokens: list[Token]) -> None:
    """Refuse what sqlglot would take and MySQL does not."""
    stack: list[tuple[int, str]] = [(0, "")]
    set_seen = tokens[0].token_type != TokenType.UPDATE
    for place, token in enumerate(tokens):
        kind, word = token.token_type, token.text.upper()
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        _guard_pair(sql, token, following, stack[-1][1])
        if kind == TokenType.SET:
            set_seen = True
        if kind == TokenType.L_PAREN:
            stack.append((0, tokens[place - 1].text.upper() if place else ""))
            if len(stack) > DEEPEST:
                raise DatabaseError(1436, "Thread stack overrun: the statement is nested too deeply")
        elif kind == TokenType.R_PAREN:
            if len(stack) == 1:
                raise _near(sql, token.start)
            stack.pop()
        elif kind in (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SELECT):
            stack[-1] = (0, stack[-1][1])
        elif kind in CLAUSES:
            if CLAUSES[kind] < stack[-1][0] or (kind == TokenType.WHERE and not set_seen and len(stack) == 1):
                raise _near(sql, token.start)
            if kind != TokenType.FROM:
                stack[-1] = (CLAUSES[kind], stack[-1][1])
        elif word in ("OUTFILE", "DUMPFILE") and place and tokens[place - 1].token_type == TokenType.INTO:
            raise DatabaseError(1045, NO_FILES)


def _guard_pair(sql: str, token: Token, following: Token | None, opener: str) -> None:
    """Refuse two tokens that don't go together."""
    kind, word = token.token_type, token.text.upper()
    after = following.text.upper() if following is not None else ""
    start = following.start if following is not None else len(sql)
    if kind == TokenType.VALUES and after not in ("(", "ROW"):
        raise _near(sql, start)
    if following is None:
        return
    if following.token_type == TokenType.STRING and opener not in WITH_FROM:
        if kind in (TokenType.FROM, TokenType.JOIN, TokenType.INTO, TokenType.UPDATE, TokenType.TABLE):
            raise _near(sql, start)
    if word == "NULLS" and after in ("FIRST", "LAST"):
        raise _near(sql, token.start)
    if following.token_type == TokenType.L_PAREN and word in CLOSE and token.end + 1 != start:
        if kind == TokenType.IDENTIFIER:
            return
        if word == "COUNT":
            raise _near(sql, following.end + 1)
        raise DatabaseError(
            1630,
            f"FUNCTION {token.text} does not exist. Check the 'Function Name Parsing and Resolution' "
            f"section in the "
            "Reference Manual",
        )


def _check_words(sql: str, tree: exp.Expression) -> None:
    for node in tree.find_all(exp.Identifier):
        if not node.args.get("quoted") and str(node.this).upper() in RESERVED:
            start = node.meta.get("start")
            raise _near(
                sql, start if isinstance(start, int) else max(0, sql.upper().find(str(node.this).upper()))
            )


def _parse(sql: str) -> Parsed:
    dialect = Grammar()
    try:
        tokens = dialect.tokenize(sql)
    except TokenError:
        raise _near(sql, max(sql.rfind("'"), sql.rfind('"'), sql.rfind("`"), 0)) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise DatabaseError(1065, "Query was empty")
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise _near(sql, token.end + 1 + (len(sql[token.end + 1 :]) - len(sql[token.end + 1 :].lstrip())))
    _refuse(sql, tokens)
    _guard(sql, tokens)
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
        raise _near(sql, len(sql)) from None
    except ParseError as error:
        where = error.errors[0] if error.errors else {}
        raise _near(sql, _place(sql, where)) from None
    tree = trees[0] if trees else None
    if tree is None or isinstance(tree, exp.Command):
        raise _near(sql, tokens[0].start)
    if replace:
        tree.meta["replace"] = True
    if ignored:
        tree.meta["ignore"] = True
    if explained:
        tree.meta["explained"] = True
    tree.meta["sql"] = sql
    _check_words(sql, tree)
    return tree


class Words:
    """A statement without expressions, such as SHOW, word by word."""

    def __init__(self, sql: str, tokens: list[Token]) -> None:
        self.sql = sql
        self.tokens = tokens
        self.place = 0

    def again(self) -> Words:
        """The same from the beginning."""
        return Words(self.sql, self.tokens)

    def again_after(self, count: int) -> Words:
        """The same, with so many words taken."""
        words = self.again()
        words.place = count
        return words

    @property
    def done(self) -> bool:
        """Whether all words are taken."""
        return self.place >= len(self.tokens)

    @property
    def word(self) -> str:
        """The next word in capitals; empty at the end."""
        return "" if self.done else self.tokens[self.place].text.upper()

    def take(self, *words: str) -> bool:
        """Take these words if they come next, one after the other."""
        coming = [token.text.upper() for token in self.tokens[self.place : self.place + len(words)]]
        if coming != [part for word in words for part in [word]]:
            return False
        self.place += len(words)
        return True

    def any(self, *words: str) -> str:
        """Take one of these words if it comes next; which."""
        word = self.word
        if word and word in words:
            self.place += 1
            return word
        return ""

    def name(self) -> str:
        """Take a name."""
        if self.done or self.tokens[self.place].token_type in (
            TokenType.STRING,
            TokenType.NUMBER,
            TokenType.L_PAREN,
        ):
            raise self.wrong()
        self.place += 1
        return self.tokens[self.place - 1].text

    def text(self) -> str:
        """Take a text in quotes."""
        if self.done or self.tokens[self.place].token_type != TokenType.STRING:
            raise self.wrong()
        self.place += 1
        return self.tokens[self.place - 1].text

    def end(self) -> None:
        """Insist that nothing follows."""
        if not self.done:
            raise self.wrong()

    def wrong(self) -> DatabaseError:
        """MySQL's error 1064 at this word."""
        return _near(self.sql, self.tokens[self.place].start if not self.done else len(self.sql))


PLAIN = frozenset(
    (
        "SHOW",
        "DESCRIBE",
        "DESC",
        "EXPLAIN",
        "USE",
        "BEGIN",
        "START",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT",
        "RELEASE",
        "RENAME",
        "LOCK",
        "UNLOCK",
    )
)


EXPLAINED = frozenset(("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "("))
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
