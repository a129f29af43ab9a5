"""Blueprint expressions as MathML, which browsers set by themselves.

>>> print(expression("P_max * sum(x[t] for t in T) <= 3"))  # doctest: +ELLIPSIS
<math display="inline"><mrow><mrow><msub><mi>P</mi><mi>max</mi></msub>...
"""

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Choice,
    Compare,
    Convert,
    GrammarError,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
    parse,
    parse_binder,
)
from engiagent.report import words
from engiagent.report.charts.markup import Element, element, render

_GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "phi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Delta": "Δ",
    "Phi": "Φ",
    "Omega": "Ω",
    "Sigma": "Σ",
}
_RELATIONS = {
    "<=": "≤",
    ">=": "≥",
    "==": "=",
    "!=": "≠",
    "<": "<",
    ">": ">",
    "in": "∈",
    "not in": "∉",
}
_SUMS = {"+": "+", "-": "−"}

# How tightly things bind; a part that binds less than its surroundings asks gets brackets.
_CHOICE, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(10)


def expression(text: str, display: str = "inline") -> Markup:
    """Return an expression as a ``math`` element; what cannot be read stands as it was written."""
    try:
        body = node(parse(text))
    except GrammarError:
        body = element("mtext", text)
    return render(element("math", body, display=display))


def constraint(text: str, forall: Sequence[str] = (), where: str | None = None) -> Markup:
    """Return a constraint with its binders: ``x ≤ P,  t ∈ T,  condition``.

    It stands in several ``math`` elements, because within one no browser breaks a line.
    """
    parts = _parts(text)
    for binder in forall:
        parts[-1].append(_gap())
        try:
            parts.append(element("mrow", _binder(parse_binder(binder))))
        except GrammarError:
            parts.append(element("mrow", element("mtext", binder)))
    if where:
        parts[-1].append(_gap())
        parts += _parts(where)
    return _lined_up(parts)


def symbol(name: str) -> Markup:
    """Return a name as a symbol."""
    return render(element("math", name_element(name), display="inline"))


def objective(sense: str, text: str) -> Markup:
    """Return an objective with its sense in front, set as a display, with room to break lines."""
    word = "max" if sense == "maximize" else "min"
    parts = _parts(text)
    parts[0] = element("mrow", element("mi", word), element("mspace", width="0.5em"), parts[0])
    return _lined_up(parts, displaystyle="true")


def _parts(text: str) -> list[Element]:
    """Return an expression as rows between which a line may end."""
    try:
        return _between_signs(parse(text), _CHOICE)
    except GrammarError:
        return [element("mrow", element("mtext", text))]


def _between_signs(item: Node, least: int) -> list[Element]:
    """Return the sides of a comparison or the terms of a sum, each with its sign in front."""
    if isinstance(item, Compare):
        found = _between_signs(item.operands[0], _COMPARE + 1)
        for op, operand in zip(item.ops, item.operands[1:], strict=True):
            first, *rest = _between_signs(operand, _COMPARE + 1)
            found += [element("mrow", element("mo", _RELATIONS[op]), first), *rest]
        return found
    if isinstance(item, Binary) and item.op in _SUMS and least <= _SUM:
        sign, right = _signed(item)
        return [*_between_signs(item.left, _SUM), element("mrow", sign, right)]
    return [element("mrow", node(item, least))]


def _lined_up(parts: Sequence[Element], **attributes: str) -> Markup:
    """Return rows as formulas of their own, between which a line may end."""
    formulas = (render(element("math", part, display="inline", **attributes)) for part in parts)
    return Markup("<wbr/>").join(formulas)


def name_element(name: str, indices: Sequence[Element] = ()) -> Element:
    """Return a name with what follows its first underscore, and its indices, as subscripts."""
    head, *tail = name.split("_") if name.strip("_") else [name]
    # One subscript of several words reads better than a list of them: state of charge, t.
    word = "\u00a0".join(_GREEK.get(part, part) for part in tail if part)
    below = [element("mi", word), *indices] if word else list(indices)
    base = element("mi", _GREEK.get(head, head) or name)
    if not below:
        return base
    if len(below) == 1:
        return element("msub", base, below[0])
    return element("msub", base, _joined(below))


def node(item: Node, least: int = _CHOICE) -> Element:
    """Return a part of an expression, in brackets where it binds less tightly than ``least``."""
    writer, binding = _WRITERS[type(item)]
    level = binding(item) if callable(binding) else binding
    inner = writer(item)
    if level >= least:
        return inner
    return _fenced("(", inner, ")")


def _gap() -> Element:
    return element("mtext", ",\u2003")


def _joined(parts: Sequence[Element]) -> Element:
    row = element("mrow")
    for index, part in enumerate(parts):
        if index:
            row.append(element("mo", ",", separator="true"))
        row.append(part)
    return row


def _fenced(left: str, inner: Element, right: str) -> Element:
    return element("mrow", element("mo", left), inner, element("mo", right))


