"""A second route to "School roof with two wishes"."""


def solve() -> float:
    """Return by how much [kWh] the feed-in that must be exceeds the feed-in that may be."""
    may_be, must_be = 6 * 0.0, 60.0
    return must_be - may_be


def confirm() -> bool:
    """Whether what is demanded exceeds what can be."""
    return solve() > 0
