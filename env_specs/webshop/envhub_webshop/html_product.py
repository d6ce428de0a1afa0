"""The item page and its sub pages as HTML (see `html`)."""

# ruff: noqa: E501 - lines of the recorded markup
from __future__ import annotations

from collections.abc import Iterable

from envhub_webshop.markup import Links, escape
from envhub_webshop.page import DETAILS, Page, json_text
from envhub_webshop.product import Product


def item_body(page: Page, product: Product, link: Links, show_attrs: bool) -> str:
    """Return the body of an item page."""

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
    attributes = f"\n            {detail_form(DETAILS[3])}" if show_attrs else ""
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


def item_script(page: Page, product: Product) -> str:
    """Return the script after the body of an item page."""
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


def detail_body(product: Product, detail: str) -> str:
    """Return the body of a sub page."""

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

    if detail == "Description":
        text = f'<p class="product-info">{escape(product.description)}</p>'
        content = card("description", text)
    elif detail == "Features":
        content = card("bulletpoints", listed("product-info", product.bullets))
    elif detail == "Reviews":
        content = card("reviews", "")
    else:
        content = card("description", listed("attribute", product.attributes))
        lines = line("category", product.category) + line("query", product.query)
        lines += line("product_category", product.product_category)
        content += f"""
            <div class="col-sm-6" name="description">{lines}
            </div>"""
    return f"""        <div class="col-md-12">
          <div class="row top-buffer">
            {content}
          </div>
        </div>
      </div>"""


def _option(page: Page, product: Product, link: Links, name: str, values: Iterable[str]) -> str:
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
