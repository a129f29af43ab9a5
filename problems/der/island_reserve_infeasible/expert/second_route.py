"""A second route to "Loss of the largest set"."""


def confirm() -> bool:
    """Whether the load [kW] exceeds what is left when the worst engine trips."""
    most = (900, 600, 450)
    return min(sum(most) - one for one in most) < 1090
