"""Plants from the physics models, as a closed loop asks for them."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engiagent.control.horizon import Floats
from engiagent.models.battery import Battery
from engiagent.models.thermal import ThermalNetwork

Values = Mapping[str, Floats]
Answer = Callable[[Values, Values, Values], dict[str, Floats]]


def battery_plant(
    battery: Battery, hours: float, *, state: str, charge: str, discharge: str
) -> Answer:
    """Return a plant that is a battery.

    Parameters
    ----------
    hours
        Length of one period. [h]
    state
        The parameter that holds the measured energy. [kWh]
    charge, discharge
        Names of the control variables. [kW]
    """

    def answer(states: Values, controls: Values, _: Values) -> dict[str, Floats]:
        into, out = np.atleast_1d(controls[charge]), np.atleast_1d(controls[discharge])
        energy = battery.simulate(into, out, hours, initial_energy=float(states[state]))
        return {state: np.asarray(energy[-1])}

    return answer


def thermal_plant(
    network: ThermalNetwork,
    hours: float,
    *,
    states: Sequence[str],
    ambient: str,
    heating: Sequence[str | None],
    cooling: Sequence[str | None] | None = None,
    gains: Sequence[str | None] | None = None,
) -> Answer:
    """Return a plant that is a network of zones; the zones come in the network's order.

    Parameters
    ----------
    hours
        Length of one period. [h]
    states
        For each zone the parameter that holds its measured temperature. [degC]
    ambient
        The parameter of the temperature outside. [degC]
    heating, cooling, gains
        For each zone the variable (gains: the parameter) of its power, None where there is none.
        [kW]
    """

    def answer(measured: Values, controls: Values, disturbances: Values) -> dict[str, Floats]:
        outside = np.atleast_1d(disturbances[ambient])
        length = max(np.atleast_1d(controls[name]).size for name in heating if name is not None)
        heat = _columns(controls, heating, length)
        if cooling is not None:
            heat = heat - _columns(controls, cooling, length)
        if gains is not None:
            heat = heat + _columns(disturbances, gains, length)
        # The network only knows the net heat, so that cooling is heating below zero.
        temperature = network.simulate(
            np.broadcast_to(outside, (length,)),
            hours,
            heating=heat,
            initial=[float(measured[name]) for name in states],
        )
        return {name: np.asarray(temperature[-1, k]) for k, name in enumerate(states)}

    return answer


def _columns(values: Values, names: Sequence[str | None], length: int) -> Floats:
    parts = [
        np.zeros(length) if n is None else np.broadcast_to(values[n], (length,)) for n in names
    ]
    return np.column_stack(parts)
