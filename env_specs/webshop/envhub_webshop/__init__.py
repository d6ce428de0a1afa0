"""The WebShop environment: a shop with a search, item pages and a reward for the right purchase."""

from envhub_webshop.env import WebShopEnv

__all__ = ["WebShopEnv"]
