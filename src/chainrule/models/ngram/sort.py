"""Put every position of a stream of ids in the order of the n symbols that begin there.

Equal n-grams then stand side by side, and so do all that share a beginning. Sorting is done in rounds: groups
that agree so far are refined by their next one or two symbols. A group, the symbols and a place to remember
fit one 64-bit key, which NumPy sorts with vector instructions; groups of one are settled and cost nothing more.
"""

from __future__ import annotations

import numpy as np

from chainrule.progress import Progress, Step, no_progress
from chainrule.runtime import compiled, in_threads
from chainrule.symbols import EOS

# Bits of a chunk's size: large enough to call NumPy seldom, small enough for the cache.
SMALLEST, LARGEST = 12, 18


def sorted_positions(
    stream: np.ndarray,
    positions: np.ndarray | None,
    vocab_size: int,
    order: int,
    progress: Progress = no_progress,
) -> np.ndarray:
    """Positions ordered by the `order` symbols that begin there; none looks beyond its EOS.

    `positions` None means all of them.
    """
    placed = np.empty(len(stream) if positions is None else len(positions), _index_type(len(stream)))
    fresh = np.zeros(len(placed), np.uint8)  # 1 where a group begins
    where = np.empty(0, placed.dtype) if positions is None else positions
    _by_first_symbol(stream, where, positions is None, vocab_size, placed, fresh)
    bits = max(1, int(vocab_size - 1).bit_length())
    depth = 1
    while depth < order:
        words, size = _plan(bits, order - depth)
        with progress(f"sorting {depth + words}-grams", len(placed)) as step:
            _round(stream, placed, fresh, depth, words, bits, 1 << size, step)
        depth += words
    return placed


def _round(
    stream: np.ndarray,
    placed: np.ndarray,
    fresh: np.ndarray,
    depth: int,
    words: int,
    bits: int,
    size: int,
    step: Step,
) -> None:
    """Refine all groups by their next `words` symbols, chunk by chunk, in threads."""
    cuts = _cuts(fresh, size)
    pieces = np.array_split(np.arange(len(cuts) - 1), min(256, max(1, len(cuts) - 1)))

    def work(task: np.ndarray) -> None:
        _refine(stream, placed, fresh, task, depth, words, bits, size)
        step(int(task[-1] - task[0]))

    in_threads(work, [cuts[piece[0] : piece[-1] + 2] for piece in pieces if len(piece)])


def _index_type(size: int) -> type[np.signedinteger]:
    return np.int32 if size < 2**31 else np.int64


def _plan(bits: int, wanted: int) -> tuple[int, int]:
    """How many symbols fit a key beside a group and a place, and how many bits each of those two may have."""
    words = max(1, min(wanted, (64 - 2 * SMALLEST) // bits))
    return words, min(LARGEST, (64 - words * bits) // 2)


def _refine(
    stream: np.ndarray,
    placed: np.ndarray,
    fresh: np.ndarray,
    cuts: np.ndarray,
    depth: int,
    words: int,
    bits: int,
    size: int,
) -> None:
    """Sort each chunk between two cuts by its groups and their next symbols."""
    room = int(max(np.diff(cuts).max(), 1))
    keys, slots, held = np.empty(room, np.uint64), np.empty(room, np.int32), np.empty(room, placed.dtype)
    for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if high - low < 2:
            continue
        place = max(1, (high - low - 1).bit_length())
        take = words if high - low <= size else max(1, min(words, (64 - place) // bits))
        found = _pack(stream, placed, fresh, low, high, depth, take, bits, place, keys, slots, held)
        if found:
            keys[:found].sort()
            _unpack(placed, fresh, low, place, keys, slots, held, found)
        if found and take < words:
            inner = low + _cuts(fresh[low:high], size)
            _refine(stream, placed, fresh, inner, depth + take, words - take, bits, size)


@compiled
def _by_first_symbol(stream, positions, everywhere, vocab_size, placed, fresh):  # type: ignore[no-untyped-def]
    cursor = np.zeros(vocab_size + 1, np.int64)
    many = len(stream) if everywhere else len(positions)
    for i in range(many):
        cursor[stream[i if everywhere else positions[i]] + 1] += 1
    for symbol in range(vocab_size):
        cursor[symbol + 1] += cursor[symbol]
        if cursor[symbol + 1] > cursor[symbol]:
            fresh[cursor[symbol]] = 1
    for i in range(many):
        position = i if everywhere else positions[i]
        symbol = stream[position]
        placed[cursor[symbol]] = position
        cursor[symbol] += 1


@compiled
def _cuts(fresh, size):  # type: ignore[no-untyped-def]
    """Where to cut into chunks of at most `size` made of whole groups; a larger group is a chunk by itself."""
    total = len(fresh)
    cuts = [0]
    last, low = 0, 0  # the latest beginning of a group, the beginning of the chunk
    for j in range(1, total + 1):
        if j == total or fresh[j]:
            if j - low > size and last > low:
                cuts.append(last)
                low = last
            if j - low > size:
                cuts.append(j)
                low = j
            last = j
    if cuts[-1] != total:
        cuts.append(total)
    return np.array(cuts)


@compiled
def _pack(stream, placed, fresh, low, high, depth, words, bits, place, keys, slots, held):  # type: ignore[no-untyped-def]
    """Keys of all positions whose group is not settled: (group, next symbols, where it stood)."""
    found, group, settled = 0, np.uint64(0), False
    for j in range(low, high):
        position = placed[j]
        if fresh[j] or j == low:
            alone = j + 1 == high or fresh[j + 1] != 0
            settled = alone
            for k in range(depth):
                settled = settled or stream[position + k] == EOS
            group += np.uint64(1)
        if settled:
            continue
        key = np.uint64(group - np.uint64(1))
        ended = False
        for k in range(depth, depth + words):
            symbol = 0 if ended else stream[position + k]
            ended = ended or symbol == EOS
            key = (key << np.uint64(bits)) | np.uint64(symbol)
        keys[found] = (key << np.uint64(place)) | np.uint64(found)
        slots[found] = j - low
        held[found] = position
        found += 1
    return found


@compiled
def _unpack(placed, fresh, low, place, keys, slots, held, found):  # type: ignore[no-untyped-def]
    """Write sorted positions back and mark where new groups begin."""
    mask = (np.uint64(1) << np.uint64(place)) - np.uint64(1)
    shift = np.uint64(place)
    for k in range(found):
        j = low + slots[k]
        placed[j] = held[keys[k] & mask]
        if k > 0 and (keys[k] >> shift) != (keys[k - 1] >> shift):
            fresh[j] = 1
