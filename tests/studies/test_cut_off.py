"""Every kind of study, cut off at every place and started again, ends with the same result."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engiagent.blueprint import Blueprint
from engiagent.scale import Spread
from engiagent.study import Cases, Pareto, Sensitivity, Sweep, run_study
from engiagent.study.live import Variation
from engiagent.study.outcome import POINTS as NAME
from engiagent.study.outcome import Asked
from tests.studies.test_pareto import DIRTY, plant
from tests.studies.test_study import HERE, REPORT, storage

STUDIES: dict[str, tuple[Asked, Blueprint]] = {
    "cases": (Cases(), storage(REPORT)),
    "sweep": (Sweep((Variation.parse("E=5..60:20"),)), storage()),
    "sensitivity": (Sensitivity(tuple(map(Variation, ("E", "price", "gamma")))), storage()),
    "pareto": (Pareto((DIRTY,), 5), plant()),
}


@pytest.mark.parametrize("kind", STUDIES)
def test_cut_off_anywhere_it_ends_with_the_same_result(kind: str, tmp_path: Path) -> None:
    asked, blueprint = STUDIES[kind]
    whole = run_study(asked, blueprint, replace(HERE, out=tmp_path / "whole"))
    lines = (tmp_path / "whole" / NAME).read_bytes().splitlines(keepends=True)
    for end in (1, len(lines) // 2, len(lines) - 1):
        for torn in (b"", lines[end][:17]):  # a line that was cut while it was written
            folder = tmp_path / f"{end}{len(torn)}"
            folder.mkdir()
            (folder / NAME).write_bytes(b"".join(lines[:end]) + torn)
            again = run_study(asked, blueprint, replace(HERE, out=folder))
            assert [r["at"] for r in again.rows] == [r["at"] for r in whole.rows]
            found = [row["objective"] for row in again.rows]
            assert found == pytest.approx([row["objective"] for row in whole.rows])
            content = (folder / NAME).read_bytes().splitlines(keepends=True)
            assert content[:end] == lines[:end]
            assert [json.loads(a)["key"] for a in content[1:]] == [
                json.loads(b)["key"] for b in lines[1:]
            ]


@pytest.mark.parametrize("kind", STUDIES)
def test_the_numbers_do_not_depend_on_the_workers(kind: str, tmp_path: Path) -> None:
    asked, blueprint = STUDIES[kind]
    here, there = (
        run_study(asked, blueprint, replace(HERE, spread=Spread(workers=k), out=tmp_path / f"{k}"))
        for k in (0, 2)
    )
    assert here.to_json() == there.to_json()
    assert (tmp_path / "0" / NAME).read_bytes() == (tmp_path / "2" / NAME).read_bytes()
    plain = run_study(asked, blueprint, HERE)
    assert [r["objective"] for r in plain.rows] == pytest.approx(
        [r["objective"] for r in here.rows]
    )
