"""What may turn out another way than a plan supposes: the option ``--disturb``.

A list with commas: series with their noise, and how often they are drawn, as in
``load.power=5%, outdoor=0.5 K, runs=200, seed=1, correlation=0.8``.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.verify.case import build_case, declared_units, find_requirements
from engiagent.verify.certificate import Certificate
from engiagent.verify.foreign import Reading
from engiagent.verify.levels.algebra import rules_of, rules_of_core
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.requirements import Requirements

WHERE: Final = "--disturb"
RUNS: Final = 100
MOST_RUNS: Final = 100_000
SETTINGS: Final = {
    "runs": (1, MOST_RUNS, True),
    "seed": (0, 2**53 - 1, True),
    "correlation": (0, math.nextafter(1, 0), False),
}
"""Least, greatest, and whether it is a whole number."""
_AMOUNT: Final = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*\[?\s*([^\]]*?)\s*\]?")
EXPECTED: Final = "as load.power=5%, outdoor=0.5 K, runs=200, seed=1"


@dataclass(frozen=True)
class Disturbance:
    """Noise on a series."""

    target: str  # a parameter of a declared unit, ``load.power``, or of the document, ``outdoor``
    # standard deviation: a share of the value when ``relative``, else in ``unit``, or in the
    # series' own unit where that is None
    deviation: float
    relative: bool
    unit: Unit | None = None


@dataclass(frozen=True)
class Disturbances:
    """What is disturbed and how it is drawn."""

    items: tuple[Disturbance, ...]
    runs: int
    seed: int
    correlation: float  # of the noise of one period with that of the period before, 0 to below 1
    text: str  # as it was asked for


def parse_disturbances(text: str) -> Disturbances:
    """Read what is to be disturbed; InputError saying which part cannot be read.

    >>> found = parse_disturbances("load.power=5%, runs=20, seed=3")
    >>> found.items[0].deviation, found.runs, found.seed
    (0.05, 20, 3)
    """
    items: dict[str, Disturbance] = {}
    settings = {"runs": float(RUNS), "seed": 0.0, "correlation": 0.0}
    for part in (piece.strip() for piece in text.split(",")):
        name, _, amount = (word.strip() for word in part.partition("="))
        if not (name and amount):
            raise InputError("no disturbance", WHERE, found=repr(part), expected=EXPECTED)
        if name in items:
            raise InputError("a series is disturbed twice", WHERE, found=repr(name))
        if name in SETTINGS:
            settings[name] = _setting(name, amount)
        else:
            items[name] = _disturbance(name, amount)
    if not items:
        raise InputError("nothing is disturbed", WHERE, found=repr(text), expected=EXPECTED)
    runs, seed = int(settings["runs"]), int(settings["seed"])
    return Disturbances(tuple(items.values()), runs, seed, settings["correlation"], text)


def _setting(name: str, amount: str) -> float:
    least, most, whole = SETTINGS[name]
    try:
        value = float(amount)
    except ValueError:
        value = math.nan
    if not least <= value <= most or (whole and value != round(value)):
        kind = "a whole number" if whole else "a number"
        expected = f"{kind} from {least} to {most:g}"
        raise InputError(f"cannot read {name}", WHERE, found=repr(amount), expected=expected)
    return value


def _disturbance(name: str, amount: str) -> Disturbance:
    match = _AMOUNT.fullmatch(amount)
    relative = match is not None and match[2] == "%"
    try:
        number = float(match[1]) if match is not None else math.nan
        unit = None if match is None or relative or not match[2] else parse_unit(match[2])
    except (ValueError, UnitError):
        number, unit = math.nan, None
    if not (math.isfinite(number) and number > 0):
        what, expected = f"cannot read the noise of {name}", "a number above 0 with % or a unit"
        raise InputError(what, WHERE, found=repr(amount), expected=f"{expected}, as 5% or 0.5 K")
    return Disturbance(name, number / 100 if relative else number, relative, unit)


def with_disturbances(
    certificate: Certificate,
    problem: ProblemLike,
    solution: Any,
    blueprint: Blueprint | None,
    requirements: Requirements | str | Path | None,
    mapping: Mapping[str, str] | Reading | None,
    wanted: Disturbances,
) -> Certificate:
    """Return a certificate with the outcome of runs with disturbances at its physics level.

    ``problem``, ``solution``, ``blueprint``, ``requirements``, ``mapping``: as the certificate was
    made of by :func:`engiagent.verify.check`. Raises InputError when a series that is to be
    disturbed does not exist, or no unit is declared.
    """
    from engiagent.verify.levels.disturbance import disturbed

    stated = find_requirements(problem, requirements)
    case = build_case(problem, solution, blueprint, stated, mapping)
    units, _ = declared_units(case.blueprint, case.requirements, case.problem.folder)
    by_text = case.requirements is not None and bool(case.requirements.dynamics)
    bench = case.bench(by_text)
    if not units or bench is None or not case.series:
        raise InputError("there is no plan with declared units that could be disturbed", WHERE)
    if by_text:
        assert case.requirements is not None
        rules = rules_of(case.requirements)
    else:
        rules = rules_of_core(bench.declarations.core)
    found = disturbed(Plant(bench, units), rules, wanted)
    bench.forget()
    physics = {**certificate.levels.get("physics", {"status": "unchecked"}), "disturbance": found}
    return replace(certificate, levels={**certificate.levels, "physics": physics})


def disturbances_of(certificate: Mapping[str, Any]) -> Disturbances | None:
    """Return what a certificate was disturbed by, None when it was not."""
    section = certificate.get("levels", {}).get("physics", {}).get("disturbance")
    spec = section.get("spec") if isinstance(section, Mapping) else None
    return parse_disturbances(spec) if isinstance(spec, str) else None
