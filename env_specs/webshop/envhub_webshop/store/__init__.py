"""Prepared catalogues: a folder of memory-mapped arrays that opens at once, whatever its size."""

from envhub_webshop.store.catalogue import StoredCatalogue
from envhub_webshop.store.catalogue import StoredCatalogue as open
from envhub_webshop.store.manifest import is_prepared, verify
from envhub_webshop.store.write import begin_folder, prepare

__all__ = ["StoredCatalogue", "begin_folder", "is_prepared", "open", "prepare", "verify"]
