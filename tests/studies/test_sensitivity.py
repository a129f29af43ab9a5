"""Sensitivity against fresh solves and closed forms."""

from typing import Any

import pytest

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.study import Sensitivity, Setting, Study, run_study
from engiagent.study.live import Variation, parse_factor
from engiagent.study.modes import declared_factors, every_parameter
from tests.studies.test_study import best, storage, with_value

Json = dict[str, Any]
HERE = Setting(isolate=False)


def ends(outcome: Study, factor: str) -> dict[str, Json]:
    return {r["at"]["end"]: r for r in outcome.rows if r["at"]["factor"] == factor}


def declaring(*factors: Json) -> Blueprint:
    document = storage().to_dict()
    document["extended_analysis_and_robustness"] = {"sensitivity_factors": list(factors)}
    return Blueprint.from_dict(document)


def test_each_end_is_what_a_fresh_solve_gives() -> None:
    found = run_study(
        Sensitivity((Variation("E"), parse_factor("gamma=0..2")), 0.2), storage(), HERE
    )
    plain = best(storage())
    assert found.rows[0]["objective"] == pytest.approx(plain)
    for end, value in (("low", 24), ("high", 36)):
        assert ends(found, "E")[end]["objective"] == pytest.approx(best(with_value("E", value)))
    assert ends(found, "gamma")["low"]["objective"] == pytest.approx(0, abs=1e-9)
    assert ends(found, "gamma")["high"]["objective"] == pytest.approx(2 * plain)


def test_declared_factors_are_read_and_odd_ones_named() -> None:
    blueprint = declaring(
        {"parameter": "E", "low": 20, "high": 40, "unit": "kWh"},
        {"factor": "price", "range": "±20 %"},
        {"name": "gamma"},
        {"note": "the weather"},
        {"name": "half", "range": "much"},
    )
    factors, notes = declared_factors(blueprint)
    assert [f.name for f in factors] == ["E", "price", "gamma"]
    assert factors[0].values == (20, 40)
    assert factors[1].values == pytest.approx((0.8, 1.2))
    assert len(notes) == 2
    assert {f.name for f in every_parameter(blueprint)} == {"price", "E", "gamma"}


def test_without_a_factor_all_parameters_are_moved_and_one_twice_is_refused() -> None:
    found = run_study(Sensitivity(), storage(), HERE)
    assert any("all parameters are moved" in note for note in found.notes)
    with pytest.raises(InputError, match="twice"):
        run_study(Sensitivity((Variation("E"), Variation("E"))), storage(), HERE)
    with pytest.raises(InputError, match="two ends"):
        parse_factor("E=1,2,3")
