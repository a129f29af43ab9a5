"""From a problem to the blueprint of a plant."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import amounts_in
from engiagent.agents.offline.assembly import blueprint_of
from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.draft import Draft, Priced, Reading, Value
from engiagent.agents.offline.engine import Understanding, currency_of_text, open_draft
from engiagent.agents.offline.files import file_columns
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.grids import Column, Grid, Times
from engiagent.agents.offline.overrides import replacing, source
from engiagent.agents.offline.phrases import TIME_FACTS, apply_rules, take_definitions
from engiagent.agents.offline.plant.cold.cooling import Cooling
from engiagent.agents.offline.plant.columns import (
    bare_demand,
    marked_text,
    read_lists,
    read_series,
)
from engiagent.agents.offline.plant.compose import build
from engiagent.agents.offline.plant.engine import Reader, owners_of
from engiagent.agents.offline.plant.language.asking import asked
from engiagent.agents.offline.plant.language.finding import find_units
from engiagent.agents.offline.plant.language.leads import lead_lists
from engiagent.agents.offline.plant.language.leftover import check_resolution, drop_false_starts
from engiagent.agents.offline.plant.language.numbered import name_numbers
from engiagent.agents.offline.plant.language.remarks import (
    take_remarks,
)
from engiagent.agents.offline.plant.language.retold import take_retold, take_step_counts
from engiagent.agents.offline.plant.language.spoken import (
    spell_durations,
    take_addresses,
    take_counted_years,
    take_from_nothing,
    take_full_ranges,
    take_no_limits,
    take_remarks_on_results,
    take_row_counts,
    take_row_lengths,
    take_row_range,
    take_run_ends,
    take_years,
)
from engiagent.agents.offline.plant.language.words import NEUTRAL, mark, vocabulary
from engiagent.agents.offline.plant.machinery.blocks import take_offers
from engiagent.agents.offline.plant.machinery.formulas import take_curves
from engiagent.agents.offline.plant.machinery.fuelled import with_fuelled
from engiagent.agents.offline.plant.machinery.ratings import take_ratings
from engiagent.agents.offline.plant.machinery.steps import take_steps
from engiagent.agents.offline.plant.market.acceptance import take_acceptance
from engiagent.agents.offline.plant.market.balancing import read_balancing, take_products
from engiagent.agents.offline.plant.market.investing import goal_of, take_investing
from engiagent.agents.offline.plant.market.outage import take_outage
from engiagent.agents.offline.plant.market.priorities import take_priorities
from engiagent.agents.offline.plant.market.reactive import with_reactive
from engiagent.agents.offline.plant.market.shifting import take_shifts
from engiagent.agents.offline.plant.market.sites import with_demand, with_described, without_netted
from engiagent.agents.offline.plant.market.tiers import has_tiers
from engiagent.agents.offline.plant.spaces.carnot import take_carnots
from engiagent.agents.offline.plant.spaces.flags import take_flags
from engiagent.agents.offline.plant.spaces.housing import Housing
from engiagent.agents.offline.plant.spaces.links import take_feeds, take_links
from engiagent.agents.offline.plant.spaces.nodes import has_capacities, nodes_of, of_nodes
from engiagent.agents.offline.plant.spaces.radiators import take_radiators
from engiagent.agents.offline.plant.spaces.roomfiles import read_rooms, room_files
from engiagent.agents.offline.plant.spaces.rooms import card, with_zone
from engiagent.agents.offline.plant.spaces.slopes import take_slopes
from engiagent.agents.offline.plant.spaces.zonecolumns import take_roof
from engiagent.agents.offline.plant.stores.readiness import take_readiness
from engiagent.agents.offline.plant.stores.rosters import labels_of, read_rosters, rosters_of
from engiagent.agents.offline.plant.stores.tanks import take_ranges
from engiagent.agents.offline.plant.stores.tapers import take_tapers
from engiagent.agents.offline.plant.stores.vehicles import take_shares
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.plant.times.clocklists import take_clock_lists
from engiagent.agents.offline.plant.times.constancy import take_constants
from engiagent.agents.offline.plant.times.spans import take_spans
from engiagent.agents.offline.plant.times.timegrids import coarse_grids, on_blocks
from engiagent.agents.offline.plant.uncertain.ahead import (
    committed_lines,
    take_ahead,
    variants,
    weighed,
    with_commitment,
)
from engiagent.agents.offline.plant.uncertain.scenarios import (
    strange_beside,
    told_apart,
    told_when,
)
from engiagent.agents.offline.plant.uncertain.spreading import over_scenarios
from engiagent.agents.offline.plant.units import Plant, nouns, pattern_of
from engiagent.agents.offline.results import Analysis, Missing
from engiagent.agents.offline.timing import Axis, over_midnight, read_axis

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

RULES: Final = frozenset(
    (*TIME_FACTS, "final_at_least_initial", "final_equals_initial", "no_terminal", "inclusive",
     "same_price", "exclusive", "sqrt_split")
)  # fmt: skip
_SUN: Final = re.compile(r"(?:the )?sun(?: (?:offers|gives|power|offer|available))?")
CLASSIC: Final = frozenset({"battery", "pv", "load", "grid"})


def preferred(classic: Understanding, plant: Understanding) -> Understanding:
    """Return the reading to go on with: a complete one, else the one that is closer to one.

    What is reported of an incomplete problem is what the reader says that knows all its units.
    """
    read = not plant.analysis.not_understood  # what is amiss then lies in the problem
    if plant.analysis.complete or (read and classic.analysis.not_understood):
        return plant
    if plant.owners.present - CLASSIC and not classic.owners.present & {"zone"}:
        return plant
    return classic


def understand_plant(
    problem: "Problem", overrides: Mapping[str, str] | None = None
) -> Understanding:
    """Read a problem as a plant: units on balances of electricity, heat and cooling."""
    special = _special(problem)
    if special is not None:
        return special
    currency = currency_of_text(problem)
    draft, grids = open_draft(problem, currency)
    name_numbers(draft)
    take_full_ranges(draft)
    timed = take_clock_lists(draft)
    apply_rules(draft, RULES)
    take_definitions(draft)
    take_remarks(draft)
    rosters = rosters_of(problem)
    cooling = Cooling.open(draft, grids)
    nodes = nodes_of(draft, grids, rosters, card()[0].nouns)
    tabled = [g for g in grids if not (nodes and of_nodes(g))]
    rooms, housed, rosters = room_files(problem, rosters, draft)
    listed = [r for r in rosters if not (nodes and has_capacities(r))]
    times: list[Times] = [g.times for g in grids if g.times is not None]
    files = file_columns(problem, currency, frozenset(r.file for r in rosters) | rooms.files)
    ahead, columns = take_ahead(draft, grids, files[0], currency)
    ready, columns = take_readiness(draft, columns)
    flags, columns = take_flags(problem, draft, columns)
    plant = find_units(draft.lines, [*_labels(draft, tabled), *labels_of(listed)])
    plant = with_zone(with_fuelled(plant, draft), draft, columns, nodes)
    housing = Housing(draft, flags)
    plant = housing.rooms(plant)
    plant, columns, reactive = with_reactive(plant, draft, columns)
    columns = take_roof(draft, plant, columns)
    lead_lists(draft, currency)
    plant = _with_columns(plant, columns, _bought(draft) or has_tiers(draft))
    plant = with_described(_with_load(_with_lists(plant, draft), draft), columns, draft)
    plant = without_netted(plant, columns, draft, currency)
    plant, settled = with_demand(plant, columns, draft, currency)
    plant = with_commitment(cooling.units(plant), ahead)
    settled = {**settled, **cooling.columns(columns)}
    balancing, series = take_products(draft, columns)
    read_series(draft, plant, series, currency, settled)
    take_ratings(problem, draft, plant, variants(draft, ahead))
    plant, needed = cooling.lists(plant)
    lengths = [*read_lists(draft, plant, currency), *needed]
    offers = take_offers(draft, plant)
    investing = take_investing(draft)
    fine, blocks = coarse_grids(draft, [*times, *timed, *files[1]])
    on_blocks(draft, blocks)
    take_spans(draft)
    axis = read_axis(draft, fine, lengths)
    if axis is not None:
        _account_for_rows(problem, draft, axis)
    housing.timed(axis)
    plant = cooling.phrases(plant, axis)
    shifts, plant = take_shifts(draft, plant, axis)
    _account_for_repeats(draft, columns, axis, committed_lines(ahead))
    acceptance = take_acceptance(draft, problem, currency)
    dark = take_outage(draft, axis)
    priorities, points = take_priorities(draft, problem, axis)
    goal = points or goal_of(draft, asked(draft), investing)
    weighed(draft, goal, ahead)
    housing.paid(plant, axis)
    cooling.goal(goal)
    plant = read_rooms(draft, plant, housed, rooms, axis.start_clock if axis else None, currency)
    stays = read_rosters(draft, plant, rosters, currency)
    curves = take_curves(draft, frozenset(i.name for i in plant.instances))
    slopes = take_slopes(draft, [pattern_of(i.unit.nouns) for i in plant.instances])
    reader = Reader(
        draft, plant, axis, goal=goal, curves=curves, offers=offers, slopes=slopes, stays=stays
    )
    reader.ahead, reader.shifts, reader.reactive, reader.ready = ahead, shifts, reactive, ready
    cooling.into(reader)
    reader.shares = take_shares(draft, reader)
    reader.steps = take_steps(draft, plant, axis)
    reader.tapers = (*take_tapers(draft, plant, grids), *cooling.melting)
    read_balancing(draft, plant, balancing, blocks, -1 if goal is None else goal.line)
    reader.priorities, reader.acceptance = priorities, acceptance
    reader.labels |= {"accept", "accepted"} if acceptance is not None else set()
    for n in dark:
        reader.state("islanded", None, n)
    reader.balancing, reader.investing = balancing, investing
    reader.constants = take_constants(draft, plant, axis, blocks)
    reader.carnots = take_carnots(draft, [pattern_of(i.unit.nouns) for i in plant.instances])
    reader.links = [*take_links(draft, plant.of("zone")), *rooms.links]
    reader.feeds, reader.rooms = take_feeds(draft, plant), rooms
    reader.radiators = take_radiators(draft, plant, axis)
    housing.into(reader, axis)
    if ahead is not None:
        told_apart(draft, ahead.scenarios)
    reader.read_all()
    if ahead is not None:
        told_when(draft)
        strange_beside(draft, ahead.scenarios, reader.marked)
    reader.plant = _without_grid(reader)
    _given(reader, overrides or {})
    analysis = _analysis(problem, reader, axis, goal, currency or "EUR", overrides or {})
    return Understanding(analysis, draft, owners_of(plant, *cooling.kinds()), axis)


def _special(problem: "Problem") -> Understanding | None:
    """Return the reading of a problem that is no plant on balances, but has a reader of its own."""
    from engiagent.agents.offline.communities.analyse import understand_community
    from engiagent.agents.offline.feeders.analyse import understand_feeder
    from engiagent.agents.offline.placing.analyse import understand_placing
    from engiagent.agents.offline.voyages.analyse import understand_voyage

    readers = (understand_feeder, understand_community, understand_voyage, understand_placing)
    found = (reader(problem) for reader in readers)
    return next((understanding for understanding in found if understanding is not None), None)


def _account_for_rows(problem: "Problem", draft: Draft, axis: Axis) -> None:
    """Account for what the text says of rows, runs and steps that the time axis has anyway."""
    take_run_ends(draft, axis)
    take_row_counts(problem, draft, axis)
    take_row_lengths(draft, axis)
    take_row_range(draft, axis)
    take_step_counts(draft, axis)


def _account_for_repeats(
    draft: Draft, columns: list[Column], axis: Axis | None, committed: set[int]
) -> None:
    """Account for numbers and sentences that only repeat, name or explain something."""
    take_retold(draft, columns)
    take_ranges(draft)
    drop_false_starts(draft, axis)
    check_resolution(draft, axis)
    spell_durations(draft)
    take_addresses(draft)
    take_years(draft)
    take_counted_years(draft)
    take_no_limits(draft)
    take_remarks_on_results(draft)
    take_from_nothing(draft, committed)
    over_midnight(draft, axis)


def _labels(draft: Draft, grids: list[Grid]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the labels of tables, each with what may say what they are, nearest first.

    That is the head of the column of labels, the paragraph before the table from its end, and the
    heading.
    """
    found = []
    for grid in grids:
        for line, cell in grid.lines[:1]:
            if cell is None:
                continue
            above = [
                other.sentence
                for n, other in enumerate(draft.lines)
                if n not in draft.table_lines and other.sentence.span[1] <= line.sentence.span[0]
                and not other.sentence.is_heading
            ]  # fmt: skip
            near = above[-1].passage if above else None
            before = [s.text for s in reversed(above) if s.passage == near]
            over = (grid.corner, *before, line.sentence.heading)
            found += [(owner.replace("_", " "), over) for owner in grid.owners]
    return found


