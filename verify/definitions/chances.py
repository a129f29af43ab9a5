"""Whether samples are those of a generator, a seed and a distribution.

The forward distribution function of each sample is compared with the probability that the generator
gives for its place; the inverse functions, by which the samples were made, occur nowhere here.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from engiagent.blueprint.document import DrawDef
from engiagent.blueprint.grammar import parse
from engiagent.units.unit import parse_unit
from engiagent.verify.definitions.bench import Bench, in_unit
from engiagent.verify.frames import EvaluationError
from engiagent.verify.values import Floats, Value

ROUNDING: Final = 1e-11
"""By how much of its size a sample may be off."""


def stream(generator: str, seed: int, name: str, size: int) -> Floats:
    """Return the probabilities of a draw: middles of cells of width 2**-52."""
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(name.encode()))
    source = np.random.Generator(getattr(np.random, generator)(sequence))
    return np.asarray((np.floor(source.random(size) * 2.0**52) + 0.5) / 2.0**52)


def _below(distribution: str, x: Floats, a: Mapping[str, Floats]) -> Floats:
    """Return the probability of numbers up to each ``x``; without any spread a step."""
    from scipy import stats

    with np.errstate(all="ignore"):
        if distribution == "normal":
            at, found = a["mean"], stats.norm.cdf(x, a["mean"], a["standard_deviation"])
        elif distribution == "lognormal":
            at, logs = np.zeros(1), np.log(np.maximum(x, 0.0) / a["median"])
            found = stats.norm.cdf(logs, 0.0, a["log_standard_deviation"])
            x = logs
        elif distribution == "exponential":
            at, found = np.zeros(1), stats.expon.cdf(x, scale=a["mean"])
        elif distribution == "weibull":
            at, found = np.zeros(1), stats.weibull_min.cdf(x, a["shape"], scale=a["scale"])
        else:
            at, width = a["lower"], a["upper"] - a["lower"]
            shape = () if distribution == "uniform" else ((a["mode"] - at) / width,)
            known = stats.uniform if distribution == "uniform" else stats.triang
            found = known.cdf(x, *shape, loc=at, scale=width)
    return np.asarray(np.where(np.isnan(found), (x >= at).astype(np.float64), found))


_PURE: Final = ("log_standard_deviation", "shape", "probabilities")


def misfit(bench: Bench, item: DrawDef, stored: Value) -> Floats:
    """Return for every sample how far its probability is off, zero or less where it is right."""
    arguments = {key: _argument(bench, item, key, stored) for key in item.arguments}
    x = stored.data
    u = stream(item.generator, item.seed, item.name, x.size)
    if item.distribution == "empirical":
        places = np.floor(u * arguments["values"].size).astype(np.int64)
        return np.abs(x - arguments["values"][places]) - ROUNDING * np.abs(x)
    if item.distribution == "discrete":
        return _discrete(x, u, arguments)
    shift = np.abs(x)
    for key, data in arguments.items():
        if key not in _PURE:
            shift = shift + np.abs(data)
    if item.distribution in ("lognormal", "weibull"):
        shift = np.abs(x)
    low, high = (
        _below(item.distribution, x + sign * ROUNDING * shift, arguments) for sign in (-1.0, 1.0)
    )
    return np.asarray(np.maximum(low - u, u - high) - 1e-14)


def _discrete(x: Floats, u: Floats, a: Mapping[str, Floats]) -> Floats:
    """Return whether each sample is the first value whose cumulated probability exceeds ``u``."""
    order = np.arange(a["values"].size)
    total = np.array([a["probabilities"][:k].sum() for k in range(order.size + 1)])
    low, high = total[:-1], total[1:]
    same = np.abs(x[:, None] - a["values"]) <= ROUNDING * np.abs(a["values"])
    inside = (low - 1e-12 <= u[:, None]) & (u[:, None] <= high + 1e-12)
    return np.asarray(np.where((same & inside).any(axis=1), 0.0, 1.0))


def _argument(bench: Bench, item: DrawDef, key: str, stored: Value) -> Floats:
    text = str(item.arguments[key])
    if key in ("values", "probabilities"):
        symbol = bench.declarations.parameter(text)
        if symbol is None or symbol.value is None:
            raise EvaluationError(f"unknown parameter {text!r}")
        return symbol.value.data
    unit = parse_unit("1") if key in _PURE else stored.unit
    if key == "standard_deviation" and unit.is_point:
        unit = unit.difference()
    value = bench.evaluator().number(parse(text), bench.frame(item.index))
    return in_unit(value, unit).data
