"""The other direction of level 1: whether every number and every demand of the text was used."""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import ComponentDef, GoalDef, ObjectiveDef
from engiagent.blueprint.grammar import Number, names_in, tree_of, walk
from engiagent.blueprint.timeaxis import parse_step
from engiagent.units.currencies import MATH
from engiagent.units.unit import parse_unit
from engiagent.verify.figures import figures
from engiagent.verify.levels.sources import (
    ProblemLike,
    Span,
    all_leaves,
    is_most_of,
    repeats_number,
    same_amount,
)
from engiagent.verify.requirements import squeezed

DEMANDS: Final = re.compile(
    r"\b(must|shall|should not|has to|have to|had to|need(?:s)? to|may not|cannot|can not|can't|"
    r"mustn't|never|at least|at most|no more than|no less than|not more than|not less than|"
    r"no later than|limited to|limit|exceed\w*|maintain\w*|keep|kept|"
    r"between(?= \S*\d)(?! \d{1,2}(?::\d\d|\s?[ap]\.?m))|"  # of amounts, not of times or places
    r"must not|forbidden|required?|requires|minimum|maximum|not allowed|up to)\b",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(
    r"\b(?:may|can|could|will|would|be|is|are|was|were|runs?|allowed|possible|available)\s+only\b"
    r"|\bonly\s+(?:when|if|while|after|before|during|between|from|at|in|on|by|with|as|to|up|be|once|"
    r"one|an?|the|\d)|\b(?:at|on|in|during|by|from|with)\s+(?:\w+\s+){1,3}only\b",
    re.IGNORECASE,
)
"""What restricts: "only at night", not "for context only"."""
_WHY_SAID: Final = r"(?:context|information|orientation|reference|comparison)"
_ASIDE: Final = rf"never\s+mind|only\s+for\s+{_WHY_SAID}|for\s+{_WHY_SAID}\s+only"
"""What is said and does not count."""
_NO_DEMAND: Final = re.compile(  # "so that's not a limit", "no lower limit"
    r"(?:\b(?:not|no|nor|without|never)|n['\u2019]t)\s+(?:an?\s+|any\s+|the\s+)?"
    r"(?:(?:lower|upper|hard|real|further|other|such)\s+)?(?:limit|minimum|maximum)s?\b"
    r"|\b(?:at least|at most|up to|to)\s+\w+\s+(?:decimals?|digits|(?:decimal|significant)\s+\w+)"
    r"|\b(?:minimum|maximum|limits?)\b[^:;.]{0,40}:\s*(?:none|no|nil)\b"
    r"|\bno\s+(?:\w+\s+){1,3}(?:is|are)\s+(?:required|needed|imposed|demanded)\b"
    r"|\bnever\s+(?:be\s+)?(?:pays?|worth\w*|happens?|occurs?|matters?|profitable|attractive|"
    r"advantageous|beneficial|economic\w*|useful|optimal|interesting)\b"
    r"|\bno\s+(?:need|reason)\s+(?:to|for)\b|\b(?:do|does|did)(?:\s+not|n['\u2019]t)\s+(?:need|have)\s+to\b"
    r"|\bnot\s+(?:need(?:ed)?|necessary|required)\s+to\b"
    rf"|\b(?:{_ASIDE})\b",
    re.IGNORECASE,
)
"""What says that something limits nothing, or how an answer is to be written."""
_ORDERS: Final = re.compile(
    r"\b(?:must|shall|ha(?:s|ve) to|may not|never|not allowed|forbidden|required?)\b"
    r"|\bmustn['\u2019]t\b",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(
    r"(?:§|\b(?:paragraph|article|clause|annex|table|tab\.|figure|fig\.|section|sec\.|chapter|exercise|"
    r"equation|eq\.|appendix|rev\.|revision|version))\W{0,4}$",
    re.IGNORECASE,
)
"""Before a number that names a part of a text."""
_DISMISSED: Final = re.compile(
    r"\b(?:ignored?|neglect\w*|disregard\w*|irrelevant|"
    r"not (?:relevant|considered|modelled|our (?:business|concern))|"
    rf"{_ASIDE}|"
    r"(?:does not|doesn['\u2019]t) (?:matter|enter|bind|bite)|(?:leave|left) (?:it )?(?:out|aside)|"
    r"never (?:bite|bind)s?|(?:will|would) never (?:bite|bind)|no (?:part|concern|matter) of)\b",
    re.IGNORECASE,
)
_TIME_OF_DAY: Final = re.compile(
    r"\b\d{1,2}[:.]\d{2}\b(?!\s?[%€$A-Za-z])|\b\d{1,2}(?::\d{2})?\s?[ap]\.?m\b\.?|\bnoon\b|\bmidnight\b",
    re.IGNORECASE,
)
_SECTION: Final = re.compile(r"[ \t>*_(-]{0,12}\d{1,2}(?:\.\d{1,2}){1,3}[.)*_]{0,3}[ \t]+[A-Z]")
"""The number of a paragraph before its first word, as in "2.2 A pump may be …"."""
_COLON: Final = re.compile(r":\s*")
_BLANK: Final = re.compile(r"\s*")
_STATEMENT_END: Final = re.compile(r"[.;!?]\s|\n\s*\n|$")
"""Of what follows a colon: a statement, a list or a table."""
_RANGE: Final = re.compile(r"\\[lc]?dots|…|\.\.\.|\\sum|\\forall")
_COUNTS: Final = frozenset(["person"])
_SUPPOSED: Final = re.compile(r"\W*(?:please\s+)?(?:we\s+)?(?:assum|suppos)(?:e|ed|ing)\b", re.I)
_VERBS: Final = re.compile(
    r"\b(am|is|are|was|were|be|been|being|must\w*|shall|should|ha[sd]|have|may|can\w*|needs?|"
    r"never|only|not|exceed\w*|maintain\w*|keeps?|kept|forbid\w*|requires?|does|do|will|would)\b",
    re.IGNORECASE,
)
_LENIENT: Final = ("clock", "date")


def used_spans(
    blueprint: Blueprint, problem: ProblemLike, binding: bool = False, idle: Collection[str] = ()
) -> list[Span]:
    """Return every place of the text that the blueprint says it rests on or leaves out.

    With ``binding``, a parameter counts only where it limits by itself, as a bound of a variable or
    a property of a component: a number that is merely used somewhere keeps no demand. Constraints
    that are ``idle``, so that they ask for nothing, keep none either, and a source that is most of
    the text points at no part of it.
    """
    spans, text = [], problem.text
    for reference in _references(blueprint, binding, idle):
        for leaf in all_leaves(reference):
            if is_most_of(leaf, problem):
                continue
            if leaf.span is not None:
                spans.append(leaf.span)
            elif leaf.kind in ("text", "table") and leaf.quote:
                place = text.find(leaf.quote)
                if place >= 0:
                    spans.append((place, place + len(leaf.quote)))
    extended = blueprint.extended_analysis_and_robustness
    for item in extended.unused if extended is not None else ():
        if str(item.get("reason", "")).strip():
            spans.append((int(item["span"][0]), int(item["span"][1])))
    return sorted(spans)


def _references(blueprint: Blueprint, binding: bool, idle: Collection[str]) -> Iterator[Any]:
    core = blueprint.core
    names = binding_names(blueprint) if binding else set()
    groups: tuple[tuple[Any, ...], ...] = (
        core.sets,
        tuple(p for p in core.parameters if not binding or p.name in names),
        core.decision_variables,
        core.components,
        tuple(c for c in core.constraints if c.constraint_id not in idle),
    )
    for group in groups:
        for item in group:
            yield item.source_reference
    if core.objective_function is not None:
        yield core.objective_function.source_reference
        yield from (term.source_reference for term in core.objective_function.terms)
    extended = blueprint.extended_analysis_and_robustness
    for assumption in extended.key_assumptions if extended is not None else ():
        yield assumption.get("source_reference")


def binding_names(blueprint: Blueprint) -> set[str]:
    """Return the parameters that are by themselves a bound or a property of a component.

    So are those that they are made of: a lower limit of 10 % of the capacity is a limit.
    """
    core = blueprint.core
    names: set[str] = set()
    for variable in core.decision_variables:
        for bound in (variable.lower, variable.upper):
            used = names_in(bound)
            names |= used if len(used) == 1 else set()
    texts = [text for component in core.components for text in written_of(component)]
    return _made_of(blueprint, names.union(*map(names_in, texts)))


def _made_of(blueprint: Blueprint, names: set[str]) -> set[str]:
    """Return names with all the parameters that their values are made of."""
    made_of = {p.name: names_in(p.value) for p in blueprint.core.parameters}
    known, waiting = set(names), list(names)
    while waiting:
        more = made_of.get(waiting.pop(), frozenset()) - known
        known |= more
        waiting += more
    return known


def used_names(blueprint: Blueprint) -> set[str]:
    """Return every name that the model uses, through parameters made of parameters."""
    core = blueprint.core
    texts: list[Any] = []
    for constraint in core.constraints:
        texts += [constraint.expression, constraint.where]
    for variable in core.decision_variables:
        texts += [variable.lower, variable.upper, variable.initial, variable.where]
    for expression in core.expressions:
        texts += [expression.expression, expression.where]
    texts += [text for component in core.components for text in written_of(component)]
    texts += [index_set.where for index_set in core.sets]
    texts += [p.uncertain.deviation for p in core.parameters if p.uncertain is not None]
    texts += [c.penalty.weight for c in core.constraints if c.penalty is not None]
    if core.objective_function is not None:
        texts += written_in(core.objective_function)
        texts += [text for term in core.objective_function.terms for text in written_in(term)]
    return _made_of(blueprint, {name for text in texts for name in names_in(text)})


def written_of(component: ComponentDef) -> list[Any]:
    """Return what is given of a component, and of its walls to neighbours."""
    walls = component.connections.get("neighbours") if component.connections else None
    return [*component.parameters.values(), *(walls or {}).values()]


def written_in(goal: ObjectiveDef | GoalDef) -> list[str]:
    """Return every expression of an objective, or of one of its terms."""
    texts: list[Any] = [goal.expression]
    if isinstance(goal, GoalDef):
        texts += [goal.weight, goal.tolerance, goal.limit]
    return [str(text) for text in texts if text is not None]


class Uncovered(NamedTuple):
    """What of a text nobody accounted for, and what it merely says again.

    ``numbers``, ``demands``: findings for numbers, and the words of requirements. ``repeated``:
    numbers that repeat accounted ones, with where these stand. ``bare``: the
    findings for numbers without a unit that no requirement has, as those of hours and items.
    """

    numbers: list[str]
    demands: list[str]
    repeated: list[str]
    bare: frozenset[str]


def uncovered(problem: ProblemLike, blueprint: Blueprint, idle: Collection[str] = ()) -> Uncovered:
    """Return the numbers and the requirements of the text that nobody accounted for.

    ``idle`` are the constraints that ask for nothing.
    """
    spans, grid = used_spans(blueprint, problem), _grid_numbers(blueprint)
    strict = used_spans(blueprint, problem, idle=_without_figures(blueprint))
    numbers, repeated, amounts = [], [], set()
    clauses = list(_demanding(problem))
    formulas = [match.span() for match in MATH.finditer(problem.text)]
    used = [q for q in problem.quantities if _touched(_place(q), spans)]
    for quantity in problem.quantities:
        kind = getattr(quantity, "kind", "number")
        start, stop = quantity.span
        if start < problem.body_start or kind in _LENIENT or kind == "label":
            continue
        counted = dict(getattr(quantity.unit, "dimension", ()))
        if kind == "word" and (not quantity.unit_text or (counted and set(counted) <= _COUNTS)):
            continue  # "one of the three": the words around it are held against the demands below
        if _is_grid(quantity, grid) or _only_in_heading(problem, quantity):
            continue
        if _NUMBERED.search(problem.text, max(0, start - 20), start):
            continue
        if _SECTION.match(problem.text, problem.text.rfind("\n", 0, start) + 1, stop + 3):
            continue
        formula = next((f for f in formulas if f[0] < start < f[1]), None)
        if formula is not None and _in_formula(problem, quantity, formula, grid, used):
            continue
        held = strict if _is_amount(quantity) else spans
        if _touched(_place(quantity), held):
            continue
        shown = squeezed(problem.text[start:stop])
        line = line_of(problem, start)
        other = repeats_number(problem, quantity, used)
        if other is None:
            finding = f"the number {shown!r} in line {line} of the text is not accounted for"
            numbers.append(finding)
            unit = quantity.unit_text and float(quantity.value) != 0.0  # "0 to 8 MW"
            if unit or _touched(_place(quantity), clauses):
                amounts.add(finding)
        else:
            first = line_of(problem, other.span[0])
            repeated.append(f"{shown!r} in line {line} of the text repeats that of line {first}")
    spans = used_spans(blueprint, problem, True, idle)
    demands = [
        squeezed(problem.text[slice(*c)])
        for c in clauses
        if not _touched(c, spans) and not _introduces(problem, c, spans)
    ]
    return Uncovered(numbers, demands, repeated, frozenset(numbers) - amounts)


def _is_amount(quantity: Any) -> bool:
    """Whether a number is one of something, neither 0 nor 1 nor a time."""
    unit = quantity.unit
    timed = unit is not None and unit.dimension == parse_unit("s").dimension
    return bool(quantity.unit_text) and not timed and float(quantity.value) not in (0.0, 1.0)


def _without_figures(blueprint: Blueprint) -> set[str]:
    """Return the constraints in which no figure can stand: of variables, 0 and 1 alone.

    What they quote is no number of theirs: a charge of at least 0 is none of at least 30 kWh.
    """
    core = blueprint.core
    chosen = {s.name for s in core.sets if s.kind in ("time", "instants", "labels", "range")}
    variables = {v.name for v in core.decision_variables}
    found = set()
    for constraint in core.constraints:
        if constraint.where is not None or constraint.penalty is not None:
            continue
        node = tree_of(constraint.expression)
        binders = [binder.partition(" in ") for binder in constraint.forall]
        names = names_in(node) - {name.strip() for name, _, _ in binders} - chosen
        plain = {n.value for n in walk(node) if isinstance(n, Number)} if node else {None}
        if (
            plain <= {0.0, 1.0}
            and names <= variables
            and {s.strip() for *_, s in binders} <= chosen
        ):
            found.add(constraint.constraint_id)
    return found


def line_of(problem: ProblemLike, place: int) -> int:
    """Return the line of a place as a reader of the text counts: from 1, front matter apart."""
    text = problem.text
    begin = problem.body_start
    while begin < len(text) and text[begin].isspace():
        begin += 1
    return text.count("\n", min(begin, place), place) + 1


def _place(quantity: Any) -> Span:
    number = getattr(quantity, "number_span", quantity.span)
    return number[0], number[1]


def _demanding(problem: ProblemLike) -> Iterator[Span]:
    """Yield the clauses of the text that ask for something."""
    for sentence in problem.sentences:
        start, stop = sentence.span
        if start < problem.body_start or getattr(sentence, "kind", "sentence") == "heading":
            continue
        for clause in _clauses(problem.text, (start, stop)):
            if _demands(problem.text[clause[0] : clause[1]]):
                yield clause


def _demands(words: str) -> bool:
    """Whether some words ask for something; what is to be assumed does so by numbers alone."""
    if _SUPPOSED.match(words) and not re.search(r"\d", words):
        return False
    words = _NO_DEMAND.sub(" ", words)
    return bool(DEMANDS.search(words) or _ONLY.search(words))


def obliges(words: str, text: str) -> bool:
    """Whether a requirement of a text orders or forbids, or has an amount, as "at most 8 MW"."""
    return bool(_ORDERS.search(words)) or has_amount(words, text)


def dismissed(words: str) -> bool:
    """Whether a statement says of itself that it does not count, as "80 kVA, ignore"."""
    return _DISMISSED.search(words) is not None


def has_amount(words: str, text: str) -> bool:
    """Whether some words of a text have a number with a unit of a plant or of money.

    A time of day alone is none: "(by telephone only after 19:00)".
    """
    units = (figure.unit for figure in figures(_TIME_OF_DAY.sub(" ", words), text))
    return any(
        unit is not None
        and not unit.is_dimensionless
        and not set(dict(unit.dimension)) <= _COUNTS
        and str(unit) != "yr"  # "keep the form for six years"
        for unit in units
    )


def _in_formula(
    problem: ProblemLike,
    quantity: Any,
    formula: Span,
    grid: set[tuple[str, float]],
    used: Sequence[Any],
) -> bool:
    """Whether a number of a formula in TeX is no datum of its own.

    It is the first or last of an index, the zero beside a limit, or an amount that the text gives.
    """
    value = float(quantity.value)
    if not quantity.unit_text:
        ends = {0.0, 1.0} | {n - k for kind, n in grid if kind == "count" for k in (0, 1)}
        if value in ends and _RANGE.search(problem.text, *formula):
            return True
        return value == 0.0 and any(formula[0] < _place(q)[0] < formula[1] for q in used)
    return any(same_amount(quantity, other) for other in used)


def _introduces(problem: ProblemLike, clause: Span, spans: list[Span]) -> bool:
    """Whether a clause without an amount says only what its colon then gives, which is used.

    As "The converter works one way at a time: charge or discharge, never both".
    """
    after = _COLON.match(problem.text, clause[1])
    if problem.text[clause[0] : clause[1]].rstrip().endswith(":"):
        after = _BLANK.match(problem.text, clause[1])
    if after is None or has_amount(problem.text[slice(*clause)], problem.text):
        return False
    stop = _STATEMENT_END.search(problem.text, after.end())
    return _touched((after.end(), stop.start() if stop else len(problem.text)), spans)


def _only_in_heading(problem: ProblemLike, quantity: Any) -> bool:
    """Whether a number numbers a heading or says how long it all is: no datum by itself."""
    index = getattr(quantity, "sentence", None)
    if index is None or getattr(problem.sentences[index], "kind", "sentence") != "heading":
        return False
    return not quantity.unit_text or quantity.kind == "duration"


def _clauses(text: str, span: Span) -> Iterator[Span]:
    """Yield the parts of a sentence between semicolons and colons; labels stay with their values.

    'Maximum power: 1 MW' is one statement, 'it must rest at noon: 1 MW is sold then' are two.
    """
    start = span[0]
    for mark in re.finditer(r"[;:]\s", text[span[0] : span[1]]):
        before = text[start : span[0] + mark.start()]
        if mark[0][0] == ":" and not _VERBS.search(before) and "," not in before:
            continue
        yield start, span[0] + mark.start()
        start = span[0] + mark.end()
    yield start, span[1]


def _touched(span: Span, spans: list[Span]) -> bool:
    return any(start < span[1] and span[0] < stop for start, stop in spans)


def _grid_numbers(blueprint: Blueprint) -> set[tuple[str, float]]:
    known: set[tuple[str, float]] = set()
    for index_set in blueprint.core.sets:
        if index_set.kind not in ("time", "periods") or index_set.periods is None:
            continue
        known.add(("count", float(index_set.periods)))
        if isinstance(index_set.step, str):
            length, _ = parse_step(index_set.step)
            known |= {("seconds", length), ("seconds", length * index_set.periods)}
    return known


def _is_grid(quantity: Any, grid: set[tuple[str, float]]) -> bool:
    """Whether a number says how long a step is or how many there are."""
    unit = quantity.unit
    if unit is None:
        return not quantity.unit_text and ("count", float(quantity.value)) in grid
    if unit.dimension != parse_unit("s").dimension:
        return False
    return ("seconds", float(quantity.value) * unit.scale) in grid
