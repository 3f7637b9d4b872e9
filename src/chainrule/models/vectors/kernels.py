"""Kernels of skip-gram and CBOW with negative sampling (Mikolov et al. 2013), and of sub-words (fastText).

Random numbers come from a linear congruential generator, as in word2vec.c: one multiplication each. Tables are 2-D,
(rows, D) float32; a stream of words is int32 with -1 between sentences.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from chainrule.runtime import compiled

kernel = partial(compiled, fastmath=True, error_model="numpy")

A, C = np.uint64(6364136223846793005), np.uint64(1442695040888963407)  # Knuth's generator of 64 bits
HALF, BYTE, LATE = np.uint64(32), np.uint64(8), np.uint64(40)
LOW = np.uint64(0xFFFFFF)
TINY = np.float32(2.0**-24)
LONGEST = 10_000  # words of a sentence; a longer one is read in parts
EDGE = np.float32(6.0)  # beyond it the sigmoid is 0 or 1
SIGMOID = (1 / (1 + np.exp(-((np.arange(1024) + 0.5) / 1024 * 12 - 6)))).astype(np.float32)


@kernel
def _draw(seed, chance, alias):  # type: ignore[no-untyped-def]
    """A word by the alias method: a column, and one of its two words."""
    seed = seed * A + C
    word = np.int64(((seed >> HALF) * np.uint64(len(chance))) >> HALF)
    if np.float32(np.int64((seed >> BYTE) & LOW)) * TINY >= chance[word]:
        word = np.int64(alias[word])
    return word, seed


@kernel
def _draw_targets(seed, chance, alias, right, targets):  # type: ignore[no-untyped-def]
    """The right word first, then drawn ones that are not it; how many there are."""
    targets[0] = right
    total = 1
    for _ in range(len(targets) - 1):
        word, seed = _draw(seed, chance, alias)
        if word != right:
            targets[total] = word
            total += 1
    return total, seed


@kernel
def _sentence(stream, at, keep, seed, kept):  # type: ignore[no-untyped-def]
    """The next sentence without the frequent words that are dropped this time."""
    count = 0
    while at < len(stream) and count < len(kept):
        word = stream[at]
        at += 1
        if word < 0:
            break
        seed = seed * A + C
        if np.float32(np.int64(seed >> LATE)) * TINY < keep[word]:
            kept[count] = word
            count += 1
    return count, at, seed


@kernel
def _reach(seed, window):  # type: ignore[no-untyped-def]
    """How far a window reaches this time: near words are seen more often."""
    seed = seed * A + C
    return 1 + np.int64(((seed >> HALF) * np.uint64(window)) >> HALF), seed


@kernel
def dot(x, y):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for d in range(len(x)):
        total += x[d] * y[d]
    return total


@kernel
def _sigmoid(value):  # type: ignore[no-untyped-def]
    scale = np.float32(len(SIGMOID) / 12.0)
    at = np.int64((min(max(value, -EDGE), EDGE) + EDGE) * scale)
    return SIGMOID[at if at < len(SIGMOID) else len(SIGMOID) - 1]


@kernel
def _move(total, x, y, slope):  # type: ignore[no-untyped-def]
    """Add to `total` how `x` should move, and move `y`."""
    for d in range(len(x)):
        old = y[d]
        total[d] += slope * old
        y[d] = old + slope * x[d]


@kernel
def _move_two(total, x, y, z, slope, other):  # type: ignore[no-untyped-def]
    """The same for two at once, which reads and writes `total` half as often."""
    for d in range(len(x)):
        old, older, value = y[d], z[d], x[d]
        total[d] += slope * old + other * older
        y[d] = old + slope * value
        z[d] = older + other * value


@kernel
def _compare(x, out, targets, count, slopes, rate, total):  # type: ignore[no-untyped-def]
    """One example: `x` should be like its first target and unlike the others. `total` gets how `x` should move."""
    for k in range(count):
        slopes[k] = (np.float32(k == 0) - _sigmoid(dot(x, out[targets[k]]))) * rate
    k = 0
    while k + 2 <= count:
        one, two = targets[k], targets[k + 1]
        if one == two:  # drawn twice
            _move(total, x, out[one], slopes[k] + slopes[k + 1])
        else:
            _move_two(total, x, out[one], out[two], slopes[k], slopes[k + 1])
        k += 2
    if k < count:
        _move(total, x, out[targets[k]], slopes[k])


@kernel
def _add(x, y):  # type: ignore[no-untyped-def]
    for d in range(len(x)):
        x[d] += y[d]


@kernel
def skip_gram(stream, keep, chance, alias, table, out, window, negative, rates, seed):  # type: ignore[no-untyped-def]
    """Every word around a word predicts it. The drawn words are shared by a window (Ji et al. 2016): so they stay in
    the fastest cache. `rates` are the learning rates at the beginning and at the end of the stream."""
    kept, targets = np.empty(LONGEST, np.int64), np.empty(negative + 1, np.int64)
    slopes, total = np.zeros(negative + 1, np.float32), np.zeros(table.shape[1], np.float32)
    at = 0
    while at < len(stream):
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * at / len(stream))
        count, at, seed = _sentence(stream, at, keep, seed, kept)
        for place in range(count):
            reach, seed = _reach(seed, window)
            many, seed = _draw_targets(seed, chance, alias, kept[place], targets)
            for other in range(max(0, place - reach), min(count, place + reach + 1)):
                if other != place:
                    x = table[kept[other]]
                    total[:] = 0
                    _compare(x, out, targets, many, slopes, rate, total)
                    _add(x, total)
    return seed


@kernel
def _mean(table, rows, count, hidden):  # type: ignore[no-untyped-def]
    hidden[:] = 0
    for k in range(count):
        _add(hidden, table[rows[k]])
    scale = np.float32(1.0 / max(1, count))
    for d in range(len(hidden)):
        hidden[d] *= scale


@kernel
def _gather(word, rows, starts, found, count):  # type: ignore[no-untyped-def]
    """Append the rows a word is made of."""
    for k in range(starts[word], starts[word + 1]):
        found[count] = rows[k]
        count += 1
    return count


@kernel
def mean_of_rows(  # type: ignore[no-untyped-def]
    stream, keep, chance, alias, table, out, window, negative, rates, seed, rows, starts, most, cbow
):
    """CBOW, where the mean of the words around predicts a word, or skip-gram by a word that is the mean of its rows.

    Word w has the rows `rows[starts[w]:starts[w + 1]]` of the table, `most` at most: its own, and those of its n-grams.
    """
    kept, targets = np.empty(LONGEST, np.int64), np.empty(negative + 1, np.int64)
    slopes, total = np.zeros(negative + 1, np.float32), np.zeros(table.shape[1], np.float32)
    hidden, found = np.zeros(table.shape[1], np.float32), np.empty(2 * window * most, np.int64)
    at = 0
    while at < len(stream):
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * at / len(stream))
        count, at, seed = _sentence(stream, at, keep, seed, kept)
        for place in range(count):
            reach, seed = _reach(seed, window)
            low, high = max(0, place - reach), min(count, place + reach + 1)
            many = 0
            for other in range(low, high):
                if (other != place) == cbow:
                    many = _gather(kept[other], rows, starts, found, many)
            if high - low < 2:
                continue
            _mean(table, found, many, hidden)
            total[:] = 0
            for right in range(place if cbow else low, place + 1 if cbow else high):
                if cbow or right != place:
                    drawn, seed = _draw_targets(seed, chance, alias, kept[right], targets)
                    _compare(hidden, out, targets, drawn, slopes, rate, total)
            for k in range(many):
                _add(table[found[k]], total)
    return seed
