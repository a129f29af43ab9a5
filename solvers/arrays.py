"""A solution as plain numpy arrays with axes, units and attributes.

The form is that of an ``xarray.Dataset``, which :meth:`SolutionArrays.to_xarray` makes of it: what
reads the one reads the other. It exists because xarray and pandas take more memory than most
programs and longer to import than they take to solve.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import xarray

AnySolution: TypeAlias = "SolutionArrays | xarray.Dataset"
"""A solution in either form; both are read by the same names."""


@dataclass(frozen=True, eq=False)
class NamedArray:
    """Numbers, or labels, along named axes."""

    name: str  # its name
    dims: tuple[str, ...]  # one axis for each dimension of ``values``
    values: npt.NDArray[Any] = field(repr=False)  # the numbers or labels
    # ``units``, ``quantity``, ``role``, ``long_name``; for time axes ``zone``
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.values.ndim

    @property
    def size(self) -> int:
        """The number of values."""
        return self.values.size

    @property
    def sizes(self) -> Mapping[str, int]:
        """The length of each axis by its name."""
        return dict(zip(self.dims, self.values.shape, strict=True))

    def copy(self, *, data: npt.NDArray[Any]) -> Self:
        """Return the same array with other values."""
        return replace(self, values=data)


@dataclass(frozen=True, eq=False)
class SolutionArrays:
    """A solution: its series, their axes, and the solver's account."""

    data_vars: Mapping[str, NamedArray]  # the series by name
    coords: Mapping[str, NamedArray]  # the labels of each axis
    attrs: Mapping[str, Any]  # the account: status, objective, bound, solver …

    @property
    def dims(self) -> tuple[str, ...]:
        """The axes of all series."""
        return tuple(dict.fromkeys(dim for array in self.data_vars.values() for dim in array.dims))

    @property
    def variables(self) -> Mapping[str, NamedArray]:
        """All arrays by name: series and labels of axes."""
        return {**self.data_vars, **self.coords}

    def __getitem__(self, name: str) -> NamedArray:
        return self.data_vars[name] if name in self.data_vars else self.coords[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data_vars or name in self.coords

    def assign(self, changed: Mapping[str, NamedArray]) -> Self:
        """Return the solution with series replaced or added."""
        return replace(self, data_vars={**self.data_vars, **changed})

    def assign_attrs(self, changed: Mapping[str, Any]) -> Self:
        """Return the solution with attributes replaced or added."""
        return replace(self, attrs={**self.attrs, **changed})

    @classmethod
    def of(cls, dataset: AnySolution) -> "SolutionArrays":
        """Return an ``xarray.Dataset`` in this form; arrays as they are."""
        if isinstance(dataset, SolutionArrays):
            return dataset

        def plain(arrays: Mapping[Any, Any]) -> dict[str, NamedArray]:
            return {
                str(name): NamedArray(str(name), tuple(map(str, a.dims)), a.values, dict(a.attrs))
                for name, a in arrays.items()
            }

        series = {n: a for n, a in dataset.variables.items() if n not in dataset.coords}
        attrs = {str(name): value for name, value in dataset.attrs.items()}
        return cls(plain(series), plain(dict(dataset.coords.items())), attrs)

    def to_xarray(self) -> "xarray.Dataset":
        """Return the same as an ``xarray.Dataset``."""
        import xarray

        return xarray.Dataset(
            {name: (a.dims, a.values, dict(a.attrs)) for name, a in self.data_vars.items()},
            coords={name: (a.dims, a.values, dict(a.attrs)) for name, a in self.coords.items()},
            attrs=dict(self.attrs),
        )
