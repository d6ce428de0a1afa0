"""Search: words, terms and scores as Lucene has them, and a pruned search equal to the exhaustive one."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from envhub_webshop.search import IndexBuilder, SearchIndex, build, index
from envhub_webshop.search.analyzer import analyze
from envhub_webshop.search.build import round_lengths
from envhub_webshop.search.porter import stem
from envhub_webshop.search.topk import best_of, scan, search_pruned
from envhub_webshop.search.words import MAX_TOKEN, is_word, words
from hypothesis import given, settings
from hypothesis import strategies as st

SIGNS = (
    "abcXYZ019 _.:,;'\"-#\u00e9\u2019\u05d0\u30ab\u3042\u4e2d\u0e01\u0301"
    "\u200d\ufe0f\u2605\u20e3\U0001f1fa\U0001f3fb\u00bd"
)


@pytest.fixture
def golden(rows: Any) -> SearchIndex:
    products = rows("products.jsonl")
    return SearchIndex.build((row["search_contents"] for row in products), (row["asin"] for row in products))


@pytest.mark.parametrize("limit", [index.SCAN_LIMIT, 0], ids=["scanned", "pruned"])
def test_golden_rows_have_the_same_ids_order_and_float32_scores(
    golden: SearchIndex, rows: Any, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "SCAN_LIMIT", limit)
    asins = [row["asin"] for row in rows("products.jsonl")]
    recorded = rows("search.jsonl")
    assert len(recorded) == 300
    for row in recorded:
        found = golden.ranked(row["query"])
        assert [asins[at] for at, _ in found] == row["asins"], row["query"]
        assert [score for _, score in found] == row["scores"], row["query"]
        assert golden.search(row["query"], 7) == [at for at, _ in found[:7]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "it's 3.5mm, u.s.a. 2,000 12:30 foo:bar",
            ["it's", "3.5mm", "u.s.a", "2,000", "12", "30", "foo:bar"],
        ),
        ("x-large a_b 5'10\" 'quoted' 1.a a.1", ["x", "large", "a_b", "5'10", "quoted", "1", "a", "a", "1"]),
        ("\u2605\u2606\u2122 \u00a9 \u00bd \u2014 \u2022", ["\u2605", "\u2122", "\u00a9"]),
        (
            "caf\u00e9\u2019s na\u00efve \u00b5m cafe\u0301",
            ["caf\u00e9\u2019s", "na\u00efve", "\u00b5m", "cafe\u0301"],
        ),
        (
            "\u4e2d\u6587 \u3072\u3089 \u30ab\u30bf \ud55c\uad6d \u0e01\u0e02",
            ["\u4e2d", "\u6587", "\u3072", "\u3089", "\u30ab\u30bf", "\ud55c\uad6d", "\u0e01\u0e02"],
        ),
        ("\u2764\ufe0f \u2764", ["\u2764\ufe0f", "\u2764"]),
        ("\U0001f1fa\U0001f1f8\U0001f1ec\U0001f1e7", ["\U0001f1fa\U0001f1f8", "\U0001f1ec\U0001f1e7"]),
        ("\U0001f468\u200d\U0001f469x", ["\U0001f468\u200d\U0001f469", "x"]),
        ("1\ufe0f\u20e3 #\u20e3 # *", ["1\ufe0f\u20e3", "#\u20e3"]),
        ('\u05d0"\u05d1 \u05d0\' \u05d0"', ['\u05d0"\u05d1', "\u05d0'", "\u05d0"]),
        ("", []),
    ],
)
def test_words_are_those_of_annex_29(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_long_words_are_cut() -> None:
    assert [len(word) for word in words("a" * 600 + " b")] == [MAX_TOKEN, MAX_TOKEN, 90, 1]
    assert [len(word) for word in words("\u00e9" * 300)] == [MAX_TOKEN, 45]
    assert words("\u203f" * 300 + "a") == ["\u203f" * 254 + "a"]
    assert words("a" + "\u203f" * 300) == ["a" + "\u203f" * 254]
    assert words("\u203f" * 4000) == []
    assert words("_\u200d\u2605 _\U0001f3fb") == ["\u200d\u2605", "\U0001f3fb"]


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_the_quick_way_for_ascii_finds_the_same_words(text: str) -> None:
    general = words(text + " \u00e9")
    assert [word for word in words(text) if is_word(word)] == general[:-1]


@given(st.text(SIGNS, max_size=60))
def test_words_are_cut_out_in_order_and_terms_do_not_depend_on_neighbours(text: str) -> None:
    at = 0
    for word in words(text):
        at = text.index(word, at) + len(word)
    assert analyze(f"{text} \u2014 {text}") == analyze(text) * 2


STEMS = """
    caresses caress  ponies poni  ties ti  cats cat  feed feed  agreed agre  plastered plaster  bled bled
    motoring motor  sing sing  conflated conflat  troubled troubl  sized size  hopping hop  falling fall
    hissing hiss  fizzed fizz  filing file  happy happi  sky sky  relational relat  rational ration
    conformabli conform  sensibiliti sensibl  triplicate triplic  goodness good  adoption adopt
    replacement replac  adjustment adjust  rate rate  cease ceas  controll control  roll roll  by by  is is
    radiologi radiolog  possibly possibl  yes ye  syzygy syzygi  3d 3d  10s 10
