"""The pages as HTML, for the observation mode ``html`` and for `render`.

The markup is that of the published shop's pages, as recorded from its running environment (WebShop, Princeton
NLP, MIT licence), blanks and odd tags included, so that agents trained on it read the same text.
"""

# ruff: noqa: E501 - lines of the recorded markup
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Callable
from urllib.parse import quote

from envhub_webshop.page import DETAILS, DONE, ITEM, RESULTS, SEARCH, Page, json_text
from envhub_webshop.product import Product

_SAFE_IN_QUERY = "-._~$!'()*,; "
_CDN = "https://maxcdn.bootstrapcdn.com/bootstrap/3.4.1/css/bootstrap.min.css"


def html(page: Page, session_id: str, instruction: str, show_attrs: bool) -> str:
    """Return a page of a session as HTML."""
    link = _Links(page, session_id)
    if page.kind == SEARCH:
        return _search_page(link, instruction)
    if page.kind == DONE:
        return _done_page(page)
    if page.kind == RESULTS:
        return _shop_page(link, instruction, "", _results(page, link)) + "</html>"
    product = page.products[0]
    if page.kind == ITEM:
        back = link.results(page.number)
        body = _item(page, product, link, show_attrs)
        return _shop_page(link, instruction, back, body) + _item_script(page, product) + "</html>"
    body = _detail(product, page.detail)
    return _shop_page(link, instruction, link.item(product.asin, page.options), body) + "</html>"


def escape(text: object) -> str:
    """Return text that can stand in HTML, quotes included."""
    escaped = str(text).replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")
    return escaped.replace("'", "&#39;").replace('"', "&#34;")


class _Links:
    """Makes the addresses that the forms and links of a page lead to."""

    def __init__(self, page: Page, session_id: str) -> None:
        self._session = [("session_id", session_id)]
        self._keywords = [("keywords", word) for word in page.keywords]
        self._number = page.number

    def index(self) -> str:
        return _query(self._session)

    def results(self, number: int) -> str:
        return _query([*self._session, *self._keywords, ("page", number)])

    def item(self, asin: str, options: Mapping[str, str], *detail: tuple[str, str]) -> str:
        place = [*self._session, ("asin", asin), *self._keywords, ("page", self._number)]
        return _query([*place, *detail, ("options", options)])

    def done(self, asin: str, options: Mapping[str, str]) -> str:
        return _query([*self._session, ("asin", asin), ("options", options)])


def _query(pairs: Iterable[tuple[str, Any]]) -> str:
    encoded = (f"{key}={quote(str(value), safe=_SAFE_IN_QUERY).replace(' ', '+')}" for key, value in pairs)
    return escape("/?" + "&".join(encoded))


def _shop_page(link: _Links, instruction: str, back: str, body: str) -> str:
    """Return everything up to the end of the body; `back` is where the Prev button at the top leads."""
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


def _results(page: Page, link: _Links) -> str:
    prev = f"""<div class="col-sm-2">
              <form method="post" action="{link.results(page.number - 1)}">
                <button type="submit" class="btn btn-primary">&lt; Prev</button>
              </form>
            </div>"""
    nothing = """<div class="col-sm-2">
            </div>"""
    items = "".join(_result(product, link) for product in page.products)
    return f"""        <div class="col-sm-8">
          <div class="display-4">
            <h3>Page {page.number} (Total results: {page.total})</h3>
          </div>
          
            {prev if page.number > 1 else nothing}
            <div class="col-sm-2">
              <form method="post" action="{link.results(page.number + 1)}">
                <button type="submit" class="btn btn-primary">Next &gt;</button>
              </form>
            </div>
          
        </div>
      </div>

      <div class="row top-buffer">
        {items}
      </div>"""


