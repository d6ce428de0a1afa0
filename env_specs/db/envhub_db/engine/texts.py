"""Text functions. Arguments are of their types, and not NULL where nothing is said of it."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

from .collation import compare, find, sort_key
from .numbers import number
from .types import decimal_text


def upper(text: str) -> str:
    """`UPPER`: character by character, so that the length stays."""
    if text.isascii():
        return text.upper()
    return "".join(char.upper() if len(char.upper()) == 1 else char for char in text)


def lower(text: str) -> str:
    """`LOWER`."""
    if text.isascii():
        return text.lower()
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def left(text: str, count: int) -> str:
    """`LEFT`."""
    return text[: max(0, count)]


def right(text: str, count: int) -> str:
    """`RIGHT`."""
    return text[-count:] if count > 0 else ""


def substring(text: str, start: int, length: int | None = None) -> str:
    """`SUBSTRING`: positions from 1, negative ones from the end; 0 is nowhere."""
    if start == 0 or abs(start) > len(text) or (length is not None and length <= 0):
        return ""
    begin = start - 1 if start > 0 else len(text) + start
    return text[begin:] if length is None else text[begin : begin + length]


def substring_index(text: str, mark: str, count: int) -> str:
    """`SUBSTRING_INDEX`: what stands before the count-th mark, or after it from the end."""
    if not mark or not count:
        return ""
    parts = text.split(mark)
    if count > 0:
        return mark.join(parts[:count])
    pieces: list[str] = []
    for _ in range(-count):
        before, found, after = text.rpartition(mark)
        pieces.insert(0, after)
        if not found:
            return mark.join(pieces)
        text = before
    return mark.join(pieces)


def locate(part: str, text: str, start: int = 1) -> int:
    """`LOCATE`: the position of a text in another, 0 where it is not; case and accents don't count."""
    if start < 1 or start > len(text) + 1:
        return 0
    return find(part, text, start - 1) + 1


def instr(text: str, part: str) -> int:
    """`INSTR`."""
    return locate(part, text)


