r"""The air of a zone, well mixed: enthalpy, water and one trace gas, solved exactly over a step.

With the dry air :math:`M` of the zone, streams :math:`\dot m_i` in (the same dry air leaves), heat
:math:`\dot Q`, water :math:`\dot w` with its enthalpy :math:`h_w` and trace gas :math:`\dot g`,

.. math::
    M \frac{dh}{dt} = \sum_i \dot m_i (h_i - h) + \dot Q + \dot w h_w, \quad
    M \frac{dW}{dt} = \sum_i \dot m_i (W_i - W) + \dot w, \quad
    M \frac{dc}{dt} = \sum_i \dot m_i (c_i - c) + \dot g.

All three share one rate and are solved by variation of constants for inputs held over a step.

Source: ASHRAE Handbook Fundamentals (SI), 2017, chapters 1 and 16.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac import moist_air
from engiagent.models.hvac.air_streams import AirStream
from engiagent.models.hvac.decay import decay_factors
from engiagent.models.hvac.moist_air import STANDARD_PRESSURE
from engiagent.models.parameters import hours_of_steps, linear_recursion, numbers, over_time, within
from engiagent.models.ranges import Floats, ParameterError

SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class ZoneAirState:
    """Temperature [degC], humidity ratio [kg/kg] and trace gas [kg/kg dry air] of a zone's air."""

    temperature: npt.ArrayLike
    humidity_ratio: npt.ArrayLike
    trace: npt.ArrayLike = 0.0

    @property
    def enthalpy(self) -> Floats:
        """The enthalpy. [kJ/kg dry air]."""
        return moist_air.enthalpy(self.temperature, self.humidity_ratio)


@dataclass(frozen=True, kw_only=True)
class ZoneAirStep:
    """A zone's air after a step, and the means over the step of what left with the air.

    Attributes
    ----------
    state
        At the end.
    enthalpy, humidity_ratio, trace
        Means over the step of the air in the zone, which is the air that leaves.
        [kJ/kg], [kg/kg], [kg/kg]
    """

    state: ZoneAirState
    enthalpy: Floats
    humidity_ratio: Floats
    trace: Floats


@dataclass(frozen=True, kw_only=True)
class ZoneAirPath:
    """What a horizon did: the air at N+1 instants, and means over N periods as in a step."""

    temperature: Floats
    humidity_ratio: Floats
    trace: Floats
    mean_enthalpy: Floats
    mean_humidity_ratio: Floats
    mean_trace: Floats


