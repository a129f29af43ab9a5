"""The reading of a problem: a blueprint, and all that stands between the text and a plan."""

from dataclasses import dataclass

from engiagent.blueprint import Blueprint


@dataclass(frozen=True)
class Missing:
    """A value that the problem needs and does not give.

    Attributes
    ----------
    component
        Of what, as ``battery``; empty for the problem as a whole.
    quantity
        Which value, as ``charge_efficiency``.
    reason
        Why it is needed, or where it was looked for.
    """

    component: str
    quantity: str
    reason: str


@dataclass(frozen=True)
class Gap:
    """A place of the text that could not be read, or that clashes with another.

    Attributes
    ----------
    quotes
        The words of the text, one entry a place.
    reason
        What is wrong with them.
    """

    quotes: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Reading:
    """What a problem says.

    Attributes
    ----------
    blueprint
        With the source of every number; None where none could be written.
    missing, contradictions, not_understood
        What rules out a plan; a reading without them is complete.
    notes
        Assumptions and remarks.
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
