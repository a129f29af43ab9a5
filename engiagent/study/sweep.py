"""A sweep: a programme solved at every point of a grid or of a Latin hypercube."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.values import Floats
from engiagent.study.checkpoint import Checkpoint
from engiagent.study.live import CERTIFIED_ALONE, Live, Setting
from engiagent.study.outcome import Outcome, asked_of, outcome_row
from engiagent.study.variation import Design, Variation, points_of

CHAIN: Final = 16
"""How many solves start from one another. A study that was cut off goes on at the beginning of
such a chain, so that every solve has the same ones before it and finds the same plan."""
OnPoint = Callable[[int, int, dict[str, Any]], None]


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
) -> Outcome:
    """Solve a programme at every point and return all of them in order.

    Parameters
    ----------
    out
        A folder that keeps each point as it is found; started again, the sweep goes on from
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
    asked = asked_of("sweep", live, request.to_dict())
    kept = Checkpoint(out, asked, force=force)
    try:
        _run(live, request.variations, points, kept, on_point)
    finally:
        kept.close()
    rows = [
        outcome_row(k, _values(live, request, p), kept.get(str(k))) for k, p in enumerate(points)
    ]
    notes = [CERTIFIED_ALONE] if setting.certify else []
    return Outcome("sweep", asked, live.program, tuple(rows), tuple(notes))


def _values(live: Live, request: SweepRequest, point: tuple[float, ...]) -> dict[str, float]:
    return {_head(live, v): x for v, x in zip(request.variations, point, strict=True)}


def _head(live: Live, variation: Variation) -> str:
    unit = "factor" if variation.factor else variation.unit or live.places[variation.name].unit
    return variation.name if unit == "1" else f"{variation.name} [{unit}]"


def _run(
    live: Live,
    variations: tuple[Variation, ...],
    points: Sequence[tuple[float, ...]],
    kept: Checkpoint,
    on_point: OnPoint | None,
) -> None:
    length = CHAIN if live.is_warm else 1
    moved = [_numbers(live, variations, point) for point in points]
    for start in range(0, len(points), length):
        chain = range(start, min(start + length, len(points)))
        if all(kept.get(str(k)) is not None for k in chain):
            continue
        live.restart()
        for k in chain:
            found = live.found(moved[k])
            if kept.get(str(k)) is None:
                kept.put(str(k), found)
            if on_point is not None:
                on_point(k + 1, len(points), found)


def _numbers(
    live: Live, variations: tuple[Variation, ...], point: tuple[float, ...]
) -> dict[str, Floats]:
    return {
        v.name: live.numbers[v.name].moved(
            x, factor=v.factor, unit=v.unit, own=live.places[v.name].unit
        )
        for v, x in zip(variations, point, strict=True)
    }
