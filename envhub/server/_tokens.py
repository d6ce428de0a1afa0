"""Tokens with names: who may come in, as what, and with how much; kept as hashes in a TOML file.

```toml
[[token]]
name = "trainer"            # the token itself reads trainer.SECRET
role = "client"             # or admin
salt = "…"
sha256 = "…"                # of the salt's bytes and the secret
max_sessions = 64           # left out: any number
requests_per_s = 200.0      # likewise
```

A secret is 256 random bits of the hub's own making, never a word that a person chose. Nobody can try that
many, so one SHA-256 protects the file as well as a slow password hash would, and costs a request a
microsecond instead of the tenth of a second that is the point of the slow one. The salt keeps equal
secrets from having equal hashes. Hashes are compared in constant time.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import hmac
import logging
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from envhub.session import Caller
from envhub.spec import SettingsInvalid, Table, counted

log = logging.getLogger("envhub.server")

Role = Literal["client", "admin"]

LOOK_S = 1.0
"""How often a hub looks whether its tokens file has changed."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BEARER = b"bearer "


@dataclass(frozen=True, slots=True)
class Token:
    """What the file keeps of one token.

    Attributes:
        name: What it is called; sessions belong to this name.
        role: A client sees and uses its own sessions only, an admin all.
        salt: Goes before the secret into the hash.
        digest: SHA-256 of salt and secret.
        max_sessions: How many sessions it may have at once; None for any number.
        requests_per_s: How many requests a second it may send; None for any number.
    """

    name: str
    role: Role
    salt: bytes
    digest: bytes
    max_sessions: int | None = None
    requests_per_s: float | None = None

    @classmethod
    def make(
        cls, name: str, role: Role, max_sessions: int | None = None, requests_per_s: float | None = None
    ) -> tuple[Token, str]:
        """A new token, and the text that its owner shows; nobody can work the text out again.

        Raises:
            SettingsInvalid: The name is not one, or a limit is not.
        """
        _check(name, max_sessions, requests_per_s)
        salt, secret = secrets.token_bytes(16), secrets.token_urlsafe(32)
        token = cls(name, role, salt, _digest(salt, secret.encode()), max_sessions, requests_per_s)
        return token, f"{name}.{secret}"

    def as_toml(self) -> str:
        """The token's entry in the file."""
        lines = [
            "[[token]]",
            f'name = "{self.name}"',
            f'role = "{self.role}"',
            f'salt = "{self.salt.hex()}"',
            f'sha256 = "{self.digest.hex()}"',
        ]
        if self.max_sessions is not None:
            lines.append(f"max_sessions = {self.max_sessions}")
        if self.requests_per_s is not None:
            lines.append(f"requests_per_s = {float(self.requests_per_s)!r}")
        return "\n".join(lines) + "\n"


def read_tokens(file: Path) -> list[Token]:
    """Reads a tokens file.

    Raises:
        SettingsInvalid: It can't be read, or has a key or value it may not have, or a name twice.
    """
    root = Table.read(file, SettingsInvalid)
    tokens = [_token(table) for table in root.tables("token")]
    root.finish()
    names = [token.name for token in tokens]
    for name in names:
        if names.count(name) > 1:
            raise SettingsInvalid(f"{file}: two tokens are named {name!r}; remove one")
    return tokens