def _bought(draft: Draft) -> bool:
    """Whether the text speaks of buying or selling, so that there is a grid."""
    words = vocabulary(nouns())
    for line in draft.lines:
        said = mark(line, words).said()
        if said & {"import", "export", "spot", "peakcharge"} and not line.sentence.is_heading:
            return True
        if "price" in said and said & {"electric", "energy"}:
            return True
        priced = any(t.amount is not None and t.amount.kind == "price" for t in line.tokens)
        if priced and line.line.startswith("electricity : <price#"):
            return True
        if priced and said >= {"price", "power"} and not said & {"heat", "cool", "@fuel"}:
            return True
    return False


def _with_columns(plant: Plant, columns: list[Column], bought: bool) -> Plant:
    """Add the loads, sources and prices that only a column speaks of, and the grid of a tariff."""
    from dataclasses import replace

    from engiagent.agents.offline.amounts import kind_of
    from engiagent.agents.offline.plant.columns import consumes
    from engiagent.agents.offline.plant.language.reading import plain_text
    from engiagent.agents.offline.plant.units import Instance, pattern_of

    present = {i.unit.component for i in plant.instances}
    added = []
    if bought and "grid" not in present:
        present.add("grid")
        added.append(Instance("grid", plant.units["grid"], pattern_of(plant.units["grid"].nouns)))
    for column in columns:
        said = marked_text(plain_text(column.name)).said()
        if consumes(column.name) and column.unit and kind_of(column.unit) in ("power", "energy"):
            said = frozenset({"demand"})
        wanted = {c[1:] for c in said if c.startswith("@")}
        sun = _SUN.fullmatch(plain_text(column.name)) is not None and not plant.of("zone")
        wanted |= {"pv"} if sun and column.unit and kind_of(column.unit) == "power" else set()
        bare = said <= {"heat", "cool"} and len(said) == 1 and not plant.of("zone")
        if bare and column.unit and kind_of(column.unit) in ("power", "energy"):
            wanted |= {"heat_load" if "heat" in said else "cooling_load"} & _made(plant)
        if column.unit and kind_of(column.unit) == "price":
            wanted.add("grid")
        # 'load' in a text with a room is what heats it as often as what a plant has to make.
        roomy = plant.of("zone") and bare_demand(plant, column.unit) != "electric"
        if "demand" in said and not wanted and not roomy:
            said |= {bare_demand(plant, column.unit)} if not said & {"heat", "cool"} else set()
            wanted |= {"load"} if not said & {"heat", "cool"} else set()
            wanted |= {"heat_load"} if "heat" in said else set()
            wanted |= {"cooling_load"} if "cool" in said else set()
        for component in wanted:
            unit = plant.units.get(component)
            if unit is None or component in present or not unit.card.get("site"):
                continue
            present.add(component)
            noun = "sun" if sun and component == "pv" else ""
            added.append(Instance(component, unit, pattern_of(unit.nouns), noun=noun))
    return replace(plant, instances=(*plant.instances, *added)) if added else plant


