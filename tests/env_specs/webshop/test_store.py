"""The prepared store: the same shop as in memory, and never a half-written one."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_webshop import files, store
from envhub_webshop.catalogue import Catalogue, MemoryCatalogue
from envhub_webshop.errors import DataError
from envhub_webshop.loader import load
from envhub_webshop.store import manifest, stream
from envhub_webshop.store.stream import array_entries, named_entries, object_entries

from .conftest import MakeShop, Rows, item, write

ITEMS = [
    item("B1", name="Caf\u00e9 lamp", options={"Color": ["Red", "Blue/Green"], "size": ["S", "M", "L"]}),
    item("B2", name="Sofa", pricing="$10.00 - $25.00", category="fashion", query="sofas"),
    item("B1", name="A repeated asin"),
    item("B3", name="Half \ud83d a pair", options={"size": []}, pricing=""),
    item("TOO-LONG-AN-ASIN"),
    item("B0", name="Dear lamp", pricing="$2000.00", images=[], customization_options=""),
]
HUMAN = {
    "B0": [
        {"instruction": "a dear lamp.", "instruction_attributes": ["steel foot"], "instruction_options": []},
        {"instruction": "nothing asked", "instruction_attributes": [], "instruction_options": []},
    ],
    "B1": [
        {"instruction": "a lamp", "instruction_attributes": ["warm light"], "instruction_options": ["red"]}
    ],
}
Prepared = Callable[..., Path]


@pytest.fixture
def shop(make_shop: MakeShop) -> Path:
    splits: dict[str, list[str]] = {"train": ["B1", "B2"], "validation": ["B3"], "test": ["B0"]}
    return make_shop(ITEMS, human=HUMAN, splits=splits)


@pytest.fixture
def prepared(shop: Path, tmp_path: Path) -> Prepared:
    def prepare(human: bool = False, **options: Any) -> Path:
        out = tmp_path / "store"
        store.prepare(files.find(shop, 0, human), out, name="shop", **options)
        return out

    return prepare


def assert_same(stored: store.StoredCatalogue, memory: MemoryCatalogue, queries: list[str]) -> None:
    for catalogue in (stored, memory):
        typed: Catalogue = catalogue
        assert typed.name == memory.name
    assert (stored.digest, stored.random_state) == (memory.digest, memory.random_state)
    products = [memory.product(at) for at in range(len(memory))]
    assert [stored.product(at) for at in range(len(stored))] == products
    assert list(stored.goals) == list(memory.goals)
    assert list(stored.cumulative_weights) == list(memory.cumulative_weights)
    for product in products:
        assert stored.index_of(product.asin) == memory.index_of(product.asin)
        assert list(stored.with_category(product.category)) == list(memory.with_category(product.category))
        assert list(stored.with_query(product.query)) == list(memory.with_query(product.query))
    for query in [*queries, "", "no such word", *(product.title for product in products[:20])]:
        assert list(stored.search(query)) == list(memory.search(query))


@pytest.mark.parametrize("human", [False, True], ids=["synthetic", "human"])
def test_the_golden_shop_is_the_same_stored_and_in_memory(
    human: bool, golden_folder: Path, rows: Rows, tmp_path: Path
) -> None:
    store.prepare(files.find(golden_folder, 0, human), tmp_path / "store", name="golden")
    memory = load(golden_folder, name="golden", human=human, seed=0)
    queries = [row["query"] for row in rows("search.jsonl")]
    assert_same(store.open(tmp_path / "store"), memory, queries)


@pytest.mark.parametrize("human", [False, True], ids=["synthetic", "human"])
@pytest.mark.parametrize("num_products", [0, 4])
def test_odd_products_are_the_same_stored_and_in_memory(
    human: bool, num_products: int, shop: Path, tmp_path: Path
) -> None:
    write(shop / "splits.json", {"train": ["B0", "B1", "B2", "B3"], "validation": [], "test": []})
    memory = load(shop, name="shop", human=human, seed=5, num_products=num_products)
    found = files.find(shop, num_products, human)
    store.prepare(found, tmp_path / "store", name="shop", seed=5, num_products=num_products)
    stored = store.open(tmp_path / "store")
    assert_same(stored, memory, ["lamp", "sofa red"])
    assert (stored.seed, stored.human_goals, stored.num_products) == (5, human, num_products)
    assert stored.splits == {"train": ["B0", "B1", "B2", "B3"], "validation": [], "test": []}
    assert [stored.index_of(asin) for asin in ("B3", "B9", "")] == [2, None, None]
    assert stored.with_category("none") == stored.with_query("") == []


def test_goals_are_a_sequence(prepared: Prepared) -> None:
    goals = store.open(prepared()).goals
    assert len(goals) == 8
    assert goals[-1] == goals[7] and goals[2:5] == [goals[2], goals[3], goals[4]]
    with pytest.raises(IndexError):
        goals[8]


def test_gzipped_files_can_be_prepared(shop: Path, prepared: Prepared) -> None:
    for name in ("items_shuffle", "items_ins_v2", "title_nouns"):
        plain = shop / f"{name}.json"
        (shop / f"{name}.json.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    assert len(store.open(prepared())) == 4


def test_progress_is_told_and_ends_complete(prepared: Prepared) -> None:
    told: dict[str, tuple[int, int]] = {}
    prepared(progress=lambda stage, done, total: told.update({stage: (done, total)}))
    assert list(told) == ["attributes", "products", "index", "goals", "digests"]
    assert all(done == total > 0 for done, total in told.values())


def test_a_broken_off_prepare_leaves_no_catalogue_and_can_be_repeated(shop: Path, prepared: Prepared) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "digests":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepared(progress=stop)
    out = shop / "store"
    assert out.is_dir() and not store.is_prepared(out)
    with pytest.raises(DataError, match="no complete prepared catalogue"):
        store.open(out)
    assert_same(store.open(prepared()), load(shop, name="shop", human=False, seed=0), ["lamp"])


def test_a_prepared_folder_or_a_foreign_one_is_not_written_to(prepared: Prepared, tmp_path: Path) -> None:
    out = prepared()
    with pytest.raises(DataError, match="holds a prepared catalogue already"):
        prepared()
    (out / "manifest.json").unlink()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"holds notes\.txt"):
        prepared()
    assert (out / "notes.txt").read_text() == "mine"


def test_a_changed_folder_is_told(prepared: Prepared) -> None:
    out = prepared()
    checked: list[tuple[int, int]] = []
    store.verify(out, lambda done, total: checked.append((done, total)))
    assert checked[-1] == (len(checked), len(checked))

    blob = out / "products.bin"
    content = blob.read_bytes()
    blob.write_bytes(content[:-1] + b"?")
    with pytest.raises(DataError, match=r"products\.bin: was changed"):
        store.verify(out)
    blob.write_bytes(content[:-1])
    with pytest.raises(DataError, match=r"products\.bin: is missing or not \d+ bytes"):
        store.open(out)


def test_another_format_is_refused(prepared: Prepared) -> None:
    out = prepared()
    content = json.loads((out / manifest.NAME).read_text())
    write(out / manifest.NAME, {**content, "format": 99})
    with pytest.raises(DataError, match=r"format 99, this version reads format 1.*Prepare the data again"):
        store.open(out)


def test_a_shop_without_goals_or_products_is_refused(make_shop: MakeShop, tmp_path: Path) -> None:
    folder = make_shop([item("B1")], human={})
    with pytest.raises(DataError, match="no goal"):
        store.prepare(files.find(folder, 0, True), tmp_path / "store", name="shop")
    make_shop([])
    with pytest.raises(DataError, match="holds no product"):
        store.prepare(files.find(folder, 0, False), tmp_path / "store", name="shop")


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_large_json_is_read_piece_by_piece(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_BLOCK", block)
    entries = [{"a": [1, "\u00e9\u201c \\ ]}"]}, {}, ["x"], 'text, "[', {"b": None}]
    named = {str(at): entry for at, entry in enumerate(entries)}
    write(tmp_path / "list.json", entries)
    (tmp_path / "spaced.json").write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n\n")
    (tmp_path / "object.json.gz").write_bytes(gzip.compress(json.dumps(named).encode()))
    write(tmp_path / "none.json", [])
    (tmp_path / "empty.json").write_text(" {\n} ")
    assert list(array_entries(tmp_path / "list.json")) == entries
    assert list(array_entries(tmp_path / "spaced.json")) == entries
    assert list(object_entries(tmp_path / "object.json.gz")) == list(named.items())
    assert list(array_entries(tmp_path / "none.json")) == []
    assert list(object_entries(tmp_path / "empty.json")) == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"a": 1}', "is not a list"),
        ('[{"a": 1}', r"\] expected, the end found"),
        ('[{"a": ', "is no JSON"),
        ("[{'a'}]", "is no JSON"),
        ("", "the end found"),
    ],
)
def test_what_is_no_list_is_told(content: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text(content)
    with pytest.raises(DataError, match=rf"items\.json: .*{complaint}"):
        list(array_entries(path))


def test_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json: can't be read"):
        list(array_entries(tmp_path / "none.json"))
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"a": {}}' * 50)[:-9])
    with pytest.raises(DataError, match=r"cut\.json\.gz: can't be read"):
        list(object_entries(tmp_path / "cut.json.gz"))
    (tmp_path / "bytes.json").write_bytes(b'["\xff"]')
    with pytest.raises(DataError, match=r"bytes\.json: can't be read"):
        list(array_entries(tmp_path / "bytes.json"))
    (tmp_path / "lines.jsonl").write_text('{"model": "m"}\n["B1", []]\n["B2"\n')
    with pytest.raises(DataError, match=r"lines\.jsonl: line 3"):
        list(named_entries(tmp_path / "lines.jsonl"))
