"""A second route to "Supply air that is too cold and too warm"."""


def confirm() -> bool:
    """Whether the coldest that is allowed [degC] exceeds the warmest."""
    warmest, coldest = 13.0, 16.0
    return coldest > warmest