def append_token(file: Path, token: Token) -> None:
    """Adds a token to a file, which is made if it is missing, readable for its owner only.

    Raises:
        SettingsInvalid: The file can't be read or written, or has a token of that name.
    """
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise SettingsInvalid(f"{file}: cannot be written: {error.strerror}") from None
    with open(descriptor, "a", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if any(known.name == token.name for known in read_tokens(file)):
            raise SettingsInvalid(
                f"{file}: there is a token named {token.name!r} already; choose another name, or remove its "
                "entry from the file first"
            )
        stream.write(("\n" if stream.tell() else "") + token.as_toml())
        stream.flush()
        os.fsync(descriptor)


class Tokens:
    """The tokens a hub knows.

    Args:
        tokens: What they are.
    """

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._known: dict[bytes, tuple[Token, Caller]] = {}
        self._file: Path | None = None
        self._taken = self._seen = _Mark(0, 0, 0)
        nobody, _ = Token.make("nobody", "client")
        self._nobody = nobody, Caller("nobody")
        self.replace(tokens)

    @classmethod
    def of_file(cls, file: Path) -> Tokens:
        """The tokens of a file; `refresh` takes over what becomes of it.

        Raises:
            SettingsInvalid: As `read_tokens`.
        """
        mark = _mark(file)  # before reading: what changes meanwhile is read again
        tokens = cls(read_tokens(file))
        tokens._file, tokens._taken, tokens._seen = file, mark, mark
        return tokens

    async def follow(self) -> None:
        """Calls `refresh` now and then, for as long as the hub runs."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.refresh()

    def refresh(self) -> None:
        """Takes over what the file says now, if it has changed and was left alone since the last call.

        A file that can't be read or is not valid changes nothing; the log says why.
        """
        if self._file is None:
            return
        mark, before = _mark(self._file), self._seen
        self._seen = mark
        if mark != before or mark == self._taken:  # unchanged, or somebody may be writing it just now
            return
        self._taken = mark
        try:
            self.replace(read_tokens(self._file))
        except SettingsInvalid as error:
            log.error("the tokens stay what they were: %s", error)
        else:
            log.warning("%s has changed; it has %s now", self._file, counted(len(self), "token"))

    def replace(self, tokens: Iterable[Token]) -> None:
        """Forgets every token but these. Whoever shows a forgotten one, or did so on a stream, is refused."""
        known = {}
        for token in tokens:
            name, may = token.name.encode(), (token.role == "admin", token.max_sessions, token.requests_per_s)
            before, caller = self._known.get(name, self._nobody)
            if before.digest == token.digest:
                caller.allow(*may)
            else:
                caller = Caller(token.name, *may)
            known[name] = token, caller
        for name, (_, caller) in self._known.items():
            caller.revoked = name not in known or known[name][1] is not caller
        self._known = known

    def __len__(self) -> int:
        return len(self._known)

    def find(self, authorization: bytes) -> Caller | None:
        """Who shows this Authorization header; None if it is nobody's.

        A name that is not known takes as long as a wrong secret.
        """
        name, _, secret = authorization[len(_BEARER) :].partition(b".")
        token, caller = self._known.get(name, self._nobody)
        right = hmac.compare_digest(_digest(token.salt, secret), token.digest)
        is_bearer = authorization[: len(_BEARER)].lower() == _BEARER
        return caller if right and is_bearer and token is not self._nobody[0] else None


class _Mark(NamedTuple):
    """By what one sees that a file has changed."""

    changed_ns: int
    size: int
    inode: int


def _mark(file: Path) -> _Mark:
    try:
        found = file.stat()
    except OSError:
        return _Mark(0, 0, 0)
    return _Mark(found.st_mtime_ns, found.st_size, found.st_ino)


def _digest(salt: bytes, secret: bytes) -> bytes:
    return hashlib.sha256(salt + secret).digest()


def _token(table: Table) -> Token:
    name, role = table.value("name", str), table.value("role", str)
    if role not in get_args(Role):
        raise table.fail("role", f"{role!r} is neither client nor admin")
    token = Token(
        name=name,
        role="admin" if role == "admin" else "client",
        salt=_hex(table, "salt", 16),
        digest=_hex(table, "sha256", 32),
        max_sessions=table.optional("max_sessions", int),
        requests_per_s=table.optional("requests_per_s", float),
    )
    table.finish()
    try:
        _check(name, token.max_sessions, token.requests_per_s)
    except SettingsInvalid as error:
        raise SettingsInvalid(f"{table.file}: {table.where}: {error}") from None
    return token


def _hex(table: Table, key: str, size: int) -> bytes:
    try:
        found = bytes.fromhex(table.value(key, str))
    except ValueError:
        found = b""
    if len(found) != size:
        raise table.fail(key, f"must be {2 * size} hexadecimal digits, as `envhub token new` writes them")
    return found


def _check(name: str, max_sessions: int | None, requests_per_s: float | None) -> None:
    if not _NAME.fullmatch(name):
        raise SettingsInvalid(f"{name!r} is no name of a token: use 1 to 64 letters, digits, '-' and '_'")
    if max_sessions is not None and max_sessions < 0:
        raise SettingsInvalid(f"{max_sessions} sessions: a token's limit is 0 or more")
    if requests_per_s is not None and not 0 < requests_per_s < float("inf"):
        raise SettingsInvalid(f"{requests_per_s:g} requests a second: a token's limit is more than 0")
