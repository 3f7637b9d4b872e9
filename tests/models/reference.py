"""Slow n-grams straight from the formulas, with dictionaries: what the fast ones are held to."""

from __future__ import annotations

from collections import Counter, defaultdict

from chainrule.symbols import BOS

Ngram = tuple[int, ...]


def count(rows: list[list[int]], order: int) -> Counter[Ngram]:
    """How often each n-gram up to an order is seen."""
    seen: Counter[Ngram] = Counter()
    for row in rows:
        for start in range(len(row)):
            for n in range(1, min(order, len(row) - start) + 1):
                seen[tuple(row[start : start + n])] += 1
    return seen


class Reference:
    """p(symbol | history) by recursion."""

    def __init__(
        self, rows: list[list[int]], order: int, speakable: list[int], discounts: list[list[float]]
    ) -> None:
        self.order, self.speakable, self.discounts = order, speakable, discounts
        self.seen = count(rows, order)
        self.kinds = self._kinds()

    def _kinds(self) -> dict[Ngram, int]:
        """Kneser-Ney's counts."""
        left: defaultdict[Ngram, set[int]] = defaultdict(set)
        for gram in self.seen:
            left[gram[1:]].add(gram[0])
        plain = {g: c for g, c in self.seen.items() if len(g) == self.order or g[0] == BOS}
        return {g: plain.get(g, len(left[g])) for g in self.seen}

    def children(self, counts: dict[Ngram, int], history: Ngram) -> dict[int, int]:
        """What followed a history, among the symbols that may be predicted."""
        size = len(history)
        found = {g[-1]: c for g, c in counts.items() if len(g) == size + 1 and g[:size] == history}
        return {symbol: c for symbol, c in found.items() if symbol in self.speakable}

    def lower(self, how: str, symbol: int, history: Ngram, k: float) -> float:
        """The shorter context's opinion; below the empty one all are equal."""
        return self.p(how, symbol, history[1:], k) if history else 1 / len(self.speakable)

    def p(self, how: str, symbol: int, history: Ngram, k: float = 1.0) -> float:
        """One probability."""
        history = history[-(self.order - 1) :] if self.order > 1 else ()
        counts = self.kinds if how == "kneser-ney" else self.seen
        children = self.children(dict(counts), history)
        total, own = sum(children.values()), children.get(symbol, 0)
        if how == "add-k":
            return (own + k) / (total + k * len(self.speakable))
        if not children:
            return self.lower(how, symbol, history, k)
        if how == "none":
            return own / total
        if how == "witten-bell":
            rest = len(children)
            return (own + rest * self.lower(how, symbol, history, k)) / (total + rest)
        return self._discounted(how, symbol, history, children, k)

    def _discounted(self, how: str, symbol: int, history: Ngram, children: dict[int, int], k: float) -> float:
        cut = [0.0, *self.discounts[len(history)]]
        total, own = sum(children.values()), children.get(symbol, 0)
        rest = sum(cut[min(c, 3)] for c in children.values()) / total
        return max(0.0, own - cut[min(own, 3)]) / total + rest * self.lower(how, symbol, history, k)
