import gzip
import hashlib
import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_catalogue
import pytest
from catalogue_maker.nouns import title_nouns
from catalogue_maker.words import read_kinds

DATA = make_catalogue.FOLDER / "data"
BUTTONS = {
    "buy now",
    "back to search",
    "search",
    "next >",
    "< prev",
    "description",
    "features",
    "reviews",
    "attributes",
}


@pytest.fixture(scope="module")
def products() -> list[dict[str, Any]]:
    return read("items_shuffle.json.gz")


@pytest.fixture(scope="module")
def requests() -> dict[str, list[dict[str, Any]]]:
    return read("items_human_ins.json.gz")


def read(name: str) -> Any:
    content = make_catalogue.read(DATA / name)
    assert content is not None
    return json.loads(content)


def option_values(product: dict[str, Any]) -> dict[str, list[str]]:
    options = product["customization_options"] or {}
    return {name: [choice["value"] for choice in choices] for name, choices in options.items()}


def seen(product: dict[str, Any]) -> str:
    """All that the shop's pages say about a product."""
    return "\n".join([product["name"], product["full_description"], *product["small_description"]]).lower()


def test_the_committed_files_are_what_the_generator_makes() -> None:
    made = make_catalogue.make_files(DATA / "words")
    for name, content in made.items():
        assert make_catalogue.read(DATA / name) == content, name


def test_check_names_a_file_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    monkeypatch.setattr(make_catalogue, "FOLDER", tmp_path)
    assert make_catalogue.main(["--check"]) == 0

    (tmp_path / "data" / "splits.json").write_text("{}", encoding="utf-8")
    assert make_catalogue.main(["--check"]) == 1
    assert "splits.json" in capsys.readouterr().err

    assert make_catalogue.main([]) == 0
    assert (tmp_path / "data" / "splits.json").read_bytes() == (DATA / "splits.json").read_bytes()


def test_the_readme_states_the_size_and_digest_of_each_file() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for path in [*DATA.glob("*.json.gz"), DATA / "splits.json"]:
        content = make_catalogue.read(path)
        assert content is not None
        assert f"{path.stat().st_size:,} | `{hashlib.sha256(content).hexdigest()}`" in readme, path.name


def test_the_folder_stays_below_one_megabyte() -> None:
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 1_000_000


def test_products_have_the_fields_of_the_official_format(products: list[dict[str, Any]]) -> None:
    for product in products:
        assert re.fullmatch(r"E0[0-9B-Z]{8}", product["asin"])
        assert product["name"] and product["images"] and all(product["small_description"])
        assert re.fullmatch(r"|\$\d+\.\d\d( - \$\d+\.\d\d)?", product["pricing"])
        prices = [float(price) for price in re.findall(r"[\d.]+", product["pricing"])]
        assert prices == sorted(prices)
        assert len(product["product_category"].split(" › ")) >= 3  # noqa: RUF001
        assert isinstance(product["full_description"], str) and product["query"] and product["category"]


def test_there_are_enough_products_and_they_differ(products: list[dict[str, Any]]) -> None:
    assert len(products) >= 1200
    assert len({product["asin"] for product in products}) == len(products)
    assert len({product["name"] for product in products}) == len(products)
    assert len({product["category"] for product in products}) >= 5
    assert min(Counter(product["query"] for product in products).values()) >= 20
    assert {len(option_values(product)) for product in products} == {0, 1, 2, 3, 4}
    assert {len(re.findall(r"\$", product["pricing"])) for product in products} == {0, 1, 2}


def test_every_option_value_can_be_clicked(products: list[dict[str, Any]]) -> None:
    for product in products:
        values = [value.lower() for group in option_values(product).values() for value in group]
        assert len(set(values)) == len(values), product["asin"]
        assert not BUTTONS & set(values)
        assert not any(set("[]/") & set(value) or value != value.strip() for value in values)


def test_every_attribute_can_be_seen(products: list[dict[str, Any]]) -> None:
    attributes = read("items_ins_v2.json.gz")
    assert set(attributes) == {product["asin"] for product in products}
    for product in products:
        names = attributes[product["asin"]]["attributes"]
        assert names and all(name in seen(product) for name in names), product["asin"]
        assert set(attributes[product["asin"]]["instruction_attributes"]) <= set(names)


