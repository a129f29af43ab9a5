"""What a text says, as somebody read it: the answer of an engine, and readings that are stored."""

from engiagent.readings.reading import Gap, Missing, Reading

__all__ = ["Gap", "Missing", "Reading"]
