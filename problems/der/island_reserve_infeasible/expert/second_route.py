"""A second route to "Loss of the largest set"."""


def solve() -> float:
    """Return by how much [kW] the load exceeds what is left when the worst engine trips."""
    most = (900, 600, 450)
    return 1090 - min(sum(most) - one for one in most)


def confirm() -> bool:
    """Whether what is demanded exceeds what can be."""
    return solve() > 0