def _result(product: Product, link: _Links) -> str:
    def line(kind: str, text: str) -> str:
        return f"""<div class="d-flex align-items-center justify-content-between mt-1">
                      <h5 class="font-weight-bold my-2 product-{kind}">{escape(text)}</h5>
                    </div>"""

    return f"""
        <div class="col-lg-12 mx-auto list-group-item">
          <div class="col-lg-4">
            <img src="{escape(product.main_image)}" class="result-img">
          </div>
          <div class="col-lg-8">
            <ul class="list-group shadow">
                <div class="media align-items-lg-center flex-column flex-lg-row p-3">
                  <div class="media-body order-2 order-lg-1 searched-product">
                    
                    <h4 class="mt-0 font-weight-bold mb-2 product-asin"><a class="product-link" href="{
        link.item(product.asin, {})
    }">{escape(product.asin)}</a></h5>
                    <h4 class="mt-0 font-weight-bold mb-2 product-title">{escape(product.title)}</h5>
                    <div class="d-flex align-items-center justify-content-between mt-1">
                      <h5 class="font-weight-bold my-2 product-price">{escape(product.price_tag)}</h6>
                    </div>
<!--
                    {line("category", product.category)}
                    {line("query", product.query)}
                    {line("product_category", product.product_category)}
-->
                  </div>
                </div>
            </ul>
          </div>
        </div>
        """


def _item(page: Page, product: Product, link: _Links, show_attrs: bool) -> str:
    def detail_form(label: str) -> str:
        name = "bulletpoints" if label == "Features" else label.lower()
        action = link.item(product.asin, page.options, ("sub_page", label))
        return f"""<div class="col-sm-3" name="{name}">
              <form method="post" action="{action}">
                <button class="btn btn-primary" type="submit">{label}</button>
              </form>
            </div>
            """

    options = "".join(_option(page, product, link, name, values) for name, values in product.options.items())
    details = "".join(detail_form(label) for label in DETAILS[:3])
    attributes = detail_form(DETAILS[3]) if show_attrs else ""
    return f"""        <div class="col-md-4 mb-4 mb-md-0">
          <div class="row top-buffer">
            <img id="product-image" src="{escape(product.main_image)}" class="item-page-img">
          </div>
          {options}
        </div>
        <div class="col-md-6">
          <h2>{escape(product.title)}</h2>
          <h4>Price: {escape(product.price_tag)}</h4>
          <h4>Rating: N.A.</h4>
          <div class="row top-buffer">
            {details}{attributes}
          </div>
        </div>
        <div class="col-sm-2">
          <div class="row top-buffer">
            <form method="post" action="{link.done(product.asin, page.options)}">
              <button type="submit" class="btn btn-lg purchase">Buy Now</button>
            </form>
          </div>
        </div>
      </div>"""


def _option(page: Page, product: Product, link: _Links, name: str, values: Iterable[str]) -> str:
    def radio(at: int, value: str) -> str:
        identity = f"radio_{escape(name)}{at}"
        target = link.item(product.asin, {**page.options, name: value})
        return f"""
                  
                  
                  
                  <input type="radio" id="{identity}" name="{escape(name)}" value="{escape(value)}" data-url="{target}">
                  <label for="{identity}">{escape(value)}</label>
                """

    return f"""
            <div class="row top-buffer">
              <h4>{escape(name)}</h4>
              <div class="radio-toolbar">
                {"".join(radio(at, value) for at, value in enumerate(values))}
              </div>
            </div>
          """


def _item_script(page: Page, product: Product) -> str:
    return f"""  <script>
    $(document).ready(function() {{
      $('input:radio').each(function() {{
        //console.log($(this).val());
        let options = JSON.parse(`{json_text(page.options)}`);
        let optionValues = $.map(options, function(value, key) {{ return value }});
        //console.log(optionValues);
        if (optionValues.includes($(this).val())) {{
          $(this).prop('checked', true);

          let option_to_image = JSON.parse(`{json_text(product.option_images)}`);
//          console.log($(this).val());
//          console.log(options);
//          console.log(option_to_image);
          let image_url = option_to_image[$(this).val()];

          //console.log(image_url);
          if (image_url) {{
            $("#product-image").attr("src", image_url);
          }}
        }}
        
        // reload with updated options
        this.addEventListener("click", function() {{
          window.location.href = this.dataset.url;
        }});

      }});
    }});
  </script>
"""


