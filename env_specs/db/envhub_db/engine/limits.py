"""What one statement and one database may take."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Bounds that end a statement with an error and leave the database usable.

    Attributes:
        seconds: How long a statement may run.
        statement_chars: How long a statement may be.
        result_rows: How many rows a result may have.
        result_bytes: How large a result may be, about.
        value_bytes: How large one value may be (`max_allowed_packet`).
        database_bytes: How large the database may become.
        process_bytes: How much SQLite may take in this process, for all databases and what statements sort in
            them. It holds for the process: the first engine in it decides.
    """

    seconds: float = 5.0
    statement_chars: int = 100_000
    result_rows: int = 100_000
    result_bytes: int = 16_000_000
    value_bytes: int = 4_000_000
    database_bytes: int = 64_000_000
    process_bytes: int = 1_000_000_000
