"""Preparing official data: title nouns from spaCy, once, and resumable."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from envhub_webshop import WebShopEnv, prepare, store
from envhub_webshop.errors import DataError
from envhub_webshop.prepare import (
    MODEL_PACKAGES,
    MODEL_VERSION,
    NOUNS_FILE,
    load_spacy,
    main_prepare,
    write_nouns,
)
from envhub_webshop.store.stream import named_entries

from .conftest import MakeShop, Rows, item

ITEMS = [item(f"B{number}", name=f"Title {number} lamp") for number in range(6)]
MAKER = {"model": "capitals", "version": "1"}


def capitals(stop_at: str = "") -> Callable[[], tuple[prepare.FindNouns, dict[str, Any]]]:
    """Finds the capitalised words, up to a title that can't be read."""

    def find(titles: Iterable[str]) -> Iterator[list[str]]:
        for title in titles:
            if title == stop_at:
                raise KeyboardInterrupt
            yield [word.lower() for word in title.split() if word.istitle()]

    return lambda: (find, MAKER)


def quiet(stage: str, done: int, total: int) -> None:
    pass


def test_official_files_become_a_shop_to_play(make_shop: MakeShop, tmp_path: Path) -> None:
    folder = make_shop(ITEMS)
    out = main_prepare(folder, tmp_path / "store", human_goals=False, seed=3, num_products=4)
    assert out == tmp_path / "store"
    assert store.manifest.read_manifest(out)["title_nouns"] == {"file": "title_nouns.json"}
    env = WebShopEnv(data_dir=str(out), human_goals=False, seed=3, num_products=4)
    plain = WebShopEnv(data_dir=str(folder), human_goals=False, seed=3, num_products=4)
    assert env.data_info()["products"] == 4
    for shop in (env, plain):
        shop.reset(options={"task": {"id": "goal-1"}})
    for action in ("search[lamp]", "click[b2]", "click[features]", "click[< prev]", "click[buy now]"):
        assert env.step(action) == plain.step(action)
    with pytest.raises(DataError, match="seed"):
        WebShopEnv(data_dir=str(out), human_goals=False, seed=4, num_products=4)


def test_the_default_folder_lies_beside_the_files(make_shop: MakeShop) -> None:
    folder = make_shop(ITEMS)
    assert main_prepare(folder, human_goals=False) == folder / "prepared"


def test_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="items_shuffle"):
        main_prepare(tmp_path)


def test_without_spacy_the_command_that_installs_it_is_named(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    folder = make_shop(ITEMS)
    (folder / "title_nouns.json").unlink()
    monkeypatch.setattr(prepare, "import_module", missing)
    with pytest.raises(DataError, match=rf"spaCy is not installed.*pip install .*=={MODEL_VERSION}"):
        main_prepare(folder, human_goals=False)
    assert not store.is_prepared(folder / "prepared")


def test_nouns_found_before_a_break_are_kept(
    make_shop: MakeShop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "_BATCH", 2)
    products = make_shop([*ITEMS, item("B1", name="Again"), item("nan")]) / "items_shuffle.json"
    path = tmp_path / NOUNS_FILE
    with pytest.raises(KeyboardInterrupt):
        write_nouns(products, path, 0, capitals(stop_at="Title 4 lamp"), quiet)
    assert [asin for asin, _ in named_entries(path)] == ["B0", "B1", "B2", "B3"]

    with path.open("ab") as stream:
        stream.write(b'["B4", ["ti')
    asked: list[str] = []

    def watching() -> tuple[prepare.FindNouns, dict[str, Any]]:
        def find(titles: Iterable[str]) -> Iterator[list[str]]:
            for title in titles:
                asked.append(title)
                yield [title]

        return find, MAKER

    assert write_nouns(products, path, 0, watching, quiet) == MAKER
    assert asked == ["Title 4 lamp", "Title 5 lamp"]
    found = dict(named_entries(path))
    assert list(found) == ["B0", "B1", "B2", "B3", "B4", "B5"]
    assert (found["B1"], found["B5"]) == (["title"], ["Title 5 lamp"])


def test_nouns_of_another_model_are_found_again(make_shop: MakeShop, tmp_path: Path) -> None:
    products = make_shop(ITEMS) / "items_shuffle.json"
    path = tmp_path / NOUNS_FILE
    path.write_text(json.dumps({"model": "another"}) + '\n["B0", ["old"]]\n')
    write_nouns(products, path, 2, capitals(), quiet)
    assert dict(named_entries(path)) == {"B0": ["title"], "B1": ["title"]}


def test_spacy_finds_the_recorded_nouns(rows: Rows, golden_folder: Path, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is only needed to prepare data without title nouns")
    if not any(spacy.util.is_package(name) for name in MODEL_PACKAGES):
        pytest.skip(f"none of the model packages {MODEL_PACKAGES} is installed")
    recorded = {row["asin"]: row["title_nouns"] for row in rows("products.jsonl")}
    products = golden_folder / "items_shuffle_200.json"
    description = write_nouns(products, tmp_path / NOUNS_FILE, 0, load_spacy, quiet)
    assert description["version"] == MODEL_VERSION
    assert dict(named_entries(tmp_path / NOUNS_FILE)) == recorded
