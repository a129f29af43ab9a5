"""From a schedule to a certificate: what the checker is given, and what is said without one."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from engiagent import __version__
from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import Core, FrozenMap
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand, unexpanded
from engiagent.io.files import open_inside, sha256_bytes
from engiagent.run.inputs import REQUIREMENTS, data_files
from engiagent.scale import Spread, map_runs
from engiagent.solvers.solution import load_arrays
from engiagent.text import Problem
from engiagent.verify.case import annotated_otherwise, case_of
from engiagent.verify.certificate import LEVELS, Certificate
from engiagent.verify.checking import check
from engiagent.verify.claims import Reading, formal_reading, overrides_of
from engiagent.verify.definitions import reproduce
from engiagent.verify.disturbances import Disturbances, one_by_one, with_disturbances
from engiagent.verify.exact import with_exact
from engiagent.verify.foreign import Reading as Columns
from engiagent.verify.levels.sources import read_sources
from engiagent.verify.opinions import Opinion, with_opinion
from engiagent.verify.requirements import Requirements
from engiagent.verify.tolerances import TOLERANCES, tolerances_sha256

_NOTABLE: Final = 1e-4  # share of a result by which execution differs worth a line

GIVEN: Final = {"kind": "user", "note": "given in the blueprint; there is no problem text"}


@dataclass(frozen=True)
class BlueprintAlone:
    """A blueprint that comes without a problem, as the checker sees it: no text, only data."""

    blueprint: Blueprint
    folder: Path
    name: str

    text = ""
    body_start = 0
    expert = None
    tables = ()
    sentences = ()
    quantities = ()

    @property
    def id(self) -> str:
        """The blueprint's name."""
        return self.name

    @cached_property
    def sha256(self) -> dict[str, str]:
        """Hashes of the data files."""
        names = dict.fromkeys(data_files(self.blueprint))
        return {name: sha256_bytes(open_inside(self.folder, name)) for name in names}


def certify(
    problem: Problem | None,
    solution: Any,
    blueprint: Blueprint | None,
    *,
    folder: Path,
    name: str,
    mapping: Mapping[str, str] | Columns | None = None,
    requirements: Requirements | None = None,
    exact: bool = False,
    opinion: Opinion | None = None,
    disturb: Disturbances | None = None,
    reading: Reading | None = None,
    overrides: Mapping[str, str] | None = None,
    spread: Spread | None = None,
) -> Certificate:
    """Return the certificate of a schedule.

    ``problem``: None for a blueprint alone, whose numbers then count as the user's own.
    ``solution``: a dataset, or a path to anybody's schedule. ``folder``, ``name``: where the data
    of a blueprint without a problem lie, and what to call it. ``mapping``: quantity to column of
    somebody's schedule, or how it is to be read altogether. ``requirements``: what stands for a
    problem without annotations of its own. ``exact``: whether to say beside every figure what
    rational arithmetic makes of it. ``disturb``: what is to turn out another way in runs that are
    reported beside the verdict. ``reading``: who has read the text; by default what
    :func:`reading_of` derives. ``overrides``: the values that the user has set. ``spread``: where
    the runs of ``disturb`` are made.
    """
    if blueprint is not None and blueprint.kind == "definitions":  # the checker computes it again
        given = blueprint
        if problem is None:
            given = replace(blueprint, core_model_elements=_as_given(blueprint.core))
        if isinstance(solution, str | Path):
            solution = load_arrays(solution)
        computed: Any = problem or BlueprintAlone(blueprint, folder, name)
        reading = reading or reading_of(problem, blueprint) or Reading()
        return _with_blueprint(reproduce(computed, solution, given, reading), blueprint)
    source, expanded = source_of(problem, blueprint, folder, name)
    stated = None if source.expert is not None else requirements
    reading = reading or reading_of(problem, blueprint, stated, overrides)
    certificate = check(
        source,
        solution,
        expanded,
        stated,
        mapping,
        reading,
        generated=_generated(blueprint, expanded),
        overrides=overrides,
    )
    if exact or disturb is not None:
        case = case_of(source, solution, expanded, stated, mapping)
        certificate = with_exact(certificate, case) if exact else certificate
        if disturb is not None:
            mapped = one_by_one if spread is None else partial(_mapped, spread)
            certificate = with_disturbances(certificate, case, disturb, mapped)
    if opinion is not None:
        certificate = with_opinion(certificate, opinion)
    return _with_blueprint(certificate, blueprint)


