"""Questions on assets, each answered by its expected calls and confirmed by another way."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engiagent.ask.bench import CATEGORIES, Case, load_suite
from engiagent.ask.plan import Plan, Step, Wanted
from engiagent.ask.scores import scores
from engiagent.tools import Session
from engiagent.tools.asset.modes import lines
from engiagent.tools.asset.synthetic import simulated
from tests.ask.test_workflows import executed
from tests.asset.test_repairs import by_binaries, by_hand

SUITE = load_suite(Path(__file__).parents[2] / "benchmarks" / "asset.yaml")
Route = Callable[[Path], float]


def shown(root: Path, prefix: str) -> pd.DataFrame:
    """Return possible readings of sensors; -999 is none."""
    table = pd.read_csv(root / "campus/history.csv", parse_dates=["time"], index_col="time")
    own = table.rename(columns=lambda name: name.split(" ")[0]).filter(regex=f"^{prefix}")
    return own.replace(-999.0, np.nan)


def mean(name: str, first: str, last: str) -> Route:
    return lambda root: shown(root, name)[first:last].mean().item()


def worth(rate: float, *flows: float) -> Route:
    return lambda root: sum(flow / (1 + rate) ** k for k, flow in enumerate(flows))


def fouled(root: Path) -> float:
    """Return the true factor of the COP in the days that are compared."""
    cop = simulated(31, 100, "condenser_fouling", 0.7).cop[-14 * 24 :]
    return float(np.exp(np.log(cop).mean()))


def drifted(root: Path) -> float:
    made, hours = simulated(32, 100, "drifting_sensor", 0.6), np.arange(2400 - 14 * 24, 2400)
    return abs(made.size) * float(((hours - made.begins) / (2400 - made.begins)).mean())


def saved(duration: int, factor: float = 1.0, repair: float = 0.0) -> float:
    return by_hand(power=60 * factor) - by_binaries(duration, factor)[0] - repair


SHAKES = [n for n in lines() if (n["kind"], n["measures"]) == ("pump", "vibration")]
ROUTES: dict[tuple[str, int, str], Route] = {
    ("SAST_003", 0, "mean"): mean("ch1_cooling", "2026-04-01", "2026-04-07"),
    ("SAST_004", 0, "lowest"): lambda root: shown(root, "out").resample("D").mean().min().item(),
    ("SAST_005", 0, "used"): lambda root: float(shown(root, "ahu1").count().sum()),
    ("SAST_006", 0, "count"): lambda root: len(SHAKES),
    ("SAST_011", 0, "factor"): fouled,
    ("SAST_012", 0, "candidates.0.seen.0.by"): drifted,
    ("SAST_013", 0, "derated.cost"): lambda root: by_hand(200),
    ("SAST_013", 0, "loss_by_day"): lambda root: by_hand(200) - by_hand(),
    ("SAST_014", 0, "saves"): lambda root: saved(4),
    ("SAST_018", 0, "ranked.0.pays_back_days"): lambda root: 900 / 90,
    ("SAMT_001", 0, "used"): lambda root: float(shown(root, "ch1").count().sum()),
    ("SAMT_004", 0, "factor"): fouled,
    ("SAMT_005", 0, "derated.cost"): lambda root: by_hand(240),
    ("SAMT_005", 1, "derated.cost"): lambda root: by_hand(power=30),
    ("SAMT_006", 1, "saves"): lambda root: saved(1, 0.5, 20),
    ("MAST_001", 1, "rows.0.mean"): mean("ch1_cooling", "2026-01-01", "2026-12-31"),
    ("MAST_002", 1, "net_present_value"): worth(0.05, -500, 180, 180, 180),
    ("MAST_003", 1, "rates.0"): lambda root: (500 + (500**2 + 4 * 900 * 600) ** 0.5) / 1800 - 1,
    ("MAST_004", 0, "saves"): lambda root: saved(5),
    ("MAST_005", 1, "rows.0.highest"): lambda root: shown(root, "outdoor").max().item(),
    ("MAST_007", 0, "mean"): mean("ahu1_return", "2026-03-02", "2026-03-08"),
    ("MAMT_001", 3, "net_present_value"): worth(0.05, -300, 400),
    ("MAMT_002", 1, "mean"): mean("ch1_power", "2026-04-01", "2026-04-07"),
    ("MAMT_004", 1, "saves"): lambda root: saved(1, 0.5),
}
"""By case, number of the call from 0, and path into its answer."""
LINKS = {("SAMT_004", 1): "s0", ("MAMT_001", 2): "s1"}


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.test_id)
def test_a_question_is_answered_by_its_expected_calls(case: Case, tmp_path: Path) -> None:
    session, steps = Session(tmp_path), []
    case.prepare(session)
    assert {node.status for node in session.graph.nodes} <= {"done"}
    for k, step in enumerate(case.expected_steps):
        (tool,), linked = step.required_tools, LINKS.get((case.test_id, k))
        more = {n: {"from": linked, "path": n} for n in ("factor", "least", "most") if linked}
        steps.append(Step(f"s{k}", step.agent_id, tool, {**step.expected_parameters[tool], **more}))
    routes = {place: route for place, route in ROUTES.items() if place[0] == case.test_id}
    wanted = [Wanted(path, f"s{call}", path) for _, call, path in routes]
    found = executed(Plan(case.request, tuple(steps), tuple(wanted)), session)
    assert [call.answer for call in found.calls if not call.done] == []
    assert found.status == "answered", found.not_done  # every figure of the request enters a call
    for item, value, route in zip(
        found.findings, case.expected_values, routes.values(), strict=True
    ):
        shown_and_expected = np.array([item["value"], value.value])
        assert np.abs(shown_and_expected - route(tmp_path)).max() <= value.tolerance
    plans = [call.answer["derated"] for call in found.calls if call.tool == "asset_derate"]
    assert {plan["verdict"] for plan in plans} <= {"certified"}
    own = (case.expected_agents, case.expected_tools, case.expected_steps, case.expected_values)
    scored = scores(found, *own)
    assert scored.accuracy == (1.0 if routes else None)
    assert scored.tool_recall == scored.plan_steps == scored.argument_values == 1.0


def test_forty_questions_are_of_all_kinds_and_mostly_confirmed() -> None:
    assert len(SUITE.cases) == 40
    assert len({name for name, *_ in ROUTES}) >= 20
    for case in SUITE.cases:
        calls, agents = len(case.expected_steps), len(case.expected_agents)
        assert case.category == ("MA" if agents > 1 else "SA") + ("MT" if calls > agents else "ST")
    assert {case.category for case in SUITE.cases} == set(CATEGORIES)
