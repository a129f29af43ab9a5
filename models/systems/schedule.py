"""Series that a module follows period by period."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.systems.ports import State, Values

PERIOD = "period"


@dataclass(frozen=True)
class Schedule:
    """Values by name, each one number or one per period; the state is the number of the period.

    Without any series there is no state.
    """

    values: Mapping[str, npt.ArrayLike]

    @property
    def states(self) -> tuple[State, ...]:
        """The number of the period, counted from 0."""
        if all(np.ndim(value) == 0 for value in self.values.values()):
            return ()
        return (State(name=PERIOD, unit="1", initial=0.0),)

    def at(self, state: Values) -> dict[str, Floats]:
        """Return the values of the period."""
        found = {}
        for name, values in self.values.items():
            array = np.asarray(values, dtype=np.float64)
            if array.ndim:
                period = round(float(state[PERIOD]))
                if not 0 <= period < len(array):
                    raise ParameterError(
                        f"the series of {name} has {len(array)} periods and period {period} is "
                        "asked for; give a longer series or run fewer periods"
                    )
                array = np.asarray(array[period])
            found[name] = array
        return found

    def next(self, state: Values) -> dict[str, Floats]:
        """Return the state of the next period."""
        return {name: value + 1.0 for name, value in state.items() if name == PERIOD}
