"""Studies of a blueprint that show themselves: sweeps, fronts and sensitivities."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engiagent.notebook import markup
from engiagent.notebook.figures import Figure, figure
from engiagent.notebook.home import dressed, solve_options
from engiagent.notebook.progress import Shown
from engiagent.report.charts import numerals
from engiagent.report.studied import study_charts
from engiagent.study.fronts import parse_goal
from engiagent.study.live import Setting
from engiagent.study.outcome import Outcome
from engiagent.study.pareto import run_pareto
from engiagent.study.sensitivity import Factor, every_parameter, run_sensitivity
from engiagent.study.sweep import SweepRequest, run_sweep
from engiagent.study.variation import Variation

if TYPE_CHECKING:
    import pandas as pd

    from engiagent.notebook.blueprint import Blueprint


class Study(Outcome):
    """The points of a study."""

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a row for every point: what was varied, the status, and what was found."""
        import pandas as pd

        return pd.DataFrame(self.table())

    def plot(self, *, backend: str = "svg") -> Any:
        """Draw the study.

        Raises
        ------
        InputError
            When there is no such backend.
        """
        return figure(tuple(study_charts(self)), self._title, backend)

    @property
    def _title(self) -> str:
        return f"{self.kind} of {self.program.objective_name}"

    def __repr__(self) -> str:
        done = sum(row.get("status") == "optimal" for row in self.rows)
        return f"Study({self._title}: {len(self.rows)} points, {done} optimal)"

    def _repr_html_(self) -> str:
        rows = self.table()
        names = list(dict.fromkeys(name for row in rows for name in row))
        cells = [tuple(_cell(row.get(name)) for name in names) for row in rows]
        numbers = [k for k, name in enumerate(names) if any(_is_number(r.get(name)) for r in rows)]
        drawn = Figure(tuple(study_charts(self)), self._title)
        return markup.card(
            self._title,
            drawn._html(),
            markup.folded(f"{len(rows)} points", markup.table(names, cells, "", numbers)),
            markup.bullets(self.notes),
            kicker="study",
        )


def sweep(blueprint: "Blueprint", variations: Sequence[str], given: dict[str, Any]) -> Study:
    """Return a sweep; see :meth:`Blueprint.sweep`."""
    parsed = tuple(Variation.parse(text) for text in variations)
    request = SweepRequest(parsed, show=tuple(given.pop("show", ())))
    with _Study(blueprint, given) as work:
        found = run_sweep(blueprint.plain, request, work.setting, work.out, on_point=work.point)
    return dressed(Study, found)


def pareto(blueprint: "Blueprint", goals: Sequence[str], given: dict[str, Any]) -> Study:
    """Return a front; see :meth:`Blueprint.pareto`."""
    asked = {name: given.pop(name) for name in ("method", "points", "show") if name in given}
    with _Study(blueprint, given) as work:
        found = run_pareto(
            blueprint.plain,
            [parse_goal(text) for text in goals],
            work.setting,
            work.out,
            on_point=work.point,
            **asked,
        )
    return dressed(Study, found)


def sensitivity(blueprint: "Blueprint", factors: Sequence[str], given: dict[str, Any]) -> Study:
    """Return a sensitivity; see :meth:`Blueprint.sensitivity`."""
    asked = {name: given.pop(name) for name in ("width", "show") if name in given}
    named = [Factor.parse(text) for text in factors] or every_parameter(blueprint.plain)
    with _Study(blueprint, given) as work:
        found = run_sensitivity(
            blueprint.plain, named, work.setting, work.out, on_point=work.point, **asked
        )
    return dressed(Study, found)


class _Study(Shown):
    """What every study takes, and the line that says how far it has come."""

    def __init__(self, blueprint: "Blueprint", given: dict[str, Any]) -> None:
        super().__init__(blueprint.home.name)
        out = given.pop("out", None)
        certify, progress = given.pop("certify", False), given.pop("progress", True)
        self.out = None if out is None else Path(out)
        self.setting = Setting(
            folder=blueprint.home.folder,
            options=solve_options(given),
            certify=certify,
            name=blueprint.home.name,
        )
        self._is_told = progress

    def point(self, done: int, total: int, row: dict[str, Any]) -> None:
        """Show how many points are done."""
        if self._is_told:
            self.say(f"{done} of {total} points, {row.get('status', '')}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    return numerals.number(float(value), 8) if _is_number(value) else str(value or "")
