"""What the offline engine hands back."""

from dataclasses import dataclass

from engiagent.agents.offline.amounts import Span
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
    """

    blueprint: Blueprint | None
    missing: tuple[Missing, ...] = ()
    not_understood: tuple[NotUnderstood, ...] = ()
    ambiguous: tuple[Ambiguous, ...] = ()
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the blueprint stands for all of the text."""
        return self.blueprint is not None and not (
            self.missing or self.not_understood or self.ambiguous
        )
