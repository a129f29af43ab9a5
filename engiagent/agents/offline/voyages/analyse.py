"""From a problem on a vessel that goes to and fro to its blueprint."""

import re
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.engine import Understanding, currency_of_text, open_draft
from engiagent.agents.offline.goals import Goal, read_goal
from engiagent.agents.offline.horizons import dated_span, dated_start, dates_in
from engiagent.agents.offline.plant.engine import Reader, owners_of
from engiagent.agents.offline.plant.language.leftover import check_resolution, refuse_unknown
from engiagent.agents.offline.plant.language.spoken import spell_durations
from engiagent.agents.offline.plant.units import Instance, Plant, Unit, pattern_of, unit_of
from engiagent.agents.offline.results import Analysis, Missing
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.voyages.timetable import (
    LEG,
    Timetable,
    last_leg,
    read_timetable,
    take_outside,
)

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_OF_LEGS: Final = re.compile(
    rf"(?:each|every|a|one|per|any) (?:single )?{LEG} (?:takes|needs|uses|costs|consumes|draws)"
    rf" (?:about |exactly )?<energy#|<energy#\d+> (?:per|for (?:each|every)|on (?:each|every))"
    rf" {LEG}"
)


@lru_cache(maxsize=1)
def units() -> dict[str, Unit]:
    """Return the units of voyages."""
    return {entry["component"]: unit_of(entry) for entry in load_card("voyage")["units"]}


def understand_voyage(problem: "Problem") -> Understanding | None:
    """Read a problem whose legs take an energy each, with a charger at stops; None for others."""
    if problem.data or problem.tables:
        return None
    currency = currency_of_text(problem)
    draft, _ = open_draft(problem, currency)
    spell_durations(draft)
    if not any(_OF_LEGS.search(line.line) for line in draft.lines):
        return None
    timetable = read_timetable(draft)
    if timetable.legs is None or not timetable.stops:
        return None
    axis = _axis(draft, timetable)
    if axis is not None:
        take_outside(draft, axis)
    goal = read_goal(draft)
    plant = _plant(draft, timetable)
    reader = Reader(draft, plant, axis, goal=goal)
    reader.read_all()
    refuse_unknown(reader, ("no_loss", "no_terminal"))
    check_resolution(draft, axis)
    analysis = _analysis(problem, reader, timetable, goal, currency or "EUR")
    return Understanding(analysis, draft, owners_of(plant), axis)


def _axis(draft: Draft, timetable: Timetable) -> Axis | None:
    """Return a period for each leg, from the one time that is said to be the first departure."""
    dates, start = dates_in(draft), dated_start(draft)
    if start is None:
        span = dated_span(draft)
        start = span[0] if span is not None else None
    if timetable.minutes is None or timetable.legs is None or start is None or len(dates) != 1:
        return None
    begin = datetime.fromisoformat(dates[0])
    clock = f"{int(start):02d}:{round(start % 1 * 60):02d}"
    text = f"{begin.date().isoformat()}T{clock}"
    return Axis(text, timetable.minutes, timetable.legs, None, True)


def _plant(draft: Draft, timetable: Timetable) -> Plant:
    known = units()
    concepts = dict(load_card("voyage")["concepts"])
    concepts["lastleg"] = last_leg(timetable.legs or 1)
    found = [Instance(name, unit, pattern_of(unit.nouns)) for name, unit in known.items()]
    return Plant(known, tuple(found), {}, {}, concepts)


def _analysis(
    problem: "Problem", reader: Reader, timetable: Timetable, goal: Goal | None, currency: str
) -> Analysis:
    from engiagent.agents.offline.assembly import blueprint_of
    from engiagent.agents.offline.builder import Builder
    from engiagent.agents.offline.voyages.build import build

    draft = reader.draft
    blueprint: Any = None
    if reader.axis is None:
        draft.missing.append(
            Missing("time", "periods", "when the first leg begins, and the next, is not said")
        )
    else:
        builder = Builder(problem, draft, reader.axis)
        blueprint = blueprint_of(
            problem, builder, lambda: build(builder, reader, timetable, goal, currency),
            "legs with stops",
        )  # fmt: skip
    if goal is None:
        draft.lacks_goal()
    return draft.analysis(blueprint)
