"""The pages as HTML, for the observation mode ``html`` and for `render`.

The markup is that of the published shop's pages, as recorded from its running environment (WebShop, Princeton
NLP, MIT licence), blanks and odd tags included, so that agents trained on it read the same text.
"""

# ruff: noqa: E501 - lines of the recorded markup
from __future__ import annotations

from envhub_webshop.html_product import detail_body, item_body, item_script
from envhub_webshop.markup import Links, escape, plain_frame, shop_frame
from envhub_webshop.page import DONE, ITEM, RESULTS, SEARCH, Page, json_text
from envhub_webshop.product import Product


def html(page: Page, session_id: str, instruction: str, show_attrs: bool) -> str:
    """Return a page of a session as HTML."""
    link = Links(page, session_id)
    if page.kind == SEARCH:
        return _search_page(link, instruction)
    if page.kind == DONE:
        return _done_page(page)
    if page.kind == RESULTS:
        return shop_frame(link, instruction, "", _results(page, link)) + "</html>"
    product = page.products[0]
    if page.kind == ITEM:
        back = link.results(page.number)
        body = item_body(page, product, link, show_attrs)
        return shop_frame(link, instruction, back, body) + item_script(page, product) + "</html>"
    body = detail_body(product, page.detail)
    return shop_frame(link, instruction, link.item(product.asin, page.options), body) + "</html>"


def _results(page: Page, link: Links) -> str:
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


def _result(product: Product, link: Links) -> str:
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


def _search_page(link: Links, instruction: str) -> str:
    return plain_frame(f"""          <div id="logo" class="text-center">
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


def _done_page(page: Page) -> str:
    product = page.products[0]
    return plain_frame(f"""          <div id="thankyou" class="text-center">
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
