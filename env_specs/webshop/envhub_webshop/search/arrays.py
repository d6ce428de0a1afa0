"""The arrays that a search index is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class IndexArrays:
    """What an index is made of; each array is one file of a stored index.

    Attributes:
        term_bytes: All terms in UTF-8, sorted, one after the other.
        term_ends: Where each term ends in `term_bytes`.
        starts: Where the postings of each term begin; one entry more than terms.
        docs: Postings: documents, ascending within a term.
        saturations: Postings: ``1 + tf / (k1 * (1 - b + b * dl / avgdl))``, in float32.
        peaks: The largest saturation of each term.
        ranks: For each document its place among all document ids: smaller wins between equal scores.
        counted: One number: how many documents have any term.
    """

    term_bytes: Array
    term_ends: Array
    starts: Array
    docs: Array
    saturations: Array
    peaks: Array
    ranks: Array
    counted: Array
