"""Mirrors: where channels and archives are really fetched from.

    [mirrors]                                     # ~/.config/envhub/config.toml
    "https://conda.anaconda.org/conda-forge" = "file:///srv/mirrors/conda-forge"

A lock keeps naming the original addresses, so it is the same for everyone. The mirrors are one user's own way
to them, applied here and not by conda or py-rattler: neither mirrors to `file://`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from envhub.build._errors import MirrorsInvalid
from envhub.spec import SpecError, Table

_SCHEMES = ("https://", "http://", "file://")


class Mirrors:
    """Prefixes of addresses, each with the one that stands in for it.

    A prefix holds for whole path segments, with or without a `/` at its end; of several that fit, the
    longest counts.
    """

    def __init__(self, prefixes: Mapping[str, str] | None = None) -> None:
        self.prefixes = {old.rstrip("/"): new.rstrip("/") for old, new in (prefixes or {}).items()}

    def there(self, url: str) -> str:
        """Return the address to fetch from."""
        return _replaced(url, self.prefixes)

    def shown(self, url: str) -> str:
        """Return the address to fetch from as messages may show it."""
        return masked(self.there(url))

    def back(self, url: str) -> str:
        """Return the original address of one on a mirror."""
        return _replaced(url, {new: old for old, new in self.prefixes.items()})

    def without_secrets(self, text: str) -> str:
        """Return a text that may name addresses on mirrors, with their passwords and tokens masked."""
        for mirror in self.prefixes.values():
            text = text.replace(mirror, masked(mirror))
        return text

    def concern(self, url: str) -> bool:
        """Tell whether a mirror stands in for an address."""
        return self.there(url) != url


def _replaced(url: str, prefixes: Mapping[str, str]) -> str:
    fitting = [prefix for prefix in prefixes if url == prefix or url.startswith(prefix + "/")]
    if not fitting:
        return url
    longest = max(fitting, key=len)
    return prefixes[longest] + url[len(longest) :]


def masked(url: str) -> str:
    """Return an address as messages may show it: without its password and without conda's `/t/TOKEN`."""
    return re.sub(r"/t/[^/]+(?=/|$)", "/t/***", re.sub(r"(?<=://)[^/@]+(?=@)", "***", url))


def config_file() -> Path:
    """Return the user's configuration file: `$ENVHUB_CONFIG`, else `~/.config/envhub/config.toml`."""
    named = os.environ.get("ENVHUB_CONFIG")
    return Path(named) if named else Path.home() / ".config" / "envhub" / "config.toml"


def read_mirrors() -> Mirrors:
    """Read the mirrors from the user's configuration; without that file there are none.

    Raises:
        MirrorsInvalid: the file cannot be read, or says something it may not; or `$ENVHUB_CONFIG` names
            a file that is not there.
    """
    file = config_file()
    if "ENVHUB_CONFIG" not in os.environ and not file.exists():
        return Mirrors()
    try:
        root = Table.read(file)
        prefixes = root.strings("mirrors")
        root.finish()
        for url in [text for pair in prefixes.items() for text in pair]:
            if not url.startswith(_SCHEMES):
                raise root.fail(
                    "mirrors",
                    f'{url!r} is no address; write "https://host/path" = "file:///folder" or the like',
                )
    except SpecError as error:
        raise MirrorsInvalid(str(error)) from error
    return Mirrors(prefixes)
