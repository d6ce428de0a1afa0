"""Text as numbers, and the arithmetic in which MySQL differs from SQLite."""

from __future__ import annotations

import math
import re
from decimal import ROUND_DOWN, Decimal
from typing import Any

from .errors import DatabaseError
from .types import WIDE, rounded

PREFIX = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
DIGITS = re.compile(r"\s*([+-]?\d+)")
LOWEST, HIGHEST, HIGHEST_UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1


def number(value: Any) -> Any:
    """The number that a text begins with, as a double; 0 where it begins with none."""
    if not isinstance(value, str):
        return value
    found = PREFIX.match(value)
    if not found:
        return 0.0
    try:
        wanted = float(found.group(1))
    except ValueError:
        return 0.0
    return max(min(wanted, 1.7976931348623157e308), -1.7976931348623157e308)


def moment_number(value: Any) -> Any:
    """A date or time as the number of its digits: 2020-01-02 is 20200102."""
    if not isinstance(value, str):
        return value
    whole, _, fraction = value.partition(".")
    digits = int(re.sub(r"\D", "", whole) or 0)
    signed = -digits if value.startswith("-") else digits
    return signed if not fraction else signed + float("0." + fraction)


def wrapped(value: int) -> int:
    """A whole number of 64 bits as the signed one that SQLite can keep."""
    return value - (1 << 64) if value > HIGHEST else value


def whole(value: Any, unsigned: bool) -> Any:
    """`CAST(… AS SIGNED)` and `UNSIGNED`: text by its leading digits, numbers rounded, bounds as in MySQL."""
    if value is None:
        return None
    if isinstance(value, str):
        found = DIGITS.match(value)
        exact = int(found.group(1)) if found else 0
    elif isinstance(value, float):
        exact = int(rounded(value, 0)) if abs(value) < 1e25 else int(value)
    else:
        return value
    if not unsigned:
        if isinstance(value, str) and HIGHEST < exact <= HIGHEST_UNSIGNED:
            return wrapped(exact)
        return max(LOWEST, min(HIGHEST, exact))
    if exact < 0:
        return max(LOWEST, exact)  # kept as the signed number of the same bits
    return wrapped(min(exact, HIGHEST_UNSIGNED))


def to_decimal(value: Any, digits: int, scale: int) -> Any:
    """`CAST(… AS DECIMAL(digits, scale))`, clamped to what fits."""
    if value is None:
        return None
    if isinstance(value, str):
        found = PREFIX.match(value)
        exact = Decimal(found.group(1)) if found else Decimal(0)
    else:
        exact = Decimal(repr(value))
    if not exact.is_finite() or abs(exact.adjusted()) > 70:
        exact = (
            Decimal(10) ** 70 * (1 if exact > 0 else -1)
            if exact.is_finite() and exact.adjusted() > 0
            else Decimal(0)
        )
    most = Decimal(10) ** (digits - scale) - Decimal(1).scaleb(-scale)
    return float(max(-most, min(most, rounded(exact, scale))))


def round_decimal(value: Any, scale: int) -> Any:
    """The result of an operation on decimals, as exact as a double and MySQL keep it."""
    if value is None:
        return None
    if isinstance(value, float) and (math.isinf(value) or abs(value) > 1e60):
        return value
    whole_digits = len(str(int(abs(value))))
    return float(rounded(value, max(scale, min(kept_digits(scale), 15 - whole_digits))))


def round_number(value: Any, digits: Any, exact: int) -> Any:
    """`ROUND`: halves away from zero for exact numbers, to the even neighbour for doubles."""
    if value is None or digits is None:
        return None
    digits = max(-40, min(30, int(digits)))
    if exact:
        if isinstance(value, int) and digits >= 0:
            return value
        result = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), "ROUND_HALF_UP", WIDE)
        return int(result) if isinstance(value, int) else float(result)
    power = 10.0 ** abs(digits)
    if digits < 0:
        return round(value / power) * power if abs(value) < 1e300 else value
    scaled = value * power
    return value if math.isinf(scaled) or abs(scaled) >= 2**53 else round(scaled) / power


def truncate(value: Any, digits: Any, exact: int) -> Any:
    """`TRUNCATE`: digits cut off."""
    if value is None or digits is None:
        return None
    digits = max(-40, min(30, int(digits)))
    if isinstance(value, int):
        power = 10 ** max(0, -digits)
        return value - int(math.fmod(value, power)) if power > 1 else value
    if exact:
        return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN, WIDE))
    power = 10.0 ** abs(digits)
    scaled = math.trunc(value * power) / power if digits >= 0 else math.trunc(value / power) * power
    return float(scaled)


def kept_digits(scale: int) -> int:
    """How many digits MySQL computes where it shows so many: it cuts at a multiple of nine."""
    return (scale + 8) // 9 * 9


def quotient(first: Any, second: Any, scale: int) -> float:
    """An exact quotient, cut after the digits that MySQL keeps."""
    exact = WIDE.divide(
        Decimal(first) if isinstance(first, Decimal) else Decimal(repr(first)), Decimal(repr(second))
    )
    return float(exact.quantize(Decimal(1).scaleb(-kept_digits(scale)), ROUND_DOWN, WIDE))


def divide(first: Any, second: Any, scale: int) -> Any:
    """`/` of exact numbers, which shows so many digits; NULL where the divisor is 0."""
    if first is None or second is None or second == 0:
        return None
    return quotient(first, second, scale)


def divide_whole(first: Any, second: Any) -> Any:
    """`DIV`: the whole part of the quotient."""
    if first is None or second is None or second == 0:
        return None
    if isinstance(first, int) and isinstance(second, int):
        quotient = abs(first) // abs(second)
        return quotient if (first < 0) == (second < 0) else -quotient
    return int(WIDE.divide(Decimal(repr(first)), Decimal(repr(second))))


def remainder(first: Any, second: Any) -> Any:
    """`%`: the sign is the dividend's; NULL where the divisor is 0."""
    if first is None or second is None or second == 0:
        return None
    if isinstance(first, int) and isinstance(second, int):
        rest = abs(first) % abs(second)
        return -rest if first < 0 else rest
    return math.fmod(first, second)


def remainder_decimal(first: Any, second: Any) -> Any:
    """`%` of exact numbers."""
    if first is None or second is None or second == 0:
        return None
    return float(WIDE.remainder(Decimal(repr(first)), Decimal(repr(second))))


def in_bounds(value: Any, unsigned: int, text: str) -> Any:
    """A whole result of `+`, `-` or `*` as it is, or MySQL's error where it fits no `BIGINT`."""
    if isinstance(value, float) or (unsigned and value is not None and value < 0):
        kind = "BIGINT UNSIGNED" if unsigned else "BIGINT"
        raise DatabaseError(1690, f"{kind} value is out of range in '{text}'")
    return value
