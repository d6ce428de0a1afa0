"""Which statements reach a server.

What a user may do is up to its privileges; this is about what no privilege covers. An XA transaction would
outlive its connection, and statements made of text or compound ones could begin one. MySQL has no compound
statements outside of routines either.
"""

from __future__ import annotations

import re

from envhub_db.engine import DatabaseError, Limits

_SPACE = re.compile(r"(?:\s+|/\*(?![!M]).*?\*/|--(?:[ \t].*?)?(?:\n|\Z)|#.*?(?:\n|\Z)|\()*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]+")
_KNOWN = frozenset(
    """
    alter analyze begin call change check checksum commit create delete desc describe do drop explain flush
    grant handler help insert install kill load lock optimize purge release rename repair replace reset revoke
    rollback savepoint select set show shutdown start table truncate uninstall unlock update use values with
    """.split()
)
_NOT_HERE = frozenset("xa prepare execute deallocate if case loop while repeat for declare".split())
_COMPOUND = re.compile(r"begin\b(?!\s*(?:work\s*)?;?\s*\Z)|set\s+statement\b", re.IGNORECASE)


def first_word(sql: str) -> str:
    """Return the word that a statement begins with, in small letters."""
    match = _WORD.match(sql, _start(sql))
    return match[0].lower() if match else ""


def check(sql: str, limits: Limits) -> None:
    """Refuse what is not to be executed.

    Raises:
        DatabaseError: As MySQL would say it.
    """
    if len(sql) > limits.statement_chars:
        raise DatabaseError(1153, "Got a packet bigger than 'max_allowed_packet' bytes", "08S01")
    start, word = _start(sql), first_word(sql)
    if word in _NOT_HERE or _COMPOUND.match(sql, start):
        raise DatabaseError(1235, f"This version of MySQL doesn't yet support '{word.upper()}'")
    if not sql[start:].strip(" ;\t\r\n"):
        raise DatabaseError(1065, "Query was empty")
    if word not in _KNOWN:
        line = sql[:start].count("\n") + 1
        raise DatabaseError(
            1064,
            "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server "
            f"version for the right syntax to use near '{sql[start:][:80]}' at line {line}",
        )


def _start(sql: str) -> int:
    match = _SPACE.match(sql)
    return match.end() if match else 0
