"""The page of an identification: parameters, fit, residuals, and what was tried."""

from collections.abc import Iterator

import numpy as np

from engiagent.identify.identifying import Identified
from engiagent.report import charts, words
from engiagent.report.charts.timeline import Axis
from engiagent.report.sections import Cell, DataTable, Fact, Section, drawn, page_of_tables


def page(found: Identified) -> str:
    """Return the page of what was identified."""
    panels = [*_panels(found)]
    shown = [drawn(f"chart-{k}", k, panel) for k, panel in enumerate(panels, start=1)]
    fitted = sum(panel.axis.kind == "time" for panel in panels)
    sections = [
        Section("Parameters", tables=(_parameters(found),), kind="values"),
        Section("Measured and predicted", charts=tuple(shown[:fitted])),
        Section("Residuals", charts=tuple(shown[fitted:])),
    ]
    if len(found.candidates) > 1:
        sections.append(Section("Structures that were tried", tables=(_tried(found),)))
    if found.unknown:
        sections.insert(0, Section("What cannot be known", tables=(_unknown(found),)))
    return page_of_tables(
        f"Identification: {found.measurements.file}",
        "engiagent identify",
        sections,
        lead=lead(found),
        numbers=[*_facts(found)],
        notes=found.notes,
    )


def lead(found: Identified) -> str:
    """Return in a sentence what was found."""
    data, record = found.measurements, found.fit.record
    about = f"{data.days:.4g} days in steps of {60 * record.hours:g} min"
    if found.unknown:
        return f"From {about} {', '.join(found.unknown)} of {found.name} cannot be known."
    return f"{found.name} from {about}; intervals are of 95 %."


def _facts(found: Identified) -> Iterator[Fact]:
    sigma = words.quantity(found.fit.sigma_one_step, "K", 3)
    white = "white" if found.whiteness.is_white else "not white"
    yield Fact("Residual", sigma, f"one step ahead, {white}", is_lead=True)
    if found.held_back is not None:
        for hours, error in found.held_back.ahead.items():
            stays = words.quantity(found.held_back.persistence[hours], "K", 3)
            shown = words.quantity(error, "K", 3)
            yield Fact(f"{hours:g} h ahead", shown, f"held back; {stays} by persistence")
        error, bias = found.held_back.simulation, found.held_back.bias
        shown = words.quantity(error, "K", 3)
        yield Fact("Simulation", shown, f"held back; bias {words.quantity(bias, 'K', 2)}")


def _panels(found: Identified) -> Iterator[charts.Panel]:
    data, fit, errors = found.measurements, found.fit, found.held_back
    places = data.begins.astype(np.float64)
    axis = Axis("time", "time", places, (), data.zone)
    measured = data.record.measured.copy()
    measured[: len(fit.outliers)][fit.outliers] = np.nan
    curves = [charts.Curve("measured", places, measured, "line")]
    if errors is not None:
        behind = places[found.begin :]
        curves.append(charts.Curve("simulated, held back", behind, errors.predicted, "line"))
    yield charts.Panel("Temperature of the room", "degC", axis, tuple(curves))
    innovation = fit.filtered.innovation[:, 0]
    curve = charts.Curve("residual", places[: len(innovation)], innovation, "line")
    yield charts.Panel("One-step residuals", "K", axis, (curve,))
    white = found.whiteness
    lags = np.arange(1.0, len(white.autocorrelation) + 1)
    flat = np.full(len(lags), white.band)
    curve = charts.Curve("autocorrelation", lags, white.autocorrelation, "line", marks=True)
    band = charts.Band("95 % of white noise", lags, -flat, flat, "line")
    title = "Autocorrelation of the residuals"
    across = Axis("lag in steps", "value", np.zeros(0), ())
    yield charts.Panel(title, "1", across, (curve,), (band,), close=True)


def _number(value: float) -> Cell:
    return Cell(words.number(value, 4) if np.isfinite(value) else "", is_number=True)


def _parameters(found: Identified) -> DataTable:
    head = ("parameter", "value", "from", "to", "unit", "interval by")
    rows = tuple(
        (Cell(e.name), *map(_number, (e.value, e.low, e.high)), Cell(e.unit), Cell(e.method))
        for e in found.estimates
    )
    return DataTable("Parameters with their 95 % intervals", head, rows)


def _tried(found: Identified) -> DataTable:
    head = ("structure", "parameters", "AIC", "against", "p", "Ljung-Box", "")
    rows = tuple(
        (
            Cell(c.name),
            *map(_number, (c.fit.count, c.aic)),
            Cell(c.against),
            *map(_number, (c.ratio, c.whiteness.ljung_box)),
            Cell(c.verdict),
        )
        for c in found.candidates
    )
    return DataTable("Likelihood ratio, information criterion, whiteness", head, rows)


def _unknown(found: Identified) -> DataTable:
    rows = tuple((Cell(name), Cell(why)) for name, why in found.unknown.items())
    return DataTable("Parameters that these data say nothing of", ("parameter", "why"), rows)