def _with_load(plant: Plant, draft: Draft) -> Plant:
    """Add the load of a plant that only a number or a list in the text speaks of."""
    from dataclasses import replace

    from engiagent.agents.offline.plant.units import Instance, pattern_of

    kinds = {i.unit.component for i in plant.instances}
    if "load" in kinds or not kinds & {"genset", "pv", "wind", "grid"}:
        return plant
    words = vocabulary(nouns())
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        listed = any(t.kind == "list" for t in line.tokens)
        power = any(t.amount is not None and t.amount.kind == "power" for t in line.tokens)
        gone = {i: NEUTRAL for i, t in enumerate(line.tokens)
                if t.kind == "word" and draft.is_taken(n, i)}  # fmt: skip
        said = mark(line, words, gone).said()
        if line.tokens[0].kind == "list":
            said |= marked_text(line.sentence.lead.lower()).said()
        asked = said & {"demand", "shareload"} or said >= {"together", "outof", "exact"}
        if (listed or power) and asked and not said & {"heat", "cool"}:
            unit = plant.units["load"]
            added = Instance("load", unit, pattern_of(unit.nouns))
            return replace(plant, instances=(*plant.instances, added))
    return plant


def _made(plant: Plant) -> set[str]:
    """Return the loads of heat and cold that the units of a plant can serve."""
    given = {str(c) for i in plant.instances for c in i.unit.card.get("supplies", {})
             if i.unit.component != "heat_source"}  # fmt: skip
    return {load for load, carrier in (("heat_load", "heat"), ("cooling_load", "cooling"))
            if carrier in given}  # fmt: skip


