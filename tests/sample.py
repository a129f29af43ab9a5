"""A few problems of each family, for tests that would take too long on all of the corpus."""

from itertools import groupby
from pathlib import Path

CORPUS = Path(__file__).parents[1] / "problems"


def blueprints(of_each_family: int) -> list[Path]:
    """Return reference blueprints, spread evenly over the names of each family."""
    paths = sorted(CORPUS.glob("*/*/expert/blueprint.json"))
    chosen = []
    for _, group in groupby(paths, key=lambda path: path.parts[-4]):
        family = list(group)
        step = max(1, len(family) // of_each_family)
        chosen += family[::step][:of_each_family]
    return chosen
