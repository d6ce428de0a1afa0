"""The types a configuration key may have, and how a given value becomes one of them."""

from __future__ import annotations

import tomllib
from typing import Any, Literal, get_args

ConfigType = Literal["str", "int", "float", "bool", "list[str]", "list[int]"]
ConfigValue = str | int | float | bool | list[str] | list[int]

CONFIG_TYPES: tuple[str, ...] = get_args(ConfigType)


def typed(value: object, kind: ConfigType) -> ConfigValue:
    """Return the value as the declared type.

    A string is what a command line gives: it is parsed ("true", "0.5", "[1, 2]" or "1,2"). Any other
    value must already be of the type; an integer is taken for a float.

    Raises:
        ValueError: the value is not one of that type; the message says what would be.
    """
    if isinstance(value, str):
        return _from_text(value, kind)
    if kind in ("list[str]", "list[int]"):
        return _items(value, kind)
    if kind == "float" and type(value) is int:
        return float(value)
    if type(value) is float and kind == "float":
        return value
    if type(value) is int and kind == "int":
        return value
    if type(value) is bool and kind == "bool":
        return value
    raise ValueError(f"{value!r} is not {_NAMES[kind]}")


def from_toml_text(text: str) -> Any:
    """Return a command-line value of no declared type: read as TOML where it is TOML, else as text."""
    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return document["value"] if len(document) == 1 else text


_NAMES: dict[str, str] = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "list[str]": "a list of strings, as a TOML array or comma-separated",
    "list[int]": "a list of integers, as a TOML array or comma-separated",
}


def _from_text(text: str, kind: ConfigType) -> ConfigValue:
    if kind == "str":
        return text
    if kind in ("list[str]", "list[int]"):
        return _list_from_text(text, kind)
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
        return {"true": True, "false": False}[text.strip().lower()]
    except (ValueError, KeyError):
        raise ValueError(f"{text!r} is not {_NAMES[kind]}") from None


def _list_from_text(text: str, kind: ConfigType) -> ConfigValue:
    if text.lstrip().startswith("["):
        value = from_toml_text(text)
        if isinstance(value, str):
            raise ValueError(f"{text!r} is not {_NAMES[kind]}")
        return _items(value, kind)
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if kind == "list[str]":
        return parts
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise ValueError(f"{text!r} is not {_NAMES[kind]}") from None


def _items(value: object, kind: ConfigType) -> ConfigValue:
    item_type = str if kind == "list[str]" else int
    if not isinstance(value, list | tuple) or any(type(item) is not item_type for item in value):
        raise ValueError(f"{value!r} is not {_NAMES[kind]}")
    return list(value)
