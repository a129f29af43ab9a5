"""Blueprint expressions as MathML, which browsers set by themselves.

>>> print(expression("P_max * sum(x[t] for t in T) <= 3"))  # doctest: +ELLIPSIS
<math display="inline"><mrow><mrow><msub><mi>P</mi><mi>max</mi></msub>...
"""

from collections.abc import Sequence
from typing import ClassVar

from markupsafe import Markup

from engiagent.blueprint.grammar import Compare, GrammarError, Node, Number, parse, parse_binder
from engiagent.formulations.formulas import Formulas, Level
from engiagent.report import words
from engiagent.report.charts.markup import Element, element, render

_LETTERS = (
    "alpha beta gamma delta epsilon eta theta kappa lambda mu nu xi pi rho sigma tau phi "
    "chi psi omega Delta Phi Omega Sigma"
)
_GREEK = dict(zip(_LETTERS.split(), "αβγδεηθκλμνξπρστφχψωΔΦΩΣ", strict=True))
_FENCES = {"tuple": "()", "floor": "⌊⌋"}
_ELEMENTS = {"fraction": "mfrac", "root": "msqrt"}


class MathML(Formulas[Element]):
    """MathML, which knows Greek letters by their names."""

    signs: ClassVar = {
        "<=": "≤",
        ">=": "≥",
        "==": "=",
        "!=": "≠",
        "in": "∈",
        "not in": "∉",
        "-": "−",
        "*": "⋅",
        "%": "mod",
        "not": "¬",
        "and": "∧",
        "or": "∨",
        "implies": "⇒",
        "either": "∨",
        "complements": "⊥",
    }

    def _number(self, node: Number) -> Element:
        shown, unit = element("mn", words.number(node.value, 12)), words.unit(node.unit)
        return element("mrow", shown, element("mtext", f"\u00a0{unit}")) if unit else shown

    def _quoted(self, text: str) -> Element:
        return element("mtext", f"“{text}”")

    def name(self, name: str, indices: Sequence[Element] = ()) -> Element:
        """Return a name with what follows its first underscore, and its indices, as subscripts."""
        head, *tail = name.split("_") if name.strip("_") else [name]
        # One subscript of several words reads better than a list of them: state of charge, t.
        word = "\u00a0".join(_GREEK.get(part, part) for part in tail if part)
        below = [element("mi", word), *indices] if word else list(indices)
        base = element("mi", _GREEK.get(head, head) or name)
        if not below:
            return base
        return element("msub", base, below[0] if len(below) == 1 else self._joined(below))

    def set_sign(self, op: str, before: bool = False) -> Element:
        """Return an operator."""
        form = {"form": "prefix" if before else "infix"} if op in "+-*" else {}
        return element("mo", self.signs.get(op, op), **form)

    def set_row(self, *parts: Element, close: bool = False) -> Element:
        """Return parts beside one another."""
        return element("mrow", *parts)

    def _joined(self, parts: Sequence[Element]) -> Element:
        row = element("mrow")
        for index, part in enumerate(parts):
            if index:
                row.append(element("mo", ",", separator="true"))
            row.append(part)
        return row

    def build(self, shape: str, *parts: Element) -> Element:
        """Return parts put together as a shape; what is no other is a pair of brackets."""
        if shape in _ELEMENTS:
            return element(_ELEMENTS[shape], *parts)
        if shape in ("dt", "prob"):
            return element("msub", element("mi", "Δ" if shape == "dt" else "π"), *parts)
        if shape == "squared":
            return element("msup", self.build("()", *parts), element("mn", "2"))
        if shape == "cases":
            return _cases(*parts)
        pair = _FENCES.get(shape, shape)
        return element("mrow", element("mo", pair[0]), *parts, element("mo", pair[1]))

    def _power(self, base: Node, exponent: Node) -> Element:
        """Return a power."""
        return element("msup", self.node(base, Level.ATOM), self.node(exponent))

    def _function(self, name: str, inner: Element) -> Element:
        applied = element("mo", "\u2061")
        return element("mrow", element("mi", name), applied, self.build("()", inner))

    def _big(self, function: str, below: list[Element], body: Element) -> Element:
        head = element("mi", function)
        if function == "sum":
            head = element("mo", "∑", movablelimits="false")
        under = element("munder", head, self._joined(below))
        return element("mrow", under, body)


def _cases(then: Element, condition: Element, otherwise: Element) -> Element:
    when = element("mrow", element("mtext", "if\u00a0"), condition)
    rows = (then, when), (otherwise, element("mrow", element("mtext", "otherwise")))
    table = element("mtable", columnalign="left")
    for cells in rows:
        table.append(element("mtr", *(element("mtd", cell) for cell in cells)))
    return element("mrow", element("mo", "{"), table)


MATHML = MathML()


def expression(text: str, display: str = "inline") -> Markup:
    """Return an expression as a ``math`` element; what cannot be read stands as it was written."""
    try:
        body = MATHML.node(parse(text))
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
            parts.append(MATHML.binder_of(parse_binder(binder)))
        except GrammarError:
            parts.append(element("mrow", element("mtext", binder)))
    if where:
        parts[-1].append(_gap())
        parts += _parts(where)
    return _lined_up(parts)


def symbol(name: str) -> Markup:
    """Return a name as a symbol."""
    return render(element("math", MATHML.name(name), display="inline"))


def objective(sense: str, text: str) -> Markup:
    """Return an objective with its sense in front, set as a display, with room to break lines."""
    word = "max" if sense == "maximize" else "min"
    parts = _parts(text)
    parts[0] = element("mrow", element("mi", word), element("mspace", width="0.5em"), parts[0])
    return _lined_up(parts, displaystyle="true")


def _parts(text: str) -> list[Element]:
    """Return an expression as rows between which a line may end, each with its sign in front."""
    try:
        tree = parse(text)
    except GrammarError:
        return [element("mrow", element("mtext", text))]
    if not isinstance(tree, Compare):
        return _terms(tree)
    found = _terms(tree.operands[0])
    for op, operand in zip(tree.ops, tree.operands[1:], strict=True):
        first, *rest = _terms(operand)
        found += [MATHML.set_row(MATHML.set_sign(op), first), *rest]
    return found


def _terms(node: Node) -> list[Element]:
    pairs = MATHML.summands(node)
    return [
        MATHML.set_row(MATHML.set_sign(op), part) if op else MATHML.set_row(part)
        for op, part in pairs
    ]


def _lined_up(parts: Sequence[Element], **attributes: str) -> Markup:
    """Return rows as formulas of their own, between which a line may end."""
    formulas = (render(element("math", part, display="inline", **attributes)) for part in parts)
    return Markup("<wbr/>").join(formulas)


def _gap() -> Element:
    return element("mtext", ",\u2003")
