"""The one way from a problem to a blueprint without a language model, and the claim it supports."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.plant import read_plant
from engiagent.plant.source import find_source
from engiagent.readings.reading import Gap, Missing, Reading
from engiagent.readings.stored import reread, stored_reading
from engiagent.run.edits import set_value
from engiagent.text import Problem
from engiagent.verify.claims import Reading as Claim

_QUANTITY: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*)?", re.DOTALL)
NOTHING_STORED: Final = (
    "no plant block stands in the text and no stored reading lies beside it; prose is read by a "
    "language model only: begin with 'engiagent new', which writes a plant block, or add --engine "
    "anthropic, or let a local server read it, with --engine anthropic --base-url URL --model NAME"
)
SERVERS: Final = (
    "Ollama: ollama serve; --base-url http://localhost:11434",
    "llama.cpp: llama-server -m MODEL.gguf; --base-url http://localhost:8080",
    "vLLM: vllm serve MODEL; --base-url http://localhost:8000",
    "a local server needs no key of its own: set ANTHROPIC_API_KEY to any word",
)
"""How servers on the own machine are started that answer ``/v1/messages``."""


def read(problem: Problem, overrides: Mapping[str, str] | None = None) -> Reading:
    """Return what a problem states in its plant block, or else its stored reading.

    The reading has no blueprint where the problem has neither.

    ``overrides``: values of the user by parameter or ``component.slot``, as
    ``{"battery.charge_efficiency": "95 %"}``; a number without a unit is in the slot's own.
    """
    found = read_plant(problem)
    if found is None:
        found = reread(problem)
    if found is None:
        # Named by its first line, since what was not understood is quoted from the text.
        first = (problem.body.strip() or problem.text.strip()).splitlines()[0]
        return Reading(None, not_understood=(Gap((first,), NOTHING_STORED),), notes=SERVERS)
    return _overridden(found, overrides or {})


def _overridden(found: Reading, overrides: Mapping[str, str]) -> Reading:
    """Return a reading with the user's values, and with what is missing in its blueprint named."""
    if found.blueprint is None:
        return found
    given: set[str] = set()
    blueprint = found.blueprint
    if overrides:
        document: dict[str, Any] = blueprint.to_dict()
        for name, text in overrides.items():
            _override(document, name, text)
            given |= _names(blueprint, name)
        blueprint = Blueprint.from_dict(document)
    absent = {p.name for p in blueprint.core.parameters if p.status == "missing"}
    missing = [
        replace(item, reason=f"{item.reason.rstrip('.')}; give it with --set {item.name}=VALUE")
        if absent & _names(blueprint, item.name)
        else item
        for item in found.missing
        if item.name not in given
    ]
    known = {name for item in missing for name in _names(blueprint, item.name)}
    missing += [item for item in _without_value(blueprint) if item.name not in known]
    return replace(found, blueprint=blueprint, missing=tuple(missing))


def _override(document: dict[str, Any], name: str, text: str) -> None:
    quantity = _QUANTITY.fullmatch(text.strip())
    if quantity is None:
        raise InputError(
            f"--set {name}: this is no number", found=repr(text), expected="as 5, or '5 kW'"
        )
    setting = f"--set {name}={text}"
    try:
        set_value(document, name, float(quantity[1]), quantity[2], note=setting)
    except InputError as error:
        raise replace(error, message=f"{setting}: {error.message}") from None


def _slots(blueprint: Blueprint) -> dict[str, Any]:
    """Return what fills each slot of a component, by names as ``battery.energy_capacity``."""
    return {
        f"{component.name}.{slot}": value
        for component in blueprint.core.components
        for slot, value in component.parameters.items()
    }


def _names(blueprint: Blueprint, name: str) -> set[str]:
    """Return all names of a value: the parameter's, and those of the slots that it fills."""
    slots = _slots(blueprint)
    parameter = slots.get(name, name)
    return {name, *(n for n, v in slots.items() if v == parameter), str(parameter)}


def _without_value(blueprint: Blueprint) -> list[Missing]:
    """Return the parameters that a blueprint states to be missing, by slot where they fill one."""
    slots = {value: name for name, value in _slots(blueprint).items() if isinstance(value, str)}
    found = []
    for parameter in blueprint.core.parameters:
        if parameter.status == "missing":
            component, _, quantity = slots.get(parameter.name, parameter.name).rpartition(".")
            item = Missing(component, quantity, parameter.description or parameter.name)
            need = f"has no value; give it in {parameter.unit or '1'} with --set {item.name}=VALUE"
            found.append(replace(item, reason=f"{item.reason} {need}"))
    return found


def claim_of(
    problem: Problem, blueprint: Blueprint, overrides: Mapping[str, str] | None = None
) -> Claim | None:
    """Return the claim of a plant block or a stored reading for a blueprint.

    None where neither lies beside the problem, or where with the user's values it says something
    else.
    """
    try:
        stated = find_source(problem) is not None
        stored = None if stated else stored_reading(problem)
        if not stated and stored is None:
            return None
        found = read(problem, overrides).blueprint
        if found is None or expand(found).core != expand(blueprint).core:
            return None
    except EngiagentError:
        return None  # whoever reads the problem for its blueprint is told what is wrong
    if stored is None:
        return Claim("stated", "plant block", problem.path.name)
    accepted = stored.accepted
    by = f"{accepted['by']}, read again by rule"
    return Claim(accepted["grade"], by, stored.path.name, tuple(accepted.get("open", ())))
