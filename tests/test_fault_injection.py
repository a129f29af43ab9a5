"""Every fault put into a certified run is caught at its level; an untouched run is not accused.

``pytest -s`` prints the table of faults, ``python benchmarks/fault_table.py`` does so alone.
"""

from pathlib import Path

import pytest

from engiagent.verify import check
from tests.faults import (
    BLUEPRINT_FAULTS,
    SCHEDULE_FAULTS,
    Fault,
    Row,
    Run,
    certified,
    failed,
    rows,
    table,
    without_experts,
)

NAMES = [run.name for run in certified()]

# Where nobody annotated the text, nothing but the blueprint says what these two constraints are:
# the variable that one binds quotes the same words, and the other is worded as no demand.
MISSED_WITHOUT_EXPERTS = {
    ("rooftop_pv", "requirement dropped", "one_mounting"),
    ("rooftop_pv", "requirement dropped", "energy_yield"),
}


def run_named(name: str) -> Run:
    return next(run for run in certified() if run.name == name)


def test_the_corpus_has_runs_of_both_families_to_put_faults_into() -> None:
    families = {run.problem.family for run in certified()}
    assert len(NAMES) >= 4
    assert len(families) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_an_untouched_run_is_certified_and_accused_of_nothing(name: str, tmp_path: Path) -> None:
    run = run_named(name)
    for same in (run, without_experts(run, tmp_path)):
        certificate = check(same.problem, same.schedule, same.blueprint)
        assert certificate.violations == ()
        assert failed(certificate) == set()
        assert certificate.verdict == "certified"


@pytest.mark.parametrize("fault", SCHEDULE_FAULTS + BLUEPRINT_FAULTS, ids=lambda fault: fault.name)
def test_every_fault_is_caught_at_its_level(fault: Fault) -> None:
    found = [row for run in certified() for row in rows(run, (fault,))]
    assert found, "the fault applies to no run of the corpus"
    print("\n" + table(found))
    assert_caught(found, set())


@pytest.mark.parametrize("name", NAMES)
def test_every_fault_is_caught_where_nobody_annotated_the_text(name: str, tmp_path: Path) -> None:
    found = list(rows(without_experts(run_named(name), tmp_path)))
    assert_caught(found, MISSED_WITHOUT_EXPERTS)


def assert_caught(found: list[Row], known: set[tuple[str, str, str]]) -> None:
    """Fail for every fault that is missed, and for every known miss that is mended by now."""
    places = {(row.problem, row.fault, row.what): row for row in found}
    missed = [row for place, row in places.items() if not row.caught and place not in known]
    assert not missed, table(missed)
    mended = [row for place, row in places.items() if row.caught and place in known]
    assert not mended, "take these from the list of known misses:\n" + table(mended)
