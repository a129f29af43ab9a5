r"""The recursions over the steps of a chain: one source, run by Python or compiled by numba.

The value :math:`V_t(s)`, the least cost from step t on, is convex and piecewise linear: its slopes
are stored in ascending order with the lengths over which they hold. Going back one step,

.. math:: V_t(s) = \min_\Delta \phi_t(\Delta) + V_{t+1}(s + e + \Delta),

inserts the segments of the step's cost with their slopes negated, and cuts both ends to the bounds
of the state. The place of an insertion is the level up to which a segment is worth its cost.

Every function runs over ``zip`` of its steps, which are lists in Python and arrays in numba, and
fills its first argument.
"""

import ctypes
import importlib.util
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from itertools import repeat
from typing import Any, Final, Literal

Kernel = Literal["plain", "numba"]

SHORT: Final = 4_000
"""Steps up to which plain Python takes no time to speak of."""
WORTH_IMPORT: Final = 400_000
"""Steps from which importing numba costs less than it saves."""


KEPT_MEMORY: Final = 1 << 26
_TRIM_AND_MMAP_THRESHOLD: Final = (-1, -3)


def choose_kernel(steps: int) -> Kernel:
    """Return the faster kernel for a number of steps, the import of numba included.

    The kernels differ by rounding. So a short chain gets the plain one, whatever is loaded: then
    its plan does not depend on what the process did before.
    """
    if steps > SHORT and "numba" in sys.modules:
        return "numba"
    if steps < WORTH_IMPORT or importlib.util.find_spec("numba") is None:
        return "plain"
    return "numba"


@cache
def keep_memory() -> None:
    """Let the C library keep what arrays give back: new pages take longer than the arithmetic."""
    with suppress(OSError, AttributeError):  # other C libraries have no such setting
        for setting in _TRIM_AND_MMAP_THRESHOLD:
            ctypes.CDLL(None).mallopt(setting, KEPT_MEMORY)


def run(function: Callable[..., int], kernel: Kernel, made: Any, places: Any, steps: Any) -> int:
    """Run a function of this module over the arrays ``steps``; it fills the array ``made``."""
    if kernel == "numba":
        return int(_compiled(function)(made, *places, *steps))
    # What is taken by its place stands in arrays, which hold numbers without an object for each.
    result = array("d", bytes(8 * len(made)))
    parts = [array("d", part.tobytes()) for part in places]
    answer = function(result, *parts, *map(_values, steps))
    made[:] = result
    return answer


def _values(part: Any) -> Iterable[Any]:
    """Return what plain Python runs over fastest; what is the same throughout is one object."""
    if len(part) and (part == part[0]).all():
        return repeat(part[0].item(), len(part))
    values: list[Any] = part.tolist()
    return values


def _sum(values: list[float], count: int) -> float:
    """Return the sum of the first numbers of a list."""
    return sum(values[:count])


@cache
def _compiled(function: Callable[..., int]) -> Any:
    """Return a function compiled; the code is stored, so that a machine compiles it once."""
    from numba import njit
    from numba.extending import overload

    def place(values, wanted):  # type: ignore[no-untyped-def]
        begin, end = 0, len(values)
        while begin < end:
            middle = (begin + end) // 2
            if values[middle] < wanted:
                begin = middle + 1
            else:
                end = middle
        return begin

    def total(values, count):  # type: ignore[no-untyped-def]
        found = 0.0
        for i in range(count):
            found += values[i]
        return found

    # What numba lacks, or would copy a list for.
    overload(bisect_left)(lambda values, wanted: place)
    overload(_sum)(lambda values, count: total)
    return njit(cache=True)(function)


