"""From measurements to a model that is known well enough to be used, or to what is not known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, cast

import numpy as np

from engiagent.errors import InputError
from engiagent.identify.fitting import Estimate, Fit, estimates, fit, spikes
from engiagent.identify.judging import (
    LEVEL,
    Errors,
    Whiteness,
    chi_squared,
    excitation,
    held_back,
    whiteness,
)
from engiagent.identify.kalman import UNKNOWN, likelihood, mean_wind
from engiagent.identify.measurements import Measurements
from engiagent.identify.residual import HEAT, KINDS, Residual, extended, learnt
from engiagent.identify.structures import GAIN, ROOM, STRUCTURES, Floats, Model
from engiagent.plant.reading import NAME, NAMING
from engiagent.verify.findings import finite_or_none

AUTO: Final = "auto"
HELD_BACK: Final = 0.25
SCHEMA: Final = "engiagent-identification/1"
_MOST_HELD_BACK: Final = 0.8
PLAUSIBLE_HEAT: Final = (0.1, 1000.0)  # between these the largest heat into a building. [kW]
LEAST_DAYS: Final = 5.0  # fitted, before masses that are slow by a day or two were seen to move


@dataclass(frozen=True)
class Candidate:
    """A structure that was tried."""

    fit: Fit
    whiteness: Whiteness
    aic: float  # akaike's criterion, over measurements that no structure left out
    # against, ratio: the structure that it extends and was compared with, and the probability that
    # the gain of likelihood is by chance; empty and NaN without one
    against: str = ""
    ratio: float = float("nan")
    verdict: str = ""  # why it was chosen or not, in words

    @property
    def name(self) -> str:
        """The name of its structure."""
        return self.fit.model.structure.name

    @property
    def is_borne_out(self) -> bool:
        """Whether it explains more than what it extends."""
        return not self.against or self.ratio < LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON."""
        about = {"model": self.name, "parameters": self.fit.count, "aic": self.aic}
        about |= {"against": self.against or None, "likelihood_ratio": self.ratio}
        tests = {"ljung_box": self.whiteness.ljung_box, "white": self.whiteness.is_white}
        return about | tests | {"verdict": self.verdict}


