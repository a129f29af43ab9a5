"""Windows of the horizon's length taken from longer series."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError

Floats = npt.NDArray[np.float64]
End = Literal["refuse", "hold", "repeat"]


@dataclass(frozen=True, eq=False)
class Series:
    """A longer series of a parameter."""

    name: str
    values: Floats  # of the parameter's shape, but longer along ``axis``, the horizon's
    axis: int
    length: int  # how long a window is

    def window(self, start: int, end: End) -> Floats:
        """Return the window that begins at a step.

        ``start``: number of the step, from 0. ``end``: what to do beyond the end of the series:
        ``refuse``, ``hold`` the last value, or ``repeat`` the series from its beginning. Raises
        InputError when the series is too short and the end is to be refused.
        """
        have = self.values.shape[self.axis]
        places = np.arange(start, start + self.length)
        if places[-1] >= have:
            if end == "refuse":
                raise InputError(
                    f"the series of {self.name} ends before the horizon does at step {start}",
                    found=f"{have} values",
                    expected=f"{start + self.length}, or end='hold' or 'repeat'",
                )
            places = np.minimum(places, have - 1) if end == "hold" else places % have
        found: Floats = np.take(self.values, places, axis=self.axis)
        return found

    def at(self, step: int, end: End) -> Floats:
        """Return the value of one step, without the horizon's axis."""
        return np.asarray(np.take(self.window(step, end), 0, axis=self.axis))


def read_series(
    given: Mapping[str, npt.ArrayLike], shapes: Mapping[str, tuple[tuple[int, ...], int]]
) -> dict[str, Series]:
    """Return longer series, checked.

    ``given``: values by parameter, in its own unit. ``shapes``: of each parameter that moves: its
    shape and which axis is the horizon's. Raises InputError when a name is unknown, a shape does
    not fit or a value is not finite.
    """
    found = {}
    for name, values in given.items():
        if name not in shapes:
            known = ", ".join(shapes) or "none"
            raise InputError(f"{name!r} is no parameter along the horizon; those are {known}")
        shape, axis = shapes[name]
        array = np.asarray(values, dtype=np.float64)
        others = tuple(n for k, n in enumerate(array.shape) if k != axis)
        if array.ndim != len(shape) or others != tuple(n for k, n in enumerate(shape) if k != axis):
            expected = ["n" if k == axis else str(size) for k, size in enumerate(shape)]
            raise InputError(
                f"the series of {name} has a wrong shape",
                found=str(array.shape),
                expected=f"({', '.join(expected)})",
            )
        if not array.size or not np.isfinite(array).all():
            raise InputError(f"the series of {name} is empty or holds a value that is not finite")
        found[name] = Series(name, array, axis, shape[axis])
    return found
