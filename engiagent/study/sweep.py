"""A sweep: a programme solved at every point of a grid or of a Latin hypercube."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.values import Floats
from engiagent.study.checkpoint import Checkpoint, OnPoint
from engiagent.study.live import Live, Setting, solve_all
from engiagent.study.outcome import Row, Study, studied
from engiagent.study.variation import Design, Variation, points_of


@dataclass(frozen=True)
class SweepRequest:
    """What is swept.

    Attributes
    ----------
    samples, seed
        Of a Latin hypercube.
    show
        Expressions to read from each solution.
    """

    variations: tuple[Variation, ...]
    design: Design = "grid"
    samples: int = 0
    seed: int = 0
    show: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "vary": [
                {"name": v.name, "values": list(v.values), "unit": v.unit, "factor": v.factor}
                for v in self.variations
            ],
            "design": self.design,
            "samples": self.samples,
            "seed": self.seed,
            "show": list(self.show),
        }


def run_sweep(
    blueprint: Blueprint,
    request: SweepRequest,
    setting: Setting | None = None,
    out: Path | None = None,
    *,
    force: bool = False,
    on_point: OnPoint | None = None,
) -> Study:
    """Solve a programme at every point and return all of them in order.

    Parameters
    ----------
    out
        A folder that stores each point as it is found; started again, the sweep goes on from
        there and ends with the same result.
    force
        Begin anew in a folder that holds another study.
    on_point
        Called with the number of points done, of all points, and the row of the last one.

    Raises
    ------
    EngiagentError
        When the blueprint is wrong, a name leads nowhere, or the folder holds another study.
    """
    setting = setting or Setting()
    points = points_of(request.variations, request.design, request.samples, request.seed)
    names = [variation.name for variation in request.variations]
    live = Live(blueprint, names, setting, request.show)
    moved = [_numbers(live, request.variations, point) for point in points]
    heads = [_head(live, variation) for variation in request.variations]

    def rows(kept: Checkpoint) -> Iterator[Row]:
        solve_all(live, {str(k): new for k, new in enumerate(moved)}, kept, live.found)
        for k, point in enumerate(points):
            yield dict(zip(heads, point, strict=True)), kept.get(str(k))

    return studied(
        "sweep",
        live,
        request.to_dict(),
        rows,
        out,
        force=force,
        on_point=on_point,
        total=len(points),
    )


def _head(live: Live, variation: Variation) -> str:
    unit = "factor" if variation.factor else variation.unit or live.places[variation.name].unit
    return variation.name if unit == "1" else f"{variation.name} [{unit}]"


def _numbers(
    live: Live, variations: tuple[Variation, ...], point: tuple[float, ...]
) -> dict[str, Floats]:
    return {
        v.name: live.numbers[v.name].moved(
            x, factor=v.factor, unit=v.unit, own=live.places[v.name].unit
        )
        for v, x in zip(variations, point, strict=True)
    }
