"""The parts of `learn_frozenlake.py`."""
