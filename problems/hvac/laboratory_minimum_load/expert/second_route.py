"""A second route to "One chiller too large for the night"."""


def confirm() -> bool:
    """Whether the content at least output [kBTU] exceeds the buffer after six hours."""
    return 90.0 + 6 * (760 - 640) > 400
