import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_webshop.errors import DataError
from envhub_webshop.loader import load

from .conftest import item

MakeShop = Callable[..., Path]
WRITTEN = {"instruction": "a lamp", "instruction_attributes": ["warm light"], "instruction_options": []}


def test_prices_options_and_texts_are_normalised(make_shop: MakeShop) -> None:
    options = {"Colour": ["Red/Blue ", "TAN"], "Nothing": []}
    product = item("B1", options=options, pricing="$1,012.50 - $2000", small_description="One line")
    product["customization_options"]["Skipped"] = None
    product["customization_options"]["Colour"][1]["image"] = "https://pictures.example/tan.jpg"
    catalogue = load(make_shop([product, item("B2", pricing=None, images=[])]), name="x", human=False, seed=0)
    first, second = catalogue.product(0), catalogue.product(1)
    assert first.options == {"colour": ("red | blue", "tan"), "nothing": ()}
    assert first.option_images == {"red | blue": None, "tan": "https://pictures.example/tan.jpg"}
    assert (first.pricing, first.price_tag) == ((1012.5, 2000.0), "$1012.5 to $2000.0")
    assert 1012.5 <= first.price <= 2000.0
    assert (first.bullets, first.query) == (("One line",), "desk lamps")
    assert (second.price, second.price_tag, second.main_image) == (100.0, "$100.0", "")


def test_odd_and_repeated_asins_are_left_out(make_shop: MakeShop) -> None:
    entries = [item("B1"), item("nan"), item("B1", name="Again"), item("B0123456789"), item("B2")]
    catalogue = load(make_shop(entries), name="x", human=False, seed=0)
    assert [catalogue.product(at).asin for at in range(len(catalogue))] == ["B1", "B2"]
    assert catalogue.product(0).title == "Plain Lamp B1"
    first = load(make_shop(entries), name="x", human=False, seed=0, num_products=2)
    assert len(first) == 1


def test_a_product_without_attributes_gets_the_dummy(make_shop: MakeShop) -> None:
    folder = make_shop([item("B1")], instructions={"B1": {}}, human={"B1": [WRITTEN]})
    assert load(folder, name="x", human=True, seed=0).product(0).attributes == ("DUMMY_ATTR",)


def test_gzipped_files_are_read(make_shop: MakeShop) -> None:
    folder = make_shop([item("B1")])
    plain = load(folder, name="x", human=False, seed=0)
    for path in list(folder.glob("*.json")):
        path.with_suffix(".json.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert load(folder, name="x", human=False, seed=0).product(0) == plain.product(0)


def test_the_digest_follows_the_content(make_shop: MakeShop) -> None:
    one = load(make_shop([item("B1")]), name="x", human=False, seed=0).digest
    assert one.startswith("sha256:")
    assert load(make_shop([item("B1")]), name="x", human=False, seed=1).digest == one
    assert load(make_shop([item("B1", name="Other")]), name="x", human=False, seed=0).digest != one


def test_the_file_named_after_the_number_of_products_is_taken(make_shop: MakeShop) -> None:
    folder = make_shop([item(f"B{n}") for n in range(5)])
    few = json.loads((folder / "items_shuffle.json").read_text())[:2]
    (folder / "items_shuffle_2.json").write_text(json.dumps(few))
    assert len(load(folder, name="x", human=False, seed=0)) == 5
    assert len(load(folder, name="x", human=False, seed=0, num_products=2)) == 2
    shutil.move(folder / "items_shuffle.json", folder / "items_shuffle_5.json")
    with pytest.raises(
        DataError, match=r"can't tell which to use of items_shuffle_2\.json, items_shuffle_5\.json"
    ):
        load(folder, name="x", human=False, seed=0)


@pytest.mark.parametrize(
    ("missing", "advice"),
    [
        ("items_shuffle.json", "the file with the products. See"),
        ("items_ins_v2.json", "products' attributes. See"),
        ("items_human_ins.json", "--no-human-goals where the data is"),
        ("title_nouns.json", "Run `envhub data prepare webshop`"),
    ],
)
def test_a_missing_file_is_named_with_what_to_do(missing: str, advice: str, make_shop: MakeShop) -> None:
    folder = make_shop([item("B1")], human={"B1": [WRITTEN]})
    (folder / missing).unlink()
    with pytest.raises(DataError) as caught:
        load(folder, name="x", human=True, seed=0)
    assert advice in str(caught.value)
    assert missing.split(".")[0] in str(caught.value)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no folder .*/nowhere"):
        load(tmp_path / "nowhere", name="x", human=True, seed=0)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": None}, "item 1 (B2), field name is null, not a text"),
        ({"full_description": 7}, "item 1 (B2), field full_description is a number, not a text"),
        ({"small_description": [1]}, "item 1 (B2), field small_description[0] is a number, not a text"),
        ({"small_description": {}}, "item 1 (B2), field small_description is an object, not a list"),
        ({"pricing": "12.50"}, "item 1 (B2), field pricing is '12.50', not a price"),
        ({"pricing": "$"}, "item 1 (B2), field pricing is '$', not a price"),
        ({"pricing": "$1.2.3"}, "item 1 (B2), field pricing is '$1.2.3', not a price"),
        ({"pricing": 12.5}, "item 1 (B2), field pricing is a number, not a text"),
        (
            {"customization_options": ["x"]},
            "item 1 (B2), field customization_options is a list, not an object",
        ),
        (
            {"customization_options": {"Size": "L"}},
            "item 1 (B2), field customization_options['Size'] is no list of values",
        ),
        (
            {"customization_options": {"Size": [{"value": 3}]}},
            "item 1 (B2), field customization_options['Size'][0] has no text 'value'",
        ),
        (
            {"customization_options": {"Size": [{"value": "l", "image": 3}]}},
            "item 1 (B2), field customization_options['Size'][0].image is no address",
        ),
        ({"asin": None}, "item 1, field asin is null, not a text"),
        ({"product_category": True}, "item 1 (B2), field product_category is a truth value, not a text"),
    ],
)
def test_a_wrong_product_field_is_named(change: dict[str, Any], complaint: str, make_shop: MakeShop) -> None:
    folder = make_shop([item("B1"), item("B2")])
    entries = json.loads((folder / "items_shuffle.json").read_text())
    entries[1].update(change)
    (folder / "items_shuffle.json").write_text(json.dumps(entries))
    with pytest.raises(DataError) as caught:
        load(folder, name="x", human=False, seed=0)
    assert str(caught.value).startswith(f"items_shuffle.json: {complaint}")


