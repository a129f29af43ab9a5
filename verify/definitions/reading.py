"""The checker's evaluator with what only computed answers have: decisions on values."""

from dataclasses import replace

import numpy as np

from engiagent.blueprint.grammar import Binary, Call, Choice, Members, Node, Number, Reduce, Ref
from engiagent.blueprint.sets import IndexSet
from engiagent.verify import arithmetic, values
from engiagent.verify.clocks import placed
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.frames import Bools, Elements, Environment, EvaluationError, Frame
from engiagent.verify.places import Places, located
from engiagent.verify.values import ONE, Ints, Value

NEAR = 1e-9
"""A decision this close to its limit, relative to its terms, may fall the other way."""


class DecisionEvaluator(Evaluator):
    """Evaluates computed answers in SI units.

    Attributes
    ----------
    close_calls
        How many comparisons of values fell within rounding of their limit without meeting it.
    """

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.places = _Places(environment, self.number)
        self.close_calls = 0

    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row."""
        if isinstance(node, Call) and node.function == "where":
            return self.number(Choice(node.span, *node.args), frame)
        if isinstance(node, Call) and node.function == "prob":
            return self._probability(node, frame)
        if isinstance(node, Call) and node.function == "piecewise":
            return self._piecewise(node, frame)
        if isinstance(node, Reduce) and node.function in ("first_index", "sumsq", "expect"):
            return self.number(_written_out(node), frame)
        return super().number(node, frame)

    def _compare(self, op: str, left: Node, right: Node, frame: Frame) -> Bools:
        result = super()._compare(op, left, right, frame)
        if self.places.is_element(left, frame) or self.places.is_element(right, frame):
            return result
        if self._labels(left, frame) is None and self._labels(right, frame) is None:
            a, b = arithmetic.align([self._clock_or_number(p, frame) for p in (left, right)])
            gap = np.abs(a.data - b.data)
            near = (gap > 0.0) & (gap <= NEAR * (a.size + b.size))
            self.close_calls += int(near.sum())
        return result

    def _probability(self, node: Call, frame: Frame) -> Value:
        element = self.places.element(node.args[0], frame)
        chances = element.set.root.probabilities
        if chances is None:
            raise EvaluationError(f"{element.set.name} has no probabilities")
        return values.constant(chances[placed(element)], ONE)

    def _piecewise(self, node: Call, frame: Frame) -> Value:
        """Interpolate as a sum over the pieces of slope times the part of x that lies in each."""
        at = self.number(node.args[0], frame)
        xs, ys = (self._points(part, frame) for part in node.args[1:])
        at, first = arithmetic.align([at, xs[0]])
        tops = [arithmetic.align([first, x])[1] for x in xs]
        result = ys[0]
        beyond = (at.data < tops[0].data) | (at.data > tops[-1].data)
        if beyond.any():
            raise EvaluationError(f"a value lies outside the breakpoints of {frame.size} rows")
        for k in range(len(xs) - 1):
            low, width = tops[k].data, tops[k + 1].data - tops[k].data
            share = np.clip((at.data - low) / width, 0.0, 1.0)
            rise = arithmetic.add(ys[k + 1], ys[k], -1.0)
            part = arithmetic.multiply(values.constant(share, ONE), rise)
            result = arithmetic.add(result, part, 1.0)
        return result

    def _points(self, node: Node, frame: Frame) -> list[Value]:
        """Return listed points, or a parameter at every element of its last set."""
        if isinstance(node, Members):
            return [self.number(item, frame) for item in node.items]
        if not isinstance(node, Ref):
            raise EvaluationError("piecewise needs listed numbers or a parameter")
        symbol = self.environment.symbol(node.name)
        last = symbol.dims[-1]
        whole = replace(node, indices=(*node.indices, Ref(node.span, "__point", ())))
        found = []
        for position in range(last.size):
            here = Elements(last, np.full(frame.size, position, dtype=np.int64))
            found.append(self.number(whole, Frame(frame.size, {**frame.names, "__point": here})))
        return found


class _Places(Places):
    """Index positions, where an instant may name the period that begins there."""

    def positions(self, node: Node, index_set: IndexSet, frame: Frame) -> Ints:
        """Return positions in ``index_set``; negative or beyond its size when outside."""
        found = self.element(node, frame, index_set)
        periods = found.set.root.periods_of
        if periods is None or periods is not index_set.root:
            return located(found, index_set)
        return located(Elements(periods, found.set.rooted(found.positions)), index_set)


def _written_out(node: Reduce) -> Node:
    """Return ``first_index``, ``sumsq`` and ``expect`` in terms of ``min`` and ``sum``."""
    binder, body = node.binders[0], node.body
    own = Ref(binder.span, binder.names[0], ())
    if node.function == "sumsq":
        square = Binary(body.span, "**", body, Number(body.span, 2.0, None))
        return replace(node, function="sum", body=square)
    if node.function == "expect":
        chance = Call(body.span, "prob", (own,))
        return replace(node, function="sum", body=Binary(body.span, "*", chance, body))
    end = Call(body.span, "len", (Ref(binder.span, binder.set, ()),))
    found: Node = Choice(body.span, body, Call(body.span, "pos", (own,)), end)
    if node.where is not None:
        found = Choice(body.span, node.where, found, end)
    return replace(node, function="min", body=found, where=None)
