"""Units composed to a system and run closed loop by reset and step.

A :class:`~engiagent.models.systems.system.Module` has ports, states and a step; a
:class:`~engiagent.models.systems.system.System` joins modules over buses, where what is given is
what is taken; a :class:`~engiagent.models.systems.system.Simulation` runs it and balances
every step.
"""
