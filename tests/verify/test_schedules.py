"""Schedules made by anybody, held against requirements annotated from the text."""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr

from engiagent.errors import InputError
from engiagent.verify.checking import check
from engiagent.verify.requirements import parse_requirements
from tests.verify import example

YAML = """schema: engiagent-requirements/1
sets:
  - {name: T, kind: time, start: "2025-07-01T00:00", step: 1 h, periods: 24}
  - {name: I, kind: instants, of: T}
parameters:
  - {name: price, index: [T], data: "prices.csv#price", unit: EUR/MWh}
dynamics:
  - name: battery
    model: battery
    index: T
    scheme: exact
    parameters: {energy_capacity: "100[kWh]", charge_efficiency: "0.9",
                 discharge_efficiency: "90[%]", initial_energy: "30[kWh]"}
requirements:
  - id: R1
    quote: "must never charge or discharge with more than 40 kW"
    forall: ["t in T"]
    expression: "0 <= battery.charge[t] <= 40[kW]"
  - id: R1b
    quote: "must never charge or discharge with more than 40 kW"
    forall: ["t in T"]
    expression: "0 <= battery.discharge[t] <= 40[kW]"
  - id: R2
    quote: "at the end it must hold at least
      30 kWh"
    expression: "battery.state_of_charge[last(I)] >= 30[kWh]"
    tolerance: "1e-3[kWh]"
objective:
  sense: maximize
  unit: EUR
  expression: "sum(price[t]*(battery.discharge[t] - battery.charge[t])*dt(t) for t in T)"
  quote: "Earn as much as possible"
"""


@pytest.fixture
def problem(tmp_path: Path) -> example.LittleProblem:
    expert = tmp_path / "expert"
    expert.mkdir()
    (expert / "requirements.yaml").write_text(YAML)
    return dataclasses.replace(example.make_problem(tmp_path), expert=expert)


@pytest.fixture(scope="module")
def solved() -> xr.Dataset:
    return example.solve()


def table(solved: xr.Dataset, **columns: Any) -> pd.DataFrame:
    plan = {"charge": solved["charge"].values, "discharge": solved["discharge"].values}
    return pd.DataFrame(plan | columns)


def write(path: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(path, index=False)
    return path


FULL = {"battery.charge": "charge", "battery.discharge": "discharge"}


def test_our_own_plan_passes_the_texts_requirements_too(
    problem: example.LittleProblem, solved: xr.Dataset
) -> None:
    certificate = check(problem, solved, example.blueprint())
    assert certificate.verdict == "certified"
    assert certificate.levels["algebra"]["source"] == "annotated"


def test_a_plan_of_decisions_alone_is_certified_its_states_recomputed(
    problem: example.LittleProblem, solved: xr.Dataset, tmp_path: Path
) -> None:
    path = write(tmp_path / "plan.csv", table(solved))
    certificate = check(problem, path, mapping=FULL)
    assert certificate.verdict == "certified"
    assert certificate.objective is not None
    assert certificate.objective["value"] == pytest.approx(solved.attrs["objective"])
    notes = " ".join(certificate.notes)
    assert "battery.state_of_charge is not in the schedule: recomputed" in notes
    assert "battery.charge is read in kW" in notes


def test_a_plan_that_breaks_a_requirement_is_accused_with_its_words(
    problem: example.LittleProblem, solved: xr.Dataset
) -> None:
    greedy = solved["discharge"].values.copy()
    greedy[-1] += 20.0
    certificate = check(problem, table(solved, discharge=greedy), mapping=FULL)
    assert certificate.verdict == "violated"
    ids = {violation["check"] for violation in certificate.violations}
    assert "R2" in ids


def test_what_cannot_be_recomputed_stays_unchecked(
    problem: example.LittleProblem, solved: xr.Dataset
) -> None:
    certificate = check(problem, {"battery.charge": solved["charge"].values})
    assert certificate.verdict == "undecided"
    checks = {c["id"]: c["status"] for c in certificate.levels["algebra"]["checks"]}
    assert checks == {"R1": "pass", "R1b": "unchecked", "R2": "unchecked"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("engiagent-requirements/1", "engiagent-requirements/9", "a wrong schema"),
        ('    quote: "must', '    quoted: "must', r"yaml:16:5: unknown key .*'quoted'"),
        ("scheme: exact", "scheme: guess", r"yaml:11:\d+: an unknown scheme"),
        ("  - id: R2", "  - id: R1", "two requirements have one id"),
        ("sense: maximize", "sense: most", "an unknown sense"),
        ("dynamics:", "dynamics: [", "no valid YAML"),
        ("kind: instants", "kind: moments", "moments"),
    ],
)
def test_wrong_requirements_are_refused_with_their_line(old: str, new: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_requirements(YAML.replace(old, new, 1))


def test_a_quote_that_the_text_does_not_contain_is_found(
    problem: example.LittleProblem, solved: xr.Dataset
) -> None:
    wrong = parse_requirements(YAML.replace("more than 40 kW", "more than 41 kW"))
    certificate = check(problem, solved, example.blueprint(), requirements=wrong)
    assert "more than 41 kW" in str(certificate.levels["data"]["findings"])
    assert certificate.verdict == "solved"
