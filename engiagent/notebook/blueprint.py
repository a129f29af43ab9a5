"""A blueprint with what can be done with it: look, edit, solve, explain."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from engiagent.agents.running import in_full
from engiagent.blueprint import Blueprint as PlainBlueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.definitions import check_definitions
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.patching import patched
from engiagent.errors import InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex import emit_latex
from engiagent.notebook.difference import Difference, blueprint_difference
from engiagent.notebook.home import Home, solve_options
from engiagent.notebook.progress import Shown
from engiagent.notebook.run import Run
from engiagent.notebook.shown import Explanation
from engiagent.notebook.solution import Solution
from engiagent.notebook.study import Study, pareto, sensitivity, sweep
from engiagent.notebook.views import Equations, Findings, blueprint_html, blueprint_text
from engiagent.run.edits import set_value, with_changes
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of
from engiagent.run.proofs import PLAIN
from engiagent.run.stages import computed, solve_program, static_findings
from engiagent.solvers.result import OnProgress

_FIELDS = tuple(item.name for item in fields(PlainBlueprint))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Blueprint(PlainBlueprint):
    """A whole blueprint; see :class:`engiagent.blueprint.Blueprint`.

    Nothing changes in place: an edit returns another blueprint.
    """

    _home: Home = field(default_factory=Home, repr=False, compare=False)

    @property
    def home(self) -> Home:
        """Its problem, where its data lie, what was not understood, and what was edited."""
        return self._home

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a blueprint file with the problem and the data that belong to it.

        Raises
        ------
        InputError
            When the file is unreadable, no JSON, or does not fit the schema.
        """
        blueprint = super().load(path)
        problem = problem_beside(Path(path))
        name = problem.id if problem is not None else name_of(Path(path))
        return replace(blueprint, _home=Home(problem_folder_of(Path(path)), problem, name))

    @classmethod
    def of(cls, blueprint: PlainBlueprint, home: Home | None = None) -> Self:
        """Return a blueprint that was made elsewhere, with where it comes from."""
        if home is None:
            home = blueprint.home if isinstance(blueprint, Blueprint) else Home()
        return cls(**{name: getattr(blueprint, name) for name in _FIELDS}, _home=home)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PlainBlueprint):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _FIELDS)

    __hash__ = PlainBlueprint.__hash__

    @property
    def plain(self) -> PlainBlueprint:
        """The blueprint without its home, as the stages take it."""
        return PlainBlueprint(**{name: getattr(self, name) for name in _FIELDS})

    # -- looking --------------------------------------------------------------------------------

    @property
    def expanded(self) -> "Blueprint":
        """The blueprint with all that its components stand for written out."""
        return Blueprint.of(in_full(self.plain), self.home)

    def lint(self) -> Findings:
        """Return what static analysis finds: names, shapes, units, unused data."""
        return Findings(self.home.name, self._diagnostics())

    def equations(self) -> Equations:
        """Return objective and constraints as formulas that a notebook sets."""
        return Equations(self)

    def diff(self, other: PlainBlueprint) -> Difference:
        """Return what is different in another blueprint."""
        return blueprint_difference(self, other)

    def to_pyomo(self) -> str:
        """Return a Pyomo script that solves the blueprint without engiagent."""
        from engiagent.formulations.pyomo_script import emit_pyomo

        text: str = emit_pyomo(self.plain, self.home.folder)
        return text

    def to_latex(self) -> str:
        """Return a LaTeX document that says what the blueprint says."""
        text: str = emit_latex(self.plain, self.home.folder)
        return text

    # -- editing --------------------------------------------------------------------------------

    def set(self, name: str, value: Any, unit: str | None = None) -> "Blueprint":
        """Return the blueprint with another value at a place.

        Parameters
        ----------
        name
            A parameter, a component's slot as ``battery.energy_capacity``, or a bound of a
            variable as ``charge.upper``.
        value
            A number; for what has an index also numbers in order, or a mapping from labels.
        unit
            Of the value; None for the unit of the place.

        Raises
        ------
        EngiagentError
            When the name leads nowhere, or the blueprint would not hold with the value: with the
            findings that ``engiagent lint`` would print.
        """
        document = self.to_dict()
        set_value(document, name, value, unit)
        shown = value if isinstance(value, int | float | str) else "other values"
        return self._edited(document, f"{name} = {shown}{' ' + unit if unit else ''}")

    def patch(self, operations: Sequence[Mapping[str, Any]]) -> "Blueprint":
        """Return the blueprint changed by a JSON patch (RFC 6902), whole or not at all.

        A step into a list may be the name of the element, as in
        ``/core_model_elements/constraints/C1/expression``.
        """
        document = with_changes(self.to_dict(), patched(self.to_dict(), operations))
        return self._edited(document, "; ".join(f"{o['op']} {o['path']}" for o in operations))

    def _edited(self, document: dict[str, Any], said: str) -> "Blueprint":
        """Return another document at home here; what it breaks is refused."""
        home = replace(self.home, edits=(*self.home.edits, said))
        edited = Blueprint.of(PlainBlueprint.from_dict(document), home)
        known = {(d.code, d.path, d.message) for d in self._diagnostics()}
        found = [
            d
            for d in edited._diagnostics()
            if d.severity == "error" and (d.code, d.path, d.message) not in known
        ]
        if found:
            raise BlueprintError(found)
        return edited

    def _diagnostics(self) -> tuple[Diagnostic, ...]:
        if self.kind == "definitions":
            return tuple(check_definitions(self.plain, self.home.folder))
        return tuple(analyse(expand(self.plain), self.home.folder).diagnostics)

    # -- solving --------------------------------------------------------------------------------

    def solve(self, *, progress: bool = True, **options: Any) -> Solution:
        """Solve in memory, the solver in a process of its own.

        Parameters
        ----------
        progress
            Show how far it has come.
        options
            Limits and settings, as ``time_limit=60`` [s], ``gap=0.01`` or ``backend="scip"``.

        Raises
        ------
        EngiagentError
            When data are missing, or static analysis finds errors. A problem without a plan is a
            solution without one: see its ``status``, and ask it to ``explain()``.
        """
        given = solve_options(options)
        with Shown(self.home.name) as shown:
            return self._solved(given, shown if progress else None, None)

    async def asolve(self, *, progress: bool = False, **options: Any) -> Solution:
        """Solve without holding up the event loop; cancelling the task stops the solver."""
        given, cancel = solve_options(options), threading.Event()
        with Shown(self.home.name) as shown:
            told = shown if progress else None
            work = asyncio.create_task(asyncio.to_thread(self._solved, given, told, cancel))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                cancel.set()
                await asyncio.wait([work])
                raise

    def _solved(
        self, options: Any, on_progress: OnProgress | None, cancel: threading.Event | None
    ) -> Solution:
        data = self.home.data
        if self.kind == "definitions":
            return Solution(self, computed(self.plain, data).to_xarray())
        expanded = self.expanded.plain
        found = static_findings(expanded, data)
        if found.error is not None:
            raise found.error
        program = compile_blueprint(expanded, self.home.folder)
        arrays, result = solve_program(program, options, on_progress, cancel=cancel)
        return Solution(self, PLAIN.claimed(arrays, program).to_xarray(), program, result)

    def run(
        self,
        out: str | Path | None = None,
        *,
        force: bool = False,
        progress: bool = True,
        **options: Any,
    ) -> Run:
        """Take the blueprint through every stage and keep all of it in a folder.

        Raises
        ------
        EngiagentError
            When the folder cannot be used.
        """
        from engiagent.agents.runs import solve_given

        home = self.home
        if home.folder is None and any(p.data for p in self.core.parameters):
            raise InputError("it is not known where the data files lie", expected="Blueprint.load")
        with Shown(home.name) as shown:
            outcome = solve_given(
                self.plain,
                home.data,
                home.stated,
                home.name,
                out,
                solve_options(options),
                force=force,
                on_event=shown.stage if progress else None,
                on_progress=shown if progress else None,
            )
        return Run.of(outcome)

    def explain(self, *, seconds: float = 10.0, **options: Any) -> Explanation:
        """Say why there is no plan, no best one, or just this one; solves for it."""
        return self.solve(progress=False, **options).explain(seconds=seconds)

    # -- studies --------------------------------------------------------------------------------

    def sweep(self, *variations: str, **given: Any) -> Study:
        """Solve over a grid of values.

        Parameters
        ----------
        variations
            As ``"battery.energy_capacity=10..40:4[MWh]"`` or ``"price=*0.8,1,1.2"``.
        given
            ``show`` (expressions to read from each plan), ``certify``, ``out`` (a folder that a
            sweep goes on from), ``progress``, and settings of the solver.

        Raises
        ------
        EngiagentError
            When a name leads nowhere, or the blueprint is wrong.
        """
        return sweep(self, variations, given)

    def pareto(self, *goals: str, **given: Any) -> Study:
        """Return the front between the objective and further goals.

        Parameters
        ----------
        goals
            As ``"peak=min:max(grid[t] for t in T)"``.
        given
            ``method``, ``points``, and what :meth:`sweep` takes.
        """
        return pareto(self, goals, given)

    def sensitivity(self, *factors: str, **given: Any) -> Study:
        """Solve with each factor at both ends of its range, all others as they stand.

        Parameters
        ----------
        factors
            As ``"price"`` or ``"battery.energy_capacity=10..30[MWh]"``; none for every parameter
            with a number of its own.
        given
            ``width`` (the relative range, 0.1), and what :meth:`sweep` takes.
        """
        return sensitivity(self, factors, given)

    # -- showing --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return blueprint_text(self)

    def _repr_html_(self) -> str:
        return blueprint_html(self)

    def _repr_latex_(self) -> str:
        return self.equations()._repr_latex_()
