"""The offline engine: from a problem to a blueprint, and to what it did not understand."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from engiagent.agents.offline import overrides as given
from engiagent.agents.offline.amounts import Span
from engiagent.agents.offline.assembly import assemble
from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.files import file_columns
from engiagent.agents.offline.goals import read_goal
from engiagent.agents.offline.grids import Column, Grid, Times, read_table
from engiagent.agents.offline.owners import Owners, find_names, identifier, mentioned, zone_names
from engiagent.agents.offline.passages import Sentence, passages, sentences
from engiagent.agents.offline.phrases import (
    apply_rules,
    defined_names,
    take_definitions,
    with_names,
)
from engiagent.agents.offline.results import Analysis, Missing, NotUnderstood
from engiagent.agents.offline.schedules import read_bands, read_gains, read_prices
from engiagent.agents.offline.scope import account
from engiagent.agents.offline.series import read_columns, read_lists, with_unit_above
from engiagent.agents.offline.slots import fill
from engiagent.agents.offline.states import read_states
from engiagent.agents.offline.timing import Axis, read_axis, restated
from engiagent.agents.offline.tokens import Line, tokenise

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem


@dataclass(frozen=True)
class Understanding:
    """An analysis and the reading that it comes from.

    Attributes
    ----------
    draft
        The sentences as tokens and everything that was read in them.
    owners
        The components that the text speaks of.
    axis
        The time axis; None where none is given.
    """

    analysis: Analysis
    draft: Draft
    owners: Owners
    axis: Axis | None


def analyse(problem: "Problem", overrides: Mapping[str, str] | None = None) -> Analysis:
    """Read a problem of the battery and thermal families; see :func:`understand`."""
    return understand(problem, overrides).analysis


def understand(problem: "Problem", overrides: Mapping[str, str] | None = None) -> Understanding:
    """Read a problem of the battery and thermal families.

    Parameters
    ----------
    problem
        The problem; its ``expert`` folder is never looked at.
    overrides
        Values of the user by slot, as ``{"battery.efficiency": "0.95"}``.

    Returns
    -------
    Understanding
        With a blueprint of unexpanded components with the source of every number, and everything
        that is missing, ambiguous or not understood; the verdict is open unless these are empty.

    Raises
    ------
    InputError
        When an override names no slot or gives no value that fits it.
    """
    classic = _understand(problem, overrides)
    if classic.analysis.complete:
        return classic
    from engiagent.agents.offline.claims.domains import understand_domain
    from engiagent.agents.offline.plant.analyse import preferred, understand_plant

    plant = understand_plant(problem, overrides)
    if plant.analysis.complete or overrides:
        return preferred(classic, plant)
    return understand_domain(problem) or preferred(classic, plant)


def _understand(problem: "Problem", overrides: Mapping[str, str] | None) -> Understanding:
    """Read a problem of the battery and thermal families."""
    currency = currency_of_text(problem)
    draft, grids = open_draft(problem, currency)
    columns: list[Column] = [c for g in grids for c in g.columns]
    times: list[Times] = [g.times for g in grids if g.times is not None]
    from_files = file_columns(problem, currency)
    columns += from_files[0]
    times += from_files[1]
    apply_rules(draft)
    take_definitions(draft)
    read_columns(draft, columns, currency)
    lengths = list(read_lists(draft, currency).values())
    owners = _owners(draft, grids)
    axis = read_axis(draft, times, lengths)
    goal = read_goal(draft)
    clocks = (axis.start_clock, axis.end_clock) if axis is not None else (None, None)
    _wear_first(draft, owners, clocks)
    read_prices(draft, owners.present)
    if "zone" in owners.present:
        _fixed_temperatures(draft, owners, clocks)
        read_bands(draft, owners)
        read_gains(draft, owners)
    fill(draft, owners, clocks)
    read_states(draft, owners)
    if axis is not None:
        restated(draft, axis)
        _night(draft, axis)
    _only_one(draft, owners)
    _sided(draft)
    settled = given.apply(draft, owners, overrides or {})
    account(draft, goal.line if goal is not None else None)
    _other_numbers(draft, problem)
    from engiagent.agents.offline.plant.language.dependence import refuse_dependent

    refuse_dependent(draft)
    analysis = assemble(problem, draft, owners, axis, goal, currency or "EUR", settled)
    return Understanding(analysis, draft, owners, axis)


def currency_of_text(problem: "Problem") -> str | None:
    """Return the one currency of the text and its data, None when there is none or several."""
    from engiagent.blueprint.units import CURRENCIES

    text = problem.text[problem.body_start :] + " ".join(
        column.unit_text + " " + column.header
        for f in problem.data.values()
        for column in f.columns.values()
    )
    codes = "|".join(CURRENCIES)
    names = set(re.findall(rf"(?<![A-Za-z])({codes})(?![A-Za-z])", text))
    names |= {n.upper() for n in re.findall(rf"(?i)(?<![a-z])({codes})_per", text)}
    signs = {"€": "EUR", "£": "GBP", "$": "USD"}
    names |= {code for sign, code in signs.items() if sign in text}
    words = {"euro": "EUR", "dollar": "USD", "pound": "GBP", "pence": "GBP"}
    names |= {c for w, c in words.items() if re.search(rf"\b{w}s?\b", text, re.I)}
    return names.pop() if len(names) == 1 else None


def open_draft(problem: "Problem", currency: str | None) -> tuple[Draft, list[Grid]]:
    """Return the lines of the text and its tables."""
    tables = tuple(table.span for table in problem.tables)
    found, lines = _lines_of(problem.text, problem.body_start, tables, currency)
    names = defined_names(lines)
    draft = Draft(problem.text, [with_names(line, names) for line in lines])
    grids = []
    for k, table in enumerate(problem.tables):
        above = [s for s in found if s.span[1] <= table.span[0] and not s.is_heading][-1:]
        near = [s.text for s in above if not problem.text[s.span[1] : table.span[0]].strip()]
        grid = read_table(problem.text, k, table, currency)
        grids.append(with_unit_above(grid, "".join(near), currency))
    grids = [_without_gaps(draft, grid) for grid in grids]
    for grid in grids:
        for cell in grid.counted:
            entry = {"span": list(cell.span), "quote": cell.text, "reason": "names the period"}
            draft.unused.append(entry)
        for line, cell in grid.lines:
            draft.table_lines[len(draft.lines)] = cell
            draft.lines.append(with_names(line, names))
    return draft, grids


@lru_cache(maxsize=16)
def _lines_of(
    text: str, body_start: int, tables: tuple[Span, ...], currency: str | None
) -> tuple[tuple[Sentence, ...], tuple[Line, ...]]:
    """Return sentences and tokenised lines; every reader of a problem asks for the same ones."""
    found = tuple(sentences(text, passages(text, body_start, tables)))
    tokenised = (tokenise(text, sentence, currency) for sentence in found)
    return found, tuple(line for line in tokenised if line.tokens)


def _without_gaps(draft: Draft, grid: Grid) -> Grid:
    """Report the columns of a table that lack values, and leave them out."""
    if grid.curve is not None:
        text, reason = draft.text[slice(*grid.curve)], "a power that changes with the content"
        draft.not_understood.append(NotUnderstood(text, grid.curve, reason))
    for column in grid.columns:
        for word in column.absent:
            lacks = f"values of the column {column.name} are not given, only '{word}'"
            draft.missing.append(Missing("", identifier(word) if word else column.name, lacks))
    return replace(grid, columns=tuple(c for c in grid.columns if not c.absent))


def _owners(draft: Draft, grids: list[Grid]) -> Owners:
    """Return the components that the text speaks of, with their names."""
    present, names = {"grid"}, {}
    has_series = {component for component, _ in draft.series}
    for component, card in lexicon().cards.items():
        if component in ("load", "pv"):
            if component in has_series:
                present.add(component)
        elif mentioned(draft.lines, card):
            present.add(component)
    present |= {g.owner_kind for g in grids if g.owner_kind == "battery"}
    kinds = {t.amount.kind for line in draft.lines for t in line.tokens if t.amount is not None}
    if "heat_capacity" in kinds:
        present.add("zone")
    if not _is_thermal(draft):
        present -= {"zone", "heater", "cooler"}
    for component in present & {"battery", "zone"}:
        tabled = next(
            (g.owners for g in grids if g.owner_kind == component and len(g.owners) > 1), ()
        )
        card = lexicon().cards[component]
        found = find_names(draft.lines, card, tabled)
        if not found and component == "zone":
            found = zone_names(draft.lines)
        names[component] = found or {component: card.nouns}
    for component in present - {"battery", "zone", "heater", "cooler"}:
        names[component] = {component: lexicon().cards[component].nouns}
    return Owners(frozenset(present), names)


def _is_thermal(draft: Draft) -> bool:
    """Whether anything speaks of a room's heat: a capacity, a resistance or a temperature limit."""
    kinds = {
        token.amount.kind
        for line in draft.lines
        for token in line.tokens
        if token.amount is not None
    }
    words = re.compile(
        r"(?:heat capacity|thermal (?:mass|resistance|capacit)|room temperature"
        r"|indoor temperature|heat pump|heated|heating)"
    )
    return bool(kinds & {"heat_capacity", "resistance", "conductance"}) or any(
        words.search(line.line) for line in draft.lines
    )


