"""Random blueprints of every class, feasible by a planted point and bounded by their variables."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from tests.blueprints import blueprint, parameter

CLASSES = ("LP", "QP", "SOCP", "NLP", "MILP", "MIQP", "MISOCP", "MINLP")
TIMES = 3
UNIT = {"name": "U", "kind": "labels", "elements": ["A", "B"]}
HOURS = {"name": "T", "kind": "time", "start": "2025-07-01T00:00", "step": "1 h", "periods": TIMES}


@dataclass(frozen=True)
class Drawn:
    """A blueprint and the class that its making aims at."""

    aim: str
    blueprint: Blueprint


@st.composite
def drawn(draw: st.DrawFn, aim: str) -> Drawn:
    """Draw a convex model of a class: every constraint holds at a planted point."""
    whole = aim.startswith("MI")
    kind = aim.removeprefix("MI") if whole and aim != "MILP" else aim
    planted = {(u, t): draw(st.integers(-3, 5)) for u in ("A", "B") for t in range(TIMES)}
    weights = {u: [draw(st.integers(-9, 9)) / 2 for _ in range(TIMES)] for u in ("A", "B")}
    factors = {u: [draw(st.integers(-4, 6)) / 2 for _ in range(TIMES)] for u in ("A", "B")}
    sense = draw(st.sampled_from(["minimize", "maximize"]))
    total = sum(factors[u][t] * planted[u, t] for u in ("A", "B") for t in range(TIMES))
    slack = draw(st.integers(0, 6)) / 2
    constraints = [
        f"sum(factor[u, t]*x[u, t] for u in U for t in T) <= {total + slack}",
        f"{total - 20} <= sum(factor[u, t]*x[u, t] for u in U for t in T)",
    ]
    balance = draw(st.booleans())
    if balance:
        level = sum(planted[u, 0] for u in ("A", "B"))
        constraints.append(f"sum(x[u, first(T)] for u in U) == {level}")
    objective = _objective(draw, kind, "-" if sense == "maximize" else "")
    if kind == "SOCP":
        size = sum(v * v for v in planted.values())
        radius = size + draw(st.integers(1, 20))
        constraints.append(f"sumsq(x[u, t] for u in U for t in T) <= {radius}")
    if kind == "NLP":
        worth = sum(2.718281828 ** (v / 4) for v in planted.values())
        constraints.append(f"sum(exp(x[u, t]/4) for u in U for t in T) <= {worth + 1}")
    return Drawn(
        aim,
        blueprint(
            sets=[UNIT, HOURS],
            parameters=[
                parameter("weight", weights, "1", "U", "T"),
                parameter("factor", factors, "1", "U", "T"),
            ],
            decision_variables=[_variable(draw, whole)],
            objective_function={"sense": sense, "expression": objective},
            constraints=[
                {"constraint_id": f"C{k}", "expression": text} for k, text in enumerate(constraints)
            ],
        ),
    )


def _variable(draw: st.DrawFn, whole: bool) -> dict[str, Any]:
    low, high = draw(st.integers(-8, -3)), draw(st.integers(5, 12))
    kind = "integer" if whole else "continuous"
    return {"name": "x", "index": ["u in U", "t in T"], "type": kind, "lower": low, "upper": high}


def _objective(draw: st.DrawFn, kind: str, sign: str) -> str:
    linear = "sum(weight[u, t]*x[u, t] for u in U for t in T)"
    if kind == "QP":
        shift = draw(st.integers(-4, 4))
        cross = f" {sign or '+'} 0.5*(x['A', first(T)] - x['B', last(T)] + {shift})**2"
        return f"{linear} {sign or '+'} sumsq(x[u, t] - {shift} for u in U for t in T){cross}"
    if kind == "NLP":
        scale = draw(st.integers(3, 9))
        return f"{linear} {sign or '+'} sum(exp(x[u, t]/{scale}) for u in U for t in T)"
    return linear
