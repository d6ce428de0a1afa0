"""The WebShop environment: a shop with a search, item pages and a reward for the right purchase."""