def _wear_first(draft: Draft, owners: Owners, clocks: tuple[float | None, float | None]) -> None:
    """Wear costs have the unit of a price; they are recognised before tariffs are."""
    if "battery" in owners.present:
        fill(draft, owners, clocks, ("price",))


def _fixed_temperatures(
    draft: Draft, owners: Owners, clocks: tuple[float | None, float | None]
) -> None:
    """Read initial, final and outdoor temperatures, which are no comfort limits."""
    fill(draft, owners, clocks, ("temperature",), without=("comfort",))


_SEVERAL = (
    r"(?:second|another|further|additional|other|two|both|several|identical|same) (?:[a-z-]+ )?"
)


def _only_one(draft: Draft, owners: Owners) -> None:
    """Report that the text speaks of several units where one was recognised."""

    def several(noun: str) -> str:
        return rf"(?<![a-z]){_SEVERAL}{noun}(?![a-z-])|<number#\d+> {noun}(?![a-z-])"

    # Heating units in the plural are several whatever stands before them, even an amount.
    heaters = r"(?:[a-z-]+ ){0,2}(?:heaters|radiators|convectors|heating elements|heat pumps)"
    signs = (
        ("battery", "battery", several(r"(?:batter(?:y|ies)|storages?|bess)")),
        ("zone", "room", several(r"(?:zones?|rooms?)")),
        ("zone", "heating unit", rf"(?<![a-z]){heaters}(?![a-z-])|per heater|twin heater"),
    )
    for component, name, sign in signs:
        if len(owners.instances(component)) != 1:
            continue
        pattern = re.compile(sign)
        for n, line in enumerate(draft.lines):
            if not line.sentence.is_heading and pattern.search(line.line):
                draft.doubt(n, f"one {name} is recognised; the text speaks of several")


