"""Makes the shop's embedded catalogue from the words in ``data/words``; never imported by the environment."""
