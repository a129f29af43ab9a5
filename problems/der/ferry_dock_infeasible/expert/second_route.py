"""A second route to "Electric ferry at a short dock"."""


def confirm() -> bool:
    """Whether the ferry has too little left after the seventh crossing at full charging power.

    More charging never lowers a later content, and the battery cannot hold more than it holds.
    """
    content = 800.0  # kWh
    for crossing in range(1, 8):
        content -= 190
        if crossing in (2, 4, 6):
            content = min(1100.0, content + 1800 / 6)
    return content < 500
