"""Engines and agents: from the text of a problem to a blueprint."""
