"""A plan, with how it came about: look at it, keep it, have it checked and explained."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import InputError
from engiagent.explain import Explanation, Given, explain, explain_result
from engiagent.formulations.program import Program
from engiagent.notebook import markup
from engiagent.notebook.figures import Figure
from engiagent.notebook.shown import amount
from engiagent.report.charts import Chart, Lanes, Panel, numerals, plan_panels
from engiagent.report.charts.series import aligned, over_one_axis, solution_series
from engiagent.report.charts.timeline import Axis, Floats
from engiagent.report.page import render_report
from engiagent.run.certify import certify, with_gaps
from engiagent.run.folder import CASES
from engiagent.run.keyfigures import KeyFigures, key_figures
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solution import save_solution
from engiagent.study import Study
from engiagent.study.returns import compared_cases, study_beside
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import EDITED, Reading
from engiagent.verify.disturbances import parse_disturbances

if TYPE_CHECKING:
    import pandas as pd
    import xarray

OVERVIEW: Final = 4
"""Panels that are drawn when nobody says which."""


@dataclass(frozen=True)
class Drawn:
    """A plan as charts are drawn from it."""

    solution: "xarray.Dataset"
    blueprint: Blueprint
    elaboration: Elaboration


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """What solving a blueprint gave; without a plan where there is none."""

    blueprint: Blueprint  # what was solved
    # the series with units and coordinates, and the solver's account as attributes
    dataset: "xarray.Dataset"
    # program, result: what the solver was given and what it said; None for a plan that was read
    # from a file
    program: Program | None = None
    result: SolverResult | None = None

    @property
    def status(self) -> str:
        """The solver's own word, as ``optimal`` or ``infeasible``; nothing counts but the check."""
        return str(self.dataset.attrs.get("status") or "computed")

    @property
    def objective(self) -> float | None:
        """The value of the objective, in ``unit``; None without a plan."""
        value = self.dataset.attrs.get("objective")
        return None if value is None else float(value)

    @property
    def unit(self) -> str:
        """The unit of the objective."""
        return str(self.dataset.attrs.get("objective_unit") or "")

    def __getitem__(self, name: str) -> "xarray.DataArray":
        """Return a series by its variable or its quantity, as ``battery.charge``."""
        if name in self.dataset:
            return self.dataset[name]
        for key, array in self.dataset.data_vars.items():
            if array.attrs.get("quantity") == name:
                return self.dataset[str(key)]
        known = [str(a.attrs.get("quantity") or k) for k, a in self.dataset.data_vars.items()]
        close = get_close_matches(name, known, n=3, cutoff=0.4) or known[:8]
        raise InputError(f"there is no series {name!r}", expected=", ".join(close) or "a plan")

    @cached_property
    def figures(self) -> KeyFigures:
        """The key figures of the plan: cost, energies, peaks, stores, comfort, emissions."""
        return key_figures(self.drawn.elaboration, self.dataset)

    @cached_property
    def _study(self) -> Study | None:
        return study_beside(self.blueprint, self.blueprint.home.folder, SolveOptions())

    @property
    def cases(self) -> tuple[Mapping[str, Any], ...]:
        """The plan and the cases of its site, each solved; the baseline with what is saved."""
        return () if self._study is None else compared_cases(self._study.rows, self.blueprint.core)

    @property
    def saving(self) -> float | None:
        """What the plan saves against the baseline; None without one."""
        return next((case["saving"] for case in self.cases if "saving" in case), None)

    # -- keeping --------------------------------------------------------------------------------

    def to_xarray(self) -> "xarray.Dataset":
        """Return a copy of the series and of the solver's account."""
        return self.dataset.copy(deep=True)

    def to_netcdf(self, path: str | Path) -> Path:
        """Write the plan as ``engiagent check --solution`` reads it, and return its path."""
        save_solution(self.dataset, Path(path))
        return Path(path)

    def to_dataframe(self, *, units: bool = True) -> "pd.DataFrame":
        """Return the series over time as columns, with their units in the names.

        The longest kind of axis gives the rows: instants of states and starts of periods, in the
        zone of the problem; series along other axes are left out.

        ``units``: whether columns are called ``battery.charge [kW]`` or ``battery.charge``.
        """
        import pandas as pd

        groups = over_one_axis(solution_series(self.drawn)[0])
        if not groups:
            return pd.DataFrame()
        members = max(groups, key=len)
        places, labels, values = aligned(members)
        columns: dict[str, Any] = {}
        for item, column in zip(members, values, strict=True):
            unit = numerals.unit(item.unit)
            name = f"{item.label} [{unit}]" if units and unit else item.label
            columns[name if name not in columns else f"{item.source}: {name}"] = column
        return pd.DataFrame(columns, index=_index(members[0].axis, places, labels))

    def report(self, path: str | Path) -> Path:
        """Write the report of the checked plan as one page of HTML, and return its path."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            self.to_netcdf(folder / "solution.nc")
            written = self.blueprint.expanded.to_json()
            (folder / "blueprint.json").write_text(written, encoding="utf-8")
            certificate = self.certificate.to_json()
            (folder / "certificate.json").write_text(certificate, encoding="utf-8")
            if self._study is not None:
                (folder / CASES).write_text(self._study.to_json(), encoding="utf-8")
            Path(path).write_text(render_report(folder), encoding="utf-8")
        return Path(path)

    # -- looking --------------------------------------------------------------------------------

    @cached_property
    def drawn(self) -> Drawn:
        """The plan with its expanded blueprint and the data, as charts are drawn from it."""
        written = self.blueprint.expanded
        return Drawn(self.dataset, written, Elaboration(written.core, self.blueprint.home.folder))

    @cached_property
    def panels(self) -> tuple[Chart, ...]:
        """All that can be drawn of the plan, what tells most first."""
        return plan_panels(self.drawn)

    def plot(self, which: str | None = None) -> Figure:
        """Draw the plan.

        ``which``: words of a panel's title or of a series in it, as ``battery`` or ``price``;
        ``all`` for every panel; None for those that tell most. Raises InputError when no panel has
        these words.
        """
        chosen = self.panels[:OVERVIEW]
        if which == "all":
            chosen = self.panels
        elif which is not None:
            chosen = tuple(p for p in self.panels if _speaks_of(p, which))
            if not chosen:
                known = ", ".join(dict.fromkeys(p.title for p in self.panels))
                raise InputError(f"no panel speaks of {which!r}", expected=known or "a plan")
        return Figure(chosen, f"Plan of {self.blueprint.home.name}")

    # -- checking -------------------------------------------------------------------------------

    @cached_property
    def certificate(self) -> Certificate:
        """What the checker says of the plan, against the problem it was made for."""
        return self.check()

    def check(
        self, against: str | None = None, *, exact: bool = False, disturb: str | None = None
    ) -> Certificate:
        """Have the plan checked, by code that shares nothing with the solver.

        ``against``: ``problem`` or ``blueprint``; None for the problem, or for the blueprint where
        there is none or where the blueprint was edited since: its numbers then count as given.
        ``exact``: whether to say beside every figure what rational arithmetic makes of it.
        ``disturb``: what is to turn out another way in runs of the plan, as ``load.power=5%``.
        Raises InputError when there is no problem to check against, or an input is unreadable.
        """
        home = self.blueprint.home
        if against not in (None, "problem", "blueprint"):
            raise InputError("against what?", found=against, expected="problem or blueprint")
        if against == "problem" and home.problem is None:
            raise InputError("the blueprint came without a problem", expected="blueprint")
        problem = home.stated if against is None else home.problem
        problem = None if against == "blueprint" else problem
        edited = home.problem is not None and problem is None
        found = certify(
            problem,
            self.dataset,
            self.blueprint,
            folder=home.data,
            name=home.name,
            reading=Reading(open=(EDITED,)) if edited else None,
            exact=exact,
            disturb=None if disturb is None else parse_disturbances(disturb),
        )
        if home.edits and problem is None:
            said = f"checked against the blueprint as edited: {'; '.join(home.edits)}"
            found = replace(found, notes=(*found.notes, said))
        unclear = () if problem is None else home.not_understood
        return with_gaps(found, unclear)

    def explain(self, *, seconds: float = 10.0) -> Explanation:
        """Say why there is no plan, no best one, or what holds this one back.

        ``seconds``: for what is solved again to explain.
        """
        home, blueprint = self.blueprint.home, self.drawn.blueprint
        about: dict[str, Any] = {"folder": home.folder, "problem": home.problem}
        given = Given(blueprint=blueprint, name=home.name, **about)
        if self.program is not None and self.result is not None:
            return explain_result(given, self.program, self.result, seconds=seconds)
        return explain(blueprint, **about, seconds=seconds)

    def diff(self, other: "Solution") -> "pd.DataFrame":
        """Return what is different in another plan."""
        from engiagent.notebook.difference import diff

        return diff(self, other)

    # -- showing --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        text = f"Solution({self.blueprint.home.name!r}: {self.status}"
        text += "" if self.objective is None else f", {amount(self.objective, self.unit)}"
        reason = self.dataset.attrs.get("reason")
        text += f"; {reason}" if reason and reason != self.status else ""
        return text + ")"

    def _repr_html_(self) -> str:
        attrs = self.dataset.attrs
        facts = {
            "status": self.status,
            "why": "" if attrs.get("reason") == self.status else attrs.get("reason", ""),
            "solver": f"{attrs.get('solver', '')} {attrs.get('solver_version', '')}",
        }
        named = {"objective": self.unit, "bound": self.unit, "gap": "%", "seconds": "s"}
        for name, unit in named.items():
            if attrs.get(name) is not None:
                value = float(attrs[name])
                facts[name] = f"{100 * value:.3g} %" if name == "gap" else amount(value, unit)
        return markup.card(
            self.blueprint.home.name,
            markup.facts(facts.items()),
            self.plot().picture(),
            "Not checked yet: the certificate says whether the plan holds.",
            kicker="solution",
        )


def _speaks_of(panel: Chart, words: str) -> bool:
    parts = panel.lanes if isinstance(panel, Lanes) else ()
    if isinstance(panel, Panel):
        parts = tuple(curve.label for curve in panel.curves if curve.side == "plot")
    texts = (panel.title, *parts)
    return any(words.lower() in text.lower() for text in texts)


def _index(axis: Axis, places: Floats, labels: list[str]) -> "pd.Index[Any]":
    """Return the rows' index: moments in their zone, times of day, or numbers."""
    import pandas as pd

    if axis.kind == "time":
        moments = pd.DatetimeIndex(places.astype("datetime64[s]"), name="time")
        if axis.zone is None:
            return moments
        return moments.tz_localize("UTC").tz_convert(axis.zone).rename("time")
    if axis.kind == "clock":
        return pd.Index(labels, name="time of day")
    return pd.Index(places, name=axis.name)
