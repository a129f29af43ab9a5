"""Pyomo: whatever solver an engineer has on the machine, by ``pyomo:<solver>``."""