def _mapped(spread: Spread, function: Any, shared: Any, tasks: Iterable[Any]) -> Iterator[Any]:
    for outcome in map_runs(function, tasks, spread, shared=shared):
        if not outcome.ok:
            raise EngiagentError(outcome.reason)
        yield outcome.value


def _generated(blueprint: Blueprint | None, expanded: Blueprint | None) -> set[str]:
    """Return the names of what writing out the components makes, or has made before."""
    if blueprint is None or expanded is None:
        return set()
    core = blueprint.core
    found = _named(expanded.core).keys() - _named(core).keys()
    prefixes = tuple(f"{c.name}_" for c in core.components if c.expanded)
    return found | _as_written(blueprint, prefixes) if prefixes else found


def _named(core: Core) -> dict[str, Any]:
    """Return what a blueprint declares by name, but none of two that share one."""
    parts: list[Any] = [*core.parameters, *core.decision_variables, *core.components]
    named = [*((p.name, p) for p in parts), *((c.constraint_id, c) for c in core.constraints)]
    often = Counter(name for name, _ in named)
    return {name: part for name, part in named if often[name] == 1}


def _as_written(blueprint: Blueprint, prefixes: tuple[str, ...]) -> set[str]:
    """Return which of a blueprint is what its components come to when they are written out anew."""
    core = blueprint.core
    made = {s.name for s in core.sets if s.name.startswith(prefixes)}
    made |= {
        p.name
        for p in core.parameters
        if p.name.startswith(prefixes)
        and any(source.kind == "derived" for source in read_sources(p.source_reference))
    }
    bare = unexpanded(blueprint, made)
    try:
        again = _named(expand(bare).core)
    except EngiagentError:
        return set()  # it is no blueprint of these components
    known, given = _named(core), _named(bare.core)
    return {n for n, part in again.items() if n not in given and known.get(n) == part}


def reading_of(
    problem: Problem | None,
    blueprint: Blueprint | None,
    requirements: Requirements | None = None,
    overrides: Mapping[str, str] | None = None,
) -> Reading | None:
    """Return who has read the text of a problem, as far as what is given tells.

    None where the checker finds it by itself: annotated requirements beside the problem, or nobody
    but the author.
    """
    from engiagent.readings.read import claim_of

    if problem is None:
        return formal_reading(blueprint)
    expert = problem.expert
    stated = expert is not None and (expert / REQUIREMENTS).is_file()
    if stated and annotated_otherwise(problem) is None:
        return None  # experts wrote down what just this text asks for
    found = None if blueprint is None else claim_of(problem, blueprint, overrides)
    if found is None and requirements is not None:
        return Reading(what=f"requirements {requirements.sha256[:12]}")
    return found


def source_of(
    problem: Problem | None, blueprint: Blueprint | None, folder: Path, name: str
) -> tuple[Any, Blueprint | None]:
    """Return problem and blueprint as the checker takes them: components written out."""
    expanded = None if blueprint is None else expand(blueprint)
    if problem is not None or blueprint is None or expanded is None:
        return problem, expanded
    given = replace(expanded, core_model_elements=_as_given(expanded.core))
    return BlueprintAlone(blueprint, folder, name), given


def without_schedule(
    problem: Problem,
    blueprint: Blueprint | None,
    missing: Sequence[str],
    not_understood: Sequence[str],
    contradictions: Sequence[str] = (),
) -> Certificate:
    """Return the certificate of a problem that nothing was solved for, and why."""
    level = {"status": "unchecked", "findings": ["there is no schedule to check"]}
    certificate = Certificate(
        verdict="undecided",
        problem=problem.id,
        plan={"claim": "nothing"},
        inputs=dict(problem.sha256),
        levels=dict.fromkeys(LEVELS, level),
        missing=tuple(missing),
        contradictions=tuple(contradictions),
        not_understood=tuple(not_understood),
        tolerances=TOLERANCES,
        tolerances_sha256=tolerances_sha256(),
        versions={"engiagent": __version__},
    )
    found = certificate.judged(reading=Reading())
    return _with_blueprint(found, blueprint)


def with_gaps(certificate: Certificate, gaps: Sequence[str]) -> Certificate:
    """Return a certificate with more of the text that is open: the reading does not count then."""
    if not gaps:
        return certificate
    return certificate.judged(reading=Reading.from_dict(certificate.reading).leaving(*gaps))


