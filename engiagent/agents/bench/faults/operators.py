"""Ways to spoil one element of a right blueprint; each yields every way in which it can be done.

The four error classes of the field first (something left vague, data altered, physics violated,
too much demanded), then what a writer of the language gets wrong.
"""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final

from engiagent.agents.bench.faults.elements import CORE, OBJECTIVE, Json, Place, elements
from engiagent.blueprint.grammar import Binary, Compare, GrammarError, Node, Ref, parse, walk

Spoilt = Iterator[tuple[Place, Json | None]]
Operator = Callable[[Json, str], Spoilt]
Rewrite = Callable[[str], Iterator[str]]


# --- vague ---------------------------------------------------------------------------------------


def constraint_dropped(document: Json, text: str) -> Spoilt:
    """Leave a constraint out."""
    for place, _ in elements(document, "constraints"):
        yield place, None


def bound_dropped(document: Json, text: str) -> Spoilt:
    """Leave a bound out that a parameter gives."""
    for place, variable in elements(document, "decision_variables"):
        for side in ("lower", "upper"):
            if isinstance(variable.get(side), str):
                yield place, {k: v for k, v in variable.items() if k != side}


def quantity_unnamed(document: Json, text: str) -> Spoilt:
    """Do not say what a variable stands for."""
    for place, variable in elements(document, "decision_variables"):
        if variable.get("quantity"):
            yield place, {k: v for k, v in variable.items() if k != "quantity"}


def cost_left_out(document: Json, text: str) -> Spoilt:
    """Leave a term out of the objective."""
    yield from _objective(document, _one_side)


# --- altered data --------------------------------------------------------------------------------


def _numbers(document: Json, change: Callable[[float], float]) -> Spoilt:
    for place, parameter in elements(document, "parameters"):
        value = parameter.get("value")
        if isinstance(value, int | float) and not isinstance(value, bool):
            changed = change(float(value))
            if changed != value:
                yield place, {**parameter, "value": changed}


def number_a_little_more(document: Json, text: str) -> Spoilt:
    """Make a number 3 % larger."""
    yield from _numbers(document, lambda value: round(value * 1.03, 6))


def number_tenfold(document: Json, text: str) -> Spoilt:
    """Slip by one decimal place."""
    yield from _numbers(document, lambda value: value * 10.0)


def efficiency_both_ways(document: Json, text: str) -> Spoilt:
    """Take a number below one, or per cent, as that of both ways."""
    for place, parameter in elements(document, "parameters"):
        value, whole = parameter.get("value"), {"%": 100.0, "1": 1.0}.get(parameter.get("unit", ""))
        if whole and isinstance(value, int | float) and 0.5 < value / whole < 1.0:
            yield place, {**parameter, "value": round(whole * (value / whole) ** 0.5, 6)}


def example_data(document: Json, text: str) -> Spoilt:
    """Put an invented constant for a series of a file."""
    for place, parameter in elements(document, "parameters"):
        if parameter.get("data") is not None:
            kept = {k: v for k, v in parameter.items() if k not in ("data", "type")}
            why = {"kind": "assumption", "reason": "a typical value"}
            yield place, {**kept, "value": 42.0, "source_reference": why}


# --- violated physics ----------------------------------------------------------------------------


def equation_relaxed(document: Json, text: str) -> Spoilt:
    """Ask for at most, or at least, where equality is meant."""
    yield from _constraints(document, _relation({"==": "<="}))
    yield from _constraints(document, _relation({"==": ">="}))


def sign_turned(document: Json, text: str) -> Spoilt:
    """Add what is to be subtracted, and the other way round."""
    yield from _constraints(document, _operator({"+": "-", "-": "+"}))


def factor_inverted(document: Json, text: str) -> Spoilt:
    """Divide where a product is meant, and the other way round."""
    yield from _constraints(document, _operator({"*": "/", "/": "*"}))


def goal_misread(document: Json, text: str) -> Spoilt:
    """Turn a sign of the objective, or its sense."""
    yield from _objective(document, _operator({"+": "-", "-": "+"}))
    goal = document[CORE].get(OBJECTIVE)
    if isinstance(goal, dict) and isinstance(goal.get("expression"), str):
        other = {"minimize": "maximize", "maximize": "minimize"}[goal["sense"]]
        yield Place(OBJECTIVE), {**goal, "sense": other}


# --- over-constrained ----------------------------------------------------------------------------


