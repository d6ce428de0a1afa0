"""What keeps web pages out: any page a person opens may try to reach a hub on their own machine.

Browsers let a page send requests anywhere and open WebSockets anywhere; they only mark them with the page's
`Origin`. And a page's own server may have its name resolved to 127.0.0.1 (DNS rebinding), so that the page
and the hub are of one origin; then the `Host` is that name. Programs send no `Origin`.
"""

from __future__ import annotations

import functools
import ipaddress

from envhub.session import HubError

_FORM_TYPES = (b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data")
"""Types that a page may send anywhere without asking first."""


class Guard:
    """Refuses what only a web page of another origin would send.

    Args:
        open_to_all: Whether callers need no token: then the hub must be called by a name of this machine.
        host: One such name or address, besides the loopback ones.
    """

    def __init__(self, open_to_all: bool, host: str | None = None) -> None:
        self._open_to_all = open_to_all
        self._host = (host or "localhost").lower()
        self._is_ours = functools.lru_cache(64)(self._find_out)

    def check(self, host: bytes | None, origin: bytes | None, content_type: bytes) -> None:
        """Checks the headers of one request.

        Raises:
            HubError: A page of another origin sent it, or it came by another machine's name.
        """
        if self._open_to_all and host is not None and not self._is_ours(host):
            raise HubError(
                "forbidden",
                f"this hub needs no token and so answers only by a name of its own machine, not as "
                f"{_shown(host)}: call it by localhost or the address it listens on, or serve with a token",
            )
        if origin is not None:
            _check_origin(host, origin, content_type)

    def _find_out(self, host: bytes) -> bool:
        name = _name(host)
        if name in ("localhost", self._host) or name.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False


def _check_origin(host: bytes | None, origin: bytes, content_type: bytes) -> None:
    scheme, _, place = origin.lower().partition(b"://")
    if scheme not in (b"http", b"https") or host is None or place != host.lower():
        raise HubError(
            "forbidden",
            f"the web page {_shown(origin)} is not of this hub's origin and may not use it; call it from a "
            "program (behind a proxy: let it pass the Host header on)",
        )
    if content_type.partition(b";")[0].strip().lower() in _FORM_TYPES:
        raise HubError("forbidden", "a web page must send its bodies as application/json")


def _name(host: bytes) -> str:
    """The host name or address of a Host header, without its port."""
    text = host.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].removesuffix(".")


def _shown(header: bytes) -> str:
    return repr(header[:100].decode("latin-1"))