@dataclass(frozen=True)
class Identified:
    """A model with all that is known of it."""

    measurements: Measurements
    fit: Fit
    estimates: tuple[Estimate, ...]
    # by parameter why it cannot be known from these measurements; the model is then of no use
    unknown: dict[str, str]
    candidates: tuple[Candidate, ...]
    whiteness: Whiteness
    # errors on data that were not fitted, from period ``begin`` on; None without any
    held_back: Errors | None
    begin: int
    notes: tuple[str, ...]
    # what was learnt beside the structure; where it is kept, it is one of the drivers
    residual: Residual | None = None
    # what the measured zone is called in a plant
    zone: str = ROOM

    def part(self, name: str) -> str:
        """Return what a plant, which may have other zones, calls a node or a slot of one."""
        node, dot, slot = name.partition(".")
        return (self.zone if node == ROOM else _beside(self.zone, node)) + dot + slot

    @property
    def inputs(self) -> str:
        """The table of what the plant needs of the measurements."""
        return inputs_of(self.zone)

    @property
    def name(self) -> str:
        """The name of the structure."""
        return self.fit.model.structure.name

    def __getitem__(self, name: str) -> Estimate:
        return next(e for e in self.estimates if e.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON; what is open or not there is null."""
        data, best, white, errors = self.measurements, self.fit, self.whiteness, self.held_back
        residuals = {"sigma": best.sigma_one_step, "white": white.is_white}
        residuals |= {"ljung_box": white.ljung_box, "periodogram_distance": white.distance}
        found: dict[str, Any] = {
            "schema": SCHEMA,
            "file": data.file,
            "sha256": data.sha256,
            "columns": data.columns,
            "days": data.days,
            "step_hours": best.record.hours,
            "inputs": self.inputs,
            "model": self.name,
            "error": "simulation" if best.model.is_quiet else "one step",
            "identified": not self.unknown,
            "parameters": {e.name: asdict(e) for e in self.estimates},
            "unknown": self.unknown,
            "likelihood": best.likelihood,
            "aic": best.aic,
            "optima": best.optima,
            "outliers": int(best.outliers.sum()),
            "residuals": residuals,
            "held_back": errors and {k: v for k, v in asdict(errors).items() if k != "predicted"},
            "residual": self.residual and self.residual.to_dict(),
            "candidates": [c.to_dict() for c in self.candidates],
            "uncertainty": uncertainty(self),
            "notes": self.notes,
        }
        return cast("dict[str, Any]", _plain(found))


def identify(
    measurements: Measurements,
    model: str = AUTO,
    *,
    error: str = "one step",
    gain: bool = False,
    share: float = HELD_BACK,
    residual: str | None = None,
    starts: int = 4,
    seed: int = 0,
    zone: str = ROOM,
    on_fit: Callable[[str], None] | None = None,
) -> Identified:
    """Find a grey-box model of a building.

    ``model``: the name of a structure, or ``auto`` for the one that the data bear out. ``error``:
    ``one step``: process and measurement noise, by a Kalman filter; ``simulation``: no process
    noise, so that errors of a free run are as small as can be. ``gain``: whether a constant gain of
    the room is found as well, as of people and devices. ``share``: what is held back at the end of
    the record, to be predicted. ``residual``: ``ridge`` or ``boosting``: what the structure leaves
    out is learnt, and kept where what is held back is then predicted better. ``zone``: what a plant
    file calls the room. Raises InputError for a structure or a residual that there is not, a name
    that none can have, or a share that leaves nothing.
    """
    if model != AUTO and model not in STRUCTURES:
        known = f"{AUTO}, {', '.join(STRUCTURES)}"
        raise InputError("unknown structure of a model", found=repr(model), expected=known)
    if not 0 <= share <= _MOST_HELD_BACK:
        expected = f"a share from 0 to {_MOST_HELD_BACK:g}"
        raise InputError("what is held back", found=f"{share:g}", expected=expected)
    if residual not in (None, *KINDS):
        raise InputError("unknown residual", found=repr(residual), expected=", ".join(KINDS))
    if not NAME.fullmatch(zone):
        raise InputError("the name of the zone", found=repr(zone), expected=NAMING)
    begin = round(len(measurements.begins) * (1 - share))
    record = measurements.record.part(0, begin)
    fits: dict[str, Fit] = {}
    for name in STRUCTURES if model == AUTO else (model,):
        if on_fit is not None:
            on_fit(name)
        wanted = Model(STRUCTURES[name], measurements.drivers, gain, error == "simulation")
        smaller = [fits[n] for n in STRUCTURES[name].within if n in fits]
        near = max(smaller, key=lambda f: f.likelihood).values if smaller else None
        fits[name] = fit(wanted, record, starts=starts, seed=seed, near=near)
    tried = _compared(fits)
    useful = []
    for candidate in sorted(filter(lambda c: c.is_borne_out, tried), key=lambda c: c.aic):
        sure = estimates(candidate.fit)
        useful.append((candidate, sure, _unknown(candidate.fit, sure, measurements)))
        if not useful[-1][2]:
            break
    # The first that is known, else the first of all; the smallest structure extends none.
    best, sure, unknown = min(useful, key=lambda found: bool(found[2]))
    notes = (*measurements.notes, *_notes(best, measurements, sure))
    if best.fit.model.structure.within and any("as well" in why for why in unknown.values()):
        fewer = " or ".join(best.fit.model.structure.within)
        notes = (*notes, f"a smaller structure may be known: --model {fewer}")
    found = Identified(
        measurements,
        best.fit,
        sure,
        unknown,
        tuple(replace(c, verdict=_verdict(c, best)) for c in tried),
        best.whiteness,
        held_back(best.fit, measurements.record, begin),
        begin,
        notes,
        zone=zone,
    )
    return found if residual is None else _with_residual(found, residual, seed)


def inputs_of(zone: str) -> str:
    """Return the name of the table of what a plant needs of the measurements of a zone."""
    return _beside(zone, "inputs.csv")


def _beside(zone: str, name: str) -> str:
    return name if zone == ROOM else f"{zone}_{name}"


def _with_residual(found: Identified, kind: str, seed: int) -> Identified:
    """Return what was identified with a residual as one more driver, where that is better."""
    data = found.measurements
    tried = learnt(kind, found.fit, data, found.begin, seed)
    if not tried.is_kept:
        note = f"the {kind} residual predicts what was held back no better, and was left out"
        return replace(found, residual=tried, notes=(*found.notes, note))
    drivers = (*data.drivers, HEAT)
    return replace(
        found,
        measurements=replace(data, record=extended(data.record, tried.heat), drivers=drivers),
        fit=tried.fit,
        estimates=estimates(tried.fit),
        whiteness=whiteness(tried.fit),
        held_back=tried.errors,
        residual=tried,
    )


def _compared(fits: dict[str, Fit]) -> list[Candidate]:
    """Return fits with their likelihood ratios, all by the measurements that none left out."""
    outliers = np.any([f.outliers for f in fits.values()], axis=0)
    worth, found = {}, []
    for name, one in fits.items():
        record = one.record.without(outliers)
        worth[name] = float(likelihood(one.model, one.theta[None], record)[0])
        aic = 2 * one.count - 2 * worth[name]
        against, ratio = "", float("nan")
        if smaller := [n for n in STRUCTURES[name].within if n in worth]:
            against = max(smaller, key=worth.__getitem__)
            further = len(one.theta) - len(fits[against].theta)
            ratio = chi_squared(2 * (worth[name] - worth[against]), further)
        found.append(Candidate(one, whiteness(one), aic, against, ratio))
    return found


def _verdict(candidate: Candidate, best: Candidate) -> str:
    """Return why a candidate is the one or not."""
    if candidate is best:
        return "chosen"
    if not candidate.is_borne_out:
        return f"explains no more than {candidate.against}"
    unsure = "has parameters that cannot be known from these data"
    return unsure if candidate.aic < best.aic else "explains less"


def _unknown(found: Fit, sure: Sequence[Estimate], data: Measurements) -> dict[str, str]:
    """Return by parameter why it cannot be known."""
    dull = excitation(found.record, data.inputs)
    if "heat" in dull and not any(d.is_known and d.series not in dull for d in data.drivers):
        why = f"{dull['heat']}, which cannot be told from a gain that was not measured"
        return {
            p.name: why for p in found.model.parameters if p.kind in ("capacitance", "resistance")
        }
    result = {}
    for driver in data.drivers:
        if driver.is_leak and driver.series in dull:
            result[f"{ROOM}.{driver.name}"] = f"{dull[driver.series]}, as walls are"
    for e, parameter in zip(sure, found.model.parameters, strict=True):
        # A coefficient may be as good as nothing; a capacity or a resistance may not.
        is_small = e.low == 0 and parameter.kind in ("capacitance", "resistance")
        if parameter.kind != "noise" and (is_small or not np.isfinite(e.high - e.low)):
            side = f" below {e.high:.3g}" if np.isfinite(e.high) else ""
            side = f" above {e.low:.3g}" if np.isfinite(e.low) and e.low > 0 else side
            reason = f"any value{side} {e.unit} fits as well"
            result[e.name] = "; ".join([reason, *dull.values()])
    return result


def _notes(best: Candidate, data: Measurements, sure: Sequence[Estimate]) -> list[str]:
    notes = list(_implausible(best.fit, data, sure))
    if outliers := int(best.fit.outliers.sum()):
        whole = len(best.fit.outliers)
        notes.append(f"{outliers} of {whole} measurements stand apart and were left out")
    if late := int(spikes(data.record)[len(best.fit.outliers) :].sum()):
        notes.append(f"{late} of what was held back stand apart and do not count in its errors")
    notes += excitation(best.fit.record, data.inputs).values()
    if not best.whiteness.is_white:
        notes.append(
            "the residuals are not white: the building does more than this model, whose intervals "
            "are then narrower than what is not known"
        )
    near = [o for o in best.fit.optima if best.fit.optima[0] - o < 1]
    if len(near) < 2 <= len(best.fit.optima):
        notes.append(
            "the other starts ended elsewhere; with more --starts a better one may be found"
        )
    weak = [e.name for e in sure if e.low > 0 and e.method == "profile" and e.high > 3 * e.low]
    if weak:
        notes.append(f"known roughly alone: {', '.join(weak)}")
    return notes


def _implausible(found: Fit, data: Measurements, sure: Sequence[Estimate]) -> Iterator[str]:
    """Yield what fits well and is yet hardly true of a building."""
    heat = np.abs(data.record.inputs[:, 1])
    largest, mean = float(np.nanmax(heat)), float(np.nanmean(heat))
    if largest and not PLAUSIBLE_HEAT[0] <= largest <= PLAUSIBLE_HEAT[1]:
        # A heat in a wrong unit fits as well: capacities and resistances take its factor.
        yield f"the heat is at most {largest:.3g} kW: is the unit of {data.columns['heat']} right?"
    days = len(found.record.measured) * found.record.hours / 24
    if days < LEAST_DAYS:
        said = "walls and floors may be slower; a record of two to three weeks is better"
        yield f"{days:.3g} days were fitted: {said}"
    gain = next((e for e in sure if e.name == GAIN), None)
    if gain is not None and gain.high < 0 and -gain.value > mean / 10:
        said = "which no people or devices give: it stands for what the structure leaves out"
        yield f"{GAIN} is {gain.value:.3g} kW, {said}, as a wall that stores heat"


def _plain(value: Any) -> Any:
    """Return a value without numbers that JSON has not."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return finite_or_none(value) if isinstance(value, float) else value


def uncertainty(found: Identified) -> dict[str, Any]:
    """Return what is not known, as ``--disturb``, robust plans and files of signals take it.

    Slots are off by their standard deviation, the same all the time; the noise of the process is
    heat into the room that is another one in each period. ``uncertain`` is a parameter that stands
    beside the room's temperature in limits: in its balance, an equality, it has no counterpart.
    ``estimated`` is what a step adds to the deviation of each state, ``deviation`` the sensor's,
    ``initial_deviation`` that of the others at the beginning, as the identification has it.
    """
    texts = [
        f"{found.part(e.name)}={100 * max(e.sigma, 1e-4):.2g}%"
        for e, p in zip(found.estimates, found.fit.model.parameters, strict=True)
        if p.kind in ("capacitance", "resistance") and e.name.count(".") == 1
    ]
    # The noise of a step as heat: sigma C / sqrt(dt). [kW]
    values, hours = found.fit.values, found.fit.record.hours
    noise = float(values.get("room.noise", 0.0) * values["room.capacitance"] / np.sqrt(hours))
    result: dict[str, Any] = {"disturb": ", ".join(texts)}
    if noise > 0 and (found.measurements.drivers or found.fit.model.has_gain):
        result["disturb"] += f", {found.zone}.gains={noise:.3g} kW"
    if not found.fit.model.is_quiet:
        wind = mean_wind(found.fit.model, found.fit.record)
        discrete = found.fit.model.discrete(found.fit.theta[None], hours, wind)
        transition, _, added, sensor = (part[0] for part in discrete)
        nodes = found.fit.model.structure.nodes
        error = _robust(transition, added, nodes.index(ROOM), round(24 / hours))
        result["uncertain"] = {"name": f"{found.zone}_temperature_error", **error}
        states = {node: f"zone.{found.part(node)}.temperature" for node in nodes}
        steps = zip(states.values(), np.sqrt(np.diag(added)), strict=True)
        result["estimated"] = {state: f"{k:.3g} K" for state, k in steps}
        result["deviation"] = f"{np.sqrt(sensor):.3g} K"
        hidden = [state for node, state in states.items() if node != ROOM]
        result |= {"initial_deviation": dict.fromkeys(hidden, f"{UNKNOWN:g} K")}
    return result


def _robust(transition: Floats, added: Floats, place: int, steps: int) -> dict[str, Any]:
    """Return a bound, in 95 % of cases, of the error of a temperature since it was known."""
    rows = [np.linalg.matrix_power(transition, k)[place] for k in range(steps)]
    variances = np.cumsum([row @ added @ row for row in rows])
    first = 1.96 * np.sqrt(np.max(variances / np.arange(1, steps + 1)))
    most = f"min({first:.3g}*sqrt(pos(t)), {1.96 * np.sqrt(variances[-1]):.3g})*1[K]"
    error = {"index": ["t in I"], "value": 0, "unit": "K"}
    return {**error, "uncertain": {"deviation": most, "set": "box"}}