def _with_lists(plant: Plant, draft: Draft) -> Plant:
    """Add the loads of heat and cold that only a list of numbers in the text speaks of."""
    from dataclasses import replace

    from engiagent.agents.offline.plant.units import Instance, pattern_of

    present = {i.unit.component for i in plant.instances}
    added = []
    for line in draft.lines:
        first = next((t for t in line.tokens if t.kind == "list"), None)
        if first is None or first.amounts[0].kind not in ("power", "energy"):
            continue
        before = draft.text[line.sentence.span[0] : first.span[0]]
        said = marked_text(before.lower(), plant).said()
        load = {"heat": "heat_load", "cool": "cooling_load"}
        for what in said & set(load) if len(said & set(load)) == 1 else ():
            if load[what] in _made(plant) and load[what] not in present:
                present.add(load[what])
                unit = plant.units[load[what]]
                added.append(Instance(load[what], unit, pattern_of(unit.nouns)))
    return replace(plant, instances=(*plant.instances, *added)) if added else plant


def _without_grid(reader: Reader) -> Plant:
    """Leave out the grid where the text says that there is none."""
    from dataclasses import replace

    plant = reader.plant
    if "islanded" not in reader.facts:
        return plant
    if any(r.slot.component == "grid" for r in (*reader.draft.readings,
                                                *(r for r, _ in reader.priced))):  # fmt: skip
        line = reader.facts["islanded"][0]
        reader.draft.doubt(line, "a grid is excluded here and used elsewhere")
    rest = tuple(i for i in plant.instances if i.unit.component != "grid")
    return replace(plant, instances=rest)


