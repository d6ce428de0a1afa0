"""MySQL's errors: number, SQL state and text."""

from __future__ import annotations

STATES = {
    1044: "42000", 1045: "28000", 1046: "3D000", 1048: "23000", 1049: "42000", 1050: "42S01", 1051: "42S02",
    1052: "23000", 1054: "42S22", 1055: "42000", 1060: "42S21", 1061: "42000", 1062: "23000", 1064: "42000",
    1065: "42000", 1066: "42000", 1068: "42000", 1072: "42000", 1091: "42000", 1109: "42S02", 1110: "42000",
    1136: "21S01", 1140: "42000", 1142: "42000", 1146: "42S02", 1166: "42000", 1176: "42000", 1222: "21000",
    1227: "42000", 1235: "42000", 1241: "21000", 1242: "21000", 1248: "42000", 1264: "22003", 1265: "01000",
    1292: "22007", 1305: "42000", 1317: "70100", 1365: "22012", 1406: "22001", 1427: "42000", 1582: "42000",
    1690: "22003",
}  # fmt: skip
"""The SQL states of those numbers whose state is not the general one."""


class DatabaseError(Exception):
    """A statement failed; `str()` is the text that MySQL's Python connector shows.

    Attributes:
        number: MySQL's error number, such as 1146.
        sqlstate: The SQL state, such as 42S02.
        text: The message alone.
    """

    def __init__(self, number: int, text: str, sqlstate: str = "") -> None:
        self.number = number
        self.sqlstate = sqlstate or STATES.get(number, "HY000")
        self.text = text
        super().__init__(number, text, self.sqlstate)

    def __str__(self) -> str:
        return f"{self.number} ({self.sqlstate}): {self.text}"
