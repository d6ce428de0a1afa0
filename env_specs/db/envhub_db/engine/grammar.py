"""sqlglot's MySQL, closer to MySQL's own grammar."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

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