def _detail(product: Product, detail: str) -> str:
    def entries(kind: str, texts: Iterable[str]) -> str:
        return "".join(
            f"""
                  <li><p class="{kind}"> {escape(text)}</p></li>
                  """
            for text in texts
        )

    def card(name: str, content: str) -> str:
        return f"""<div class="col-sm-6" name="{name}">
              <div class="card card-body">
                {content}
              </div>
            </div>"""

    def line(kind: str, text: str) -> str:
        return f"""
              <div class="d-flex align-items-center justify-content-between mt-1">
                <h5 class="font-weight-bold my-2 product-{kind}">{escape(text)}</h5>
              </div>"""

    def listed(kind: str, texts: Iterable[str]) -> str:
        return f"""<ul>
                  {entries(kind, texts)}
                </ul>"""

    contents: dict[str, Callable[[], str]] = {
        "Description": lambda: card(
            "description", f'<p class="product-info">{escape(product.description)}</p>'
        ),
        "Features": lambda: card("bulletpoints", listed("product-info", product.bullets)),
        "Reviews": lambda: card("reviews", ""),
        "Attributes": lambda: (
            card("description", listed("attribute", product.attributes))
            + f"""
            <div class="col-sm-6" name="description">{line("category", product.category)}{
                line("query", product.query)
            }{line("product_category", product.product_category)}
            </div>"""
        ),
    }
    return f"""        <div class="col-md-12">
          <div class="row top-buffer">
            {contents[detail]()}
          </div>
        </div>
      </div>"""


def _search_page(link: _Links, instruction: str) -> str:
    return _plain_page(f"""          <div id="logo" class="text-center">
            <h2>WebShop</h2>
          </div>
          <div id="instruction-text" class="text-center">
            <h4>Instruction: <br>{escape(instruction)}</h4>
          </div>
          <form role="form" id="form-buscar" method="post" action="{link.index()}">
            <div class="form-group">
              <div class="input-group">
                <input id="search_input" class="form-control" type="text" name="search_query" placeholder="Search..." required/>
                <span class="input-group-btn">
                  <button class="btn btn-success" type="submit"><i class="glyphicon glyphicon-search" aria-hidden="true"></i>Search</button>
                </span>
              </div>
            </div>
          </form>""")


def _plain_page(body: str) -> str:
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


def _done_page(page: Page) -> str:
    product = page.products[0]
    return _plain_page(f"""          <div id="thankyou" class="text-center">
            <h1>Thank you for shopping with us!</h1>
          </div>
          <div id="stats" class="text-center">
            <h3 align="mturk_code">Your code: </h3>
            <p><pre>None</pre> (Paste it in your MTurk interface.)</p>
            <div style="display:none">
              <h2 align="left">Purchased</h2>
              <hr class="solid">
              <h4 id="asin">asin<pre>{escape(product.asin)}</pre></p>
              <h4 id="options">options<pre>{json_text(page.options)}</pre></h4>
              <h4 id="purchased_attrs">attrs<pre>None</pre></h4>
              <h4 id="purchased-category">category<pre>None</pre></h4>
              <h4 id="purchased-query">query<pre>None</pre></h4>
              <h4 id="purchased-pc">product category<pre>None</pre></h4>
              <h2 align="left">Target</h2>
              <hr class="solid">
              <h4 id="goal-asin">asin<pre></pre></p>
              <h4 id="goal-options">options<pre></pre></h4>
              <h4 id="goal-attrs">attrs<pre></pre></h4>
              <h4 id="goal-price">price upper<pre></pre></h4>
              <h4 id="goal-instruction-text">instuction text<pre></pre></h4>
              <h4 id="goal-category">category<pre></pre></h4>
              <h4 id="goal-pc">product category<pre></pre></h4>
              <h4 id="goal-query">query<pre></pre></h4>
              <h4>Goal <div id="goal"><pre>None</pre></div></h4>
              <h2 align="left">Reward</h2>
            </div>
            <hr class="solid">
      \t\t\t<h3   id="reward">Your score (min 0.0, max 1.0)<pre>{page.reward}</pre></h3>
            <h4 hidden>Reward Details <div id="reward_info"><pre>None</pre></div></h4>
          </div>""")
