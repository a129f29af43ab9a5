"""Units composed to systems and clusters, run closed loop by initialize, reset and step.

A :class:`~engiagent.models.systems.module.Module` has ports, states and a step; a
:class:`~engiagent.models.systems.system.System` joins modules over buses, where what is given is
what is taken, and links, which carry signals; a
:class:`~engiagent.models.systems.simulation.Simulation` runs it and balances every step.
"""
