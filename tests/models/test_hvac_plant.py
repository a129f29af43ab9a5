"""Heat pumps, chillers, boilers, cooling towers, fans and pumps."""

from dataclasses import replace

import numpy as np
import pytest
from CoolProp.CoolProp import PropsSI
from hypothesis import given
from hypothesis import strategies as st

from engiagent.models.hvac.curves import Biquadratic, Polynomial
from engiagent.models.hvac.fluids import YorkCalcTower, approach
from engiagent.models.hvac.machines import Boiler, CarnotCop, Chiller, HeatPump
from engiagent.models.ranges import ParameterError

# EnergyPlus, datasets/Chillers.idf: ElectricEIRChiller McQuay WSC 471kW/5.89COP/Vanes.
CAPACITY = (2.521130e-1, 1.324053e-2, -8.637329e-3, 8.581056e-2, -4.261176e-3, 8.661899e-3)
EIR = (4.475238e-1, -2.588210e-2, -1.459053e-3, 4.342595e-2, -1.000651e-3, 1.920106e-3)
MCQUAY = Chiller(
    rated_capacity=471.2,
    rated_cop=5.89,
    capacity_curve=Biquadratic(CAPACITY, x_range=(7.22, 12.78), y_range=(12.78, 26.67)),
    eir_curve=Biquadratic(EIR, x_range=(7.22, 12.78), y_range=(12.78, 26.67)),
    part_load_curve=Polynomial((2.778889e-1, 2.338363e-1, 4.883748e-1)),
    minimum_part_load=0.10,
    minimum_unloading=0.25,
    maximum_part_load=1.15,
)


def as_energyplus(load: float, leaving: float, entering: float) -> float:
    """Return the power, step by step as the Engineering Reference describes it."""
    powers = [1.0, leaving, leaving**2, entering, entering**2, leaving * entering]
    cap = 471.2 * float(np.dot(CAPACITY, powers))
    eir = float(np.dot(EIR, powers))
    load = min(load, 1.15 * cap)
    ratio = load / cap
    on = min(1.0, ratio / 0.10)
    ratio = max(ratio, 0.25)
    factor = 0.2778889 + 0.2338363 * ratio + 0.4883748 * ratio**2
    return cap / 5.89 * eir * factor * on


@given(st.floats(0.0, 700.0), st.floats(7.22, 12.78), st.floats(12.78, 26.67))
def test_a_chiller_is_energyplus_and_keeps_energy(
    load: float, leaving: float, entering: float
) -> None:
    done = MCQUAY.operate(load, leaving=leaving, entering=entering)
    power = as_energyplus(load, leaving, entering)
    assert done.power == pytest.approx(power, rel=1e-12, abs=1e-12)
    assert done.cooling + done.unmet == pytest.approx(load, rel=1e-12)
    assert done.heat_rejected == pytest.approx(float(done.cooling + done.power), rel=1e-12)


@pytest.mark.parametrize("fluid", ["R290", "R134a"])
def test_a_fraction_of_carnot_follows_an_ideal_cycle(fluid: str) -> None:
    """The cycle of a real refrigerant without losses: below Carnot, by a fraction that lasts."""

    def cycle(cold: float, warm: float) -> float:
        start = {key: PropsSI(key, "T", cold + 273.15, "Q", 1, fluid) for key in "HS"}
        high = PropsSI("P", "T", warm + 273.15, "Q", 0, fluid)
        hot = PropsSI("H", "P", high, "S", start["S"], fluid)
        liquid = PropsSI("H", "P", high, "Q", 0, fluid)
        return float((hot - liquid) / (hot - start["H"]))

    model = CarnotCop(fraction=cycle(0.0, 40.0) / float(CarnotCop(fraction=1.0).at(0.0, 40.0)))
    assert 0.7 < model.fraction < 1.0
    for cold, warm in ((-10.0, 40.0), (0.0, 30.0), (10.0, 50.0), (-10.0, 55.0)):
        assert float(model.at(cold, warm)) == pytest.approx(cycle(cold, warm), rel=0.14)


def test_cycling_costs_what_en_14825_says() -> None:
    # Worked by hand: a quarter of the load; 0.25 / (0.9 * 0.25 + 0.1) of the performance.
    pump = HeatPump(rated_capacity=8.0, cop_map=CarnotCop(fraction=0.5), minimum_part_load=1.0)
    power = pump.operate([2.0, 8.0], source=0.0, sink=35.0).power
    assert power[0] == pytest.approx(power[1] / 4 * 0.325 / 0.25, rel=1e-12)
    steady = replace(pump, cycling=1.0).operate(2.0, source=0.0, sink=35.0).power
    assert 4 * steady == pytest.approx(power[1])


