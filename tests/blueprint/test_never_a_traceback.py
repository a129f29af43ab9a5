"""Whatever a blueprint says, it is compiled or refused by a located message, and at once."""

import copy
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from tests.blueprints import blueprint, constraint, variable
from tests.pace import soon
from tests.strategies import blueprints

SCRAPS = (
    """
x[t] | x | t | T | soc[t+1] | p[g] | 'G1' | 0 | 1e300 | -1 | 5[kW] | 3[degC] | '' | hour(t)
| prev(x[t], 0) | sum(x[t] for t in T) | min(x[t] for t in S) | x[t]**2 | 1/0 | t-1 |
first(T) | dep[g] | fuel[g] | a if b else c | T in T | not x | x and y | (1, 2) | log(-1) |
2**1000 | weekday(e) | room[e] | pos(pos(t)) | len(x) | total | late[t] | price[t] > 0 |
x[first(G)] | x[1.5] | x[''] | 1e308*10*x[t] | 9**9**9 | cap[g]*1e-320
""".replace("\n", " ")
    .strip()
    .split(" | ")
)


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """Draw a right blueprint and spoil some of its fields."""
    plain = copy.deepcopy(draw(blueprints()).to_dict())
    core = plain["core_model_elements"]
    for _ in range(draw(st.integers(1, 4))):
        group = draw(st.sampled_from(["sets", "parameters", "decision_variables", "constraints"]))
        item = core[group][draw(st.integers(0, len(core[group]) - 1))]
        field = draw(st.sampled_from(sorted(item)))
        scrap = draw(st.sampled_from(SCRAPS))
        item[field] = draw(
            st.sampled_from(
                [scrap, f"{scrap} <= {scrap}", [scrap], -1, 0, 10**9, 1e-300, "T", {}, []]
            )
        )
    return plain


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(spoiled())
def test_a_spoiled_blueprint_is_refused_in_words_or_compiled(plain: Any) -> None:
    try:
        read = Blueprint.from_dict(plain)
    except EngiagentError:
        return
    found = analyse(read)
    assert all(d.code.startswith("EB") and d.path for d in found.diagnostics)
    try:
        compile_blueprint(read)
    except EngiagentError:
        return
    assert not found.errors, "what analysis calls an error must not compile"


def test_a_thousand_constraints_with_mistakes_are_all_found_at_once() -> None:
    wrong = blueprint(
        decision_variables=[variable("x")],
        constraints=[constraint("x <= y", constraint_id=f"C{n}") for n in range(1000)],
    )
    with soon(5.0):
        assert len(analyse(wrong).errors) == 1000