def test_a_missing_field_is_named(make_shop: MakeShop) -> None:
    entry = item("B1")
    del entry["images"]
    with pytest.raises(DataError, match=r"item 0 \(B1\), field images is missing"):
        load(make_shop([entry]), name="x", human=False, seed=0)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("items_shuffle.json", {}, "holds no list of products"),
        ("items_shuffle.json", [], "holds no product"),
        ("items_shuffle.json", [3], "item 0 is a number, not an object"),
        ("items_ins_v2.json", [], "holds no object"),
        ("items_ins_v2.json", {}, "item B1 is missing. Synthetic goals need an entry"),
        ("items_ins_v2.json", {"B1": 3}, "item B1 is a number, not an object"),
        ("items_ins_v2.json", {"B1": {"attributes": []}}, "no product has an instruction"),
        (
            "items_ins_v2.json",
            {"B1": {"instruction": "x", "instruction_attributes": []}},
            "item B1, field instruction_attributes is empty",
        ),
        (
            "items_ins_v2.json",
            {"B1": {"instruction": "x"}},
            "item B1, field instruction_attributes is missing",
        ),
        ("title_nouns.json", {}, "item B1 is missing. Run `envhub data prepare webshop`"),
        ("title_nouns.json", {"B1": [1]}, "title nouns, field B1[0] is a number"),
        ("splits.json", {"train": ["B1"], "validation": []}, "field test is missing"),
        ("splits.json", {"train": [], "validation": [], "test": []}, "leaves out B1, which has goals"),
        ("splits.json", {"train": ["B1"], "validation": ["B1"], "test": []}, "names an asin twice"),
    ],
)
def test_a_wrong_file_is_named(name: str, content: Any, complaint: str, make_shop: MakeShop) -> None:
    folder = make_shop([item("B1")])
    (folder / name).write_text(json.dumps(content))
    with pytest.raises(DataError) as caught:
        load(folder, name="x", human=False, seed=0)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ({"B1": {}}, "item B1 is no list of instructions"),
        ({"B1": [3]}, "item B1[0] is a number, not an object"),
        ({"B1": [{**WRITTEN, "instruction": 3}]}, "item B1[0], field instruction is a number"),
        ({"B1": [{"instruction": "x"}]}, "item B1[0], field instruction_attributes is missing"),
    ],
)
def test_a_wrong_human_instruction_is_named(entries: Any, complaint: str, make_shop: MakeShop) -> None:
    folder = make_shop([item("B1")], human=entries)
    with pytest.raises(DataError) as caught:
        load(folder, name="x", human=True, seed=0)
    assert str(caught.value).startswith(f"items_human_ins.json: {complaint}")


def test_a_broken_file_is_named(make_shop: MakeShop) -> None:
    folder = make_shop([item("B1")])
    (folder / "items_shuffle.json").write_text("[{")
    with pytest.raises(DataError, match=r"items_shuffle\.json: can't be read as JSON"):
        load(folder, name="x", human=False, seed=0)