PUMP = HeatPump(
    rated_capacity=8.0,
    rated_cop=4.2,
    cop_map=Biquadratic((1.49, 0.025, 1e-4, -0.016, 5e-5, -2e-4), (-20.0, 20.0), (25.0, 60.0)),
    capacity_map=Biquadratic((0.9 + 25 / 350, 0.015, 0.0, -1 / 350, 0.0, 0.0)),
    modulation=Polynomial((1.1, -0.1)),
    minimum_part_load=0.3,
    standby_power=0.02,
)


@given(st.floats(0.0, 12.0), st.floats(-20.0, 20.0), st.floats(25.0, 60.0))
def test_a_heat_pump_keeps_energy_and_its_inverse(load: float, source: float, sink: float) -> None:
    done = PUMP.operate(load, source=source, sink=sink)
    assert done.heat + done.unmet == pytest.approx(load, rel=1e-12)
    assert done.power + done.source_heat - 0.02 >= done.heat * (1 - 1e-12)
    if float(done.unmet) == 0 and load > 0.01:
        assert PUMP.heat(done.power, source=source, sink=sink) == pytest.approx(load, rel=1e-7)


def test_maps_say_where_they_end() -> None:
    with pytest.raises(ParameterError, match="a curve has 5 coefficients; give 6 or 10"):
        Biquadratic((1.0,) * 5)
    # A curve holds its value beyond its range, as in EnergyPlus; without a range it may fall to
    # where no machine is.
    curve = Biquadratic((1.0, 0.0, 0.0, -0.01, 0.0, 0.0), y_range=(20.0, 60.0))
    assert curve.at(0.0, [10.0, 30.0, 180.0]) == pytest.approx([0.8, 0.7, 0.4])


def test_a_bicubic_is_that_of_energyplus() -> None:
    # datasets/Boilers.idf, NonCondensingBoilerEff, about 1 where the boiler is rated.
    c = (
        1.111720116,
        0.078614078,
        -0.400425756,
        0.0,
        -0.000156783,
        0.009384599,
        0.234257955,
        1.32927e-06,
        -0.004446701,
        -1.22498e-05,
    )
    x, y = 0.7, 55.0
    terms = [1, x, x**2, y, y**2, x * y, x**3, y**3, x**2 * y, x * y**2]
    by_hand = float(np.dot(c, terms))
    assert Biquadratic(c).at(x, y) == pytest.approx(by_hand, rel=1e-14)
    assert Biquadratic(c).at(1.0, 70.0) == pytest.approx(1.0, abs=0.03)


def test_a_boiler_cycles_below_its_least_load_and_loses_its_standby_heat() -> None:
    boiler = Boiler(
        rated_capacity=100.0, rated_efficiency=0.8, minimum_part_load=0.2, standby_loss=1.5
    )
    done = boiler.operate([0.0, 5.0, 20.0, 130.0], temperature=60.0)
    # 5 kW is a quarter of the least load: the burner pauses for three quarters of the time.
    assert done.fuel.tolist() == pytest.approx([0.0, 6.25 + 0.75 * 1.5, 25.0, 125.0])
    assert done.unmet.tolist() == [0.0, 0.0, 0.0, 30.0]


def test_york_calc_is_its_published_sum_and_design_point() -> None:
    # All 27 terms, summed by hand from the published coefficients.
    assert approach(20.0, 6.0, 1.3) == pytest.approx(7.280469212173988, rel=1e-12)
    # 78 degF wet bulb, 10 degF range and 7 degF approach at rated flows: its design conditions.
    assert approach(25.56, 5.56, 1.0) == pytest.approx(3.89, abs=0.06)
    tower = YorkCalcTower(rated_water_flow=20.0, rated_fan_power=8.0)
    at = {"wet_bulb": 25.56, "water_flow": 20.0}
    assert tower.water_out(465.0, **at, speed=0.5) > tower.water_out(465.0, **at, speed=1.0)
    assert tower.fan_power(0.5) == pytest.approx(1.0)


def test_bad_plant_says_what_to_give() -> None:
    even = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    with pytest.raises(ParameterError, match="give minimum <= unloading <= maximum"):
        Chiller(
            rated_capacity=1.0,
            rated_cop=3.0,
            capacity_curve=even,
            eir_curve=even,
            minimum_part_load=0.4,
            minimum_unloading=0.2,
        )
    with pytest.raises(ParameterError, match="give a fraction"):
        CarnotCop(fraction=1.2)
    with pytest.raises(ParameterError, match="the heating load is nan"):
        PUMP.operate(float("nan"), source=0.0, sink=35.0)
    curve = MCQUAY.capacity_curve
    assert isinstance(curve, Biquadratic)
    everywhere = replace(MCQUAY, capacity_curve=Biquadratic(curve.coefficients))
    with pytest.raises(ParameterError, match="the capacity by its curve is -"):
        everywhere.operate(10.0, leaving=60.0, entering=26.0)
