r"""Domestic hot water: draws at a temperature of use.

What people draw is tank water mixed with cold water to the temperature of use,

.. math:: \dot m_{tank} = \dot m_{use} \frac{T_{use} - T_{cold}}{T_{tank} - T_{cold}},

and all tank water where the tank is colder than that; the heat that is then missing is reported.

Source: EN 15450:2007, annex E.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.ranges import (
    Floats,
    ParameterError,
    hours_of_steps,
    numbers,
    over_time,
    within,
)
from engiagent.models.storage.stratified_tank import LayersStep, StratifiedTank


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Water drawn: from the tank and cold [kg/s], its temperature [degC], missing heat [kW]."""

    from_tank: Floats
    cold: Floats
    temperature: Floats
    missing: Floats


def draw(
    use: npt.ArrayLike,
    *,
    use_temperature: npt.ArrayLike,
    tank_temperature: npt.ArrayLike,
    cold_temperature: npt.ArrayLike,
) -> Draw:
    """Return what a flow of use takes from the tank.

    ``use``: flow at the tap. At least 0. [kg/s] ``use_temperature``, ``tank_temperature``,
    ``cold_temperature``: wanted, at the outlet of the tank, of the mains. [degC]

    Examples
    --------
    >>> done = draw(0.1, use_temperature=40.0, tank_temperature=[60.0, 35.0], cold_temperature=10.0)
    >>> done.from_tank.round(3).tolist(), done.missing.round(3).tolist()
    ([0.06, 0.1], [0.0, 2.093])
    """
    flow = within(use, "the flow of use", "kg/s", low=0.0)
    wanted = numbers(use_temperature, "the temperature of use")
    hot = numbers(tank_temperature, "the temperature of the tank")
    cold = numbers(cold_temperature, "the temperature of the mains")
    if not (wanted >= cold).all():
        raise ParameterError(
            f"use is wanted at {np.min(wanted):g} degC, colder than the mains; give at least "
            f"{np.max(cold):g} degC"
        )
    enough = hot > wanted
    share = np.where(enough, (wanted - cold) / np.where(enough, hot - cold, 1.0), 1.0)
    # Where use is wanted as cold as the mains none comes from the tank, however cold that is.
    share = np.where(wanted == cold, 0.0, share)
    tapped = share * hot + (1.0 - share) * cold
    return Draw(
        from_tank=np.asarray(flow * share),
        cold=np.asarray(flow * (1.0 - share)),
        temperature=np.asarray(tapped),
        missing=np.asarray(flow * SPECIFIC_HEAT * np.maximum(wanted - tapped, 0.0)),
    )


@dataclass(frozen=True, kw_only=True)
class HotWaterStep:
    """The tank after a period, and the draw of that period."""

    tank: LayersStep
    draw: Draw


@dataclass(frozen=True, kw_only=True)
class HotWaterPath:
    """What a horizon did: layers at N+1 instants, draws and loss [kW] of N periods."""

    temperature: Floats
    draw: Draw
    loss: Floats


