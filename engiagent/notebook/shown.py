"""Certificates and explanations that show themselves in a notebook."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from engiagent.explain import Explanation as PlainExplanation
from engiagent.explain.text import lines_of
from engiagent.notebook import markup
from engiagent.report import words
from engiagent.report.charts import numerals
from engiagent.verify.certificate import Certificate as PlainCertificate
from engiagent.verify.claims import overrides_line, plan_line, reading_line


def verdict_badge(verdict: Any, state: Any = None) -> Markup:
    """Return a verdict with its mark, and what it means for whoever wants the plan."""
    said = words.verdict(verdict, state)
    return markup.badge(said.word, said.tone, said.symbol) + markup.paragraph(said.meaning)


def amount(value: Any, unit: Any) -> str:
    """Return a number with its unit, a dash where there is none."""
    number = float(value) if isinstance(value, int | float) else None
    return numerals.quantity(number, unit, 9).replace("\xa0", " ")


class Certificate(PlainCertificate):
    """The outcome of a check."""

    def __repr__(self) -> str:
        goal, bound = self.objective or {}, self.bound or {}
        text = f"Certificate({self.problem!r}: {self.line}"
        if goal.get("value") is not None:
            text += f", {amount(goal['value'], goal.get('unit'))}"
        if bound.get("gap") is not None:
            text += f", gap {100 * float(bound['gap']):.3g} %"
        lines = [text + ")"]
        lines += [f"  {name}: {text}" for name, text in self._claims()]
        lines += [f"  violated: {item.get('message') or item}" for item in self.violations]
        lines += [f"  missing: {item}" for item in self.missing]
        lines += [f"  not understood: {item}" for item in self.not_understood]
        return "\n".join(lines)

    def _claims(self) -> list[tuple[str, str]]:
        found = {"plan": self.plan, "reading": self.reading, "overrides": self.overrides}
        pairs = [("plan", plan_line(found)), ("reading", reading_line(found))]
        pairs.append(("changed", overrides_line(found)))
        return [pair for pair in pairs if pair[1]]

    def _repr_html_(self) -> str:
        violations = [
            (
                str(v.get("name") or v.get("check")),
                _where(v.get("where")),
                amount(v.get("amount"), v.get("unit")),
                str(v.get("message") or ""),
            )
            for v in self.violations
        ]
        levels = [
            (name, str(level.get("status")), "; ".join(str(f) for f in level.get("findings") or ()))
            for name, level in self.levels.items()
        ]
        return markup.card(
            self.problem,
            verdict_badge(self.verdict),
            markup.facts([*self._claims(), *_goal(self.objective or {}, self.bound or {})]),
            markup.table(("what is broken", "where", "by", ""), violations, "Violations", (2,)),
            markup.bullets([f"missing: {item}" for item in self.missing]),
            markup.bullets([f"these clash: {item}" for item in self.contradictions]),
            markup.bullets([f"open: {item}" for item in self.reading.get("open", ())]),
            markup.bullets([f"not understood: {item}" for item in self.not_understood]),
            markup.table(("level", "status", ""), levels, "Levels"),
            markup.folded("Every check", _checks(self.levels.get("algebra") or {})),
            markup.folded(f"{len(self.notes)} notes", markup.bullets(self.notes)),
            kicker="certificate",
        )


def _goal(goal: Mapping[str, Any], bound: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    if goal.get("value") is not None:
        word = {"minimize": "minimised", "maximize": "maximised"}.get(str(goal.get("sense")), "")
        pairs.append((f"objective, {word}", amount(goal["value"], goal.get("unit"))))
    if bound.get("value") is not None:
        pairs.append(("bound", amount(bound["value"], goal.get("unit"))))
    if bound.get("gap") is not None:
        pairs.append(("gap to the bound", f"{100 * float(bound['gap']):.3g} %"))
    if bound.get("method"):
        pairs.append(("how the bound is known", str(bound["method"])))
    return pairs


def _checks(algebra: Mapping[str, Any]) -> Markup:
    rows = []
    for check in algebra.get("checks") or ():
        worst = check.get("worst") or {}
        slack = amount(worst.get("slack"), worst.get("unit")) if worst else ""
        name = str(check.get("name") or check.get("id"))
        said = str(check.get("quote") or check.get("text") or "")
        rows.append((name, said, str(check.get("status")), slack, _where(worst.get("where"))))
    return markup.table(("check", "", "status", "least margin", "where"), rows, "", (3,))


def _where(place: Any) -> str:
    if not isinstance(place, Mapping):
        return "" if place is None else str(place)
    return ", ".join(f"{key} {value}" for key, value in place.items())


class Explanation(PlainExplanation):
    """Why a problem has no plan, no best plan, or just this one."""

    def __repr__(self) -> str:
        return "\n".join([self.summary, *(str(line) for line in lines_of(self))])

    def _repr_html_(self) -> str:
        parts: list[Markup | str] = [self.summary]
        under: list[str] = []
        for line in lines_of(self):
            if line.depth == 0:
                parts += [markup.bullets(under), Markup("<b>{}</b>").format(line.text)]
                under = []
            else:
                under.append(line.text)
        parts.append(markup.bullets(under))
        return markup.card(f"{self.problem}: {self.kind}", *parts, kicker="explanation")
