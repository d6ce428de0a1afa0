"""The text observation is written directly; here it is compared with what the HTML of the same page says."""

from dataclasses import replace
from html.parser import HTMLParser

from envhub_webshop import page as pages
from envhub_webshop.html import html
from envhub_webshop.page import DETAIL, DETAILS, DONE, ITEM, RESULTS, SEARCH, Page
from envhub_webshop.product import Product
from hypothesis import given, settings
from hypothesis import strategies as st

LAMP = Product(
    asin="B000000001",
    title='Lamp "Tall" <b>',
    description="A lamp & more.",
    bullets=("warm light ", "", "\n", "steel foot"),
    pricing=(12.5,),
    price_tag="$12.5",
    price=12.5,
    options={"colour": ("red", 'na"vy', "caf\xe9"), "size": ("l", "s")},
    option_images={"red": None},
    attributes=("warm light",),
    query="desk lamps",
    category="garden",
    product_category="Home \u203a Lamps",
    main_image="",
    title_nouns=(),
    instruction=None,
    instruction_attributes=(),
)
INSTRUCTION = "i'd like a lamp"
# Whatever JSON can hold, less what the HTML parser of the standard library reads differently.
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20)
BLANKS = st.text(" \n\t", max_size=3)


class Visible(HTMLParser):
    """Collects a page's strings as the published environment does: hidden ones and blank lines left out."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.strings: list[str] = []
        self._tags: list[str] = [""]
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("link", "img", "input", "br", "hr"):
            self._tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while tag in self._tags and self._tags.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._tags[-1] in ("", "script", "head"):
            return
        if not data.strip(" \n\t\f\r") and self._tags[-1] != "pre":
            data = "\n" if "\n" in data else " "
        if data != "\n":
            self.strings.append(data.strip())


def both(page: Page, show_attrs: bool = False) -> tuple[list[str], list[str]]:
    shown = [string.strip() for _, string in pages.nodes(page, INSTRUCTION, show_attrs)]
    return shown, Visible(html(page, "7", INSTRUCTION, show_attrs)).strings


def page_of(product: Product, kind: str, detail: str = "", number: int = 2) -> Page:
    options = {name: values[0] for name, values in product.options.items() if values}
    return Page(kind, ("tall", "lamp"), number, 3, (product,), options, detail, 0.5)


def test_each_page_reads_the_same_as_text_and_as_html() -> None:
    for kind in (SEARCH, RESULTS, ITEM, DONE):
        for number in (1, 2):
            shown, parsed = both(page_of(LAMP, kind, number=number), show_attrs=True)
            assert shown == parsed
    for detail in DETAILS:
        shown, parsed = both(page_of(LAMP, DETAIL, detail))
        assert shown == parsed


@settings(derandomize=True, deadline=None)
@given(
    TEXTS | BLANKS, st.lists(TEXTS | BLANKS, max_size=4), st.dictionaries(TEXTS, st.lists(TEXTS), max_size=3)
)
def test_any_product_reads_the_same_as_text_and_as_html(
    title: str, lines: list[str], options: dict[str, list[str]]
) -> None:
    product = replace(
        LAMP,
        title=title,
        description=title,
        bullets=tuple(lines),
        attributes=tuple(lines),
        options={name: tuple(value.strip() for value in values) for name, values in options.items()},
    )
    for page in (
        page_of(product, RESULTS),
        page_of(product, ITEM),
        page_of(product, DONE),
        *(page_of(product, DETAIL, detail) for detail in DETAILS),
    ):
        shown, parsed = both(page, show_attrs=True)
        assert shown == parsed


def test_an_item_page_lists_options_facts_and_buttons() -> None:
    assert pages.text(pages.nodes(page_of(LAMP, ITEM), INSTRUCTION, False)).split(" [SEP] ") == [
        *("Instruction:", INSTRUCTION, "Back to Search", "< Prev"),
        *("colour", "red", 'na"vy', "caf\xe9", "size", "l", "s"),
        *('Lamp "Tall" <b>', "Price: $12.5", "Rating: N.A."),
        *("Description", "Features", "Reviews", "Buy Now"),
    ]


def test_an_empty_bullet_stays_and_a_line_break_does_not() -> None:
    shown = pages.nodes(page_of(LAMP, DETAIL, "Features"), INSTRUCTION, False)
    assert [string for _, string in shown[4:]] == [" warm light ", " ", " steel foot"]


def test_rich_text_marks_what_was_clicked() -> None:
    page = page_of(LAMP, ITEM)
    shown = pages.nodes(page, INSTRUCTION, False)
    rich = pages.rich_text(shown, pages.url(page, "7"), ())
    assert rich.startswith("You have clicked l.\nYou have clicked red.\nInstruction:\n")
    assert "  [clicked button] red [clicked button_]\n" in rich
    assert "  [button] s [button_]\n" in rich
    assert "\n[button] Buy Now [button_]\n" in rich
    results = page_of(LAMP, RESULTS)
    listed = pages.nodes(results, INSTRUCTION, False)
    assert "\n[button] B000000001 [button_]\n" in pages.rich_text(listed, "", ())
    assert "\n[clicked button] B000000001 [clicked button_]\n" in pages.rich_text(listed, "", ["B000000001"])


def test_values_with_quotes_never_show_as_clicked() -> None:
    page = page_of(LAMP, ITEM)._replace(options={"colour": 'na"vy'})
    rich = pages.rich_text(pages.nodes(page, INSTRUCTION, False), pages.url(page, "7"), ())
    assert "clicked" not in rich


def test_urls_hold_session_keywords_and_choices() -> None:
    base = "http://127.0.0.1:3000"
    assert pages.url(Page(SEARCH), "7") == f"{base}/7"
    assert pages.url(page_of(LAMP, RESULTS), "7") == f"{base}/search_results/7/tall+lamp/2"
    options = {"colour": "red", "size": "l"}
    assert pages.url(page_of(LAMP, ITEM), "7") == (
        f'{base}/item_page/7/B000000001/tall+lamp/2/{{"colour": "red", "size": "l"}}'
    )
    assert pages.url(page_of(LAMP, DETAIL, "Features"), "7") == (
        f"{base}/item_sub_page/7/B000000001/tall+lamp/2/Features/{options}"
    )
    assert pages.url(page_of(LAMP, DONE), "7") == f"{base}/done/7/B000000001/{options}"


def test_a_page_cannot_break_out_of_its_script() -> None:
    page = page_of(LAMP, ITEM)._replace(options={"colour": "</script><b>&'"})
    source = html(page, "7", INSTRUCTION, False)
    assert "\\u003c/script\\u003e\\u003cb\\u003e\\u0026\\u0027" in source
    assert source.count("</script>") == 3


def test_the_attributes_button_stands_after_a_blank_line() -> None:
    plain = html(page_of(LAMP, ITEM), "7", INSTRUCTION, False)
    shown = html(page_of(LAMP, ITEM), "7", INSTRUCTION, True)
    blank = " " * 12
    assert f"</div>\n{blank}\n          </div>\n" in plain
    assert f'</div>\n{blank}\n{blank}<div class="col-sm-3" name="attributes">' in shown
    assert "attributes" not in plain
