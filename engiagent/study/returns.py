r"""What a plan saves beside its baseline, and what the sizes that it chose earn.

With the investment :math:`I`, the yearly saving :math:`S` before capital is paid back, the life
:math:`n` and the rate :math:`i`: payback :math:`I/S`, net present value
:math:`-I + S\,(1 - (1 + i)^{-n})/i`, and the internal rate of return, at which that is zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import Core, ParameterDef
from engiagent.errors import EngiagentError
from engiagent.plant.statement import BASELINE
from engiagent.solvers.result import SolveOptions
from engiagent.study.economics.cashflow import annuity_factor, internal_rates, net_present_value
from engiagent.study.live import Setting
from engiagent.study.modes import Cases
from engiagent.study.outcome import Study, run_study
from engiagent.units.unit import convert, parse_unit

_INVESTMENT = "_investment"


def study_beside(blueprint: Blueprint, folder: Path | None, options: SolveOptions) -> Study | None:
    """Solve the cases that a report asks for beside the plan; None where it asks for none."""
    report = blueprint.core.report
    if report is None or not report.cases:
        return None
    # Sweeps may be many; the command study cases solves them.
    asked = blueprint.with_core(report=replace(report, sweeps=()))
    return run_study(Cases(), asked, Setting(folder, options))


def compared_cases(rows: Sequence[Mapping[str, Any]], core: Core) -> tuple[Mapping[str, Any], ...]:
    """Return solved cases with what the plan saves beside the baseline, where there is one.

    ``rows``: the plan first, then the cases, as a study of cases has them. ``core``: of the plan's
    blueprint, with the life and the rate of each size.
    """
    asked = () if core.report is None else core.report.cases
    about = {case.name: {"description": case.description} for case in asked if case.description}
    unit = None if core.objective_function is None else core.objective_function.unit
    cases = [
        {
            "case": row["at"]["case"],
            **about.get(row["at"]["case"], {}),
            "status": row["status"],
            "objective": row.get("objective"),
            "unit": row.get("objective_unit", unit),
            "reason": row.get("reason", "") if row.get("objective") is None else "",
            "values": row.get("values", {}),
        }
        for row in rows
    ]
    plan = cases[0] if cases else {}
    sense = core.objective_function.sense if core.objective_function is not None else "minimize"
    found = []
    for case in cases:
        if case["case"] == BASELINE and None not in (case["objective"], plan["objective"]):
            saved = (case["objective"] - plan["objective"]) * (-1 if sense == "maximize" else 1)
            share = saved / abs(case["objective"]) if case["objective"] else None
            earned = _returns(saved, _spent(plan), _spent(case), core)
            case = {**case, "saving": saved, "saving_share": share, **earned}
        said = case.get("description", "").partition("; ")[2] if case["case"] == BASELINE else ""
        if said and case["status"] == "infeasible":  # which limit its rule leaves
            case = {**case, "reason": f"{case['reason']}: {said}"}
        found.append(case)
    return tuple(found)


def _spent(case: Mapping[str, Any]) -> dict[str, float]:
    """Return what each size of a case costs once."""
    values: Mapping[str, Any] = case.get("values") or {}
    return {k: float(v) for k, v in values.items() if k.endswith(_INVESTMENT) and v is not None}


def _returns(
    saved: float, plan: Mapping[str, float], without: Mapping[str, float], core: Core
) -> dict[str, float | None]:
    """Return what the sizes cost and earn beyond those that the baseline has too.

    Nothing where the plan costs no more at once than the baseline.
    """
    spent = {name: money - without.get(name, 0.0) for name, money in plan.items()}
    capital = sum(spent.values())
    if capital <= 0:
        return {}
    terms = {_terms(name.removesuffix(_INVESTMENT), core) for name, money in spent.items() if money}
    yearly = saved
    for name, money in spent.items():
        life, rate = _terms(name.removesuffix(_INVESTMENT), core)
        yearly += money / annuity_factor(rate, life)
    found: dict[str, float | None] = {
        "investment": capital,
        "yearly_saving": yearly,
        "payback_years": capital / yearly if yearly > 0 else None,
    }
    if len(terms) == 1:  # else every part has a life and a rate of its own
        life, rate = terms.pop()
        if life == int(life):
            flows = [-capital, *[yearly] * int(life)]
            found["net_present_value"] = net_present_value(rate, flows)
            found["internal_rate"] = _only_rate(flows)
    return found


def _only_rate(flows: Sequence[float]) -> float | None:
    try:
        return internal_rates(flows).rate
    except EngiagentError:
        return None


def _terms(about: str, core: Core) -> tuple[float, float]:
    """Return life [a] and rate of a size that is to be chosen."""
    given = {p.name: p for p in core.parameters}
    life, rate = given[f"{about}_lifetime"], given.get(f"{about}_rate")
    return _in(life, "a"), 0.0 if rate is None else _in(rate, "1")


def _in(given: ParameterDef, unit: str) -> float:
    return convert(float(str(given.value)), parse_unit(str(given.unit)), parse_unit(unit))
