"""What is said where HiGHS's method for quadratic programs fails and no other solver is there."""

import pytest

from engiagent.blueprint import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.solvers import highs_quadratic
from engiagent.solvers.result import NO_OTHER, SolveOptions
from engiagent.text import corpus_root


@pytest.mark.parametrize("others", [(), ("numpy",)])
def test_a_failed_method_names_what_to_install(
    others: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(highs_quadratic, "OTHERS", others)
    hotel = corpus_root() / "thermal" / "hotel_quadratic_comfort"  # on which HiGHS goes in circles
    program = compile_blueprint(expand(Blueprint.load(hotel / "expert/blueprint.json")), hotel)
    result = highs_quadratic.solve_qp(program, SolveOptions(), None)
    assert result.status == "feasible"
    assert (NO_OTHER in str(result.reason)) == (not others)
