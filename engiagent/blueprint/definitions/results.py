"""What a blueprint of definitions came to: arrays with coordinates and units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.sets import IndexSet

if TYPE_CHECKING:
    import xarray

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Series:
    """One computed quantity: its values over the product of its sets, in its own unit."""

    values: Floats
    sets: tuple[IndexSet, ...]
    unit: str
    quantity: str | None = None
    description: str | None = None


@dataclass(frozen=True, eq=False)
class Chosen:
    """The outcome of a design."""

    choices: Mapping[str, float]  # the value of each choice at the best point
    merit: float  # the merit there, in ``unit``
    unit: str
    sense: str
    merits: Floats  # the merit of every point, NaN where the design's filter forbids it
    points: Mapping[str, Floats]  # the value of each choice at every point
    exhaustive: bool  # whether the points are all there are: a grid and no sample of a box

    @property
    def wording(self) -> str:
        """What may be said of the best point."""
        count = int(np.isfinite(self.merits).sum())
        if self.exhaustive:
            return f"best of all {count} admissible points of the grid"
        return f"best of {count} evaluated"


@dataclass(frozen=True, eq=False)
class Results:
    """Computed quantities by name, the hashes of the draws, and the design's outcome."""

    series: Mapping[str, Series]
    draws: Mapping[str, str] = field(default_factory=dict)
    design: Chosen | None = None
    refine: int = 1

    def __getitem__(self, name: str) -> Floats:
        return self.series[name].values

    def to_dataset(self) -> "xarray.Dataset":
        """Return the results laid out as ``solution.nc`` is."""
        import xarray

        variables: dict[str, Any] = {}
        coordinates: dict[str, Any] = {}
        for name, series in self.series.items():
            dims: list[str] = []
            for index_set in series.sets:
                count = sum(d.split("__")[0] == index_set.name for d in dims)
                dims.append(f"{index_set.name}__{count + 1}" if count else index_set.name)
                coordinates[dims[-1]] = _coordinate(dims[-1], index_set)
            about = {"units": series.unit, "quantity": series.quantity, "role": "definition"}
            about["long_name"] = series.description
            attributes = {key: text for key, text in about.items() if text is not None}
            variables[name] = (tuple(dims), np.asarray(series.values), attributes)
        attributes = {"kind": "definitions", "status": "computed"}
        attributes |= {f"draw_sha256__{name}": text for name, text in self.draws.items()}
        if self.design is not None:
            chosen = self.design
            about = {"units": chosen.unit, "sense": chosen.sense, "wording": chosen.wording}
            variables["design__merit"] = (("design__point",), chosen.merits, about)
            for name, values in chosen.points.items():
                variables[f"design__{name}"] = (("design__point",), values, {})
        return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _coordinate(dim: str, index_set: IndexSet) -> tuple[tuple[str], Any, dict[str, str]]:
    """Return labels: dates as UTC where there is a zone, whole numbers, or texts."""
    axis = index_set.axis
    if axis is not None and axis.dated and index_set.root.kind in ("time", "instants"):
        seconds = axis.edges[index_set.in_root]
        stamps = np.round(seconds * 1e9).astype("int64").astype("M8[ns]")
        return (dim,), stamps, {"zone": axis.zone} if axis.zone is not None else {}
    labels = index_set.labels
    if labels and all(isinstance(label, int) for label in labels):
        return (dim,), np.array(labels, dtype=np.int64), {}
    texts = [",".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in labels]
    return (dim,), np.array(texts, dtype=object), {}