def value_levels(levels, slopes, lengths, *steps):  # type: ignore[no-untyped-def]
    """Fill ``levels`` with the state up to which each segment of each step is worth its cost.

    ``slopes``, ``lengths``: the segments of all steps, those of a step one after the other; slopes
    negated, descending in a step. ``steps``: from the last step to the first: how many segments it
    has; the least and the largest change of the state, and e; the bounds of the state before and
    after it; whether it begins a chain; by what the state before it is to be multiplied; whether
    the lengths are fitted to the range afterwards; what a state may miss its bounds by through
    rounding alone.

    Returns -1, or the step, counted from the last, from which nothing is allowed.
    """
    kept, spans = [0.0], [0.0]
    low = high = 0.0
    fresh, t, end = True, 0, len(slopes)
    for step in zip(*steps):  # noqa: B905  (numba knows no strict)
        count, fall, rise, constant, bottom, top, low_end, high_end, begin, jump, sync, miss = step
        if fresh:
            kept.clear()
            spans.clear()
            low, high = low_end, high_end
        start = end - count
        for k in range(start, end):
            slope = slopes[k]
            i = bisect_left(kept, slope)
            levels[k] = low + _sum(spans, i) if i else low
            kept.insert(i, slope)
            spans.insert(i, lengths[k])
        end = start
        low -= rise
        high -= fall
        wanted_low, wanted_high = bottom + constant, top + constant
        if wanted_low > high + miss or wanted_high < low - miss:
            return t
        t += 1
        fresh = begin
        if fresh:
            continue
        if wanted_low > low:
            surplus, i = wanted_low - low, 0
            while i < len(spans) and spans[i] <= surplus:
                surplus -= spans[i]
                i += 1
            if i:
                del kept[:i]
                del spans[:i]
            if spans:
                spans[0] -= surplus
            low = bottom
        else:
            low -= constant
        if wanted_high < high:
            surplus = high - wanted_high
            while spans and spans[-1] <= surplus:
                surplus -= spans.pop()
                kept.pop()
            if spans:
                spans[-1] -= surplus
            high = top
        else:
            high -= constant
        if jump != 1.0:
            low, high = low * jump, high * jump
            for i in range(len(kept)):
                kept[i] /= jump
                spans[i] *= jump
        if sync and spans:
            spans[-1] = max(0.0, spans[-1] + (high - low) - _sum(spans, len(spans)))
    return -1


def plan(states, lengths, levels, *steps):  # type: ignore[no-untyped-def]
    """Fill ``states``: from state to state up to where the value's slope takes over.

    A segment of a step's cost is used as long as the state lies below the segment's level.

    ``steps``: from the first step to the last: how many segments it has; by what the state before
    it was multiplied; by what the state changes at least, e included; its lower and upper bound,
    and from where on it counts as being there.
    """
    state, start = 0.0, 0
    for t, step in enumerate(zip(*steps)):  # noqa: B905
        count, jump, move, low, high, bottom, top = step
        end = start + count
        state = state / jump + move
        for k in range(start, end):
            level = levels[k]
            room, length = level - state, lengths[k]
            if room <= 0.0:
                break
            if room < length:
                state = level
                break
            state += length
        start = end
        if state < bottom:
            state = low
        elif state > top:
            state = high
        states[t] = state
    return -1


def price(prices, low, high, below, above, begins, jumps):  # type: ignore[no-untyped-def]
    """Fill ``prices`` with the worth of the state in each run of steps.

    Within a run the state stays off its bounds and the price is the same. ``low`` and ``high`` are
    what a run's own costs allow; they are narrowed in place to what the later runs allow too. The
    state at the end of run r may lower the price (``below``) or raise it (``above``) as seen from
    the next run, and ``begins`` says that run r begins a chain. Going forward, the one price that
    the earlier runs ask for is taken, or the nearest allowed.
    """
    infinite = float("inf")
    last = len(low) - 1
    for r in range(last - 1, -1, -1):
        least, most = -infinite, infinite
        if not begins[r + 1]:
            if not below[r]:
                least = low[r + 1] / jumps[r + 1]
            if not above[r]:
                most = high[r + 1] / jumps[r + 1]
        if least > high[r]:
            low[r] = high[r]
        elif most < low[r]:
            high[r] = low[r]
        else:
            low[r], high[r] = max(least, low[r]), min(most, high[r])
    wanted = 0.0
    for r in range(last + 1):
        wanted = 0.0 if begins[r] else wanted * jumps[r]
        wanted = min(max(wanted, low[r]), high[r])
        prices[r] = wanted
    return -1
