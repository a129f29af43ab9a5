"""Sources that depend on the weather: what is available, what is delivered, what is curtailed.

Curtailment may be explicit, a series of the plan, or implicit in a power below the available one:
both are right, and where both are given they have to add up.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from engiagent.models.pv import PVWATTS_LOSS, PvArray
from engiagent.models.wind import WindTurbine
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

LIMITS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "generator_profile": (("power", "available_power"), ("curtailed", "available_power")),
    "pv": (),
    "wind_turbine": (),
}
"""What a declared series bounds; where the weather does, executing says so."""

Available = Callable[["Plant", Dynamics], Floats]


def _profile(plant: Plant, unit: Dynamics) -> Floats:
    return plant.series(unit, "available_power")


def _pv(plant: Plant, unit: Dynamics) -> Floats:
    losses = plant.single(unit, "losses")
    array = PvArray(
        dc_capacity=plant.need(unit, "dc_capacity"),
        ac_capacity=plant.largest(unit, "ac_capacity"),
        temperature_coefficient=plant.need(unit, "temperature_coefficient"),
        losses=PVWATTS_LOSS if losses is None else losses,
        inverter_efficiency=plant.need(unit, "inverter_efficiency"),
        heat_loss=plant.need(unit, "heat_loss"),
        heat_loss_by_wind=plant.need(unit, "heat_loss_by_wind"),
    )
    weather = (plant.series(unit, name) for name in ("irradiance", "air_temperature", "wind_speed"))
    return array.output(*weather).ac_power


def _wind(plant: Plant, unit: Dynamics) -> Floats:
    speeds, powers = plant.table(unit, "speeds"), plant.table(unit, "powers")
    if speeds is None or powers is None:
        raise EvaluationError(f"{unit.name} has no power curve; give speeds and powers")
    turbine = WindTurbine(
        speeds=speeds,
        powers=powers,
        restart_speed=plant.single(unit, "restart_speed"),
        reference_density=plant.need(unit, "reference_density"),
        losses=plant.need(unit, "losses"),
    )
    wind = plant.series(unit, "wind_speed")
    return turbine.power(wind, plant.slot(unit, "air_density"), turbine.running(wind))


def _execute(available: Available, plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    most, over = available(plant, unit), plant.periods(unit)
    power, curtailed = plant.claimed(unit, "power"), plant.claimed(unit, "curtailed")
    if power is None:
        power = most if curtailed is None else most - curtailed
    scale = float(abs(most).max(initial=0.0))
    excesses = [
        Excess(
            f"{kind}:{unit.name}.{word}", f"{unit.name}.{word}", amount, "kW", scale, over, words
        )
        for word, series in (("power", power), ("curtailed", most - power))
        if not LIMITS[unit.model]
        for kind, amount, words in (
            ("sign", -series, "negative"),
            ("limit", series - most, "above what is available"),
        )
    ]
    if plant.need(unit, "curtailable") == 0:
        excesses.append(
            Excess(
                f"all:{unit.name}",
                f"{unit.name}.power",
                most - power,
                "kW",
                scale,
                over,
                "less than what has to be taken",
            )
        )
    results = (
        plant.result(unit, "power", power, "what is available less what is curtailed"),
        plant.result(unit, "curtailed", most - power, "what is available less the power"),
    )
    return Run((), results, tuple(excesses))


def _entry(model: str, summary: str, available: Available) -> Entry:
    return Entry(
        model,
        summary,
        SLOTS[model],
        partial(_execute, available),
        limits=LIMITS[model],
        connections={"bus": "electric"},
        supplies={"bus": "power"},
        answered=("power",),
    )


ENTRIES = {
    "generator_profile": _entry(
        "generator_profile", "source whose available power is a series", _profile
    ),
    "pv": _entry("pv", "photovoltaic array from irradiance and temperature", _pv),
    "wind_turbine": _entry("wind_turbine", "wind turbine by its power curve", _wind),
}
