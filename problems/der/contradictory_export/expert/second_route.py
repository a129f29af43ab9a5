"""A second route to "School roof with two wishes"."""


def confirm() -> bool:
    """Whether the feed-in that must be [kWh] exceeds the feed-in that may be."""
    may_be, must_be = 6 * 0.0, 60.0
    return must_be > may_be
