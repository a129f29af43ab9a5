"""One period of every differential equation at once, from the stored states at its start.

The schemes are written down here a second time, over all periods in parallel. ``exact`` is summed
from its Taylor series, in so many parts of a period that the series converges at once.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from engiagent.blueprint.document import EquationDef
from engiagent.blueprint.grammar import Ref, parse, walk
from engiagent.blueprint.timeaxis import parse_step
from engiagent.units.unit import parse_unit
from engiagent.verify.definitions.bench import Bench, in_unit
from engiagent.verify.frames import EvaluationError, Frame
from engiagent.verify.values import Floats, Value

MAX_PARTS = 20_000
TERMS = 24


class _Coupled:
    """All equations over one set of instants, as one field of rates over all periods.

    States are held as one array per name, shape (other indices, periods), in SI.
    """

    def __init__(self, bench: Bench, item: EquationDef) -> None:
        self.bench = bench
        self.items = _needed(bench.core.equations, item)
        self.frames: dict[str, Frame] = {e.name: bench.frame(e.index) for e in self.items}
        periods = bench.declarations.dims(item.index)[0][-1]
        if periods.axis is None:
            raise EvaluationError(f"{periods.name} has no periods with a length")
        self.count = periods.size
        self.lengths = periods.axis.steps * parse_unit(periods.axis.step_unit).scale
        self.second = parse_unit(periods.axis.step_unit)
        self.close_calls = 0
        self.sizes: dict[str, Floats] = {}

    def start(self) -> dict[str, Floats]:
        """Return the stored states at the start of every period."""
        return {
            e.name: self.bench.data(e.name).data.reshape(-1, self.count + 1)[:, :-1]
            for e in self.items
        }

    def rates(self, states: dict[str, Floats]) -> dict[str, Floats]:
        """Return the rates of all states, in SI per second."""
        changed = {}
        for name, data in states.items():
            symbol = self.bench.symbols[name]
            assert symbol.value is not None
            # The last instant begins no period: no rate may look at it.
            flat = np.concatenate([data, np.full((len(data), 1), np.nan)], axis=1).reshape(-1)
            value = replace(symbol.value, data=flat, sizes=np.abs(flat))
            changed[name] = replace(symbol, value=value)
        evaluator = self.bench.evaluator(changed)
        found = {}
        for item in self.items:
            unit = self.bench.data(item.name).unit
            steps = (unit.difference() if unit.is_point else unit) / self.second
            value = in_unit(evaluator.number(parse(item.rate), self.frames[item.name]), steps)
            found[item.name] = value.data.reshape(-1, self.count)
            self.sizes.setdefault(item.name, value.size.reshape(-1, self.count))
        self.close_calls += evaluator.close_calls
        return found


States = dict[str, Floats]


def _needed(equations: tuple[EquationDef, ...], item: EquationDef) -> list[EquationDef]:
    """Return an equation and all others whose states its rate needs, at first or second hand."""
    found, waiting = [item], [item]
    while waiting:
        names = {n.name for n in walk(parse(waiting.pop().rate)) if isinstance(n, Ref)}
        for other in equations:
            if other.name in names and other.instants == item.instants and other not in found:
                found.append(other)
                waiting.append(other)
    return found


def carried(bench: Bench, item: EquationDef, refine: int) -> tuple[Value, int]:
    """Return a state at the end of every period, and how many decisions were close calls."""
    field = _Coupled(bench, item)
    start = field.start()
    cuts = _cuts(item, field.lengths) * refine
    step = field.lengths / cuts
    states = {name: data.copy() for name, data in start.items()}
    with np.errstate(all="ignore"):
        if item.scheme == "exact":
            states = _series(field, states, field.lengths)
        else:
            advance = _euler if item.scheme == "euler" else _runge_kutta
            for turn in range(int(cuts.max(initial=0))):
                after = advance(field, states, step)
                going = cuts > turn
                states = {n: np.where(going, after[n], states[n]) for n in states}
    data = states[item.name].reshape(-1)
    size = np.abs(start[item.name]) + field.lengths * field.sizes[item.name]
    unit = bench.data(item.name).unit
    return Value(data, unit, size.reshape(-1)), field.close_calls


def _cuts(item: EquationDef, lengths: Floats) -> Floats:
    if item.step is None:
        return np.ones_like(lengths)
    seconds, _ = parse_step(item.step)
    ratio = lengths / seconds
    cuts = np.rint(ratio)
    if not np.all((cuts >= 1) & (np.abs(ratio - cuts) <= 1e-9 * ratio)):
        raise EvaluationError(f"the step {item.step} of {item.name} divides no period")
    return cuts


def _moved(x: States, by: Floats, along: States) -> States:
    return {name: x[name] + by * along[name] for name in x}


def _euler(field: _Coupled, x: States, h: Floats) -> States:
    return _moved(x, h, field.rates(x))


def _runge_kutta(field: _Coupled, x: States, h: Floats) -> States:
    first = field.rates(x)
    second = field.rates(_moved(x, 0.5 * h, first))
    third = field.rates(_moved(x, 0.5 * h, second))
    fourth = field.rates(_moved(x, h, third))
    mean = {n: (first[n] + 2 * second[n] + 2 * third[n] + fourth[n]) / 6 for n in x}
    return _moved(x, h, mean)


def _series(field: _Coupled, x: States, lengths: Floats) -> States:
    """Sum the Taylor series of a linear flow: each term is the last one put through the matrix."""
    zero = field.rates({name: np.zeros_like(data) for name, data in x.items()})

    def through(v: States) -> States:
        image = field.rates({name: data * 2.0**20 for name, data in v.items()})
        return {name: (image[name] - zero[name]) * 2.0**-20 for name in v}

    parts = 1
    while parts <= MAX_PARTS:
        found = _summed(field, x, lengths / parts, parts, through)
        if found is not None:
            return found
        parts *= 2
    raise EvaluationError(f"the exact solution would take more than {MAX_PARTS} parts of a period")


def _summed(
    field: _Coupled, x: States, h: Floats, parts: int, through: Callable[[States], States]
) -> States | None:
    """Return the sum of the series over all parts, None where it has not converged."""
    for _ in range(parts):
        term = {name: h * rate for name, rate in field.rates(x).items()}
        largest = {name: np.abs(data) for name, data in x.items()}
        for order in range(2, TERMS):
            x = {name: x[name] + term[name] for name in x}
            term = {name: h / order * image for name, image in through(term).items()}
            largest = {n: np.maximum(largest[n], np.abs(term[n])) for n in x}
        small = (np.abs(term[n]) <= 1e-16 * (largest[n] + 1e-300) for n in x)
        calm = (np.all(largest[n] <= 8.0 * (np.abs(x[n]) + np.max(np.abs(x[n])))) for n in x)
        if not (all(bool(np.all(part)) for part in small) and all(map(bool, calm))):
            return None
    return x
