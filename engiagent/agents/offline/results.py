"""What the offline engine hands back."""

from dataclasses import dataclass

from engiagent.agents.offline.amounts import Amount, Span
from engiagent.blueprint.document import Blueprint


@dataclass(frozen=True)
class Missing:
    """A value that the problem does not give; ``slot`` is the name for ``--set``."""

    component: str
    slot: str
    message: str


@dataclass(frozen=True)
class NotUnderstood:
    """A piece of the text that nothing in the engine covers."""

    text: str
    span: Span
    reason: str


@dataclass(frozen=True)
class Ambiguous:
    """A piece of the text that can be read in more than one way."""

    text: str
    span: Span
    message: str


@dataclass(frozen=True)
class Implausible:
    """A value that was read for a slot and lies outside what such a thing can be.

    Attributes
    ----------
    low, high, unit
        The range of the slot's card.
    because
        Why it ends there, from the card; empty where the card gives no reason.
    """

    component: str
    owner: str
    slot: str
    said: str
    amount: Amount
    low: float
    high: float
    unit: str
    because: str


@dataclass(frozen=True)
class Conflict:
    """Two statements of the text that cannot both hold.

    Attributes
    ----------
    code
        ``two-values``, ``outside-limits``, ``lengths``; ``shorter`` or ``longer`` for series beside
        the horizon.
    spans
        The places of the statements, as far as they stand in the text.
    """

    code: str
    component: str
    quantity: str
    message: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Analysis:
    """A blueprint and what stands between it and a verdict.

    Attributes
    ----------
    blueprint
        None only when not even a time axis or a component could be recognised.
    missing, not_understood, ambiguous
        Any entry makes the verdict ``undecided``.
    assumptions
        Conventions that the text leaves open and how they were read.
    notes
        What else a reader may want to know.
    conflicts, implausible
        What stands behind some of the ambiguous and not understood, for an audit.
    """

    blueprint: Blueprint | None
    missing: tuple[Missing, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    ambiguous: tuple[Ambiguous, ...] = ()
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    implausible: tuple[Implausible, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the blueprint stands for all of the text."""
        return self.blueprint is not None and not (
            self.missing or self.not_understood or self.ambiguous
        )
