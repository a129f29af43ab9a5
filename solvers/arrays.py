"""A solution as plain numpy arrays with axes, units and attributes.

The form is that of an ``xarray.Dataset``, which :meth:`SolutionArrays.to_xarray` makes of it: what
reads the one reads the other. It exists because xarray and pandas take more memory than most
programs and longer to import than they take to solve.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False)
class NamedArray:
    """Numbers, or labels, along named axes.

    Attributes
    ----------
    name
        Its name.
    dims
        One axis for each dimension of ``values``.
    values
        The numbers or labels.
    attrs
        ``units``, ``quantity``, ``role``, ``long_name``; for time axes ``zone``.
    """

    name: str
    dims: tuple[str, ...]
    values: npt.NDArray[Any] = field(repr=False)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype


@dataclass(frozen=True, eq=False)
class SolutionArrays:
    """A solution: its series, their axes, and the solver's account.

    Attributes
    ----------
    data_vars
        The series by name.
    coords
        The labels of each axis.
    attrs
        The account: status, objective, bound, solver …
    """

    data_vars: Mapping[str, NamedArray]
    coords: Mapping[str, NamedArray]
    attrs: Mapping[str, Any]

    @property
    def dims(self) -> tuple[str, ...]:
        """The axes of all series."""
        return tuple(dict.fromkeys(dim for array in self.data_vars.values() for dim in array.dims))

    def __getitem__(self, name: str) -> NamedArray:
        return self.data_vars[name]

    def to_xarray(self) -> "xarray.Dataset":
        """Return the same as an ``xarray.Dataset``."""
        import xarray

        return xarray.Dataset(
            {name: (a.dims, a.values, dict(a.attrs)) for name, a in self.data_vars.items()},
            coords={name: (a.dims, a.values, dict(a.attrs)) for name, a in self.coords.items()},
            attrs=dict(self.attrs),
        )
