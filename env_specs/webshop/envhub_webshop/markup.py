"""What the HTML pages are made of: escaping, addresses and the frames around the pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from envhub_webshop.page import Page

_SAFE_IN_QUERY = "-._~$!'()*,; "
_CDN = "https://maxcdn.bootstrapcdn.com/bootstrap/3.4.1/css/bootstrap.min.css"


def escape(text: object) -> str:
    """Return text that can stand in HTML, quotes included."""
    escaped = str(text).replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")
    return escaped.replace("'", "&#39;").replace('"', "&#34;")


class Links:
    """Makes the addresses that the forms and links of a page lead to."""

    def __init__(self, page: Page, session_id: str) -> None:
        self._session = [("session_id", session_id)]
        self._keywords = [("keywords", word) for word in page.keywords]
        self._number = page.number

    def index(self) -> str:
        """Return the address of the search page."""
        return _query(self._session)

    def results(self, number: int) -> str:
        """Return the address of a page of results."""
        return _query([*self._session, *self._keywords, ("page", number)])

    def item(self, asin: str, options: Mapping[str, str], *detail: tuple[str, str]) -> str:
        """Return the address of an item page, or with `detail` of one of its sub pages."""
        place = [*self._session, ("asin", asin), *self._keywords, ("page", self._number)]
        return _query([*place, *detail, ("options", options)])

    def done(self, asin: str, options: Mapping[str, str]) -> str:
        """Return the address of the page after the purchase."""
        return _query([*self._session, ("asin", asin), ("options", options)])


def _query(pairs: Iterable[tuple[str, Any]]) -> str:
    encoded = (f"{key}={quote(str(value), _SAFE_IN_QUERY, errors='replace')}" for key, value in pairs)
    return escape("/?" + "&".join(encoded).replace(" ", "+"))


def shop_frame(link: Links, instruction: str, back: str, body: str) -> str:
    """Return a page up to the end of its body; `back` is where the Prev button at the top leads, if any."""
    prev = ""
    if back:
        prev = f"""
      <div class="row top-buffer">
        <form method="post" action="{back}">
          <button type="submit" class="btn btn-primary">&lt; Prev</button>
        </form>
      </div>"""
    return f"""<!DOCTYPE html>
<html>
  <head>
    <link rel="stylesheet" href="/static/style.css">
    <link rel="stylesheet" href="{_CDN}">
    <link rel="stylesheet" href="https://cdnjs.cloudflare.com/ajax/libs/font-awesome/4.0.3/css/font-awesome.css\t">
    <script src="https://ajax.googleapis.com/ajax/libs/jquery/3.5.1/jquery.min.js"></script>
    <script src="https://stackpath.bootstrapcdn.com/bootstrap/4.3.1/js/bootstrap.bundle.min.js"></script>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div class="container py-5">
      <div class="row top-buffer">
        <div class="col-sm-6">
          <div id="instruction-text" class="text-center">
            <h4>Instruction:<br>{escape(instruction)}</h4>
          </div>
        </div>
      </div>
      <div class="row top-buffer">
        <form method="post" action="{link.index()}">
          <button type="submit" class="btn btn-success">Back to Search</button>
        </form>
      </div>{prev}
      <div class="row top-buffer">
{body}
    </div>
  </body>
"""


def plain_frame(body: str) -> str:
    """Return the whole search or done page."""
    return f"""<!DOCTYPE html>
<html>
  <head>
    <link rel="stylesheet" href="/static/style.css">
    <link rel="stylesheet" href="https://cdnjs.cloudflare.com/ajax/libs/font-awesome/4.7.0/css/font-awesome.min.css">
    <link rel="stylesheet" href="{_CDN}">
    <link rel="icon" href="data:,">
  </head>
  <body>
    <!-- Code reference: https://bootsnipp.com/snippets/m13mN -->
    <div class="container" style="margin-top: 8%;">
      <div class="col-md-6 col-md-offset-3">     
        <div class="row">
{body}
        </div>            
      </div>
    </div>
  </body>
</html>"""