@dataclass(frozen=True, kw_only=True)
class ZoneAir:
    """The air of a zone; numbers may be arrays over zones.

    Attributes
    ----------
    dry_air
        Mass of dry air in it. Above 0. [kg]

    Examples
    --------
    >>> zone = ZoneAir(dry_air=300.0)
    >>> cold = AirStream(flow=0.1, temperature=15.0, humidity_ratio=0.006)
    >>> start = ZoneAirState(temperature=25.0, humidity_ratio=0.01)
    >>> after = zone.step(start, [cold], step_hours=1.0, heat=0.5).state
    >>> round(float(after.temperature), 3), round(float(after.humidity_ratio), 6)
    (21.455, 0.007205)
    """

    dry_air: npt.ArrayLike

    def __post_init__(self) -> None:
        within(self.dry_air, "the dry air of the zone", "kg", low=0.0, above=True)

    @classmethod
    def of_volume(
        cls,
        volume: npt.ArrayLike,
        temperature: npt.ArrayLike = 22.0,
        humidity_ratio: npt.ArrayLike = 0.008,
        pressure: npt.ArrayLike = STANDARD_PRESSURE,
    ) -> "ZoneAir":
        """Return the zone of a volume [m3] filled with air of a state, which fixes its mass."""
        space = within(volume, "the volume", "m3", low=0.0, above=True)
        return cls(dry_air=space / moist_air.specific_volume(temperature, humidity_ratio, pressure))

    def simulate(
        self,
        initial: ZoneAirState,
        streams: Sequence[AirStream],
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike = 0.0,
        water: npt.ArrayLike = 0.0,
        water_enthalpy: npt.ArrayLike = 2568.0,
        trace: npt.ArrayLike = 0.0,
        stream_traces: Sequence[npt.ArrayLike] | None = None,
    ) -> ZoneAirPath:
        """Return the path of the air with inputs held over each period; no loop over time.

        Parameters
        ----------
        initial
            At the first instant, numbers or arrays over zones.
        streams
            Air that flows in, from diffusers, outdoors or other zones. The leading axis of every
            array is time.
        step_hours
            Of the periods. Above 0. [h]
        heat
            Sensible; negative where it leaves. [kW]
        water, water_enthalpy
            Vapour, negative where it leaves [kg/s], and its enthalpy; that of skin at 36 degC
            by default. [kJ/kg]
        trace, stream_traces
            Source of the trace gas [kg/s] and its content in each stream, 0 by default. [kg/kg]

        Raises
        ------
        ParameterError
            When there is not one trace for each stream, or a number lies outside its range.
        """
        contents = [0.0] * len(streams) if stream_traces is None else list(stream_traces)
        if len(contents) != len(streams):
            raise ParameterError(
                f"{len(streams)} streams have {len(contents)} traces; give one for each"
            )
        vapour = numbers(water, "the water")
        flow = _total(stream.flow for stream in streams)
        drives = (
            _total(stream.power for stream in streams)
            + numbers(heat, "the heat")
            + vapour * numbers(water_enthalpy, "the enthalpy of the water"),
            _total(stream.water for stream in streams) + vapour,
            _total(
                np.asarray(stream.flow) * numbers(content, "a trace of a stream")
                for stream, content in zip(streams, contents, strict=True)
            )
            + numbers(trace, "the source of the trace gas"),
        )
        starts = (
            initial.enthalpy,
            numbers(initial.humidity_ratio, "the humidity ratio"),
            numbers(initial.trace, "the trace gas"),
        )
        mass = np.asarray(self.dry_air, dtype=np.float64)
        timed = [d.shape for d in (*drives, flow, np.asarray(step_hours)) if d.shape]
        units = np.broadcast_shapes(
            mass.shape, *(start.shape for start in starts), *(shape[1:] for shape in timed)
        )
        shape = (max((shape[0] for shape in timed), default=1), *units)
        scale = hours_of_steps(step_hours, shape) * SECONDS / mass
        span = over_time(flow, shape, "the flow of the streams") * scale
        phi1, phi2 = decay_factors(span)
        paths, means = [], []
        for start, drive in zip(starts, drives, strict=True):
            gain = over_time(drive, shape, "a source") * scale
            path = linear_recursion(np.exp(-span), phi1 * gain, start)
            paths.append(path)
            means.append(np.asarray(phi1 * path[:-1] + phi2 * gain))
        return ZoneAirPath(
            temperature=moist_air.temperature_of_enthalpy(paths[0], paths[1]),
            humidity_ratio=paths[1],
            trace=paths[2],
            mean_enthalpy=means[0],
            mean_humidity_ratio=means[1],
            mean_trace=means[2],
        )

    def step(
        self,
        state: ZoneAirState,
        streams: Sequence[AirStream],
        *,
        step_hours: npt.ArrayLike,
        heat: npt.ArrayLike = 0.0,
        water: npt.ArrayLike = 0.0,
        water_enthalpy: npt.ArrayLike = 2568.0,
        trace: npt.ArrayLike = 0.0,
        stream_traces: Sequence[npt.ArrayLike] | None = None,
    ) -> ZoneAirStep:
        """Return the air after one period; arguments as in :meth:`simulate`, without time."""
        path = self.simulate(
            state,
            [
                AirStream(
                    flow=np.asarray(stream.flow)[None],
                    temperature=np.asarray(stream.temperature)[None],
                    humidity_ratio=np.asarray(stream.humidity_ratio)[None],
                )
                for stream in streams
            ],
            step_hours=np.asarray(step_hours)[None],
            heat=np.asarray(heat)[None],
            water=np.asarray(water)[None],
            water_enthalpy=np.asarray(water_enthalpy)[None],
            trace=np.asarray(trace)[None],
            stream_traces=None
            if stream_traces is None
            else [np.asarray(content)[None] for content in stream_traces],
        )
        return ZoneAirStep(
            state=ZoneAirState(
                temperature=path.temperature[1],
                humidity_ratio=path.humidity_ratio[1],
                trace=path.trace[1],
            ),
            enthalpy=path.mean_enthalpy[0],
            humidity_ratio=path.mean_humidity_ratio[0],
            trace=path.mean_trace[0],
        )


def _total(values: Iterable[npt.ArrayLike]) -> Floats:
    """Return the sum of arrays that broadcast; 0 for none."""
    total = np.zeros(())
    for value in values:
        total = total + np.asarray(value, dtype=np.float64)
    return np.asarray(total)
