"""The pages of the viewer: the list of runs with its filters, one run, and what went wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final
from urllib.parse import quote, urlencode

from engiagent.report import turns, words
from engiagent.report.batch import HEAD, run_row, tallies
from engiagent.report.sections import Fact, render_page
from engiagent.report.tables import DataTable
from engiagent.report.view.library import Library
from engiagent.run.folder import REPORT
from engiagent.run.listing import RunSummary

PER_PAGE: Final = 100
ORDERS: Final = {
    "latest": "latest first",
    "oldest": "oldest first",
    "problem": "by problem",
    "verdict": "by verdict",
    "longest": "longest first",
}
_KEYS: Final[Mapping[str, Callable[[RunSummary], Any]]] = {
    "problem": lambda run: (run.problem, run.name),
    "verdict": lambda run: (run.verdict or "~", run.state),
    "longest": lambda run: -(run.seconds or 0.0),
}
NO_VERDICT: Final = "none"
_MOST_TEXT: Final = 200


@dataclass(frozen=True)
class Filters:
    """What of the list is shown.

    All words of ``text`` have to occur in a run's name, problem, engine or reason; ``verdict`` and
    ``state`` are empty for all, and ``none`` stands for runs without a verdict.
    """

    text: str = ""
    verdict: str = ""
    state: str = ""
    order: str = "latest"
    page: int = 1

    @classmethod
    def of_query(cls, query: Mapping[str, Sequence[str]]) -> "Filters":
        """Return the filters of an address; what is not understood is left at its default."""
        given = {name: values[0] for name, values in query.items() if values}
        number = given.get("page", "1")
        return cls(
            text=given.get("text", "")[:_MOST_TEXT],
            verdict=given.get("verdict", ""),
            state=given.get("state", ""),
            order=given["order"] if given.get("order") in ORDERS else "latest",
            page=max(int(number), 1) if number.isascii() and number.isdigit() else 1,
        )

    def chosen(self, runs: Sequence[RunSummary]) -> list[RunSummary]:
        """Return the runs that pass, in their order."""
        found = [run for run in runs if self._passes(run)]
        if self.order == "oldest":
            return found[::-1]
        return sorted(found, key=_KEYS[self.order]) if self.order in _KEYS else found

    def _passes(self, run: RunSummary) -> bool:
        if self.verdict and (run.verdict or NO_VERDICT) != self.verdict:
            return False
        if self.state and run.state != self.state:
            return False
        said = f"{run.name} {run.problem} {run.engine or ''} {run.reason or ''}".casefold()
        return all(word in said for word in self.text.casefold().split())

    def address(self, page: int) -> str:
        """Return the address of another page of the same list."""
        given = {item.name: getattr(self, item.name) for item in fields(self)} | {"page": page}
        return f"/?{urlencode({name: value for name, value in given.items() if value})}"


def run_address(run: RunSummary) -> str:
    """Return the address of a run's page."""
    return f"/runs/{quote('' if run.name == '.' else run.name, errors='surrogateescape')}"


def file_address(run: RunSummary, path: str) -> str:
    """Return the address of one of a run's files."""
    return f"{run_address(run).rstrip('/')}/-/{quote(path, errors='surrogateescape')}"


def list_page(library: Library, filters: Filters) -> str:
    """Return the list of runs."""
    every = library.runs()
    chosen = filters.chosen(every)
    last = max(-(-len(chosen) // PER_PAGE), 1)
    page = min(filters.page, last)
    shown = chosen[(page - 1) * PER_PAGE : page * PER_PAGE]
    table = DataTable(
        "Runs" if len(chosen) == len(every) else "Runs that pass the filter",
        HEAD,
        tuple(run_row(run, run_address(run)) for run in shown),
    )
    return _render(
        "runs.html.j2",
        folder=library.root.resolve().name or "/",
        tallies=tallies(every),
        filters=filters,
        verdicts=sorted({run.verdict or NO_VERDICT for run in every}),
        states=sorted({run.state for run in every}),
        orders=ORDERS,
        table=table,
        names=[run.name for run in shown],
        count=len(chosen),
        total=len(every),
        page=page,
        last=last,
        before=filters.address(page - 1) if page > 1 else "",
        after=filters.address(page + 1) if page < last else "",
    )


def run_page(library: Library, run: RunSummary) -> str:
    """Return the page of one run: how far it came, and all that it left."""
    files = library.files(run)
    story, trouble = turns.read_story(run.folder)
    return _render(
        "run.html.j2",
        run=run,
        verdict=words.verdict(run.verdict, run.state),
        numbers=_numbers(run),
        report=file_address(run, REPORT) if _has_report(run, files) else "",
        files=[(name, file_address(run, name)) for name in files],
        stages=story.stage_table(),
        turns=story.turn_table(),
        way=story.figures(),
        trouble=trouble,
        refresh=run.state == "running",
    )


def error_page(title: str, message: str) -> str:
    """Return a page that says what went wrong."""
    return _render("error.html.j2", title=title, message=message)


def _has_report(run: RunSummary, files: Sequence[str]) -> bool:
    """Whether there is a report, or enough to write one when it is asked for."""
    return REPORT in files or run.state not in ("running", "unreadable")


def _numbers(run: RunSummary) -> list[Fact]:
    found = [
        Fact("Problem", run.problem),
        Fact("Read by", run.engine or ""),
        Fact("State", words.state(run.state, run.stage)),
        Fact("Started (UTC)", (run.started or "")[:19].replace("T", " ")),
        Fact("Took", words.duration(run.seconds)),
    ]
    if run.objective is not None:
        value = words.quantity(run.objective, run.unit, 7)
        found.insert(0, Fact("Objective", value, words.sense(run.sense), is_lead=True))
    if run.gap is not None:
        found.append(Fact("Gap to the bound", words.percent(run.gap)))
    return [fact for fact in found if fact.value]


def _render(template: str, **context: Any) -> str:
    return render_page(template, context, "engiagent.report.view")
