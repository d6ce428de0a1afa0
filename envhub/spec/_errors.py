"""What can be wrong with a spec or with the way it was asked for.

SpecError
├── SpecNotFound      no bundled spec, folder, plug-in or Gymnasium id answers to the reference
├── SpecInvalid       the spec's `envhub.toml` is unreadable, incomplete or says something it may not
├── DataInvalid       a data file of the spec is missing or is not the one that was declared
├── ConfigError       a setting names no key of the spec, or holds a value that key does not take
└── SettingsInvalid   an `--env` or `--set` argument, or a key of `hub.toml`, cannot be read

Each message says what is wrong, where (file, table, key), the nearest right word and what is allowed,
so that a command line can print it as it is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SpecError(Exception):
    """Base of everything that can be wrong with a spec or its settings."""


class SpecNotFound(SpecError):
    """Nothing answers to the reference that was given."""


class SpecInvalid(SpecError):
    """A spec's folder or its `envhub.toml` does not hold a spec."""


class DataInvalid(SpecError):
    """A data file of a spec is missing or is not the one that was declared."""


class ConfigError(SpecError):
    """A setting has an unknown key or a value that its key does not take."""


class SettingsInvalid(SpecError):
    """A command-line assignment or the hub's own configuration file cannot be read."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like the given one, or None when none is like it."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return close[0] if close else None


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the hint " (did you mean 'webshop'?)", or "" when no known word is like the given one."""
    close = closest(word, known)
    return f" (did you mean {close!r}?)" if close else ""


def listed(words: Iterable[object]) -> str:
    """Return the words in their order as "a, b, c", or "none"."""
    return ", ".join(str(word) for word in words) or "none"
