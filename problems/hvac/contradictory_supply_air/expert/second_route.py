"""A second route to "Supply air that is too cold and too warm"."""


def solve() -> float:
    """Return by how much [K] the coldest that is allowed exceeds the warmest."""
    warmest, coldest = 13.0, 16.0
    return coldest - warmest


def confirm() -> bool:
    """Whether what is demanded exceeds what can be."""
    return solve() > 0
