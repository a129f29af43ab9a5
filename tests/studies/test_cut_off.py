"""Every kind of study, cut off at every place and started again, ends with the same bytes."""

from dataclasses import replace
from pathlib import Path

import pytest

from engiagent.blueprint import Blueprint
from engiagent.study import Cases, Pareto, Sensitivity, Sweep, run_study
from engiagent.study.checkpoint import NAME
from engiagent.study.live import CHAIN
from engiagent.study.outcome import Asked
from engiagent.study.pareto import METHODS
from engiagent.study.variation import Variation
from tests.studies.test_pareto import DIRTY, plant
from tests.studies.test_study import HERE, REPORT, storage

FACTORS = tuple(map(Variation, ("E", "price", "gamma")))
STUDIES: dict[str, tuple[Asked, Blueprint]] = {
    "cases": (Cases(), storage(REPORT)),
    "sweep": (Sweep((Variation.parse("E=5..60:20"),)), storage()),
    "sensitivity": (Sensitivity(FACTORS), storage()),
    **{method: (Pareto((DIRTY,), method, 5), plant()) for method in METHODS},
}


@pytest.mark.parametrize("kind", STUDIES)
def test_cut_off_anywhere_it_ends_with_the_same_bytes(kind: str, tmp_path: Path) -> None:
    asked, blueprint = STUDIES[kind]
    whole = run_study(asked, blueprint, replace(HERE, out=tmp_path / "whole")).to_json()
    content = (tmp_path / "whole" / NAME).read_bytes()
    lines = content.splitlines(keepends=True)
    ends = {1, 2, len(lines) // 2, CHAIN + 1, len(lines) - 1}
    for end in sorted(end for end in ends if end < len(lines)):
        for torn in (b"", lines[end][:17]):  # a line that was cut while it was written
            folder = tmp_path / f"{end}{len(torn)}"
            folder.mkdir()
            (folder / NAME).write_bytes(b"".join(lines[:end]) + torn)
            assert run_study(asked, blueprint, replace(HERE, out=folder)).to_json() == whole
            assert (folder / NAME).read_bytes() == content