def _pad(count: int, by: str) -> str | None:
    return (by * (count // len(by) + 1))[:count] if by else None


def lpad(text: str, width: int, by: str = " ") -> str | None:
    """`LPAD`: also cuts what is too long."""
    if width < 0:
        return None
    if width <= len(text):
        return text[:width]
    fill = _pad(width - len(text), by)
    return None if fill is None else fill + text


def rpad(text: str, width: int, by: str = " ") -> str | None:
    """`RPAD`."""
    if width < 0:
        return None
    if width <= len(text):
        return text[:width]
    fill = _pad(width - len(text), by)
    return None if fill is None else text + fill


def trim(text: str, mark: str, side: str) -> str:
    """`TRIM`: marks taken off both sides, or one."""
    if not mark:
        return text
    if side != "TRAILING":
        while text.startswith(mark):
            text = text[len(mark) :]
    if side != "LEADING":
        while text.endswith(mark):
            text = text[: -len(mark)]
    return text


def insert(text: str, start: int, length: int, by: str) -> str:
    """`INSERT(text, start, length, by)`."""
    if start < 1 or start > len(text):
        return text
    end = len(text) if length < 0 else start - 1 + length
    return text[: start - 1] + by + text[end:]


def field(wanted: Any, *of: Any) -> int:
    """`FIELD`: which of the others the first is; they may be NULL, and all numbers."""
    if wanted is None:
        return 0
    if all(isinstance(one, str) for one in (wanted, *of) if one is not None):
        key = sort_key(wanted)
        return next((place for place, one in enumerate(of, 1) if one is not None and sort_key(one) == key), 0)
    value = number(wanted)
    return next((place for place, one in enumerate(of, 1) if one is not None and number(one) == value), 0)


def elt(which: int, *of: Any) -> Any:
    """`ELT`: the which-th of the others."""
    return of[which - 1] if 1 <= which <= len(of) else None


def find_in_set(wanted: str, of: str) -> int:
    """`FIND_IN_SET`."""
    key = sort_key(wanted)
    return next((place for place, one in enumerate(of.split(","), 1) if sort_key(one) == key), 0) if of else 0


def strcmp(first: str, second: str) -> int:
    """`STRCMP`."""
    return compare(first, second)


def concat_ws(mark: str | None, *parts: str | None) -> str | None:
    """`CONCAT_WS`: NULLs are left out."""
    return None if mark is None else mark.join(part for part in parts if part is not None)


def format_number(value: Any, digits: int, scale: int) -> str:
    """`FORMAT(value, digits)`: thousands by commas."""
    from .numbers import round_number

    digits = max(0, min(30, digits))
    exact = scale >= 0
    shown = decimal_text(round_number(value, digits, int(exact)), digits)
    sign, digits_only = ("-", shown[1:]) if shown.startswith("-") else ("", shown)
    whole, point, rest = digits_only.partition(".")
    return f"{sign}{int(whole):,}{point}{rest}"


def hex_of(value: Any) -> str:
    """`HEX`: of a number its digits, of text its bytes."""
    if isinstance(value, str):
        return value.encode().hex().upper()
    return format(int(value) & (1 << 64) - 1, "X")


def unhex(text: str) -> str | None:
    """`UNHEX`."""
    try:
        return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text).decode("utf-8", "replace")
    except ValueError:
        return None


def char(*codes: Any) -> str:
    """`CHAR`: the bytes with these numbers; NULLs are left out."""
    found = bytearray()
    for code in codes:
        if code is not None:
            value = int(number(code)) & 0xFFFFFFFF
            found += value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
    return found.decode("utf-8", "replace")


def code_of(text: str) -> int:
    """`ASCII`: the first byte."""
    return text.encode()[0] if text else 0


def ordinal(text: str) -> int:
    """`ORD`: the bytes of the first character as a number."""
    return int.from_bytes(text[0].encode(), "big") if text else 0


def convert_base(value: str, old: int, new: int) -> str | None:
    """`CONV`."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if not (2 <= abs(old) <= 36 and 2 <= abs(new) <= 36):
        return None
    text, total = value.strip().upper(), 0
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    for one in text:
        place = digits.find(one)
        if not 0 <= place < abs(old):
            break
        total = min(total * abs(old) + place, (1 << 64) - 1)
    total *= sign
    if new > 0:
        total &= (1 << 64) - 1
    out, rest = "", abs(total)
    while rest:
        rest, place = divmod(rest, abs(new))
        out = digits[place] + out
    return ("-" if total < 0 else "") + (out or "0")


def md5(text: str) -> str:
    """`MD5`."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def sha1(text: str) -> str:
    """`SHA1`."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def sha2(text: str, bits: int) -> str | None:
    """`SHA2`."""
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return hashlib.new(name, text.encode()).hexdigest() if name else None


def crc32(text: str) -> int:
    """`CRC32`."""
    return zlib.crc32(text.encode())


def soundex(text: str) -> str:
    """`SOUNDEX`, of any length, as MySQL's."""
    codes = {
        **dict.fromkeys("BFPV", "1"),
        **dict.fromkeys("CGJKQSXZ", "2"),
        **dict.fromkeys("DT", "3"),
        "L": "4",
        **dict.fromkeys("MN", "5"),
        "R": "6",
    }
    letters = [one for one in text.upper() if one.isalpha()]
    if not letters:
        return ""
    out, last = letters[0], codes.get(letters[0], "0")
    for one in letters[1:]:
        if one in "HW":
            continue
        code = codes.get(one, "0")
        if code not in ("0", last):
            out += code
        last = code
    return out.ljust(4, "0")


def quote(text: str | None) -> str:
    """`QUOTE`."""
    if text is None:
        return "NULL"
    return (
        "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0").replace("\x1a", "\\Z") + "'"
    )
