"""Statements without expressions, such as SHOW: read word by word."""

from __future__ import annotations

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from .errors import DatabaseError


def near(sql: str, start: int) -> DatabaseError:
    """MySQL's error 1064 at a place of a statement."""
    line = sql.count("\n", 0, start) + 1
    text = (
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server "
        "version for the right syntax to use near "
    )
    return DatabaseError(1064, f"{text}'{sql[start : start + 80]}' at line {line}")


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
        return near(self.sql, self.tokens[self.place].start if not self.done else len(self.sql))


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
