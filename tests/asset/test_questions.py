"""Questions on assets, each answered by its expected calls and confirmed by another way."""

import sqlite3
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engiagent.ask.bench import CATEGORIES, load_suite
from engiagent.ask.plan import Plan, Step, Wanted
from engiagent.ask.scores import scores
from engiagent.tools import Session
from engiagent.tools.asset.modes import lines
from engiagent.tools.asset.synthetic import simulated
from tests.ask.test_workflows import executed
from tests.asset.test_repairs import PRICES, by_binaries, by_hand

SUITE = load_suite(Path(__file__).parents[2] / "benchmarks" / "asset.yaml")
Route = Callable[[Path], float]


def shown(root: Path, prefix: str) -> pd.DataFrame:
    """Return possible readings of sensors; -999 is none."""
    table = pd.read_csv(root / "campus/history.csv", parse_dates=["time"], index_col="time")
    own = table.rename(columns=lambda name: name.split(" ")[0])
    return own[[name for name in own if name.startswith(prefix)]].replace(-999.0, np.nan)


def mean(name: str, first: str, last: str) -> Route:
    return lambda root: float(shown(root, name)[first:last].mean().iloc[0])


def used(prefix: str) -> Route:
    return lambda root: float(shown(root, prefix).notna().sum().sum())


def worth(rate: float, *flows: float) -> Route:
    return lambda root: sum(flow / (1 + rate) ** k for k, flow in enumerate(flows))


def modes(kind: str, measures: str = "") -> Route:
    own = {n["mode"] for n in lines() if n["kind"] == kind and measures in n["measures"]}
    return lambda root: float(len(own))


def orders(status: str) -> Route:
    def count(root: Path) -> float:
        with sqlite3.connect(root / "work_orders.sqlite") as con:
            rule = "SELECT count(*) FROM orders WHERE status = ?"
            return float(con.execute(rule, [status]).fetchone()[0])

    return count


def fouled(root: Path) -> float:
    """Return the true factor of the COP in the days that are compared."""
    cop = simulated(31, 100, "condenser_fouling", 0.7).cop[-14 * 24 :]
    return float(np.exp(np.log(cop).mean()))


def drifted(root: Path) -> float:
    made = simulated(32, 100, "drifting_sensor", 0.6)
    hours = np.arange(2400 - 14 * 24, 2400)
    return abs(made.size) * float(((hours - made.begins) / (2400 - made.begins)).mean())


def saved(root: Path, duration: int, factor: float = 1.0, repair: float = 0.0) -> float:
    return by_hand(power=60 * factor) - by_binaries(duration, factor)[0] - repair


