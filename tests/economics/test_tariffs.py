"""A tariff in a blueprint costs at the optimum what its bill says, and nothing costs less."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from engiagent.blueprint.document import Blueprint
from engiagent.cli.finance import finance
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.models.tariffs import (
    BillHistory,
    DemandCharge,
    DemandTier,
    EnergyCharge,
    EnergyTier,
    FixedCharge,
    NetBilling,
    NetMetering,
    PriceSeries,
    Ratchet,
    Rule,
    Schedule,
    Tariff,
    Tax,
    bill,
)
from engiagent.plant.site import Site
from engiagent.solvers.solving import solve
from engiagent.study.economics.tariffs import meter_times, read_urdb, with_tariff
from tests.blueprints import blueprint, constraint, variable

PEAK = Schedule.of(Rule(period=1, start_hour=16, end_hour=21, days="weekday"))
DAYS = 8


def shop(start: str = "2026-03-27T00:00", step: str = "1 h", periods: int = DAYS * 24) -> Blueprint:
    """A load, some sun and a battery over the end of March, the day with 23 hours among them."""
    site = Site(start=start, step=step, periods=periods, zone="Europe/Berlin")
    hour = np.arange(periods) * 24 * DAYS / periods % 24
    rng = np.random.default_rng(7)
    load = 8 + 6 * np.exp(-(((hour - 18) / 3) ** 2)) + rng.uniform(0, 4, periods)
    site.add("grid", "grid", bus="home", import_power_max=40, export_power_max=30)
    site.add("load", "load", bus="home", power=load)
    sun = 20 * np.maximum(np.sin((hour - 6) / 12 * np.pi), 0)
    site.add("pv", "generator_profile", bus="home", available_power=sun)
    site.add(
        "battery",
        "battery",
        bus="home",
        energy_capacity=20,
        charge_power_max=8,
        discharge_power_max=8,
        charge_efficiency=0.95,
        discharge_efficiency=0.95,
        initial_energy=5,
    )
    return site.blueprint()


def series(program: Program, x: Any, name: str) -> Any:
    block = program.column_block(name)
    return np.maximum(x[block.start : block.stop], 0.0)


def costs(
    study: Blueprint, tariff: Tariff, history: BillHistory | None = None
) -> tuple[float, float]:
    """Return the objective and the bill of the schedule that it belongs to."""
    full = with_tariff(study, tariff, exported="grid_export", history=history)
    program = compile_blueprint(full)
    result = solve(program, isolate=False)
    assert result.status == "optimal", result.reason
    assert result.objective is not None
    taken, given = (series(program, result.x, f"grid_{way}") for way in ("import", "export"))
    times = meter_times(full, "T")
    return result.objective, bill(tariff, times, taken, given, history).total


RISING = (
    EnergyTier(price=0.10, limit=300),
    EnergyTier(price=0.22, limit=700),
    EnergyTier(price=0.3),
)
CREDIT = NetBilling(credit=EnergyCharge.flat(0.06, name="credit"))
TARIFFS = {
    "time of use": Tariff(
        energy=(EnergyCharge.time_of_use((0.2, 0.35), PEAK),),
        export=CREDIT,
        fixed=(FixedCharge(per_month=12.0, per_day=0.3),),
    ),
    "a series of prices": Tariff(
        energy=(PriceSeries(prices=np.sin(np.arange(DAYS * 24)) * 0.1 + 0.15),), export=CREDIT
    ),
    "rising tiers": Tariff(energy=(EnergyCharge(periods=(RISING,)),)),
    "tiers of two periods": Tariff(
        energy=(
            EnergyCharge(
                periods=(RISING, (EnergyTier(price=0.2, limit=20), EnergyTier(price=0.5))),
                schedule=PEAK,
            ),
        )
    ),
    "demand": Tariff(energy=(EnergyCharge.flat(0.2),), demand=(DemandCharge.flat(9.0),)),
    "demand in windows of the day": Tariff(
        energy=(EnergyCharge.flat(0.2),),
        demand=(
            DemandCharge(
                periods=((DemandTier(price=2.0),), (DemandTier(price=11.0),)), schedule=PEAK
            ),
        ),
        taxes=(Tax(rate=0.19, on=("energy", "demand")),),
        export=CREDIT,
    ),
    "demand of two hours": Tariff(
        energy=(EnergyCharge.flat(0.2),), demand=(DemandCharge.flat(9.0),), demand_window_hours=2.0
    ),
    "sliding demand": Tariff(
        energy=(EnergyCharge.flat(0.2),),
        demand=(DemandCharge.flat(9.0),),
        demand_window_hours=3.0,
        demand_sliding=True,
    ),
    "a ratchet": Tariff(
        energy=(EnergyCharge.flat(0.2),),
        demand=(DemandCharge.flat(9.0, ratchet=Ratchet(fraction=0.8)),),
    ),
    "a ratchet over the year": Tariff(
        energy=(EnergyCharge.flat(0.2),),
        demand=(DemandCharge.flat(9.0, ratchet=Ratchet(fraction=0.95, months=None)),),
    ),
    "tiers of demand": Tariff(
        energy=(EnergyCharge.flat(0.2),),
        demand=(
            DemandCharge(
                periods=((DemandTier(price=3.0, limit=6.0), DemandTier(price=14.0)),),
                minimum_demand=4.0,
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", TARIFFS)
def test_the_optimum_costs_what_the_bill_says(name: str) -> None:
    objective, billed = costs(shop(), TARIFFS[name])
    assert objective == pytest.approx(billed, rel=1e-6, abs=1e-5)


def test_what_happened_before_the_horizon_counts() -> None:
    tariff = Tariff(
        energy=(EnergyCharge(periods=(RISING,)),),
        demand=(DemandCharge.flat(9.0, ratchet=Ratchet(fraction=0.5)),),
    )
    history = BillHistory(
        previous_peaks={"demand": [30.0, 26.0]},
        peak_so_far={"demand": {0: 12.0}},
        energy_so_far={"energy": {0: 250.0}},
    )
    objective, billed = costs(shop(), tariff, history)
    assert objective == pytest.approx(billed, rel=1e-6)
    assert billed > costs(shop(), tariff)[1]


def free(need: float, hours: int) -> Blueprint:
    """Energy that may be bought in any hour of a month's last and another's first hours."""
    return blueprint(
        sets=[
            {
                "name": "T",
                "kind": "time",
                "start": "2026-03-31T20:00",
                "step": "1 h",
                "periods": hours,
                "zone": "Europe/Berlin",
            }
        ],
        decision_variables=[variable("grid_import", "t in T", upper=100)],
        constraints=[
            constraint(f"sum(grid_import[t]*dt(t) for t in T) >= {need}[kWh]", constraint_id="need")
        ],
        objective_function={"sense": "minimize", "expression": "0[EUR]", "unit": "EUR"},
    )


@pytest.mark.parametrize(
    ("need", "best"),
    [
        # two months of four hours each, 0.40 up to 100 kWh and 0.10 above: all in one month
        (150.0, 100 * 0.4 + 50 * 0.1),
        (80.0, 80 * 0.4),
        (500.0, 2 * 100 * 0.4 + 300 * 0.1),
    ],
)
def test_falling_prices_fill_their_tiers_in_order(need: float, best: float) -> None:
    tiers = (EnergyTier(price=0.4, limit=100.0), EnergyTier(price=0.1))
    tariff = Tariff(energy=(EnergyCharge(periods=(tiers,)),))
    program = compile_blueprint(with_tariff(free(need, 8), tariff))
    result = solve(program, isolate=False)
    times = meter_times(free(need, 8), "T")
    billed = bill(tariff, times, series(program, result.x, "grid_import")).total
    assert result.objective == pytest.approx(best, abs=1e-5)
    assert billed == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize(
    ("tariff", "words"),
    [
        (Tariff(export=NetMetering()), "net metering cannot be planned with"),
        (Tariff(minimum_per_month=5.0), "minimum bills"),
        (Tariff(demand=(DemandCharge.flat(-1.0),)), "below 0"),
        (
            Tariff(
                energy=(
                    EnergyCharge(
                        periods=(
                            (
                                EnergyTier(price=1.0, limit=2.0, unit="kWh/kW"),
                                EnergyTier(price=2.0),
                            ),
                        )
                    ),
                )
            ),
            "depend on the peak",
        ),
        (Tariff(export=CREDIT), "name the variable"),
    ],
)
def test_what_has_no_exact_form_is_refused(tariff: Tariff, words: str) -> None:
    with pytest.raises(InputError, match=words):
        with_tariff(free(1.0, 8), tariff)


def test_a_clock_without_a_zone_is_refused() -> None:
    study = blueprint(
        sets=[{"name": "T", "kind": "time", "start": "18:00", "step": "1 h", "periods": 3}],
        decision_variables=[variable("grid_import", "t in T")],
    )
    with pytest.raises(InputError, match="date and a time zone"):
        with_tariff(study, TARIFFS["demand"])


def test_a_rate_of_the_database_in_a_blueprint(tmp_path: Path) -> None:
    study = shop().with_core(objective_function=None)
    evening = [0] * 16 + [1] * 5 + [0] * 3
    rate = {
        "energyratestructure": [[{"rate": 0.1}], [{"rate": 0.3}]],
        "energyweekdayschedule": [evening] * 12,
        "energyweekendschedule": [[0] * 24] * 12,
        "flatdemandstructure": [[{"rate": 7.0}]],
        "flatdemandmonths": [0] * 12,
        "fixedchargefirstmeter": 15.0,
    }
    (tmp_path / "rate.json").write_text(json.dumps(rate), encoding="utf-8")
    (tmp_path / "study.json").write_text(study.to_json(), encoding="utf-8")
    study_, rate_, full_ = (str(tmp_path / f"{name}.json") for name in ("study", "rate", "full"))
    asked = ["tariff", study_, rate_, "--output", full_]
    ran = CliRunner().invoke(finance, asked, catch_exceptions=False)
    assert ran.exit_code == 0
    full = Blueprint.load(tmp_path / "full.json")
    program = compile_blueprint(full)
    result = solve(program, isolate=False)
    power = series(program, result.x, "grid_import")
    billed = bill(read_urdb(tmp_path / "rate.json"), meter_times(full, "T"), power)
    assert result.objective == pytest.approx(billed.total, rel=1e-6)
    assert billed.of("fixed") == 30.0  # March and April


@pytest.mark.parametrize("text", ["[1, 2]", '{"energyratestructure": 3}', "{", '{"items": [3]}'])
def test_a_file_that_is_no_rate_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "rate.json").write_text(text, encoding="utf-8")
    with pytest.raises(EngiagentError):
        read_urdb(tmp_path / "rate.json")
