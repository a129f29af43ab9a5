"""Sources that depend on the weather: what is available, what is delivered, what is curtailed.

Curtailment may be explicit, a series of the plan, or implicit in a power below the available one:
both are right, and where both are given they have to add up.
"""

from collections.abc import Callable
from functools import partial

from engiagent.models.renewables import PVWATTS_LOSS, PvArray, WindTurbine
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats

Available = Callable[[Unit], Floats]


def _profile(unit: Unit) -> Floats:
    return unit.series("available_power")


def _pv(unit: Unit) -> Floats:
    losses = unit.single("losses")
    array = PvArray(
        dc_capacity=unit.need("dc_capacity"),
        ac_capacity=unit.largest("ac_capacity"),
        temperature_coefficient=unit.need("temperature_coefficient"),
        losses=PVWATTS_LOSS if losses is None else losses,
        **unit.numbers("inverter_efficiency", "heat_loss", "heat_loss_by_wind"),
    )
    weather = (unit.series(name) for name in ("irradiance", "air_temperature", "wind_speed"))
    return array.power(*weather)


def _wind(unit: Unit) -> Floats:
    speeds, powers = unit.table("speeds"), unit.table("powers")
    if speeds is None or powers is None:
        raise EvaluationError(f"{unit.name} has no power curve; give speeds and powers")
    turbine = WindTurbine(
        speeds=speeds,
        powers=powers,
        restart_speed=unit.single("restart_speed"),
        **unit.numbers("reference_density", "losses"),
    )
    wind = unit.series("wind_speed")
    return turbine.power(wind, unit.slot("air_density"), turbine.running(wind))


def _execute(available: Available, unit: Unit) -> Run:
    most = available(unit)
    power, curtailed = unit.claimed("power"), unit.claimed("curtailed")
    if power is None:
        power = most if curtailed is None else most - curtailed
    scale = float(abs(most).max(initial=0.0))
    excesses = [
        excess
        for word, series in (("power", power), ("curtailed", most - power))
        if available is not _profile  # whose declared series its limits bound
        for excess in unit.between(word, series, most, scale, "above what is available")
    ]
    if not unit.flag("curtailable"):
        excesses.append(
            unit.fault(
                "all",
                f"{unit.name}.power",
                most - power,
                "kW",
                scale,
                "less than what has to be taken",
            )
        )
    results = (
        unit.result("power", power, "what is available less what is curtailed"),
        unit.result("curtailed", most - power, "what is available less the power"),
    )
    return Run((), results, tuple(excesses))


def _entry(available: Available, limits: tuple[tuple[str, str], ...] = ()) -> Entry:
    execute = partial(_execute, available)
    return Entry(execute, limits=limits, supplies={"bus": "power"}, answered=("power",))


ENTRIES = {
    "generator_profile": _entry(
        _profile, (("power", "available_power"), ("curtailed", "available_power"))
    ),
    "pv": _entry(_pv),
    "wind_turbine": _entry(_wind),
}