PAST = ("2025-01-01", "2025-04-01", "2025-07-05", "2025-09-28", "2026-01-01")
PRICE: Route = lambda root: float(np.mean(PRICES))  # noqa: E731
ROUTES: dict[tuple[str, int, str], Route] = {
    ("SAST_001", 0, "count"): lambda root: pd.read_csv(root / "campus/sensors.csv")[
        "asset"
    ].nunique(),
    ("SAST_002", 0, "sensors.1.latest"): lambda root: (
        shown(root, "ch1_power").dropna().iloc[-1].item()
    ),
    ("SAST_003", 0, "mean"): mean("ch1_cooling", "2026-04-01", "2026-04-07"),
    ("SAST_004", 0, "lowest"): lambda root: (
        shown(root, "outdoor").resample("D").mean().min().item()
    ),
    ("SAST_005", 0, "used"): used("ahu1"),
    ("SAST_006", 0, "count"): modes("pump", "vibration"),
    ("SAST_011", 0, "factor"): fouled,
    ("SAST_012", 0, "candidates.0.seen.0.by"): drifted,
    ("SAST_013", 0, "derated.cost"): lambda root: by_hand(200),
    ("SAST_013", 0, "loss_by_day"): lambda root: by_hand(200) - by_hand(),
    ("SAST_014", 0, "saves"): lambda root: saved(root, 4),
    ("SAST_015", 0, "count"): orders("open"),
    ("SAST_016", 0, "bundles.0.hours"): lambda root: 2 + 3,
    ("SAST_017", 0, "likely.0.median_days"): lambda root: float(
        np.median(np.diff([date.fromisoformat(day).toordinal() for day in PAST]))
    ),
    ("SAST_018", 0, "ranked.0.pays_back_days"): lambda root: 900 / 90,
    ("SAMT_001", 0, "used"): used("ch1"),
    ("SAMT_001", 1, "used"): used("ahu1"),
    ("SAMT_002", 0, "count"): modes("chiller"),
    ("SAMT_003", 1, "factor"): fouled,
    ("SAMT_004", 0, "factor"): fouled,
    ("SAMT_005", 0, "derated.cost"): lambda root: by_hand(240),
    ("SAMT_005", 1, "derated.cost"): lambda root: by_hand(power=30),
    ("SAMT_006", 1, "saves"): lambda root: saved(root, 1, 0.5, 20),
    ("SAMT_007", 1, "count"): orders("draft"),
    ("SAMT_008", 1, "ranked.0.pays_back_days"): lambda root: 200 / 8,
    ("MAST_001", 0, "used"): used("ch1"),
    ("MAST_001", 1, "rows.0.mean"): mean("ch1_cooling", "2026-01-01", "2026-12-31"),
    ("MAST_002", 0, "derated.cost"): lambda root: by_hand(200),
    ("MAST_002", 1, "net_present_value"): worth(0.05, -500, 180, 180, 180),
    ("MAST_003", 0, "ranked.0.pays_back_days"): lambda root: 900 / 90,
    ("MAST_003", 1, "rates.0"): lambda root: (500 + (500**2 + 4 * 900 * 600) ** 0.5) / 1800 - 1,
    ("MAST_004", 0, "saves"): lambda root: saved(root, 5),
    ("MAST_004", 1, "mean"): PRICE,
    ("MAST_005", 1, "rows.0.highest"): lambda root: shown(root, "outdoor").max().item(),
    ("MAST_006", 0, "count"): modes("battery"),
    ("MAST_006", 1, "net_present_value"): worth(0.04, -1000, 300, 300, 300, 300),
    ("MAST_007", 0, "mean"): mean("ahu1_return", "2026-03-02", "2026-03-08"),
    ("MAST_007", 1, "rows.0.highest"): lambda root: shown(root, "ahu1_return").max().item(),
    ("MAMT_001", 1, "factor"): fouled,
    ("MAMT_001", 3, "net_present_value"): worth(0.05, -300, 400),
    ("MAMT_002", 0, "used"): used("ch1"),
    ("MAMT_002", 1, "mean"): mean("ch1_power", "2026-04-01", "2026-04-07"),
    ("MAMT_002", 2, "rows.0.n"): lambda root: 24 * 100,
    ("MAMT_003", 2, "net_present_value"): worth(0.06, -250, 400),
    ("MAMT_004", 0, "derated.cost"): lambda root: by_hand(power=30),
    ("MAMT_004", 1, "saves"): lambda root: saved(root, 1, 0.5),
    ("MAMT_004", 2, "mean"): PRICE,
    ("MAMT_005", 0, "count"): orders("open"),
    ("MAMT_005", 1, "count"): orders("draft"),
    ("MAMT_005", 2, "net_present_value"): worth(0.05, -900, 500, 500),
    ("MAMT_005", 3, "net_present_value"): worth(0.05, -150, 100, 100),
    ("MAMT_006", 0, "mean"): mean("ch1_cooling", "2026-01-12", "2026-01-18"),
    ("MAMT_006", 1, "mean"): mean("ch1_cooling", "2026-04-06", "2026-04-12"),
    ("MAMT_006", 2, "mean"): PRICE,
}
"""By case, number of the call from 0, and path into its answer."""
LINKS = {("SAMT_004", 1): "s0", ("MAMT_001", 2): "s1"}
"""Calls that take factor and ends of its interval from the answer of another."""


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.test_id)
def test_a_question_is_answered_by_its_expected_calls(case, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    session = Session(tmp_path)
    case.prepare(session)
    assert {node.status for node in session.graph.nodes} <= {"done"}
    steps = []
    for k, step in enumerate(case.expected_steps):
        (tool,) = step.required_tools
        linked = LINKS.get((case.test_id, k))
        more = {n: {"from": linked, "path": n} for n in ("factor", "least", "most") if linked}
        steps.append(Step(f"s{k}", step.agent_id, tool, {**step.expected_parameters[tool], **more}))
    routes = {place: route for place, route in ROUTES.items() if place[0] == case.test_id}
    wanted = tuple(Wanted(path, f"s{call}", path) for _, call, path in routes)
    found = executed(Plan(case.request, tuple(steps), wanted), session)
    assert [call.answer for call in found.calls if not call.done] == []
    assert found.status == "answered", found.not_done  # every figure of the request enters a call
    pairs = zip(found.findings, case.expected_values, routes.values(), strict=True)
    for item, value, route in pairs:
        assert item["value"] == pytest.approx(route(tmp_path), abs=value.tolerance, rel=0.0)
        assert value.value == pytest.approx(route(tmp_path), abs=value.tolerance, rel=0.0)
    plans = [c.answer["derated"]["verdict"] for c in found.calls if c.tool == "asset_derate"]
    assert set(plans) <= {"certified"}
    own = (case.expected_agents, case.expected_tools, case.expected_steps, case.expected_values)
    scored = scores(found, *own)
    assert scored.accuracy == (1.0 if routes else None)
    assert scored.tool_recall == scored.plan_steps == scored.argument_values == 1.0


def test_the_suite_has_forty_questions_of_all_kinds_mostly_confirmed() -> None:
    assert len(SUITE.cases) == 40
    assert 3 * len({name for name, *_ in ROUTES}) >= 40
    for case in SUITE.cases:
        calls = [
            (step.agent_id, tool) for step in case.expected_steps for tool in step.required_tools
        ]
        agents = {agent for agent, _ in calls}
        kind = f"{'MA' if len(agents) > 1 else 'SA'}{'MT' if len(calls) > len(agents) else 'ST'}"
        assert case.category == kind
    assert {case.category for case in SUITE.cases} == set(CATEGORIES)
