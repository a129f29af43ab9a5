"""Every operator's mutants are caught, harmless changes are not accused.

``python benchmarks/mutation.py`` tries every mutant of the corpus; here each operator tries one on
the smallest problems of every family.
"""

from itertools import islice
from pathlib import Path

import pytest

from engiagent.verify.checking import check
from tests.mutants.judging import HARMLESS, OPERATORS, Operator, Outcome, failed, judge, mutants
from tests.mutants.runs import CORPUS, in_turn, run_of, without_experts

ENOUGH = 3
"""Problems on which an operator is tried."""
FAMILIES = sorted({path.parents[2].name for path in CORPUS.glob("*/*/expert/answer.json")})


def some(operator: Operator) -> list[Outcome]:
    """Judge mutants of the smallest problems to which an operator applies.

    Of each it is the one that lies in the middle of all that the operator can make.
    """
    found: list[Outcome] = []
    for _, folder in in_turn():
        run = run_of(folder)
        made = list(mutants(run, [operator]))
        middle = len(made) // 2
        found += [judge(run, *mutant) for mutant in islice(made, middle, middle + 1)]
        if len(found) == ENOUGH:
            break
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_an_untouched_run_is_certified_and_accused_of_nothing(family: str, tmp_path: Path) -> None:
    smallest = next(folder for _, folder in in_turn() if folder.parent.name == family)
    run = run_of(smallest)
    certificate = check(run.problem, run.schedule, run.blueprint)
    assert certificate.violations == ()
    assert failed(certificate) == set()
    assert certificate.verdict == "certified"
    alone = without_experts(run, tmp_path)
    certificate = check(alone.problem, alone.schedule, alone.blueprint)
    assert certificate.violations == ()
    # Without requirements the bound of a search is the solver's own word.
    assert failed(certificate) <= {"optimality"}
    assert certificate.verdict == "solved"


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_no_mutant_is_believed_that_is_wrong(operator: Operator) -> None:
    found = some(operator)
    assert found, "the operator applies to no run of the corpus"
    assert [o for o in found if o.state in ("survived", "accused")] == []


@pytest.mark.parametrize("operator", HARMLESS, ids=lambda operator: operator.name)
def test_no_harmless_change_is_accused(operator: Operator) -> None:
    found = some(operator)
    assert [o for o in found if o.state == "accused"] == []