def _with_blueprint(certificate: Certificate, blueprint: Blueprint | None) -> Certificate:
    """Name the blueprint as it stands in its file, and what the user changed in it."""
    if blueprint is None:
        return certificate
    return replace(
        certificate,
        inputs={**certificate.inputs, "blueprint": blueprint.sha256},
        overrides=tuple(item.to_dict() for item in overrides_of(blueprint)),
    )


def _as_given(part: Any) -> Any:
    """Return a copy in which every source reference says that the user gave the thing."""
    if isinstance(part, tuple):
        return tuple(_as_given(item) for item in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changes = {item.name: _as_given(getattr(part, item.name)) for item in fields(part)}
    if "source_reference" in changes:
        changes["source_reference"] = FrozenMap(GIVEN)
    return replace(part, **changes)


@dataclass(frozen=True)
class Tight:
    """A limit that holds with little room."""

    title: str  # its name, or the words of the text that it rests on
    # slack, unit: how much room there is
    slack: float
    unit: str | None
    where: str  # the place, as the elements of its sets; empty for a single row
    at_limit: bool  # whether there is none beyond the tolerance


def least_slack(certificate: Mapping[str, Any], count: int = 3) -> list[Tight]:
    """Return the limits that hold with the least slack, those with words of the text first."""
    levels = certificate.get("levels") or {}
    rows = []
    for entry in (levels.get("algebra") or {}).get("checks") or []:
        worst = entry.get("worst") or {}
        slack, tolerance = worst.get("slack"), entry.get("tolerance")
        if not isinstance(slack, int | float) or not math.isfinite(slack):
            continue
        text, kind = str(entry.get("text") or ""), str(entry.get("id")).partition(":")[0]
        if "==" in text or entry.get("status") == "fail" or kind == "integer":
            continue
        if kind == "bounds" and text.startswith("0 <= "):
            continue
        allowed = tolerance if isinstance(tolerance, int | float) else 0.0
        where = worst.get("where")
        found = Tight(
            title=title_of(entry),
            slack=float(slack),
            unit=worst.get("unit"),
            where=", ".join(str(v) for v in where.values()) if isinstance(where, Mapping) else "",
            at_limit=abs(slack) <= allowed,
        )
        rows.append((0.0 if found.at_limit else found.slack, not entry.get("quote"), found))
    first: dict[str, Tight] = {}
    for *_, found in sorted(rows, key=lambda row: row[:2]):
        first.setdefault(found.title, found)
    return list(first.values())[:count]


def title_of(check: Mapping[str, Any]) -> str:
    """Return the name of a check, else the words that it rests on, else its id."""
    name, key = check.get("name"), check.get("id")
    return " ".join(str((name != key and name) or check.get("quote") or key).split())


def executed(certificate: Mapping[str, Any]) -> list[str]:
    """Return by how much results of an execution differ from the plan, a line for each quantity."""
    physics = (certificate.get("levels") or {}).get("physics") or {}
    rows = []
    for entry in physics.get("results") or []:
        planned, found = entry.get("planned"), entry.get("executed")
        unit = "" if entry.get("unit") in (None, "1") else f" {entry['unit']}"
        if planned is None or found is None:
            rows.append((False, 0.0, f"{entry['quantity']}: no solution at {entry.get('at')}"))
            continue
        size = max(abs(planned), abs(found))
        if abs(found - planned) > _NOTABLE * size:
            text = f"{planned:.6g}{unit} planned, {found:.6g}{unit} when executed, {entry['at']}"
            share = abs(found - planned) / size
            rows.append((not unit, -share, f"{entry['quantity']}: {text}"))
    return [text for *_, text in sorted(rows)]


def not_shown(certificate: Mapping[str, Any]) -> list[str]:
    """Return why a verdict is not ``certified``, each reason once."""
    levels = certificate.get("levels") or {}
    reasons: dict[str, None] = {}
    for name in ("data", "algebra", "physics", "optimality"):
        level = levels.get(name) or {}
        if level.get("status") == "pass":
            continue
        for finding in level.get("findings") or ():
            reasons[f"{name}: {' '.join(str(finding).split())}"] = None
        for entry in level.get("checks") or ():
            if entry.get("status") == "unchecked":
                note = entry.get("note") or f"{entry.get('name') or entry.get('id')} is unchecked"
                reasons[f"{name}: {note}"] = None
    for text in (certificate.get("reading") or {}).get("open") or ():
        if not any(reason.endswith(f": {text}") for reason in reasons):
            reasons[f"reading: {text}"] = None
    return list(reasons)
