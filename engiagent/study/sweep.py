"""A sweep: a programme solved at every point of a grid or of a Latin hypercube."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from engiagent.blueprint.document import Blueprint
from engiagent.study.checkpoint import Checkpoint
from engiagent.study.live import Live, Setting, solve_all
from engiagent.study.outcome import Begun, Row
from engiagent.study.variation import Design, Variation, points_of


@dataclass(frozen=True)
class Sweep:
    """What is swept."""

    variations: tuple[Variation, ...]
    design: Design = "grid"
    # samples, seed: of a Latin hypercube
    samples: int = 0
    seed: int = 0
    kind: ClassVar[str] = "sweep"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "vary": [variation.to_json() for variation in self.variations],
            "design": self.design,
            "samples": self.samples,
            "seed": self.seed,
        }

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Return the sweep under way."""
        points = points_of(self.variations, self.design, self.samples, self.seed)
        live = Live(blueprint, [variation.name for variation in self.variations], setting)
        moved = [
            {v.name: live.moved(v, x) for v, x in zip(self.variations, point, strict=True)}
            for point in points
        ]
        heads = [_head(live, variation) for variation in self.variations]

        def rows(stored: Checkpoint) -> Iterator[Row]:
            solve_all(live, {str(k): new for k, new in enumerate(moved)}, stored, live.found)
            for k, point in enumerate(points):
                yield dict(zip(heads, point, strict=True)), stored.get(str(k))

        return Begun(live, rows, len(points))


def _head(live: Live, variation: Variation) -> str:
    unit = live.unit_of(variation)
    return variation.name if unit == "1" else f"{variation.name} [{unit}]"
