"""A blueprint of definitions together with the numbers that somebody computed for it, in SI."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.blueprint.elements import Core, DefinitionDef, DrawDef, EquationDef
from engiagent.blueprint.grammar import Node, parse
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import InputError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Declarations
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.frames import Bools, Elements, Environment, EvaluationError, Frame, Symbol
from engiagent.verify.places import Places, located
from engiagent.verify.values import Floats, Ints, Value

NEAR = 1e-9
"""A decision this close to its limit, relative to its terms, may fall the other way."""


class DecisionEvaluator(Evaluator):
    """Evaluates computed answers in SI units: conditions may look at values.

    ``close_calls``: how many comparisons of values fell within rounding of their limit without
    meeting it.
    """

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.places = _Places(environment, self.number)
        self.close_calls = 0

    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row."""
        value = super().number(node, frame)
        if self.faults:
            raise EvaluationError(self.faults[0].text)
        return value

    def _compare(self, op: str, left: Node, right: Node, frame: Frame) -> Bools:
        result = super()._compare(op, left, right, frame)
        if self._are_numbers((left, right), frame):
            a, b = arithmetic.align([self._clock_or_number(p, frame) for p in (left, right)])
            gap = np.abs(a.data - b.data)
            near = (gap > 0.0) & (gap <= NEAR * (a.size + b.size))
            self.close_calls += int(near.sum())
        return result


class _Places(Places):
    """Index positions, where an instant may name the period that begins there."""

    def positions(self, node: Node, index_set: IndexSet, frame: Frame) -> Ints:
        """Return positions in ``index_set``; negative or beyond its size when outside."""
        found = self.element(node, frame, index_set)
        periods = found.set.root.periods_of
        if periods is None or periods is not index_set.root:
            return located(found, index_set)
        return located(Elements(periods, found.set.rooted(found.positions)), index_set)


Computed = DefinitionDef | EquationDef | DrawDef


def computed(core: Core) -> tuple[Computed, ...]:
    """Return everything that is computed: draws, definitions, equations."""
    return (*core.draws, *core.definitions, *core.equations)


@dataclass(frozen=True, eq=False)
class Answer:
    """Numbers by name as they were computed: values in ``unit`` over the dimensions in order."""

    values: Floats
    unit: str


def answers_of(results: Any) -> dict[str, Answer]:
    """Return the numbers of results, or of the dataset they were written to."""
    if hasattr(results, "series"):
        return {n: Answer(np.asarray(s.values), s.unit) for n, s in results.series.items()}
    if hasattr(results, "data_vars"):
        return {
            str(name): Answer(
                np.asarray(item.values, dtype=np.float64), str(item.attrs.get("units", "1"))
            )
            for name, item in results.data_vars.items()
        }
    raise InputError("these are no results", expected="Results or an xarray.Dataset")


class Bench:
    """Evaluates expressions over parameters, choices and what was computed.

    ``declarations``: sets and parameters. ``answers``: what was computed.
    """

    def __init__(self, declarations: Declarations, answers: Mapping[str, Answer]) -> None:
        self.declarations = declarations
        self.core: Core = declarations.core
        self.answers = answers
        self.symbols: dict[str, Symbol] = {}
        for item in computed(self.core):
            self.symbols[item.name] = self._symbol(item.name, self.sets_of(item))
        for choice in self.core.design.choices if self.core.design is not None else ():
            self.symbols[choice.name] = self._symbol(choice.name, ())

    def sets_of(self, item: Computed) -> tuple[IndexSet, ...]:
        """Return the sets of a computed quantity; those of a state end in instants."""
        dims, _ = self.declarations.dims(item.index)
        if isinstance(item, EquationDef):
            return (*dims[:-1], self.declarations.sets[item.instants])
        return dims

    def _symbol(self, name: str, dims: tuple[IndexSet, ...]) -> Symbol:
        answer = self.answers.get(name)
        if answer is None:
            raise InputError(f"{name} is not among the results", "the results")
        found, wanted = str(answer.values.shape), str(tuple(dim.size for dim in dims))
        if found != wanted:
            what = f"{name} has another shape"
            raise InputError(what, "the results", found=found, expected=wanted)
        if not np.isfinite(answer.values).all():
            raise InputError(f"{name} holds a value that is not finite", "the results")
        flat = np.asarray(answer.values, dtype=np.float64).reshape(-1)
        return Symbol(name, dims, values.constant(flat, parse_unit(answer.unit)))

    def sha256(self) -> str:
        """Return the hash of all numbers, by name."""
        digest = hashlib.sha256()
        for name in sorted(self.symbols):
            digest.update(name.encode() + b"\0")
            digest.update(np.ascontiguousarray(self.data(name).data, dtype="<f8").tobytes())
        return digest.hexdigest()

    def evaluator(self, changed: Mapping[str, Symbol] | None = None) -> DecisionEvaluator:
        """Return an evaluator, in which some symbols may stand for other numbers."""
        symbols = {**self.symbols, **(changed or {})}
        environment = Environment(self.declarations.sets, symbols, self.declarations.parameter)
        return DecisionEvaluator(environment)

    def frame(self, index: tuple[str, ...], where: str | None = None) -> Frame:
        """Return the rows of an index list, in the order in which its values are held."""
        binders = (text if " in " in text else f"i__{k} in {text}" for k, text in enumerate(index))
        return self.evaluator().frame(tuple(binders), where)

    def data(self, name: str) -> Value:
        """Return the numbers of a computed name."""
        found = self.symbols[name].value
        assert found is not None
        return found


def in_unit(value: Value, unit: Unit) -> Value:
    """Return a value that was declared in a unit; a bare number takes it."""
    reference = Value(np.zeros(1), unit, np.zeros(1))
    return arithmetic.align([reference, value])[1]


# --- whether samples are those of a generator, a seed and a distribution ------------------------


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