def bound_tightened(document: Json, text: str) -> Spoilt:
    """Use nine tenths of a bound that a parameter gives."""
    for place, variable in elements(document, "decision_variables"):
        if isinstance(variable.get("upper"), str):
            yield place, {**variable, "upper": f"0.9*({variable['upper']})"}


def equality_demanded(document: Json, text: str) -> Spoilt:
    """Ask for equality where a limit is meant."""
    yield from _constraints(document, _relation({"<=": "==", ">=": "=="}))


def demand_invented(document: Json, text: str) -> Spoilt:
    """Demand what the text does not, quoting words of it all the same."""
    quote = next((s for s in re.findall(r"[A-Z][^.|\n]{30,90}", text.split("\n# ")[-1])), "")
    start = text.find(quote)
    if not quote or start < 0:
        return
    source = {"kind": "text", "span": [start, start + len(quote)], "quote": quote}
    for _, variable in elements(document, "decision_variables"):
        index = variable.get("index") or []
        upper = variable.get("upper")
        if variable.get("role") != "decision" or len(index) != 1 or not isinstance(upper, str):
            continue
        binder = index[0] if " in " in index[0] else f"e in {index[0]}"
        name = binder.split(" in ")[0].strip()

        yield (
            Place("constraints", "invented"),
            {
                "constraint_id": "invented",
                "name": "smooth operation",
                "forall": [binder],
                "expression": f"{variable['name']}[{name}] <= 0.5*({upper})",
                "category": "Operational Logic",
                "hard": True,
                "source_reference": source,
            },
        )


# --- of the language -----------------------------------------------------------------------------


def syntax(document: Json, text: str) -> Spoilt:
    """Write what is not in the grammar."""
    yield from _constraints(document, lambda e: iter((f"{e} ++", f"({e}", f"{e}; done()")))


def function_unknown(document: Json, text: str) -> Spoilt:
    """Call what the language does not have, as an import that is not there."""
    relation = re.compile(r"(<=|>=|==)")
    yield from _constraints(document, lambda e: iter((relation.sub(r"\1 suffix(0) +", e, 1),)))


def name_unknown(document: Json, text: str) -> Spoilt:
    """Speak of something under another name than it has."""
    yield from _constraints(document, _references(lambda ref: f"{ref.name}_total"))


def index_wrong(document: Json, text: str) -> Spoilt:
    """Shift an index out of its set."""

    def change(ref: Ref, whole: str) -> str | None:
        return f"{ref.name}[{whole} + 900]" if whole and "," not in whole else None

    yield from _constraints(document, _indexed(change))


def unit_wrong(document: Json, text: str) -> Spoilt:
    """Take a power for an energy, or kilo for mega."""
    other = {
        "kW": "kWh",
        "kWh": "kW",
        "MW": "MWh",
        "MWh": "MW",
        "EUR/MWh": "EUR/kWh",
        "EUR/kWh": "EUR/MWh",
        "%": "1",
        "degC": "K",
        "kW/K": "kWh/K",
    }
    for part in ("parameters", "decision_variables"):
        for place, element in elements(document, part):
            if element.get("unit") in other and element.get("data") is None:
                yield place, {**element, "unit": other[element["unit"]]}


def field_unknown(document: Json, text: str) -> Spoilt:
    """Write a field that the schema does not know."""
    for place, element in elements(document, "constraints"):
        yield place, {**element, "formula": element["expression"]}


def division_by_variable(document: Json, text: str) -> Spoilt:
    """Bring a quotient of variables into a constraint that has none."""
    variables = {p.name for p, _ in elements(document, "decision_variables")}

    def change(ref: Ref, whole: str) -> str | None:
        written = f"{ref.name}[{whole}]" if whole else ref.name
        return f"({written}*{written}/{written})" if ref.name in variables else None

    yield from _constraints(document, _indexed(change))


def variables_exchanged(document: Json, text: str) -> Spoilt:
    """Write one variable where another of its unit and index is meant."""
    variables = {p.name: v for p, v in elements(document, "decision_variables")}

    def change(expression: str) -> Iterator[str]:
        for ref in _refs(expression):
            own = variables.get(ref.name)
            for name, other in variables.items():
                if own and name != ref.name and _alike(own, other):
                    yield _cut(expression, ref.span[0], ref.span[0] + len(ref.name), name)

    yield from _constraints(document, change)


# --- editing -------------------------------------------------------------------------------------


