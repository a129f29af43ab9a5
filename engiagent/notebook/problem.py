"""A problem with what can be done with it: audit, analyse, solve, run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self

from markupsafe import Markup

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.budgets import Budget
from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Board, Engine
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.audit import audit_problem
from engiagent.io.files import write_atomic
from engiagent.notebook import markup
from engiagent.notebook.audits import Audit
from engiagent.notebook.blueprint import Blueprint
from engiagent.notebook.home import Home, dressed, solve_options
from engiagent.notebook.progress import Shown
from engiagent.notebook.run import Run, run_in
from engiagent.notebook.shown import Certificate
from engiagent.notebook.solution import Solution
from engiagent.report.charts import numerals
from engiagent.run.certify import certify
from engiagent.run.folder import is_run_folder
from engiagent.run.inputs import EXPERT
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem as PlainProblem
from engiagent.text.corpus import locate

TEXT_FILE = "problem.md"
_SHOWN = 12


class Problem(PlainProblem):
    """An engineering problem as text with its data; see :class:`engiagent.problems.Problem`."""

    @classmethod
    def load(cls, path: str | Path) -> Self:  # type: ignore[override]
        """Load a problem from a folder, a file, or by its name in the corpus.

        A path that exists goes before a name, as ``merchant_day`` or ``battery/merchant_day``.

        Raises
        ------
        InputError
            When there is no such thing, or it cannot be read.
        """
        place = Path(path)
        if place.exists() or place.suffix:
            return super().load(place)
        return super().load(locate(str(path)))

    @classmethod
    def of(cls, problem: PlainProblem) -> Self:
        """Return a problem that was loaded elsewhere."""
        return problem if isinstance(problem, cls) else dressed(cls, problem)

    @classmethod
    def from_text(
        cls, text: str, data: Mapping[str, Any] | None = None, folder: str | Path | None = None
    ) -> Self:
        """Make a problem from its text and data.

        Parameters
        ----------
        text
            Markdown, as it would stand in ``problem.md``.
        data
            By file name a path, a text, or a table with ``to_csv`` as a pandas ``DataFrame``,
            whose index is written where it has a name.
        folder
            Where to write both; None for a new temporary folder.

        Raises
        ------
        InputError
            When a name leads out of the folder, or the problem cannot be read.
        """
        target = Path(mkdtemp(prefix="problem-")) / "problem" if folder is None else Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name, content in (data or {}).items():
            if Path(name).name != name or name == TEXT_FILE:
                raise InputError("no name of a data file", found=name, expected="as prices.csv")
            write_atomic(target / name, _content(content))
        write_atomic(target / TEXT_FILE, text)
        return cls.load(target)

    def audit(self, seconds: float = 30.0) -> Audit:
        """Say whether the text gives enough to be solved, and whether what it gives can hold."""
        return dressed(Audit, audit_problem(self, seconds=seconds))

    def analyse(
        self,
        engine: str = "offline",
        *,
        values: Mapping[str, str] | None = None,
        asking: Asking | None = None,
    ) -> Blueprint:
        """Return the blueprint of the problem, with what was not understood in its ``home``.

        Parameters
        ----------
        engine
            ``offline`` takes the plant block or the stored reading, ``anthropic`` asks a language
            model, ``expert`` takes the reference that lies with a problem of the corpus.
        values
            What the text does not give, as ``{"battery.charge_efficiency": "0.95"}``.
        asking
            Whom ``anthropic`` asks, and how; None for what its cards say.

        Raises
        ------
        EngiagentError
            When nothing could be made of the text, or there is nobody to ask. A run lets a
            language model mend its answer, this does not; see :meth:`run`.
        """
        if engine == "expert":
            return self._expert(values)
        board = Board(
            problem=self,
            data=self.folder,
            name=self.id,
            options=SolveOptions(),
            overrides=dict(values or {}),
        )
        found = Analyzer(self._engine(engine, asking)).run(board).changes
        missing, unclear = found.get("missing", ()), found.get("not_understood", ())
        blueprint = found.get("blueprint")
        if blueprint is None:
            said = "; ".join([*(f"missing: {item}" for item in missing), *unclear])
            raise EngiagentError(f"{self.id} could not be modelled: {said or 'no answer'}")
        home = Home(
            self.folder,
            self,
            self.id,
            tuple(missing),
            tuple(unclear),
            tuple(found.get("notes", ())),
        )
        return Blueprint.of(blueprint, home)

    def solve(self, engine: str = "offline", **options: Any) -> Solution:
        """Analyse and solve in memory; see :meth:`analyse` and :meth:`Blueprint.solve`."""
        return self.analyse(engine).solve(**options)

    def check(
        self, schedule: Any, mapping: Mapping[str, str] | None = None, *, exact: bool = False
    ) -> Certificate:
        """Have somebody's schedule checked against the problem's annotated requirements.

        Parameters
        ----------
        schedule
            A dataset, a ``DataFrame``, a mapping of arrays, or the path of a file.
        mapping
            Quantity to column where the columns have names of their own, as
            ``{"battery.charge": "P_ch"}``.
        exact
            Whether to say beside every figure what rational arithmetic makes of it.

        Raises
        ------
        InputError
            When the problem has no annotated requirements, or the schedule cannot be read.
        """
        found = certify(
            self, schedule, None, folder=self.folder, name=self.id, mapping=mapping, exact=exact
        )
        return dressed(Certificate, found)

    def run(
        self,
        out: str | Path | None = None,
        engine: str = "offline",
        *,
        values: Mapping[str, str] | None = None,
        asking: Asking | None = None,
        force: bool = False,
        progress: bool = True,
        **options: Any,
    ) -> Run:
        """Take the problem through every stage and keep all of it in a folder.

        A folder that holds a run of the same text is not begun again: a run that ended is opened,
        and one that was cut goes on where it was, so that a notebook can be run again.

        Parameters
        ----------
        out
            The folder; None for a new one below ``runs/``.
        engine, values, asking
            As for :meth:`analyse`; not ``expert``.
        force
            Begin again, and replace what the folder holds.
        progress
            Show how far it has come.
        options
            Limits and settings of the solver, as ``time_limit=60``.

        Raises
        ------
        EngiagentError
            When the folder holds something else, or nobody is there to ask.
        """
        from engiagent.agents.runs import run_problem

        kept = None if force else run_in(out, self)
        force = force or (out is not None and is_run_folder(Path(out)))
        if kept is not None:
            return kept if not kept.resumable else kept.resume(asking=asking, progress=progress)
        with Shown(self.id) as shown:
            outcome = run_problem(
                self.path,
                engine,
                out,
                values,
                solve_options(options),
                force=force,
                asking=asking,
                on_event=shown.stage if progress else None,
                on_progress=shown if progress else None,
            )
        return Run.of(outcome)

    def _engine(self, engine: str, asking: Asking | None) -> Engine:
        from engiagent.agents.engines.offline import OfflineEngine
        from engiagent.agents.runs import ENGINES

        if engine == "offline":
            return OfflineEngine()
        if engine not in ENGINES:
            raise InputError(
                "there is no such engine", found=engine, expected=", ".join((*ENGINES, "expert"))
            )
        asking = asking or Asking()
        asking.ready()
        return asking.engine(Path(mkdtemp(prefix="exchanges-")), Budget(), self)

    def _expert(self, values: Mapping[str, str] | None) -> Blueprint:
        if values:
            raise InputError("the experts' blueprint takes no values", expected="Blueprint.set")
        path = self.folder / EXPERT / "blueprint.json"
        if not path.is_file():
            raise InputError("there is no experts' blueprint beside the problem", str(self.folder))
        blueprint = Blueprint.load(path)
        return Blueprint.of(blueprint, replace(blueprint.home, problem=self, name=self.id))

    def _repr_html_(self) -> str:
        rows = [
            (
                quantity.text,
                numerals.quantity(float(quantity.value), str(quantity.unit or "")),
                "" if quantity.sentence is None else self.sentences[quantity.sentence].text,
            )
            for quantity in self.quantities
            if isinstance(quantity.value, int | float) and quantity.kind != "label"
        ]
        files = [
            (name, str(file.rows), ", ".join(_column(k, c.unit) for k, c in file.columns.items()))
            for name, file in self.data.items()
        ]
        found = markup.table(("words", "value", "sentence"), rows, "", (1,))
        return markup.card(
            self.title,
            markup.facts(
                [("id", self.id), ("family", self.family or ""), ("tags", ", ".join(self.tags))]
            ),
            markup.table(("file", "rows", "columns"), files, "Data", (1,)),
            markup.folded("The text", markup.preformatted(self.body.strip())),
            markup.folded(f"{len(rows)} quantities were found in it", found)
            if rows
            else Markup(""),
            kicker="problem",
        )


def _column(name: str, unit: Any) -> str:
    return f"{name} [{unit}]" if unit else name


def _content(given: Any) -> str | bytes:
    """Return what to write into a data file."""
    if isinstance(given, str) and "\n" in given:
        return given
    if isinstance(given, str | Path):
        try:
            return Path(given).read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the data: {error.strerror}", str(given)) from None
    if hasattr(given, "to_csv"):
        index = getattr(given, "index", None)
        named = index is not None and any(name is not None for name in index.names)
        return str(given.to_csv(index=named, lineterminator="\n"))
    raise InputError(
        "this is no data", found=type(given).__name__, expected="a path, a text or a DataFrame"
    )