_SIDE = re.compile(
    r"lower|upper|low|high|min|max|top|bottom|least|most|below|above|exceed|under|over|between|floor"
    r"|ceiling"
)


def _sided(draft: Draft) -> None:
    """Report a limit of a temperature that says neither from which side nor by its words."""
    bare = re.compile(r"(?:temperature|comfort) limit(?!s)|limit of <temperature")
    for n, line in enumerate(draft.lines):
        text = line.line
        if bare.search(text) and text.count("<temperature#") == 1 and not _SIDE.search(text):
            draft.doubt(n, "is this limit the lowest or the highest temperature allowed?")


def _night(draft: Draft, axis: Axis) -> None:
    """'Throughout the night' is all of the horizon only when the horizon is a night."""
    fact = draft.fact("all_night")
    night = axis.hours <= 16 and (axis.start_clock >= 16 or axis.start_clock <= 4)
    if fact is not None and not night:
        draft.doubt(fact.line, "when the night begins and ends is not said")


def _other_numbers(draft: Draft, problem: "Problem") -> None:
    """Report what the loader counts as a datum and nothing here has looked at."""
    seen = [
        token.span for line in draft.lines for token in line.tokens if token.kind not in ("mark",)
    ]
    for quantity in problem.quantities:
        if not quantity.is_datum or quantity.kind in ("date", "word") or quantity.table is not None:
            continue
        a, b = quantity.number_span
        if not any(x < b and a < y for x, y in seen):
            draft.not_understood.append(
                NotUnderstood(quantity.text, quantity.span, "nothing looked at this number")
            )
