"""Moments as tables write them: dates, times of day, time stamps, plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

EVEN = 0.8  # of the steps so far that are equally long
STAMPS = ((1e8, 1.0), (1e11, 1e3), (1e14, 1e6), (1e17, 1e9))  # from so large on, so many a second since 1970


def moment(cell: str) -> datetime | None:
    """A date or a time in ISO 8601, or a Unix time stamp in seconds, milliseconds, micro- or nanoseconds."""
    try:
        return datetime.fromisoformat(cell.strip())
    except ValueError:
        pass
    try:
        value = float(cell)
    except ValueError:
        return None
    scale = next((scale for least, scale in reversed(STAMPS) if value >= least), None)
    try:
        return datetime.fromtimestamp(value / scale, UTC) if scale else None
    except (OverflowError, OSError, ValueError):
        return None


def day(cell: str) -> str | None:
    """The day of a moment, as ISO 8601 writes it."""
    found = moment(cell)
    return None if found is None else found.date().isoformat()


def times_after(times: Sequence[str] | None, steps: int) -> list[str | None]:
    """The moments of the next steps, where those so far are evenly spaced; None where they are not known."""
    if times is None or len(times) < 3:
        return [None] * steps
    return _dates_after(times, steps) or _numbers_after(times, steps) or [None] * steps


def _dates_after(times: Sequence[str], steps: int) -> list[str | None] | None:
    try:
        known = [datetime.fromisoformat(one.strip()) for one in times[-50:]]
        gaps = [later - before for before, later in pairwise(known)]
    except (ValueError, TypeError):  # no dates, or some with a time zone and some without
        return None
    plain = isinstance(_as_date(times[-1]), date)
    gap = sorted(gaps)[len(gaps) // 2]
    if gap <= timedelta(0) or gaps.count(gap) < EVEN * len(gaps):
        return [None] * steps
    try:
        following = [known[-1] + (at + 1) * gap for at in range(steps)]
    except OverflowError:
        return [None] * steps
    return [one.date().isoformat() if plain else one.isoformat() for one in following]


def _as_date(cell: str) -> date | None:
    try:
        return date.fromisoformat(cell.strip())
    except ValueError:
        return None


def _numbers_after(times: Sequence[str], steps: int) -> list[str | None] | None:
    try:
        known = [int(one) if one.strip().lstrip("-").isdigit() else float(one) for one in times[-50:]]
    except ValueError:
        return None
    gaps = [later - before for before, later in pairwise(known)]
    gap = sorted(gaps)[len(gaps) // 2]
    if not gap > 0 or gaps.count(gap) < EVEN * len(gaps):
        return None
    following = (known[-1] + (at + 1) * gap for at in range(steps))
    return [str(one) if isinstance(one, int) else f"{one:.15g}" for one in following]
