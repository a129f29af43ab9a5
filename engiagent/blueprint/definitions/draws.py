"""Random numbers that stay the same: a named bit generator, a seed, and inverse distributions.

The bits of numpy's generators are fixed for ever, the ways in which its distributions use them are
not. So a draw takes 52 bits for each number, the middle of its cell as a probability
``u = (k + 1/2) / 2**52``, and the inverse of the distribution function at ``u``. Every draw has a
stream of its own: the seed is spawned with the letters of the draw's name, so that two draws of one
seed are independent and a further draw changes no other.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# distribution -> its arguments; those in the second list are pure numbers
ARGUMENTS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "normal": (("mean", "standard_deviation"), ()),
    "uniform": (("lower", "upper"), ()),
    "lognormal": (("median",), ("log_standard_deviation",)),
    "exponential": (("mean",), ()),
    "triangular": (("lower", "mode", "upper"), ()),
    "weibull": (("scale",), ("shape",)),
    "discrete": (("values",), ("probabilities",)),
    "empirical": (("values",), ()),
}
LISTED: Final = ("values", "probabilities")
"""Arguments that name a parameter over one set and not a number for every element."""


def probabilities(generator: str, seed: int, name: str, size: int) -> Floats:
    """Return the probabilities at which a draw inverts its distribution, shape (size,)."""
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(name.encode()))
    bits = getattr(np.random, generator)(sequence).random_raw(size) >> np.uint64(12)
    return np.asarray((bits.astype(np.float64) + 0.5) * 2.0**-52)


def fingerprint(values: Floats) -> str:
    """Return the SHA-256 of numbers as little-endian doubles in the order of their index."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _standard_normal(u: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(u))


def _triangular(u: Floats, a: Mapping[str, Floats]) -> Floats:
    low, mode, high = a["lower"], a["mode"], a["upper"]
    width = high - low
    rising = low + np.sqrt(u * width * (mode - low))
    falling = high - np.sqrt((1.0 - u) * width * (high - mode))
    return np.asarray(np.where(u * width < mode - low, rising, falling))


def _discrete(u: Floats, a: Mapping[str, Floats]) -> Floats:
    edges = np.cumsum(a["probabilities"])
    place = np.searchsorted(edges / edges[-1], u, side="right")
    return np.asarray(a["values"][np.minimum(place, len(edges) - 1)])


QUANTILES: Final[Mapping[str, Callable[[Floats, Mapping[str, Any]], Floats]]] = {
    "normal": lambda u, a: a["mean"] + a["standard_deviation"] * _standard_normal(u),
    "uniform": lambda u, a: a["lower"] + (a["upper"] - a["lower"]) * u,
    "lognormal": lambda u, a: (
        a["median"] * np.exp(a["log_standard_deviation"] * _standard_normal(u))
    ),
    "exponential": lambda u, a: -a["mean"] * np.log1p(-u),
    "triangular": _triangular,
    "weibull": lambda u, a: a["scale"] * (-np.log1p(-u)) ** (1.0 / a["shape"]),
    "discrete": _discrete,
    "empirical": lambda u, a: a["values"][(u * len(a["values"])).astype(np.int64)],
}


def fault(distribution: str, a: Mapping[str, Floats]) -> str | None:
    """Return what is wrong with the arguments of a distribution, None when nothing is."""
    if not all(np.all(np.isfinite(values)) for values in a.values()):
        return "an argument is not a finite number"
    for name in ("standard_deviation", "log_standard_deviation"):
        if name in a and np.any(a[name] < 0):
            return f"{name} is negative"
    for name in ("median", "scale", "shape"):
        if name in a and np.any(a[name] <= 0):
            return f"{name} must be above zero"
    if distribution == "exponential" and np.any(a["mean"] <= 0):
        return "mean must be above zero"
    if "lower" in a and np.any(a["lower"] > a["upper"]):
        return "lower lies above upper"
    if "mode" in a and (np.any(a["mode"] < a["lower"]) or np.any(a["mode"] > a["upper"])):
        return "mode lies outside lower and upper"
    if distribution == "discrete":
        if len(a["values"]) != len(a["probabilities"]):
            return f"{len(a['values'])} values have {len(a['probabilities'])} probabilities"
        total = float(np.sum(a["probabilities"]))
        if np.any(a["probabilities"] < 0) or not abs(total - 1.0) <= 1e-9:
            return f"the probabilities add up to {total:g}, not to 1"
    return None
