"""The shop's search: BM25 over the product texts, with the analysis and the arithmetic of Lucene."""

from envhub_webshop.search.build import IndexBuilder
from envhub_webshop.search.index import SearchIndex

__all__ = ["IndexBuilder", "SearchIndex"]