@dataclass(frozen=True, kw_only=True)
class HotWaterTank:
    """A stratified tank whose one port is the draw: cold water in, hot water out.

    Examples
    --------
    >>> from engiagent.models.storage.stratified_tank import Port
    >>> store = HotWaterTank(
    ...     tank=StratifiedTank(mass=200.0, layers=5, ports=(Port(inlet=4, outlet=0),))
    ... )
    >>> done = store.step([60.0] * 5, step_hours=0.25, use=0.1, use_temperature=40.0)
    >>> round(float(done.draw.from_tank), 4), round(float(done.tank.temperature[-1]), 2)
    (0.06, 23.01)
    """

    tank: StratifiedTank  # its port must enter below (or at) where it leaves

    def __post_init__(self) -> None:
        if len(self.tank.ports) != 1:
            raise ParameterError(
                f"a hot water tank has one port, the draw; this one has {len(self.tank.ports)}"
            )
        first = self.tank.ports[0]
        if first.inlet < first.outlet:
            raise ParameterError(
                f"cold water enters at layer {first.inlet}, above the draw at {first.outlet}; "
                "swap inlet and outlet"
            )

    def step(
        self,
        temperature: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        use: npt.ArrayLike,
        use_temperature: npt.ArrayLike = 40.0,
        cold_temperature: npt.ArrayLike = 10.0,
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> HotWaterStep:
        """Return the tank after a period with a draw held over it.

        The share of tank water is that of the outlet's temperature at the start of the period: give
        short steps where draws are large. The draw reports what the outlet's mean then made of it.

        ``temperature``: layers from the top. [degC] ``step_hours``: above 0. [h] ``use``,
        ``use_temperature``, ``cold_temperature``: as in :func:`draw`. ``heat``, ``ambient``: as in
        :meth:`StratifiedTank.step`.
        """
        layers = numbers(temperature, "the temperature of a layer")
        outlet = layers[..., self.tank.ports[0].outlet]
        planned = draw(
            use,
            use_temperature=use_temperature,
            tank_temperature=outlet,
            cold_temperature=cold_temperature,
        )
        done = self.tank.step(
            layers,
            step_hours=step_hours,
            flows=(planned.from_tank,),
            inlets=(cold_temperature,),
            heat=heat,
            ambient=ambient,
        )
        total = planned.from_tank + planned.cold
        parts = planned.from_tank * done.outlets[0] + planned.cold * np.asarray(cold_temperature)
        tapped = np.where(total > 0, parts / np.where(total > 0, total, 1.0), planned.temperature)
        short = np.maximum(np.asarray(use_temperature) - tapped, 0.0)
        return HotWaterStep(
            tank=done,
            draw=Draw(
                from_tank=planned.from_tank,
                cold=planned.cold,
                temperature=tapped,
                missing=np.asarray(total * SPECIFIC_HEAT * short),
            ),
        )

    def simulate(
        self,
        initial: npt.ArrayLike,
        *,
        step_hours: npt.ArrayLike,
        use: npt.ArrayLike,
        use_temperature: npt.ArrayLike = 40.0,
        cold_temperature: npt.ArrayLike = 10.0,
        heat: npt.ArrayLike = 0.0,
        ambient: npt.ArrayLike = 20.0,
    ) -> HotWaterPath:
        """Return the path of a tank whose one port is the draw, over N periods.

        ``initial``: layers at the first instant, shape (layers,) or (units, layers). [degC]
        ``step_hours``: length of each period. [h] ``use``: flow at the tap, shape (N,) or (N,
        units). [kg/s] ``use_temperature``, ``cold_temperature``, ``ambient``: as in :meth:`step`,
        one number, shape (N,) or (N, units). ``heat``: 0, or shape (N, layers) or (N, units,
        layers). [kW]
        """
        state = numbers(initial, "the initial temperature")
        length = np.size(use, 0)
        shape = (length, *state.shape[:-1])
        hours = hours_of_steps(step_hours, (length,))
        tapped, wanted, cold, around = (
            over_time(value, shape, what)
            for value, what in (
                (use, "the flow of use"),
                (use_temperature, "the temperature of use"),
                (cold_temperature, "the temperature of the mains"),
                (ambient, "the ambient temperature"),
            )
        )
        warmth = numbers(heat, "the heat")
        done: list[HotWaterStep] = []
        for n in range(length):
            done.append(
                self.step(
                    done[-1].tank.temperature if done else state,
                    step_hours=hours[n],
                    use=tapped[n],
                    use_temperature=wanted[n],
                    cold_temperature=cold[n],
                    heat=warmth[n] if warmth.ndim else warmth,
                    ambient=around[n],
                )
            )
        return HotWaterPath(
            temperature=np.stack([state, *(one.tank.temperature for one in done)]),
            draw=Draw(
                from_tank=np.stack([one.draw.from_tank for one in done]),
                cold=np.stack([one.draw.cold for one in done]),
                temperature=np.stack([one.draw.temperature for one in done]),
                missing=np.stack([one.draw.missing for one in done]),
            ),
            loss=np.stack([one.tank.loss for one in done]),
        )
