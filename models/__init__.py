"""Physics as it is: parameters and simulation of batteries, zones, machines and tanks.

Nothing here knows an optimiser or a blueprint. Powers are in kW, energies in kWh, temperatures in
degC, temperature differences in K and times in hours; a power is the mean of its period and a
state belongs to an instant, so that N periods have N+1 states.

A value that is not finite or outside the range in its docstring raises
:class:`~engiagent.models.ranges.ParameterError`, which names the value, the range and what to give.
"""

from engiagent.models.battery import Battery
from engiagent.models.thermal import ThermalNetwork, ThermalZone

__all__ = ["Battery", "ThermalNetwork", "ThermalZone"]
