"""From everything that was read to a blueprint."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.climate import add_converters, add_zones, together
from engiagent.agents.offline.costs import add_costs, add_objective
from engiagent.agents.offline.draft import Draft, Json
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.market import Site, add_site
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.phrases import TIME_FACTS
from engiagent.agents.offline.results import Analysis, Missing, NotUnderstood
from engiagent.agents.offline.storage import add_batteries, add_final_states
from engiagent.agents.offline.timing import Axis
from engiagent.blueprint.document import SCHEMA, Blueprint

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem


def assemble(
    problem: "Problem",
    draft: Draft,
    owners: Owners,
    axis: Axis | None,
    goal: Goal | None,
    currency: str,
    settled: frozenset[str],
) -> Analysis:
    """Return the analysis with its blueprint."""
    blueprint = None
    if axis is None:
        draft.missing.append(
            Missing(
                "time", "periods", "the time axis is not given: how many periods of what length?"
            )
        )
    elif not {"battery", "zone"} & owners.present:
        draft.missing.append(
            Missing("problem", "component", "no battery and no heated room is recognised")
        )
    else:
        blueprint = _blueprint(problem, draft, owners, axis, goal, currency)
    if goal is None:
        draft.missing.append(
            Missing(
                "objective",
                "sense",
                "no objective is stated: what is to be minimised or maximised?",
            )
        )
    return draft.analysis(blueprint, sorted(settled))


def _blueprint(
    problem: "Problem",
    draft: Draft,
    owners: Owners,
    axis: Axis,
    goal: Goal | None,
    currency: str,
) -> Blueprint:
    builder = Builder(problem, draft, axis)
    return blueprint_of(problem, builder, lambda: _parts(builder, owners, goal, currency))


def blueprint_of(
    problem: "Problem",
    builder: Builder,
    parts: Callable[[], Json | None],
    paradigm: str = "linear programme over time steps",
    timeless: bool = False,
) -> Blueprint:
    """Return the blueprint of all that ``parts`` adds to a builder; it returns the objective."""
    if not timeless:
        builder.sets.append(_time(builder.draft, builder.axis))
        builder.sets.append({"name": "I", "kind": "instants", "of": "T"})
    objective = parts()
    _nothing_lost(builder)
    models = sorted({c["model"] for c in builder.components})
    scope = f"{builder.axis.periods} periods of {builder.axis.step_text}"
    scope = "one choice for all times" if timeless else scope
    context = (", ".join(models or ["plant"]), paradigm, scope)
    return Blueprint.from_dict(document(problem, builder, objective, context), problem.path.name)


def _parts(builder: Builder, owners: Owners, goal: Goal | None, currency: str) -> Json | None:
    draft = builder.draft
    on_site = Site.needed(draft, owners)
    bus = "site" if on_site else None
    batteries = add_batteries(builder, owners, bus) if "battery" in owners.present else ()
    converters: tuple[str, ...] = ()
    if "zone" in owners.present:
        zones = add_zones(builder, owners)
        converters = add_converters(builder, owners, zones, bus)
        together(builder, converters)
    add_final_states(builder, owners)
    site = add_site(builder, owners, on_site, batteries, converters)
    add_costs(builder, site)
    return add_objective(builder, site, goal, currency)


def _nothing_lost(builder: Builder) -> None:
    """Report whatever was read and then entered no parameter: it must not vanish silently."""
    draft = builder.draft
    used = {id(source) for source in builder.used}
    read = [(r.line, r.value, r.slot.said) for r in draft.readings]
    read += [(p.line, p.value, "price") for p in draft.prices]
    read += [(g.line, g.value, "heat gain") for g in draft.gains]
    read += [(b.line, value, "limit") for b in draft.bands for _, value in b.limits]
    for line, value, said in read:
        if id(value.source) in used:
            continue
        if line >= 0:
            draft.refuse(line, f"the {said} was read but has no place in the model")
        else:
            draft.notes.append(f"the {said} that was given has no place in the model")
    for (component, name), value in draft.series.items():
        if id(value.source) not in used:
            where = value.data or "a list or table"
            draft.not_understood.append(
                NotUnderstood(where, (0, 0), f"the series for {component}.{name} has no place")
            )


def _time(draft: Draft, axis: Axis) -> Json:
    entry: Json = {
        "name": "T",
        "kind": "time",
        "start": axis.start,
        "step": axis.step_text,
        "periods": axis.periods,
    }
    if axis.zone is not None and "T" in axis.start:
        entry["zone"] = axis.zone
    spans = [
        f.span for f in draft.facts if f.name in TIME_FACTS and f.line not in draft.table_lines
    ]
    if spans:
        entry["source_reference"] = draft.quoted(*dict.fromkeys(spans))
    return entry


def _stated(draft: Draft) -> list[Json]:
    """Return what the text states in words, with its places: nothing here adds a number."""
    found: dict[tuple[int, int], str] = {}
    for fact in draft.facts:
        if fact.line not in draft.table_lines and fact.name not in TIME_FACTS:
            found.setdefault(fact.span, fact.name.replace("_", " "))
    return [
        {"content": f"stated in the text: {name}", "source_reference": draft.quoted(span)}
        for span, name in sorted(found.items())
        if name != "background"
    ]


def _by_construction(draft: Draft) -> list[Json]:
    """Return the phrases that ask for nothing beyond what the model does anyway."""
    found = sorted({f.span for f in draft.facts
                    if f.name == "background" and f.line not in draft.table_lines})  # fmt: skip
    return [
        {"span": [a, b], "quote": draft.text[a:b], "reason": "holds by construction of the model"}
        for a, b in found
    ]


def document(
    problem: "Problem", builder: Builder, objective: Json | None, context: tuple[str, str, str]
) -> Json:
    """Return a blueprint as JSON; the context is its domain, its paradigm and its scope."""
    draft, (domain, paradigm, scope) = builder.draft, context
    core: Json = {
        "sets": builder.sets,
        "parameters": builder.parameters,
        "decision_variables": builder.variables,
        "components": builder.components,
    }
    if builder.expressions:
        core["expressions"] = builder.expressions
    if objective is not None:
        core["objective_function"] = objective
    core["constraints"] = builder.constraints
    extended: Json = {
        "key_assumptions": [
            {"assumption_id": f"A{k}", "content": text}
            for k, text in enumerate(draft.assumptions, 1)
        ]
        + _stated(draft)
    }
    unused = [*draft.unused, *_by_construction(draft)]
    if unused:
        extended["unused"] = unused
    return {
        "schema": SCHEMA,
        "kind": "programme",
        "modeling_context": {
            "problem_essence": problem.title,
            "engineering_domain": domain,
            "modeling_paradigm": paradigm,
            "solution_scope": scope,
        },
        "core_model_elements": core,
        "extended_analysis_and_robustness": extended,
    }
