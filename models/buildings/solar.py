r"""Solar gains: irradiance on tilted surfaces (pvlib), through windows and on opaque walls.

.. math::
   \dot Q_{win} = F_{sh}\, F_w\, g_n\, (1 - F_F)\, A\, I, \qquad
   T_{sol-air} = T_a + \frac{\alpha I - F_{sky} h_r \Delta T_{sky}}{h_e}

Sources: pvlib for sun and transposition (W. F. Holmgren et al., doi:10.21105/joss.00884);
ISO 13790:2008, 11.3 for windows and opaque parts; ASHRAE Handbook Fundamentals 2017, 18.22 for the
sol-air temperature.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.parameters import numbers, over_time, within
from engiagent.models.ranges import Floats, ParameterError

SkyModel = Literal["isotropic", "haydavies", "perez", "reindl", "king", "klucher"]


@dataclass(frozen=True)
class Irradiance:
    """Irradiance on surfaces, each of shape (N,) or (N, surfaces). [W/m2].

    Attributes
    ----------
    total
        Sum of the others.
    beam, sky, ground
        Direct, diffuse of the sky, reflected by the ground.
    incidence
        Angle between the sun and the normal of the surface. [deg]
    """

    total: Floats
    beam: Floats
    sky: Floats
    ground: Floats
    incidence: Floats


def require_pvlib() -> Any:
    """Import pvlib, which is heavy and optional.

    Raises
    ------
    ParameterError
        When it is not installed, with the command that installs it.
    """
    try:
        import pvlib
    except ImportError as error:
        raise ParameterError(
            "irradiance on tilted surfaces needs pvlib, which is not installed; "
            "pip install pvlib, or give the irradiance on each surface yourself"
        ) from error
    return pvlib


def _middles(starts: Any, step_hours: float) -> Any:
    import pandas as pd

    within(step_hours, "the step", "h", low=0.0, above=True)
    index = pd.DatetimeIndex(starts)
    if index.tz is None:
        raise ParameterError(
            "the times have no time zone, so the sun's place is unknown; give zone-aware times"
        )
    return index + pd.Timedelta(hours=step_hours / 2.0)


def sun(
    starts: Any, step_hours: float, latitude: float, longitude: float, altitude: float = 0.0
) -> tuple[Floats, Floats]:
    """Return apparent zenith and azimuth of the sun in the middle of each period. [deg].

    Parameters
    ----------
    starts
        Zone-aware beginnings of the N periods, as pandas reads them.
    step_hours
        Length of the periods. [h]
    latitude, longitude
        North and east positive. [deg]
    altitude
        Above the sea. [m]

    Raises
    ------
    ParameterError
        When pvlib is missing, times have no zone or the place is none on Earth.
    """
    pvlib = require_pvlib()
    within(latitude, "the latitude", "deg", low=-90.0, high=90.0)
    within(longitude, "the longitude", "deg", low=-180.0, high=180.0)
    place = pvlib.solarposition.get_solarposition(
        _middles(starts, step_hours), latitude, longitude, altitude
    )
    return place["apparent_zenith"].to_numpy(), place["azimuth"].to_numpy()


def on_surfaces(
    tilt: npt.ArrayLike,
    azimuth: npt.ArrayLike,
    *,
    starts: Any,
    step_hours: float,
    latitude: float,
    longitude: float,
    direct_normal: npt.ArrayLike,
    global_horizontal: npt.ArrayLike,
    diffuse_horizontal: npt.ArrayLike,
    albedo: float = 0.2,
    altitude: float = 0.0,
    model: SkyModel = "perez",
) -> Irradiance:
    """Return the irradiance on surfaces with the sun in the middle of each period.

    Parameters
    ----------
    tilt
        From the horizontal, 0 flat to 90 upright; a number or shape (surfaces,). [deg]
    azimuth
        Where the surface looks, clockwise from north (180 south). [deg]
    starts, step_hours, latitude, longitude, altitude
        As in :func:`sun`.
    direct_normal, global_horizontal, diffuse_horizontal
        Means of the N periods. At least 0. [W/m2]
    albedo
        Of the ground, 0 to 1. [-]
    model
        Of the sky's diffuse light, a name of pvlib.

    Raises
    ------
    ParameterError
        When pvlib is missing, shapes do not fit or a value is outside its range.
    """
    pvlib = require_pvlib()
    slopes, sides = np.broadcast_arrays(
        within(tilt, "the tilt", "deg", low=0.0, high=180.0),
        within(azimuth, "the azimuth", "deg", low=-360.0, high=360.0),
    )
    within(albedo, "the albedo", "-", low=0.0, high=1.0)
    if model not in SkyModel.__args__:  # type: ignore[attr-defined]
        raise ParameterError(f"the sky model is {model!r}; known: {', '.join(SkyModel.__args__)}")  # type: ignore[attr-defined]
    middles = _middles(starts, step_hours)
    zenith, bearing = sun(starts, step_hours, latitude, longitude, altitude)
    dni, ghi, dhi = (
        over_time(within(values, what, "W/m2", low=0.0), zenith.shape, what)
        for values, what in (
            (direct_normal, "the direct normal irradiance"),
            (global_horizontal, "the global irradiance"),
            (diffuse_horizontal, "the diffuse irradiance"),
        )
    )
    day = middles.day_of_year.to_numpy(dtype=np.float64)  # pvlib asks pandas for a dropped name
    extra = np.asarray(pvlib.irradiance.get_extra_radiation(day), dtype=np.float64)
    mass = pvlib.atmosphere.get_relative_airmass(zenith)
    columns = []
    for slope, side in zip(slopes.ravel(), sides.ravel(), strict=True):
        parts = pvlib.irradiance.get_total_irradiance(
            slope,
            side,
            zenith,
            bearing,
            dni,
            ghi,
            dhi,
            dni_extra=extra,
            airmass=mass,
            albedo=albedo,
            model=model,
        )
        names = ("poa_direct", "poa_sky_diffuse", "poa_ground_diffuse")
        # Models of the sky are undefined with the sun down, where there is nothing to spread.
        beam, sky, ground = (np.nan_to_num(np.asarray(parts[name])) for name in names)
        angle = np.asarray(pvlib.irradiance.aoi(slope, side, zenith, bearing))
        columns.append((beam + sky + ground, beam, sky, ground, angle))
    shape = (len(zenith), *slopes.shape)
    return Irradiance(*(np.stack(c, axis=1).reshape(shape) for c in zip(*columns, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Window:
    """The light that a window lets in as heat; parameters are numbers or of shape (windows,).

    Attributes
    ----------
    area
        With its frame. At least 0. [m2]
    g_value
        Total solar energy transmittance at normal incidence (SHGC), 0 to 1. [-]
    frame_fraction
        Share of the frame, 0 to 1. [-]
    incidence_factor
        Mean over angles against normal incidence; 0.9 in ISO 13790. [-]
    shading_factor
        What horizon, overhangs and fins leave, 0 to 1. [-]
    shade_g_value
        Transmittance with the movable shade closed, 0 to 1; None when there is none. [-]

    Examples
    --------
    >>> float(Window(area=10.0, g_value=0.6, frame_fraction=0.25).gain(500.0).round(12))
    2.025
    """

    area: npt.ArrayLike
    g_value: npt.ArrayLike
    frame_fraction: npt.ArrayLike = 0.2
    incidence_factor: npt.ArrayLike = 0.9
    shading_factor: npt.ArrayLike = 1.0
    shade_g_value: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        within(self.area, "the window area", "m2", low=0.0)
        for value, what in (
            (self.g_value, "the g-value"),
            (self.frame_fraction, "the frame fraction"),
            (self.incidence_factor, "the incidence factor"),
            (self.shading_factor, "the shading factor"),
            (0.0 if self.shade_g_value is None else self.shade_g_value, "the g-value of the shade"),
        ):
            within(value, what, "-", low=0.0, high=1.0)

    def gain(self, irradiance: npt.ArrayLike, closed: npt.ArrayLike = 0.0) -> Floats:
        """Return the heat let in. [kW].

        Parameters
        ----------
        irradiance
            On the plane of the window. At least 0. [W/m2]
        closed
            Share of the time that the movable shade is closed, 0 to 1. [-]

        Raises
        ------
        ParameterError
            When a shade closes that the window does not have, or a value is outside its range.
        """
        light = within(irradiance, "the irradiance", "W/m2", low=0.0)
        share = within(closed, "the closed share", "-", low=0.0, high=1.0)
        open_g = np.asarray(self.g_value, dtype=np.float64)
        if self.shade_g_value is None:
            if (share > 0).any():
                raise ParameterError("the window has no shade to close; give shade_g_value")
            g = open_g
        else:
            g = (1.0 - share) * open_g + share * np.asarray(self.shade_g_value)
        glass = np.asarray(self.area) * (1.0 - np.asarray(self.frame_fraction))
        factor = np.asarray(self.incidence_factor) * np.asarray(self.shading_factor)
        return np.asarray(glass * factor * g * light / 1000.0)


def absorbed(irradiance: npt.ArrayLike, absorptance: npt.ArrayLike, area: npt.ArrayLike) -> Floats:
    """Return the sun's heat in an outer surface, for the node of that surface. [kW].

    Parameters
    ----------
    irradiance
        On its plane. At least 0. [W/m2]
    absorptance
        0 to 1; about 0.3 light, 0.6 medium, 0.9 dark. [-]
    area
        At least 0. [m2]
    """
    light = within(irradiance, "the irradiance", "W/m2", low=0.0)
    share = within(absorptance, "the absorptance", "-", low=0.0, high=1.0)
    return np.asarray(light * share * within(area, "the area", "m2", low=0.0) / 1000.0)


def sol_air_temperature(
    ambient: npt.ArrayLike,
    irradiance: npt.ArrayLike,
    *,
    absorptance: npt.ArrayLike,
    outer_coefficient: npt.ArrayLike = 24.14,
    sky_view: npt.ArrayLike = 0.0,
    sky_difference: npt.ArrayLike = 11.0,
    radiative_coefficient: npt.ArrayLike = 4.14,
) -> Floats:
    """Return the outdoor temperature that alone would give a wall the same heat. [degC].

    Parameters
    ----------
    ambient
        Of the air. [degC]
    irradiance, absorptance
        As in :func:`absorbed`.
    outer_coefficient, radiative_coefficient
        Of the surface, both ways of heat and radiation alone. Above 0, at least 0. [W/(m2 K)]
    sky_view
        Share of the sky in what the surface sees: 1 for a flat roof, 0.5 for a wall. [-]
    sky_difference
        How much colder the sky is than the air; 11 in moderate climates (ISO 52016-1). [K]

    Examples
    --------
    >>> float(sol_air_temperature(30.0, 500.0, absorptance=0.6, outer_coefficient=20.0))
    45.0
    """
    h = within(outer_coefficient, "the outer coefficient", "W/(m2 K)", low=0.0, above=True)
    sky = (
        within(sky_view, "the view of the sky", "-", low=0.0, high=1.0)
        * within(radiative_coefficient, "the radiative coefficient", "W/(m2 K)", low=0.0)
        * within(sky_difference, "the difference of the sky", "K", low=0.0)
    )
    return np.asarray(
        numbers(ambient, "the ambient temperature")
        + (1000.0 * absorbed(irradiance, absorptance, 1.0) - sky) / h
    )
