r"""Sizes that are to be chosen: what a slot between two ends becomes, and what it costs a year.

Capital is paid back in equal parts over its life :math:`n` [a] at the rate :math:`i`:

.. math:: a(i, n) = \frac{i}{1 - (1 + i)^{-n}}

(the capital recovery factor; :math:`1/n` without interest).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from engiagent.blueprint.elements import Core
from engiagent.plant.source import FormError
from engiagent.plant.statement import Statement
from engiagent.text.frontmatter import Node
from engiagent.units.unit import Unit, convert, parse_unit

KEYS: Final = ("between", "step", "costs", "fixed", "lifetime", "rate", "profile")
_YEARS: Final = {"a", "yr", "year", "years", "month", "months", "mo"}
SHOWN: Final = "{between: [0 kWh, 500 kWh], costs: 400 EUR/kWh, lifetime: 15 a, rate: 5 %}"


@dataclass(frozen=True)
class Size:
    """A capacity or a power that is to be chosen.

    Values are texts with units, as ``"400 EUR/kWh"``, or numbers in the units named here.
    """

    between: tuple[Any, Any]  # the least and the largest size, in the unit of the slot
    step: Any = None  # the size is a whole multiple of it
    costs: Any = None  # of a unit of size, once (``EUR/kWh``) or in every year (``EUR/kWh/a``)
    fixed: Any = None  # what it costs to have it at all
    lifetime: Any = None  # years over which what is paid once is spread
    rate: Any = None  # interest of that
    profile: Any = None  # a series that the size is multiplied by, as the yield of a kW of panels

    @property
    def given(self) -> dict[str, Any]:
        """What is stated, by key."""
        found = ((entry.name, getattr(self, entry.name)) for entry in fields(self))
        return {name: value for name, value in found if value is not None}


def open_sizes(core: Core) -> dict[str, str]:
    """Return the decisions of a blueprint that are sizes, each with its slot."""
    known = {f"{c.name}_{s}_size": f"{c.name}.{s}" for c in core.components for s in c.parameters}
    return {v.name: known[v.name] for v in core.decision_variables if v.name in known}


@dataclass(frozen=True)
class Amount:
    """A number with its unit, None for a bare one, its source and where it stands in a file."""

    number: float
    unit: Unit | None
    source: Any
    place: Node | None = None


@dataclass(frozen=True)
class Sizing:
    """The decision that a slot holds, with its costs.

    ``unit``: of the slot, and of the size. ``given``: by the keys of :class:`Size`.
    """

    statement: Statement
    owner: str
    slot: str
    unit: str
    given: Mapping[str, Amount | Sequence[Amount]]
    source: Any

    def add(self, profile: str | None) -> str:
        """Add it and return what fills the slot.

        ``profile``: the parameter over the periods that the size is multiplied by. Raises FormError
        when something that is needed is absent or of another dimension.
        """
        ends = self.given.get("between")
        if not isinstance(ends, Sequence) or len(ends) != 2:
            raise FormError("a size lies between two ends", 0, SHOWN)
        low, high = (self._number(end, self.unit) for end in ends)
        if not 0 <= low <= high:
            raise FormError(f"no size lies between {low:g} and {high:g} {self.unit}", 0, SHOWN)
        least = self._parameter("least", ends[0], self.unit)
        most = self._parameter("most", ends[1], self.unit)
        # What a representative horizon begins with is its own; what is built is built once.
        own = self.statement.representative is not None and self.slot.startswith("initial_")
        each: dict[str, Any] = {"index": ["p in P"]} if own else {}
        name = self._variable("size", lower=least, upper=most, unit=self.unit, **each)
        if own:
            self.statement.sizes[f"{name}[p]"] = {"variable": name, "profile": None}
            return f"{name}[p]"
        step = self._optional("step", self.unit)
        if step is not None:
            whole = self._variable("modules", type="integer", lower=0, upper=f"{most}/{step}")
            self._rule("in_modules", f"{name} == {step}*{whole}")
        self._costs(name, most)
        filled = name
        if profile is not None:
            at = "p, t" if profile in self.statement.of_each() else "t"
            filled = f"{name}*{profile}[{at}]"
        self.statement.sizes[filled] = {"variable": name, "profile": profile}
        return filled

    def _costs(self, name: str, most: str) -> None:
        """Add what the size costs once, and what that and its yearly costs are in a year."""
        currency, given = self.statement.currency, self.given
        once: list[str] = []
        yearly: list[str] = []
        costs, each = given.get("costs"), f"{currency}/({self.unit})"
        if isinstance(costs, Amount) and costs.unit is not None and _by_the_year(costs.unit, each):
            price = self._parameter("costs", costs, f"{currency}/({self.unit}*a)")
            yearly.append(f"{price}*{name}*1[a]")
        elif isinstance(costs, Amount):
            once.append(f"{self._parameter('costs', costs, each)}*{name}")
        fixed = self._optional("fixed", currency)
        if fixed is not None:
            built = self._variable("built", type="binary", lower=0, upper=1)
            self._rule("only_if_built", f"{name} <= {most}*{built}")
            once.append(f"{fixed}*{built}")
        if once:
            spent = self._expression("investment", " + ".join(once))
            yearly.append(f"{self._annuity()}*{spent}")
        if yearly:
            self.statement.yearly.append(self._expression("yearly", " + ".join(yearly)))

    def _annuity(self) -> str:
        """Add the share of the capital that is paid in a year."""
        life = self._optional("lifetime", "a")
        if life is None:
            said = "what is paid once needs a lifetime to be spread over"
            raise FormError(said, 0, "lifetime: 15 a, and rate: 5 %")
        years, text = f"{life}/1[a]", f"1/({life}/1[a])"
        rate = self.given.get("rate")
        if isinstance(rate, Amount) and rate.number != 0:
            share = self._parameter("rate", rate, "1")
            text = f"{share}/(1 - (1 + {share})**(-{years}))"
        note = {"kind": "derived", "note": "capital recovery factor", "of": self.source}
        return self.statement.add_parameter(self._name("annuity"), "1", note, value=text)

    # -- parts ------------------------------------------------------------------------------------

    def _name(self, what: str) -> str:
        return f"{self.owner}_{self.slot}_{what}"

    def _number(self, amount: Amount, unit: str) -> float:
        """Return a number in a unit that it fits."""
        wanted = parse_unit(unit)
        if amount.unit is None and amount.place is not None and wanted.dimension and amount.number:
            raise FormError("the number has no unit", 0, f"a value in {unit}", amount.place)
        found = amount.unit or wanted
        if found.dimension != wanted.dimension:
            said = f"{found} is a unit of another dimension"
            raise FormError(said, 0, f"a value in {unit}", amount.place)
        return convert(amount.number, found, wanted)

    def _parameter(self, what: str, amount: Amount, unit: str) -> str:
        number, above = self._number(amount, unit), what in ("lifetime", "step")
        if number < 0 or (above and number == 0):
            wanted = "a number above 0" if above else "0 or more"
            raise FormError(f"{what} is {amount.number:g}", 0, wanted, amount.place)
        if what == "rate" and number >= 1:
            raise FormError(f"the rate is {100 * number:g} % a year", 0, "as 5 %", amount.place)
        own = str(amount.unit or unit)
        name = self._name(what)
        return self.statement.add_parameter(name, own, amount.source, value=amount.number)

    def _optional(self, key: str, unit: str) -> str | None:
        amount = self.given.get(key)
        return self._parameter(key, amount, unit) if isinstance(amount, Amount) else None

    def _variable(self, what: str, **content: Any) -> str:
        entry = {"name": self._name(what), "quantity": f"{self.owner}.{self.slot}_{what}"}
        entry |= {"role": "decision", "source_reference": self.source}
        self.statement.decisions.append(entry | content)
        return self._name(what)

    def _rule(self, what: str, expression: str) -> None:
        about = {"category": "Operational Logic", "source_reference": self.source}
        entry = {"constraint_id": self._name(what), "expression": expression}
        self.statement.rules.append(entry | about)

    def _expression(self, what: str, text: str) -> str:
        entry = {"name": self._name(what), "expression": text, "unit": self.statement.currency}
        self.statement.expressions.append(entry)
        return self._name(what)


def _by_the_year(unit: Unit, each: str) -> bool:
    """Whether a unit is a price per unit of size and year; EUR/kWh is none of a kilowatt."""
    named = _YEARS & set(re.findall(r"[A-Za-z]+", str(unit)))
    return bool(named) and unit.dimension == parse_unit(f"{each}/a").dimension
