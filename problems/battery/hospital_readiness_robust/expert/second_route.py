"""A second route to "Hospital battery that trades and stays ready"."""

import cvxpy as cp

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the best income [EUR]; each hour that may be the high one is a limit of its own."""
    critical = numbers(
        "96 92 90 89 91 98 118 140 158 166 170 172 168 164 160 158 154 148 140 131 122 114 106 100"
    )
    band = numbers("10 10 9 9 9 12 20 26 32 36 40 44 42 38 34 30 28 26 22 20 16 14 12 11")
    price = numbers("58 52 47 45 49 63 92 121 104 73 49 33 26 24 35 56 83 124 151 143 118 94 78 66")
    put, taken = cp.Variable(24, bounds=[0, 400]), cp.Variable(24, bounds=[0, 400])
    content = cp.Variable(25, bounds=[80, 1200])
    rules = [content[1:] == content[:24] + put - taken / 0.94]
    rules += [content[0] == 700, content[24] >= 700]
    for t in range(24):
        ahead = slice(t, min(t + 3, 24))
        rules += [0.94 * content[t] >= critical[ahead].sum() + high for high in band[ahead]]
    return optimum(cp.Maximize(price @ (taken - put) / 1000), rules)
