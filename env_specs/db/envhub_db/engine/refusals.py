"""What sqlglot would take and MySQL does not, and what a user of one database may not do."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from .errors import DatabaseError
from .plain import near
from .words import RESERVED

DEEPEST = 80
"""Parentheses within each other; MySQL's own parser ends at a depth that depends on its stack."""
CLAUSES = {
    TokenType.FROM: 1, TokenType.WHERE: 2, TokenType.GROUP_BY: 3, TokenType.HAVING: 4, TokenType.WINDOW: 5,
    TokenType.ORDER_BY: 6, TokenType.LIMIT: 7,
}  # fmt: skip
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


def refuse(sql: str, tokens: list[Token]) -> None:
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


def guard(sql: str, tokens: list[Token]) -> None:
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
                raise near(sql, token.start)
            stack.pop()
        elif kind in (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SELECT):
            stack[-1] = (0, stack[-1][1])
        elif kind in CLAUSES:
            if CLAUSES[kind] < stack[-1][0] or (kind == TokenType.WHERE and not set_seen and len(stack) == 1):
                raise near(sql, token.start)
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
        raise near(sql, start)
    if following is None:
        return
    if following.token_type == TokenType.STRING and opener not in WITH_FROM:
        if kind in (TokenType.FROM, TokenType.JOIN, TokenType.INTO, TokenType.UPDATE, TokenType.TABLE):
            raise near(sql, start)
    if word == "NULLS" and after in ("FIRST", "LAST"):
        raise near(sql, token.start)
    if following.token_type == TokenType.L_PAREN and word in CLOSE and token.end + 1 != start:
        if kind == TokenType.IDENTIFIER:
            return
        if word == "COUNT":
            raise near(sql, following.end + 1)
        raise DatabaseError(
            1630,
            f"FUNCTION {token.text} does not exist. Check the 'Function Name Parsing and Resolution' "
            f"section in the "
            "Reference Manual",
        )


def check_words(sql: str, tree: exp.Expression) -> None:
    """Refuse reserved words as names without quotes."""
    for node in tree.find_all(exp.Identifier):
        if not node.args.get("quoted") and str(node.this).upper() in RESERVED:
            start = node.meta.get("start")
            raise near(
                sql, start if isinstance(start, int) else max(0, sql.upper().find(str(node.this).upper()))
            )
