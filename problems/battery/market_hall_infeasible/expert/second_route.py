"""A second route to "Christmas market on a small connection"."""

from engiagent.problems.reference import numbers


def solve() -> float:
    """Return the content [kWh] that the opening would need, backwards from the end.

    Where the load is above the limit, the excess has to come from the content; where it is below,
    the content may rise by what the limit leaves, at most by the charging power.
    """
    load = numbers("22 24 27 33 41 52 63 71 74 66 48 31")
    needed, most = 0.0, 0.0
    for power in load[::-1]:
        if power > 44:
            needed += 1.05 * (power - 44)
        else:
            needed = max(0.0, needed - 0.95 * min(20.0, 44 - power))
        most = max(most, needed)
    return most


def confirm() -> bool:
    """Whether more is needed than a full battery and the connection give."""
    return solve() > 75 + 40
