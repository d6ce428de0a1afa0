"""Which interpreters a spec's code runs on: `requires_python` in `envhub.toml`."""

from __future__ import annotations

import platform

from packaging.specifiers import InvalidSpecifier, SpecifierSet

OLDEST_PYTHON = ">=3.9"
"""What holds where a spec says nothing: the interpreters that the worker itself runs on."""


def complaint_about_python(specifier: str) -> str | None:
    """Return what is wrong with a `requires_python`, or None when it is a PEP 440 specifier."""
    try:
        parsed = SpecifierSet(specifier)
    except InvalidSpecifier:
        parsed = SpecifierSet("")
    if len(parsed):
        return None
    return f'{specifier!r} is no version specifier; write one as in ">=3.9" or ">=3.10,<3.13"'


def python_suits(specifier: str, version: str = platform.python_version()) -> bool:
    """Tell whether a Python version (`3.11.14`; this interpreter's own by default) meets a specifier.

    Pre-releases count: whoever runs one has chosen it.
    """
    return SpecifierSet(specifier).contains(version, prereleases=True)