def test_every_request_names_what_it_wants(
    products: list[dict[str, Any]], requests: dict[str, list[dict[str, Any]]]
) -> None:
    texts = [request["instruction"] for asked in requests.values() for request in asked]
    assert len(set(texts)) == len(texts)
    for product in products:
        values = [value.lower() for group in option_values(product).values() for value in group]
        for request in requests[product["asin"]]:
            text = request["instruction"]
            assert text == text.lower().strip(" .")
            assert 1 <= len(request["instruction_attributes"]) <= 3
            assert all(name in text.replace("-", " ") for name in request["instruction_attributes"]), text
            assert set(request["instruction_options"]) <= set(values)
            assert all(value in text for value in request["instruction_options"]), text


def test_requests_are_phrased_in_many_ways(requests: dict[str, list[dict[str, Any]]]) -> None:
    texts = [request["instruction"] for asked in requests.values() for request in asked]
    openings = Counter(" ".join(text.split()[:3]) for text in texts)
    assert len(openings) > 100
    assert max(openings.values()) < len(texts) / 10


def test_splits_share_no_product_and_are_large_enough(
    products: list[dict[str, Any]], requests: dict[str, list[dict[str, Any]]]
) -> None:
    splits = read("splits.json")
    asins = [asin for members in splits.values() for asin in members]
    assert sorted(asins) == sorted(product["asin"] for product in products)
    goals = {name: sum(len(requests[asin]) for asin in members) for name, members in splits.items()}
    assert list(goals) == ["train", "validation", "test"]
    assert goals["train"] >= 500 and goals["validation"] >= 100 and goals["test"] >= 100


def test_no_family_of_near_duplicates_is_in_two_splits(products: list[dict[str, Any]]) -> None:
    split_of = {asin: name for name, asins in read("splits.json").items() for asin in asins}
    families: dict[tuple[str, int], list[str]] = defaultdict(list)
    for product in products:
        families[product["query"], product["page"]].append(split_of[product["asin"]])
    assert max(len(members) for members in families.values()) > 2
    assert all(len(set(members)) == 1 for members in families.values())


def test_title_nouns_leave_out_the_words_around_them() -> None:
    title = "Harrowfen Women's Soft T-Shirt with a Long Sleeve, Machine Washable, 2 Pack"
    assert title_nouns(title) == ["harrowfen", "women", "shirt", "sleeve", "machine", "pack"]


def test_products_of_a_query_share_a_noun(products: list[dict[str, Any]]) -> None:
    nouns = read("title_nouns.json.gz")
    shelves: dict[str, list[set[str]]] = defaultdict(list)
    for product in products:
        shelves[product["query"]].append(set(nouns[product["asin"]]))
    for query, titles in shelves.items():
        assert all(one & other for one in titles for other in titles), query


def test_a_bullet_without_its_feature_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "words"
    shutil.copytree(DATA / "words", folder)
    text = (folder / "garden.json").read_text(encoding="utf-8")
    (folder / "garden.json").write_text(text.replace("super soft on both", "soft on both"), encoding="utf-8")
    with pytest.raises(ValueError, match="does not contain its feature 'super soft'"):
        read_kinds(folder)


def test_no_text_comes_from_the_published_data(
    products: list[dict[str, Any]], requests: dict[str, list[dict[str, Any]]], shared_data: Path
) -> None:
    official = json.loads((shared_data / "webshop" / "items_shuffle_200.json").read_text(encoding="utf-8"))
    human = json.loads((shared_data / "webshop" / "items_human_ins_200.json").read_text(encoding="utf-8"))
    theirs = {run for product in official for run in runs(seen(product), 7)}
    assert len(theirs) > 10_000
    assert not theirs & {run for product in products for run in runs(seen(product), 7)}
    # "i am looking for a gluten free ..." is anybody's: requests are compared by longer runs.
    asked = {run for entries in human.values() for entry in entries for run in runs(entry["instruction"], 9)}
    assert asked
    assert not asked & {
        run for entries in requests.values() for entry in entries for run in runs(entry["instruction"], 9)
    }
    assert not {product["asin"] for product in products} & {product["asin"] for product in official}


def runs(text: str, length: int) -> Iterator[tuple[str, ...]]:
    """All runs of so many words within a line."""
    for line in text.splitlines():
        words = re.findall(r"\w+", line)
        yield from zip(*(words[start:] for start in range(length)), strict=False)


def test_the_files_are_compressed_without_a_time_of_day() -> None:
    for path in DATA.glob("*.gz"):
        packed = path.read_bytes()
        assert packed[4:8] == bytes(4) and gzip.decompress(packed), path.name