def _alike(one: Json, two: Json) -> bool:
    return (one.get("unit"), one.get("index")) == (two.get("unit"), two.get("index"))


def _constraints(document: Json, rewrite: Rewrite) -> Spoilt:
    for place, element in elements(document, "constraints"):
        for changed in rewrite(element["expression"]):
            if changed != element["expression"]:
                yield place, {**deepcopy(element), "expression": changed}


def _objective(document: Json, rewrite: Rewrite) -> Spoilt:
    goal = document[CORE].get(OBJECTIVE)
    if isinstance(goal, dict) and isinstance(goal.get("expression"), str):
        for changed in rewrite(goal["expression"]):
            yield Place(OBJECTIVE), {**deepcopy(goal), "expression": changed, "components": []}


def _nodes(text: str) -> tuple[Node, ...]:
    try:
        return tuple(walk(parse(text)))
    except GrammarError:
        return ()


def _refs(text: str) -> Iterator[Ref]:
    yield from (node for node in _nodes(text) if isinstance(node, Ref))


def _references(new: Callable[[Ref], str]) -> Rewrite:
    def change(text: str) -> Iterator[str]:
        for ref in _refs(text):
            if ref.indices:
                yield _cut(text, ref.span[0], ref.span[0] + len(ref.name), new(ref))

    return change


def _indexed(new: Callable[[Ref, str], str | None]) -> Rewrite:
    def change(text: str) -> Iterator[str]:
        for ref in _refs(text):
            start, stop = ref.span
            whole = text[start + len(ref.name) : stop].strip()[1:-1]
            said = new(ref, whole)
            if said is not None:
                yield _cut(text, start, stop, said)

    return change


def _cut(text: str, start: int, stop: int, new: str) -> str:
    return text[:start] + new + text[stop:]


def _relation(other: dict[str, str]) -> Rewrite:
    def change(text: str) -> Iterator[str]:
        for node in _nodes(text):
            if isinstance(node, Compare):
                for k, op in enumerate(node.ops):
                    start, stop = node.operands[k].span[1], node.operands[k + 1].span[0]
                    gap = text[start:stop]
                    if op in other and gap.count(op) == 1:
                        yield _cut(text, start, stop, gap.replace(op, other[op]))

    return change


def _operator(other: dict[str, str]) -> Rewrite:
    def change(text: str) -> Iterator[str]:
        for node in _nodes(text):
            if isinstance(node, Binary) and node.op in other:
                start, stop = node.left.span[1], node.right.span[0]
                gap = text[start:stop]
                inside = re.search(r"\w\[[^\[\]]*$", text[:start])
                if gap.count(node.op) == 1 and not inside:
                    yield _cut(text, start, stop, gap.replace(node.op, other[node.op]))

    return change


def _one_side(text: str) -> Iterator[str]:
    """Leave the right side out of a sum."""
    for node in _nodes(text):
        if isinstance(node, Binary) and node.op in ("+", "-"):
            inside = re.search(r"\w\[[^\[\]]*$", text[: node.left.span[0]])
            if not inside:
                yield _cut(text, node.left.span[1], node.right.span[1], "")


OPERATORS: Final[dict[str, tuple[Operator, ...]]] = {
    "vague": (constraint_dropped, bound_dropped, quantity_unnamed, cost_left_out),
    "altered data": (number_a_little_more, number_tenfold, efficiency_both_ways, example_data),
    "violated physics": (equation_relaxed, sign_turned, factor_inverted, goal_misread),
    "over-constrained": (bound_tightened, equality_demanded, demand_invented),
    "syntax": (syntax, field_unknown),
    "index": (index_wrong,),
    "unknown name": (name_unknown,),
    "wrong unit": (unit_wrong,),
    "dropped requirement": (constraint_dropped, bound_dropped),
    "endless repetition": (syntax, number_a_little_more, sign_turned, name_unknown),
    "trace 1: import": (function_unknown,),
    "trace 2: nonlinear": (division_by_variable,),
    "trace 3: mapping": (variables_exchanged,),
    "trace 4: directed": (variables_exchanged, sign_turned),
}
"""Ways to spoil a blueprint, by fault class."""


def spoilings(document: Json, text: str, fault_class: str) -> list[tuple[str, Place, Any]]:
    """Return every way of a class: the operator's name, the place, and what stands there then."""
    return [
        (operator.__name__, place, wrong)
        for operator in OPERATORS[fault_class]
        for place, wrong in operator(document, text)
    ]
