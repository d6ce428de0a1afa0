"""What a terminal has shown that no result has told yet, and the end of a script's part in it."""

from __future__ import annotations

from . import terminal

SLACK = 1 << 17
"""Bytes beyond the limit that are gathered before they are forgotten."""


class Shown:
    """Bytes of a terminal.

    Args:
        token: What the marks of its shell have in common.
    """

    def __init__(self, token: str) -> None:
        self._marks = terminal.mark_pattern(token)
        self._notices = terminal.notices(token)
        self._text = bytearray()
        self._searched = 0  # up to where no mark begins
        self._dropped = False
        self._end: int | None = None  # where the last script's part of it ends
        self.beginning = b""
        """What is shown before the script runs, and has not been seen yet; it is cut out."""

    def __len__(self) -> int:
        return len(self._text)

    def add(self, chunk: bytes) -> None:
        """Takes what the terminal shows next."""
        self._text += chunk

    def tail(self, length: int) -> str:
        """The last of it, for people."""
        return terminal.clean(bytes(self._text))[-length:]

    def mark(self) -> terminal.Mark | None:
        """The first prompt after the beginning, cut out, as are notices right before it."""
        if self.beginning:
            begun = self._text.find(self.beginning, self._searched)
            if begun < 0:
                self._searched = max(self._searched, len(self._text) - terminal.MARK_BYTES)
                return None
            del self._text[begun : begun + len(self.beginning)]
            self.beginning, self._searched = b"", begun
        found = self._marks.search(self._text, self._searched)
        if found is None:
            self._searched = max(self._searched, len(self._text) - terminal.MARK_BYTES)
            return None
        mark = terminal.Mark(*map(int, found.groups()))
        notices = self._text.rfind(self._notices, 0, found.start())
        self._end = found.start() if notices < 0 else notices
        del self._text[self._end : found.end()]
        return mark

    def trim(self, limit: int) -> None:
        """Forgets what no result will hold."""
        if len(self._text) > limit + SLACK:
            del self._text[limit : self._searched]
            self._searched, self._dropped = limit, True

    def take(self, limit: int) -> tuple[bytes, bool]:
        """Takes what was shown up to the mark, or all of it, and whether it is only its beginning."""
        end = len(self._text) if self._end is None else self._end
        text, cut = bytes(self._text[: min(end, limit)]), self._dropped or end > limit
        del self._text[:end]
        self._searched, self._dropped, self._end = 0, False, None
        return text, cut

    def clear(self) -> None:
        """Forgets all of it, but not what is to come."""
        self._text.clear()
        self._searched, self._dropped, self._end = 0, False, None