def _number(item: Number) -> Element:
    shown = element("mn", words.number(item.value, 12))
    unit = words.unit(item.unit)
    return element("mrow", shown, element("mtext", f"\u00a0{unit}")) if unit else shown


def _text(item: Text) -> Element:
    return element("mtext", f"“{item.value}”")


def _ref(item: Ref) -> Element:
    return name_element(item.name, [node(index) for index in item.indices])


def _unary(item: Unary) -> Element:
    if item.op == "not":
        return element("mrow", element("mo", "¬"), node(item.operand, _NOT + 1))
    sign = "−" if item.op == "-" else "+"
    return element("mrow", element("mo", sign, form="prefix"), node(item.operand, _SIGN))


def _binary(item: Binary) -> Element:
    left, right = item.left, item.right
    if item.op == "/":
        return element("mfrac", node(left), node(right))
    if item.op == "**":
        return element("msup", node(left, _ATOM), node(right))
    if item.op == "//":
        return _fenced("⌊", element("mfrac", node(left), node(right)), "⌋")
    if item.op == "%":
        parts = node(left, _SIGN), element("mo", "mod"), node(right, _SIGN)
        return element("mrow", *parts)
    sign, after = _signed(item)
    # A sum sign reaches to the right, so on the left of a product it needs brackets.
    greedy = item.op == "*" and isinstance(left, Reduce)
    first = node(left, _ATOM if greedy else _binary_level(item))
    return element("mrow", first, sign, after)


def _signed(item: Binary) -> tuple[Element, Element]:
    """Return the sign of a sum or a product, and what stands behind it."""
    level = _binary_level(item)
    least = level + 1 if item.op == "-" else level
    if isinstance(item.right, Unary):
        least = _POWER
    sign = element("mo", {"*": "⋅", **_SUMS}[item.op], form="infix")
    return sign, node(item.right, least)


def _binary_level(item: Any) -> int:
    return {"+": _SUM, "-": _SUM, "**": _POWER, "//": _ATOM, "/": _POWER}.get(item.op, _PRODUCT)


def _compare(item: Compare) -> Element:
    row = element("mrow", node(item.operands[0], _COMPARE + 1))
    for op, operand in zip(item.ops, item.operands[1:], strict=True):
        row.append(element("mo", _RELATIONS[op]))
        row.append(node(operand, _COMPARE + 1))
    return row


def _logic(item: Logic) -> Element:
    level = _AND if item.op == "and" else _OR
    row = element("mrow")
    for index, operand in enumerate(item.operands):
        if index:
            row.append(element("mo", "∧" if item.op == "and" else "∨"))
        row.append(node(operand, level + 1))
    return row


def _members(item: Members) -> Element:
    return _fenced("{", _joined([node(part) for part in item.items]), "}")


def _call(item: Call) -> Element:
    inside = [node(part) for part in item.args]
    if item.function == "dt":
        return element("msub", element("mi", "Δ"), inside[0])
    if item.function == "sqrt":
        return element("msqrt", inside[0])
    if item.function in ("abs", "len"):
        return _fenced("|", inside[0], "|")
    name = element("mi", item.function)
    return element("mrow", name, element("mo", "\u2061"), _fenced("(", _joined(inside), ")"))


def _binder(item: Binder) -> Element:
    names: Sequence[Element] = [name_element(name) for name in item.names]
    left = names[0] if len(names) == 1 else _fenced("(", _joined(names), ")")
    return element("mrow", left, element("mo", "∈"), name_element(item.set))


def _reduce(item: Reduce) -> Element:
    below = [_binder(binder) for binder in item.binders]
    if item.where is not None:
        below.append(node(item.where))
    big = item.function == "sum"
    head = element("mo", "∑", movablelimits="false") if big else element("mi", item.function)
    under = element("munder", head, _joined(below))
    return element("mrow", under, node(item.body, _PRODUCT))


def _choice(item: Choice) -> Element:
    rows = [(item.then, node(item.condition)), (item.otherwise, None)]
    table = element("mtable", columnalign="left")
    for value, condition in rows:
        when = element("mtext", "otherwise") if condition is None else condition
        word = element("mtext", "if\u00a0") if condition is not None else element("mtext", "")
        cells = element("mtd", node(value)), element("mtd", element("mrow", word, when))
        table.append(element("mtr", *cells))
    return element("mrow", element("mo", "{"), table)


_WRITERS: dict[type[Node], tuple[Callable[[Any], Element], int | Callable[[Any], int]]] = {
    Binary: (_binary, _binary_level),
    Binder: (_binder, _COMPARE),
    Call: (_call, _ATOM),
    Choice: (_choice, _ATOM),
    Compare: (_compare, _COMPARE),
    Convert: (lambda item: node(item.operand), _ATOM),
    Logic: (_logic, lambda item: _AND if item.op == "and" else _OR),
    Members: (_members, _ATOM),
    Number: (_number, _ATOM),
    Reduce: (_reduce, _PRODUCT),
    Ref: (_ref, _ATOM),
    Text: (_text, _ATOM),
    Unary: (_unary, lambda item: _NOT if item.op == "not" else _SIGN),
}
