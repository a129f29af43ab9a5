"""Partial schedules: what the problem's equations determine is recomputed, the rest unchecked."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from tests.verify import example
from tests.verify.small import document, entry, judged

N = 6
LOAD = np.array([3.0, 4.0, 5.0, 2.0, 1.0, 6.0])
SUN = np.array([0.0, 2.0, 6.0, 6.0, 1.0, 0.0])
HEAT = np.array([1.0, 2.0, 0.0, 3.0, 1.5, 2.0])


def site(**changes: Any) -> Any:
    def power(name: str, quantity: str) -> dict[str, Any]:
        return {
            "name": name,
            "index": ["t in T"],
            "lower": 0,
            "upper": 50,
            "unit": "kW",
            "quantity": quantity,
        }

    rules = {
        "balance": "imp[t] + used[t] == load[t] + exp[t] + electric[t]",
        "heat_pump": "heat[t] == 3*electric[t]",
        "sun": "used[t] + lost[t] == sun[t]",
    } | changes
    return document(
        [
            power("imp", "grid.import"),
            power("exp", "grid.export"),
            power("used", "pv.power"),
            power("lost", "pv.curtailed"),
            power("electric", "pump.electric_power"),
            power("heat", "pump.heat"),
        ],
        [
            {"constraint_id": name, "forall": ["t in T"], "expression": text}
            for name, text in rules.items()
        ],
        {"sense": "minimize", "unit": "kWh", "expression": "sum(imp[t]*dt(t) for t in T)"},
        sets=[{"name": "T", "kind": "time", "start": "00:00", "step": "1 h", "periods": N}],
        parameters=[
            {"name": "load", "index": ["T"], "value": LOAD.tolist(), "unit": "kW"},
            {"name": "sun", "index": ["T"], "value": SUN.tolist(), "unit": "kW"},
        ],
    )


def test_import_electricity_and_curtailment_follow_from_what_is_given() -> None:
    used = np.minimum(SUN, LOAD)
    certificate = judged(site(), {"heat": HEAT, "used": used, "exp": np.zeros(N)})
    assert not certificate.violations
    assert certificate.levels["algebra"]["status"] == "pass"
    assert certificate.objective is not None
    assert certificate.objective["value"] == pytest.approx((LOAD + HEAT / 3 - used).sum())
    notes = "\n".join(certificate.notes)
    assert "grid.import is not in the schedule: recomputed from balance" in notes
    assert "pump.electric_power is not in the schedule: recomputed from heat_pump" in notes
    assert "pv.curtailed is not in the schedule: recomputed from sun" in notes
    listed = next(note for note in certificate.notes if note.startswith("given in the schedule"))
    given, recomputed = listed.split("; recomputed: ")
    assert "pump.heat" in given
    assert "grid.import" not in given
    assert "grid.import" in recomputed


def test_import_and_export_go_by_the_sign_of_what_a_balance_leaves() -> None:
    certificate = judged(site(), {"heat": HEAT, "used": SUN})
    net = LOAD + HEAT / 3 - SUN
    assert certificate.objective is not None
    assert certificate.objective["value"] == pytest.approx(np.maximum(net, 0).sum())
    assert any("by the sign" in note for note in certificate.notes)


def test_what_follows_still_has_to_keep_its_limits() -> None:
    certificate = judged(site(), {"heat": HEAT, "used": SUN + 1.0, "exp": np.zeros(N)})
    assert certificate.verdict == "violated"
    assert {v["check"] for v in certificate.violations} >= {"lost"} or any(
        "lost" in str(v) or "curtailed" in str(v) for v in certificate.violations
    )


def test_what_nothing_determines_stays_unchecked() -> None:
    certificate = judged(site(), {"heat": HEAT})
    assert certificate.verdict == "undecided"
    assert entry(certificate, "heat_pump")["status"] == "pass"
    assert entry(certificate, "balance")["status"] == "unchecked"
    assert entry(certificate, "sun")["status"] == "unchecked"


def test_a_wish_determines_nothing() -> None:
    wish = site()
    core = wish.core_model_elements
    rules = tuple(
        dataclasses.replace(c, category="Strategic Requirements")
        if c.constraint_id == "heat_pump"
        else c
        for c in core.constraints
    )
    wish = dataclasses.replace(
        wish, core_model_elements=dataclasses.replace(core, constraints=rules)
    )
    certificate = judged(wish, {"heat": HEAT, "used": SUN})
    assert entry(certificate, "heat_pump")["status"] == "unchecked"


def test_a_discharge_from_the_balance_gives_the_state_of_the_battery(tmp_path: Path) -> None:
    data = example.blueprint_dict()
    data["core_model_elements"]["parameters"].append(
        {
            "name": "need",
            "value": 5,
            "unit": "kW",
            "source_reference": {"kind": "assumption", "reason": "a test"},
        }
    )
    data["core_model_elements"]["constraints"].append(
        {
            "constraint_id": "need",
            "forall": ["t in T"],
            "expression": "discharge[t] == need",
            "category": "Supply-Demand Balance",
        }
    )
    charge = np.full(24, 5.0 / 0.81)
    certificate: Certificate = check(
        example.make_problem(tmp_path), {"charge": charge}, example.blueprint(data=data)
    )
    checks = {c["id"]: c["status"] for c in certificate.levels["algebra"]["checks"]}
    assert checks["dynamics"] == checks["need"] == "pass"
    recomputed = next(n for n in certificate.notes if "; recomputed: " in n)
    assert "battery.discharge" in recomputed.split("; recomputed: ")[1]
    assert "battery.state_of_charge" in recomputed.split("; recomputed: ")[1]
