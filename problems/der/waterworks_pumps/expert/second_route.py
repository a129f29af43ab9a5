"""A second route to "Pumps of a waterworks"."""

TOWN = (260, 420, 560, 610, 520, 430, 400, 390)
TARIFF = (0.11, 0.13, 0.24, 0.28, 0.26, 0.19, 0.16, 0.17)


def solve() -> float:
    """Return the least bill [USD]; a state is content, big pump in the last hour, its starts."""
    bills = {(900, 0, 0): 0.0}
    for town, price in zip(TOWN, TARIFF, strict=True):
        following: dict[tuple[int, int, int], float] = {}
        for (content, before, starts), bill in bills.items():
            for big, small in ((0, 0), (0, 1), (1, 0), (1, 1)):
                after = content + 410 * big + 235 * small - town
                started = starts + (big and not before)
                if not 600 <= after <= 2000 or started > 2:
                    continue
                cost = bill + price * 0.7457 * (120 * big + 65 * small)
                state = (after, big, started)
                following[state] = min(cost, following.get(state, cost))
        bills = following
    return min(bill for (content, _, _), bill in bills.items() if content >= 900)
