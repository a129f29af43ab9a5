"""A second route to "Staging four chillers of one kind"."""

from engiagent.problems.reference import numbers


def solve() -> float:
    """Return the least cost [SGD], hour by hour over the number of chillers that run."""
    load = numbers(
        "610 580 570 560 575 640 880 1390 1980 2420 2650 2790 2880 2960 3020 3010 2900 2640 2180"
        " 1720 1350 1080 860 700"
    )
    price = numbers(
        "178 171 166 164 165 173 196 228 251 262 268 271 273 281 290 286 279 270 262 255 243 226"
        " 205 190"
    )
    worth = {1: 0.0}
    for hour in range(24):
        reached = {}
        for running in range(1, 4 if hour in (13, 14) else 5):
            if not 200 * running <= load[hour] <= 1050 * running:
                continue
            before = min(cost + 23 * max(0, running - n) for n, cost in worth.items())
            reached[running] = before + price[hour] * (74 * running + 0.205 * load[hour]) / 1000
        worth = reached
    return float(min(worth.values()))
