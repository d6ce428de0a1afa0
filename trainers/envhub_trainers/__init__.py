"""Trainers that roll out through the hub. Reserved: the first trainer lands in a later release."""
