"""The reading of a problem: a blueprint, and all that stands between the text and a plan."""

from dataclasses import dataclass

from engiagent.blueprint import Blueprint


@dataclass(frozen=True)
class Missing:
    """A value that the problem needs and does not give, as the ``charge_efficiency`` of a battery.

    The component is empty for the problem as a whole; ``reason`` is why the value is needed.
    """

    component: str
    quantity: str
    reason: str

    @property
    def name(self) -> str:
        """What ``--set`` calls it, as ``battery.charge_efficiency``."""
        return f"{self.component}.{self.quantity}" if self.component else self.quantity


@dataclass(frozen=True)
class Gap:
    """Places of the text that could not be read, or that clash, and what is wrong with them."""

    quotes: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{' / '.join(self.quotes)} ({self.reason})" if self.quotes else self.reason


@dataclass(frozen=True)
class Reading:
    """What a problem says: a blueprint with the source of every number, and what rules out a plan.

    The notes are assumptions and remarks.
    """

    blueprint: Blueprint | None
    missing: tuple[Missing, ...] = ()
    contradictions: tuple[Gap, ...] = ()
    not_understood: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether a plan can be made of it."""
        open_points = (*self.missing, *self.contradictions, *self.not_understood)
        return self.blueprint is not None and not open_points

    @property
    def lacking(self) -> tuple[str, ...]:
        """The names of the missing values."""
        return tuple(item.name for item in self.missing)

    @property
    def unclear(self) -> tuple[str, ...]:
        """What was not understood and what contradicts itself, a line each."""
        return tuple(str(gap) for gap in (*self.contradictions, *self.not_understood))