def _given(reader: Reader, overrides: Mapping[str, str]) -> None:
    """Put the user's values in place of what was read."""
    from engiagent.errors import InputError

    for name, text in overrides.items():
        unit_name, _, slot_name = name.strip().partition(".")
        unit_name = {"site": "grid", "tariff": "grid"}.get(unit_name, unit_name)
        owners = [
            i for i in reader.plant.instances if unit_name in (i.name, i.unit.component)
        ]  # fmt: skip
        slot = owners[0].unit.slots.get(slot_name) if owners else None
        amounts = amounts_in(text, 0, len(text), None)
        if slot is None or len(amounts) != 1 or amounts[0].quote != text.strip():
            raise InputError(
                f"--set {name}: there is no such slot, or the value cannot be read",
                found=repr(text),
                expected=", ".join(f"{i.name}.{s}" for i in reader.plant.instances
                                   for s in i.unit.slots)[:400],
            )  # fmt: skip
        draft = reader.draft
        unit = amounts[0].unit or "1"
        value = Value(unit, source(name, text, amounts[0].value, unit), amounts[0].value)
        for owner in owners:
            gone = [
                r for r in draft.readings
                if r.slot.name == slot_name and r.owner in (owner.name, "*")
            ]  # fmt: skip
            for reading in gone:
                replacing(value, reading.value)
            draft.readings[:] = [r for r in draft.readings if r not in gone]
            reading = Reading(owner.name, slot, value, "value", -1, (0, 0), name)
            if slot.options.get("priced"):
                reader.priced.append((reading, Priced(slot.name, value, None, -1, (0, 0))))
            else:
                draft.readings.append(reading)


def _analysis(
    problem: "Problem",
    reader: Reader,
    axis: Axis | None,
    goal: Goal | None,
    currency: str,
    overrides: Mapping[str, str],
) -> Analysis:
    draft: Draft = reader.draft
    blueprint = None
    kinds = {i.unit.component for i in reader.plant.instances}
    if axis is None:
        draft.lacks_axis()
    elif not (kinds - {"grid", "fuel", "load", "heat_load", "cooling_load"}
              or reader.modes or reader.reset):  # fmt: skip
        draft.missing.append(Missing("problem", "component", "no unit of a plant is recognised"))
    else:
        builder = Builder(problem, draft, axis, variants=variants(draft, reader.ahead))
        system = System(builder, reader)
        blueprint = blueprint_of(
            problem,
            builder,
            lambda: over_scenarios(system, build(system, goal, currency)),
            "mixed-integer linear programme",
        )
    for clash in draft.conflicts:
        gap = Missing(clash.component, clash.quantity, clash.message)
        if clash.code == "two-values" and gap not in draft.missing:
            draft.missing.append(gap)
    if goal is None:
        draft.lacks_goal()
    return draft.analysis(blueprint, sorted(overrides))
