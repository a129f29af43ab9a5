"""Radial distribution feeders by AC power flow, balanced and in steady state.

:class:`Feeder` describes a feeder and solves it by a backward/forward sweep;
:func:`lindistflow` has the linear voltages that plans are often made with.
"""

from engiagent.models.grids.feeder import Feeder, Flow, lindistflow
from engiagent.models.grids.network import Bus, Line, Transformer

__all__ = ["Bus", "Feeder", "Flow", "Line", "Transformer", "lindistflow"]
