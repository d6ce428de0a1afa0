"""The best documents for a query: an exhaustive scan, and a search that skips what can't be among them.

`search_pruned` is the MaxScore idea (H. Turtle and J. Flood, "Query evaluation: strategies and
optimizations", 1995) on whole arrays. Each term has a bound: the most it can add to any score. Once the
bounds of the terms not looked at yet sum to less than a score that `k` documents are known to reach, no
further document can enter, and the long posting lists of the frequent terms are only looked up for the few
candidates left. The result is that of `scan`, because the candidates that are left are scored with the same
additions in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from envhub_webshop.search.arrays import Array

_SLACK = 1e-5
"""Share of the sum of all bounds by which sums in float32 may differ from exact ones, generously."""
_LOOKUP_COST = 6
"""How many postings can be summed in the time of looking up one document."""
_TRIALS = 2
"""For how many terms the documents that are ahead are scored in full, to learn a score the best reach."""
_SEEDS = 4
"""How many times `k` documents are scored then."""
_TINY = 1e-30
"""Less than any score."""


@dataclass(frozen=True)
class Posting:
    """One term of a query: its documents, their saturations, its weight, and the most it adds to a score."""

    docs: Array
    saturations: Array
    weight: np.float32
    bound: float


def scan(postings: list[Posting], size: int) -> tuple[Array, Array]:
    """Score every document that has any of the terms.

    Args:
        postings: The terms of the query, in the order in which scores are summed.
        size: The number of documents.

    Returns:
        The documents that match, ascending, and their scores.
    """
    sums = np.zeros(size)
    for posting in postings:
        sums[posting.docs] += posting.weight - posting.weight / posting.saturations
    docs = np.flatnonzero(sums)
    return docs, sums[docs].astype(np.float32)


def best_of(docs: Array, scores: Array, ranks: Array, k: int) -> tuple[Array, Array]:
    """Return the `k` best of scored documents, best first, equal scores by rank."""
    if len(docs) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
        docs, scores = docs[kept], scores[kept]
    order = np.lexsort((ranks[docs], -scores))[:k]
    return docs[order], scores[order]


def search_pruned(postings: list[Posting], k: int, sums: Array) -> tuple[Array, Array]:
    """Score all documents that may be among the `k` best, ties included.

    Args:
        postings: The terms of the query, in the order in which scores are summed.
        k: How many documents are wanted.
        sums: Zeros, one for each document; used as scratch space and zero again afterwards.

    Returns:
        Some documents, ascending, and their scores: at least those a full scan ranks among the `k` best.
    """
    ordered = sorted(postings, key=lambda posting: (-posting.bound, len(posting.docs)))
    slack = _SLACK * sum(posting.bound for posting in ordered)
    try:
        docs, touched, floor = _gather(ordered, k, sums, slack)
        partial = sums[docs]
    finally:
        sums.fill(0)
    for at in range(touched, len(ordered)):
        partial = partial + _added(ordered[at], docs)
        rest = sum(posting.bound for posting in ordered[at + 1 :])
        floor = max(floor, _kth(partial, k) - slack)
        kept = np.flatnonzero(partial >= floor - rest)
        docs, partial = docs[kept], partial[kept]
    return docs, _score(postings, docs)


def _gather(ordered: list[Posting], k: int, sums: Array, slack: float) -> tuple[Array, int, float]:
    """Add up the first terms until no document without them can be among the best.

    Returns:
        The documents that still can, how many terms are summed in `sums`, and a score the best reach.
    """
    floor, done, trials = 0.0, 0, 0
    rest = sum(posting.bound for posting in ordered)
    left = len(sums)
    while done < len(ordered) and (rest >= floor or left * _LOOKUP_COST > len(ordered[done].docs)):
        posting = ordered[done]
        sums[posting.docs] += posting.weight - posting.weight / posting.saturations
        done += 1
        rest = sum(later.bound for later in ordered[done:])
        if len(posting.docs) >= k and trials < _TRIALS:
            trials += 1
            floor = max(floor, _reached(ordered, posting.docs, k, sums) - slack)
        if rest < floor:
            left = int(np.count_nonzero(sums >= floor - rest))
    docs = np.flatnonzero(sums >= max(floor - rest, _TINY))
    return docs.astype(np.int32), done, floor


def _reached(ordered: list[Posting], docs: Array, k: int, sums: Array) -> float:
    """Return a score that `k` documents reach, found by scoring those of `docs` that are ahead now."""
    wanted = _SEEDS * k
    if len(docs) > wanted:
        partial = sums[docs]
        docs = np.sort(docs[np.argpartition(partial, len(partial) - wanted)[-wanted:]])
    return _kth(_score(ordered, docs), k)


def _kth(scores: Array, k: int) -> float:
    """Return the `k`-th largest score, 0 if there are fewer."""
    if len(scores) < k:
        return 0.0
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _score(postings: list[Posting], docs: Array) -> Array:
    """Return the scores of some documents, given in ascending order, summed in the order of the terms."""
    sums = np.zeros(len(docs))
    for posting in postings:
        sums += _added(posting, docs)
    return sums.astype(np.float32)


def _added(posting: Posting, docs: Array) -> Array:
    """Return what a term adds to each of some documents; 0 where a document does not have it.

    `docs` are int32 as those of the posting are: else numpy would convert the whole posting first.
    """
    places = np.searchsorted(posting.docs, docs)
    places[places == len(posting.docs)] = 0
    saturations = np.where(posting.docs[places] == docs, posting.saturations[places], np.float32(1))
    return posting.weight - posting.weight / saturations
