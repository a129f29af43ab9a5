"""A second route to "Server room whose units need their rest"."""

from itertools import product


def solve() -> int:
    """Return after how many hours every choice of running units has left the band."""
    store = 3.5 / 3.516852842
    rest = (0, 0, 0)
    states: set[tuple[tuple[int, ...], tuple[int, ...], float]] = {(rest, rest, 68.0)}
    for hour in range(12):
        following = set()
        for (a, b, inside), runs in product(states, product((0, 1), repeat=2)):
            if sum(a) + runs[0] > 3 or sum(b) + runs[1] > 3:
                continue
            after = round(inside + (15 - 9 * sum(runs)) / store, 6)
            if 64 <= after <= 80:
                following.add(((*a[1:], runs[0]), (*b[1:], runs[1]), after))
        if not following:
            return hour
        states = following
    return 12


def confirm() -> bool:
    """Whether no choice of units lasts to the evening."""
    return 6 < solve() < 12
