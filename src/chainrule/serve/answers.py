"""Answers that were given before: a verb that draws nothing says the same again, so an engine is asked once."""

from __future__ import annotations

from collections import OrderedDict

MOST = 16_000_000  # bytes of questions and answers
OVERHEAD = 200  # bytes that one takes besides


class Answers:
    """Bodies of answers by path and body of the question; those not asked for longest leave first."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.bytes = most, 0
        self.kept: OrderedDict[tuple[str, bytes], bytes] = OrderedDict()

    def find(self, path: str, question: bytes) -> bytes | None:
        """What was answered; None: nobody has asked."""
        found = self.kept.get((path, question))
        if found is not None:
            self.kept.move_to_end((path, question))
        return found

    def keep(self, path: str, question: bytes, answer: bytes) -> None:
        """Remember an answer, unless it is very large."""
        size = len(question) + len(answer) + OVERHEAD
        if (path, question) in self.kept or 64 * size > self.most:
            return
        self.kept[path, question] = answer
        self.bytes += size
        while self.bytes > self.most:
            (_, asked), told = self.kept.popitem(last=False)
            self.bytes -= len(asked) + len(told) + OVERHEAD
