"""A unit while its plan is executed: its parameters, its series in the plan, and what is found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.run import Excess, Result, Trajectory
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats
from engiagent.verify.vocabulary import SERIES

if TYPE_CHECKING:  # it executes what this package describes
    from engiagent.verify.levels.execution import Plant

_PERIODS: Final = "periods"


@dataclass(frozen=True)
class Unit:
    """One declared unit in the plant that is executed.

    Attributes
    ----------
    plant
        All units with the plan.
    declared
        Its entry in ``dynamics``, or the component that it is.
    """

    plant: "Plant"
    declared: Dynamics

    @property
    def name(self) -> str:
        """Its name."""
        return self.declared.name

    @property
    def model(self) -> str:
        """The name of its model."""
        return self.declared.model

    @property
    def scheme(self) -> str | None:
        """The scheme by which the plan was made, as ``exact``; None where that is not said."""
        return self.declared.scheme

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What is given, as it is written."""
        return self.declared.parameters

    @property
    def connections(self) -> Mapping[str, Any]:
        """What it is connected to, by port."""
        return self.declared.connections

    @property
    def periods(self) -> IndexSet:
        """The time set over which it runs."""
        return self.plant.periods(self.declared)

    @property
    def instants(self) -> IndexSet | None:
        """The instants of its periods, None where the document declares none."""
        return self.plant.instants(self.periods)

    @property
    def hours(self) -> Floats:
        """The lengths of its periods. [h]."""
        return self.plant.hours(self.periods)

    # -- its parameters, in the units of its slots ------------------------------------------------

    def given(self, *slots: str) -> bool:
        """Whether one of some parameters is given."""
        return any(slot in self.parameters for slot in slots)

    def slot(self, slot: str, unit: str | None = None) -> Floats | None:
        """Return a parameter over the periods, None where it is not given and has no default."""
        return self.plant.slot(self.declared, slot, unit)

    def series(self, slot: str, unit: str | None = None) -> Floats:
        """Return a parameter over the periods that it cannot do without."""
        return self.plant.series(self.declared, slot, unit)

    def single(self, slot: str) -> float | None:
        """Return a parameter that is one number, None where it is not given."""
        return self.plant.single(self.declared, slot)

    def need(self, slot: str) -> float:
        """Return a parameter that is one number and that it cannot do without."""
        return self.plant.need(self.declared, slot)

    def numbers(self, *slots: str) -> dict[str, Any]:
        """Return several such parameters by name, as a model takes them."""
        return {slot: self.need(slot) for slot in slots}

    def largest(self, slot: str) -> float:
        """Return the largest value of a limit over time, infinite where it is not given."""
        return self.plant.largest(self.declared, slot)

    def table(self, slot: str, unit: str | None = None) -> tuple[float, ...] | None:
        """Return a parameter that is a row of numbers, None where it is not given."""
        return self.plant.table(self.declared, slot, unit)

    def number(self, written: Any, unit: str) -> Floats:
        """Return a number or an expression over the periods, in a unit."""
        return self.plant.number(self.declared, written, unit)

    def constant(self, written: Any, unit: str) -> float:
        """Return a number of a part of it; a bare one has the unit already."""
        return float(self.number(written, unit)[0])

    # -- its series in the plan -------------------------------------------------------------------

    def claimed(self, word: str, unit: str | None = None) -> Floats | None:
        """Return a series of the plan over the periods, None where it is absent."""
        return self.plant.claimed(self.declared, word, unit)

    def decision(self, word: str) -> Floats:
        """Return a series that an operator sets."""
        return self.plant.decision(self.declared, word)

    def flow(self, word: str) -> Floats:
        """Return a decision without what lies below 0, which the test of its sign reports."""
        return self.plant.flow(self.declared, word)

    def optional(self, word: str) -> Floats:
        """Return a series of the plan, 0 where it is absent."""
        found = self.claimed(word)
        return np.zeros(self.periods.size) if found is None else found

    def state(self, word: str) -> tuple[str, Floats | None]:
        """Return name and values of a state as the plan has it."""
        return self.plant.state(self.declared, word)

    def start(self, slot: str, claimed: Floats | None) -> float:
        """Return the first value of a state: the declared one, where there is none the plan's."""
        given = self.single(slot)
        if given is not None:
            return given
        if claimed is None:
            raise EvaluationError(f"the {slot.replace('_', ' ')} of {self.name} is unknown")
        return float(claimed[0])

    # -- what executing it finds ------------------------------------------------------------------

    def unit_of(self, word: str) -> str:
        """Return the unit of one of its series, whatever part of it that belongs to."""
        return SERIES[self.model][word.rpartition(".")[2]].unit

    def result(
        self,
        word: str,
        values: Floats,
        why: str,
        *,
        unit: str | None = None,
        exact: Floats | None = None,
    ) -> Result:
        """Return a recomputed series with what the plan says of it."""
        found = self.plant.result(self.declared, word, values, why, unit)
        return Result(found.names, found.unit, values, found.over, found.claimed, why, exact)

    def trajectory(
        self,
        word: str,
        declared: Floats,
        scale: float,
        *,
        exact: Floats | None = None,
        defect: Floats | None = None,
        lower: Floats | float = -np.inf,
        upper: Floats | float = np.inf,
    ) -> Trajectory:
        """Return a recomputed state with what the plan says of it; fields as in ``Trajectory``."""
        name, claimed = self.state(word)
        return Trajectory(
            tuple(self.plant.names(self.declared, word)),
            name,
            self.unit_of(word),
            declared,
            declared if exact is None else exact,
            claimed,
            defect,
            scale,
            self.instants,
            lower,
            upper,
        )

    def excess(
        self,
        kind: str,
        word: str,
        amount: Floats,
        scale: float,
        words: str,
        tolerance: float | None = None,
        *,
        unit: str = "",
    ) -> Excess:
        """Return how far a series is beyond a limit; amount and scale in its unit."""
        name, unit = f"{self.name}.{word}", unit or self.unit_of(word)
        return Excess(f"{kind}:{name}", name, amount, unit, scale, self.periods, words, tolerance)

    def fault(
        self,
        kind: str,
        name: str,
        amount: Floats,
        unit: str,
        scale: float,
        words: str,
        tolerance: float | None = None,
        *,
        over: IndexSet | str | None = _PERIODS,
        part: str = "",
    ) -> Excess:
        """Return how far it is beyond a limit that is no series's own, by period as a rule.

        ``part`` tells several checks of a kind apart.
        """
        place = self.periods if isinstance(over, str) else over
        identifier = f"{kind}:{self.name}{part}"
        return Excess(identifier, name, amount, unit, scale, place, words, tolerance)

    def sign(self, word: str, series: Floats, scale: float, *, unit: str = "") -> Excess:
        """Return how far a series is below 0."""
        return self.excess("sign", word, -series, scale, "negative", unit=unit)

    def between(
        self, word: str, series: Floats, most: Floats | None, *, unit: str = ""
    ) -> Iterator[Excess]:
        """Yield how far a series is below 0 and, where there is one, above a limit."""
        scale = size(series)
        yield self.sign(word, series, scale, unit=unit)
        if most is not None:
            yield self.excess("limit", word, series - most, scale, "above its limit", unit=unit)


def size(series: Floats) -> float:
    """Return the largest absolute value of a series, 0 for an empty one."""
    return float(np.max(np.abs(series), initial=0.0))
