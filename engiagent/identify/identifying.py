"""From measurements to a model that is known well enough to be used, or to what is not known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.identify.fitting import Estimate, Fit, estimates, fit
from engiagent.identify.judging import (
    LEVEL,
    Errors,
    Whiteness,
    chi_squared,
    excitation,
    held_back,
    whiteness,
)
from engiagent.identify.measurements import Measurements
from engiagent.identify.structures import STRUCTURES, model_of

AUTO: Final = "auto"
HELD_BACK: Final = 0.25
SCHEMA: Final = "engiagent-identification/1"
_MOST_HELD_BACK: Final = 0.8


@dataclass(frozen=True)
class Candidate:
    """A structure that was tried.

    Attributes
    ----------
    against, ratio
        The structure that it extends and was compared with, and the probability that the gain of
        likelihood is by chance; empty and NaN without one.
    verdict
        Why it was chosen or not, in words.
    """

    fit: Fit
    whiteness: Whiteness
    against: str = ""
    ratio: float = float("nan")
    verdict: str = ""

    @property
    def name(self) -> str:
        """The name of its structure."""
        return self.fit.model.structure.name


@dataclass(frozen=True)
class Identified:
    """A model with all that is known of it.

    Attributes
    ----------
    unknown
        By parameter why it cannot be known from these measurements; the model is then of no use.
    held_back
        Errors on data that were not fitted, from period ``begin`` on; None without any.
    """

    measurements: Measurements
    fit: Fit
    estimates: tuple[Estimate, ...]
    unknown: dict[str, str]
    candidates: tuple[Candidate, ...]
    whiteness: Whiteness
    held_back: Errors | None
    begin: int
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the structure."""
        return self.fit.model.structure.name

    def __getitem__(self, name: str) -> Estimate:
        return next(e for e in self.estimates if e.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON; what is open or not there is null."""
        fit_ = self.fit
        errors = self.held_back
        found = {
            "schema": SCHEMA,
            "file": self.measurements.file,
            "sha256": self.measurements.sha256,
            "columns": dict(self.measurements.columns),
            "days": self.measurements.days,
            "step_hours": fit_.record.hours,
            "model": self.name,
            "error": "simulation" if fit_.model.is_quiet else "one step",
            "identified": not self.unknown,
            "parameters": {
                e.name: {
                    "value": e.value,
                    "unit": e.unit,
                    "low": e.low,
                    "high": e.high,
                    "sigma": e.sigma,
                    "interval": e.method,
                }
                for e in self.estimates
            },
            "unknown": self.unknown,
            "likelihood": fit_.likelihood,
            "aic": fit_.aic,
            "optima": list(fit_.optima),
            "outliers": int(fit_.outliers.sum()),
            "residuals": {
                "sigma": fit_.sigma_one_step,
                "unit": "K",
                "ljung_box": self.whiteness.ljung_box,
                "periodogram_distance": self.whiteness.distance,
                "periodogram_limit": self.whiteness.limit,
                "white": self.whiteness.is_white,
            },
            "held_back": None
            if errors is None
            else {
                "hours": len(errors.predicted) * fit_.record.hours,
                "ahead": {f"{hours:g} h": value for hours, value in errors.ahead.items()},
                "persistence": {f"{h:g} h": value for h, value in errors.persistence.items()},
                "simulation": errors.simulation,
                "bias": errors.bias,
                "largest": errors.largest,
                "unit": "K",
            },
            "candidates": [
                {
                    "model": c.name,
                    "likelihood": c.fit.likelihood,
                    "parameters": c.fit.count,
                    "aic": c.fit.aic,
                    "against": c.against or None,
                    "likelihood_ratio": c.ratio,
                    "ljung_box": c.whiteness.ljung_box,
                    "white": c.whiteness.is_white,
                    "verdict": c.verdict,
                }
                for c in self.candidates
            ],
            "uncertainty": uncertainty(self),
            "notes": list(self.notes),
        }
        return {key: _plain(value) for key, value in found.items()}


def identify(
    measurements: Measurements,
    model: str = AUTO,
    *,
    error: str = "one step",
    gain: bool = False,
    share: float = HELD_BACK,
    starts: int = 4,
    seed: int = 0,
    on_fit: Callable[[str], None] | None = None,
) -> Identified:
    """Find a grey-box model of a building.

    Parameters
    ----------
    model
        The name of a structure, or ``auto`` for the one that the data bear out.
    error
        ``one step``: process and measurement noise, by a Kalman filter; ``simulation``: no process
        noise, so that errors of a free run are as small as can be.
    gain
        Whether a constant gain of the room is found as well, as of people and devices.
    share
        What is held back at the end of the record, to be predicted.

    Raises
    ------
    InputError
        For a structure that there is not, or a share that leaves nothing.
    """
    if model != AUTO and model not in STRUCTURES:
        known = f"{AUTO}, {', '.join(STRUCTURES)}"
        raise InputError("unknown structure of a model", found=repr(model), expected=known)
    if not 0 <= share <= _MOST_HELD_BACK:
        expected = f"a share from 0 to {_MOST_HELD_BACK:g}"
        raise InputError("what is held back", found=f"{share:g}", expected=expected)
    begin = round(len(measurements.begins) * (1 - share))
    record = measurements.record.part(0, begin)
    tried: dict[str, Candidate] = {}
    for name in STRUCTURES if model == AUTO else (model,):
        if on_fit is not None:
            on_fit(name)
        wanted = model_of(name, measurements.drivers, has_gain=gain, is_quiet=error == "simulation")
        smaller = [tried[n].fit for n in STRUCTURES[name].within if n in tried]
        near = max(smaller, key=lambda f: f.likelihood).values if smaller else None
        found = fit(wanted, record, starts=starts, seed=seed, near=near)
        tried[name] = _compared(found, smaller)
    order = sorted(tried.values(), key=lambda c: c.fit.aic)
    chosen = None
    for candidate in order:
        if candidate.against and not candidate.ratio < LEVEL:
            continue
        sure = estimates(candidate.fit)
        unknown = _unknown(candidate.fit, sure, measurements)
        if chosen is None or not unknown:
            chosen = candidate, sure, unknown
        if not unknown:
            break
    assert chosen is not None  # the smallest structure extends none
    best, sure, unknown = chosen
    notes = [*measurements.notes, *_notes(best, tried, measurements, sure)]
    return Identified(
        measurements,
        best.fit,
        sure,
        unknown,
        tuple(_judged(c, best) for c in tried.values()),
        best.whiteness,
        held_back(best.fit, measurements.record, begin)
        if begin < len(measurements.begins)
        else None,
        begin,
        tuple(notes),
    )


def _compared(found: Fit, smaller: Sequence[Fit]) -> Candidate:
    """Return a fit with its likelihood ratio to the best of the structures that it extends."""
    white = whiteness(found)
    if not smaller:
        return Candidate(found, white)
    best = max(smaller, key=lambda f: f.likelihood)
    further = max(len(found.theta) - len(best.theta), 1)
    ratio = chi_squared(2 * (found.likelihood - best.likelihood), further)
    return Candidate(found, white, best.model.structure.name, ratio)


def _judged(candidate: Candidate, best: Candidate) -> Candidate:
    """Return a candidate with the reason why it is the one or not."""
    if candidate is best:
        verdict = "chosen"
    elif candidate.against and not candidate.ratio < LEVEL:
        verdict = f"explains no more than {candidate.against}"
    elif candidate.fit.aic < best.fit.aic:
        verdict = "has parameters that cannot be known from these data"
    else:
        verdict = "explains less"
    return Candidate(
        candidate.fit, candidate.whiteness, candidate.against, candidate.ratio, verdict
    )


def _unknown(found: Fit, sure: Sequence[Estimate], data: Measurements) -> dict[str, str]:
    """Return by parameter why it cannot be known."""
    dull = excitation(found.record, data.inputs)
    if "heat" in dull and not any(d.is_known and d.series not in dull for d in data.drivers):
        why = f"{dull['heat']}, which cannot be told from a gain that was not measured"
        return {
            p.name: why for p in found.model.parameters if p.kind in ("capacitance", "resistance")
        }
    result = {}
    for estimate, parameter in zip(sure, found.model.parameters, strict=True):
        if parameter.kind == "noise":
            continue
        is_open = not np.isfinite(estimate.high)
        if parameter.kind in ("capacitance", "resistance"):
            is_open = is_open or estimate.low == 0
        if parameter.kind == "gain":
            is_open = is_open or not np.isfinite(estimate.low)
        if is_open:
            ends = (estimate.low, estimate.high)
            shown = [f"{x:.3g}" for x in ends if np.isfinite(x) and x != 0]
            whole = (
                "any value"
                if not shown
                else f"any value {'above' if ends[0] > 0 else 'below'} {shown[0]}"
            )
            reason = f"{whole} {estimate.unit} fits as well"
            result[estimate.name] = "; ".join([reason, *dull.values()])
    return result


def _notes(
    best: Candidate, tried: dict[str, Candidate], data: Measurements, sure: Sequence[Estimate]
) -> list[str]:
    notes = []
    if outliers := int(best.fit.outliers.sum()):
        notes.append(f"{outliers} measurements stand apart from all others and were left out")
    notes += excitation(best.fit.record, data.inputs).values()
    if not best.whiteness.is_white:
        notes.append(
            "the residuals are not white: the building does more than this model, whose intervals "
            "are then narrower than what is not known"
        )
    near = [o for o in best.fit.optima if best.fit.optima[0] - o < 0.1]
    if len(near) < 2 <= len(best.fit.optima):
        notes.append(
            "the other starts ended elsewhere; with more --starts a better one may be found"
        )
    weak = [e.name for e in sure if e.low > 0 and e.method == "profile" and e.high > 3 * e.low]
    if weak:
        notes.append(f"known roughly alone: {', '.join(weak)}")
    return notes


def _plain(value: Any) -> Any:
    """Return a value without numbers that JSON has not."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    is_number = isinstance(value, float) and not isinstance(value, bool)
    return float(value) if is_number and np.isfinite(value) else None if is_number else value


def step_noise(found: Identified) -> float:
    r"""Return the noise of the process as heat, :math:`\sigma C / \sqrt{\Delta t}`. [kW]."""
    values = found.fit.values
    sigma = values.get("room.noise", 0.0)
    return float(sigma * values["room.capacitance"] / np.sqrt(found.fit.record.hours))


def uncertainty(found: Identified) -> dict[str, Any]:
    """Return what is not known, as ``--disturb`` and robust plans take it.

    Slots are off by their standard deviation, the same all the time; the noise of the process is
    heat into the room that is another one in each period.
    """
    texts = [
        f"{e.name}={100 * max(e.sigma, 1e-4):.2g}%"
        for e, p in zip(found.estimates, found.fit.model.parameters, strict=True)
        if p.kind in ("capacitance", "resistance") and e.name.count(".") == 1
    ]
    noise = step_noise(found)
    result: dict[str, Any] = {"disturb": ", ".join(texts)}
    if noise > 0 and (found.measurements.drivers or found.fit.model.has_gain):
        result["disturb"] += f", room.gains={noise:.3g} kW"
        result["uncertain"] = {"room_gains": {"deviation": 1.96 * noise, "set": "box"}}
    return result
