"""A second route to "One chiller too large for the night"."""


def solve() -> float:
    """Return by how much [kBTU] the content at least output exceeds the buffer after six hours."""
    return 90.0 + 6 * (760 - 640) - 400


def confirm() -> bool:
    """Whether what is demanded exceeds what can be."""
    return solve() > 0