"""


def test_porter_stems() -> None:
    given = STEMS.split()
    assert [stem(word) for word in given[::2]] == given[1::2]


def test_terms_have_no_possessive_no_capitals_and_no_stop_words() -> None:
    assert analyze("The WOMEN'S and Men\u2019s Shoes of ___ THE' it's") == ["women", "men", "shoe"]
    assert analyze("\u0130stanbul don't") == ["istanbul", "don't"]


def test_lengths_keep_four_bits_above_24() -> None:
    lengths = np.array([0, 1, 24, 25, 39, 40, 41, 42, 55, 56, 59, 60, 1000, 100_000])
    assert round_lengths(lengths).tolist() == [0, 1, 24, 25, 39, 40, 40, 42, 54, 56, 56, 60, 984, 98328]


def test_scores_follow_the_formula() -> None:
    texts = ["red red shoe", "red lamp for the desk", "blue lamp", "..."]
    found = SearchIndex.build(texts, "abcd").ranked("lamp red red nothing")
    average = (3 + 3 + 2) / 3

    def part(repeats: int, holders: int, frequency: int, length: int) -> float:
        weight = repeats * math.log(1 + (3 - holders + 0.5) / (holders + 0.5))
        return weight * frequency / (frequency + 0.9 * (0.6 + 0.4 * length / average))

    expected = {1: part(1, 2, 1, 3) + part(2, 2, 1, 3), 0: part(2, 2, 2, 3), 2: part(1, 2, 1, 2)}
    assert [at for at, _ in found] == sorted(expected, key=lambda at: -expected[at])
    assert dict(found) == pytest.approx(expected, rel=1e-6)


def test_equal_scores_are_ordered_by_id() -> None:
    made = SearchIndex.build(["lamp"] * 4, ["D", "B", "C", "A"])
    assert made.search("lamp") == [3, 1, 2, 0]
    assert made.search("lamp", 2) == [3, 1]


def test_queries_without_a_known_term_find_nothing() -> None:
    made = SearchIndex.build(["red lamp", ""], "ab")
    assert [made.search(query) for query in ("", "the", "zzz", " ")] == [[], [], [], []]
    assert made.search("lamp", 0) == []
    assert SearchIndex.build(["", "the"], "ab").search("lamp") == []


def test_ids_must_match_the_documents() -> None:
    with pytest.raises(ValueError, match="2 documents, but 1 ids"):
        SearchIndex.build(["red", "blue"], ["a"])


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 400),
    repeats=st.integers(1, 3),
    k=st.integers(1, 60),
    data=st.data(),
)
def test_pruned_search_equals_the_exhaustive_one(
    seed: int, size: int, repeats: int, k: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    vocabulary = [f"t{number}" for number in range(40)]
    shares = 1 / np.arange(1, 41)
    texts = [
        " ".join(rng.choice(vocabulary, rng.integers(0, 30), p=shares / shares.sum()).tolist())
        for _ in range(size)
    ]
    made = SearchIndex.build(texts * repeats, map(str, rng.permutation(size * repeats).tolist()))
    query = data.draw(st.lists(st.sampled_from(vocabulary), min_size=1, max_size=12))
    postings = made.postings(" ".join(query))
    if not postings:
        return
    ranks, scratch = made.arrays.ranks, np.zeros(len(made), np.float32)
    expected = best_of(*scan(postings, len(made)), ranks, k)
    found = best_of(*search_pruned(postings, k, scratch), ranks, k)
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]
    assert not scratch.any()


def test_an_index_written_in_parts_is_the_one_made_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    texts = [
        " ".join(rng.choice(["red", "lamp", "caf\u00e9", "sofa", "\ud800x"], 5).tolist()) for _ in range(200)
    ]
    ids = [f"B{number:03}" for number in rng.permutation(200).tolist()]
    in_memory = SearchIndex.build(texts, ids)
    monkeypatch.setattr(build, "_CHUNK", 90)
    builder = IndexBuilder(tmp_path / "index")
    for text in texts:
        builder.add(text)
    builder.finish(ids)
    stored = SearchIndex.open(tmp_path / "index")
    assert len(stored) == 200
    for query in ("red", "lamp lamp sofa", "caf\u00e9", "\ud800x", "none"):
        assert stored.ranked(query) == in_memory.ranked(query)
    assert {path.suffix for path in (tmp_path / "index").iterdir()} == {".npy"}


def test_a_stored_index_may_be_empty(tmp_path: Path) -> None:
    builder = IndexBuilder(tmp_path)
    builder.add("the")
    builder.finish(["a"])
    assert SearchIndex.open(tmp_path).search("lamp") == []
